"""The server itself: a socket, signals, uvicorn. Refuses to know routes."""

import asyncio
import contextlib
import os
import secrets
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from weft.errors import WeftError, harmless
from weft.training.devices import pick_device
from weft.web.app import application
from weft.web.guard import Allowed, is_loopback
from weft.web.limits import Limits
from weft.web.receiving import Receiving
from weft.web.replies import reported
from weft.web.scanning import Scanner
from weft.web.shedding import Shedding
from weft.web.state import ServerState
from weft.web.table import RunTable
from weft.web.turns import Turns, settle

SIGNALS = (signal.SIGINT, signal.SIGTERM)
BACKLOG = 2048  # connections that wait to be accepted
OTHER_FILES = 100  # that a server has open beside connections
SHORTEST_TOKEN = 16  # characters


def serve(
    places: Sequence[str | Path],
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    token: str | None = None,
    names: Sequence[str] = (),
    at: Path | None = None,
    precision: str = "fp32",
    device: str = "auto",
    broken: bool = False,
    say: Callable[[str], Any] = lambda line: print(harmless(line), file=sys.stderr, flush=True),
) -> None:
    """Serve runs until a signal ends it: `places` are folders of runs, or hold some; `at` is a socket's file."""
    limits = Limits()
    _more_files(limits.connections + OTHER_FILES)
    pick_device(device, "--device")
    secret = _token(token, host if at is None else "127.0.0.1")
    with _bound(host, port, at) as bound:
        table = RunTable.of(places, precision=precision, device=device, broken=broken)
        real = None if at is not None else bound.getsockname()[1]
        allowed = Allowed(real, host if at is None else "127.0.0.1", tuple(names), secret)
        app, state = application(table, allowed, limits)
        scanner = Scanner(table, places, precision=precision, device=device, broken=broken, say=say)
        for name, one in table.items():
            say(f"  {name}: {one.run.task.name}, {one.run.task.ability(one.run.loaded)}")
        for name in table.training:
            say(f"  {name}: in training")
        bound.listen()
        scanner.start()
        say(_address(host, real, at, secret))
        sys.setswitchinterval(0.001)  # the loop need not wait long for a thread that computes
        settle()
        try:
            Server(app, state).run(sockets=[bound])
        finally:
            scanner.close()
            state.engine.close()


def _config(app: ASGIApp, state: ServerState) -> uvicorn.Config:
    """How uvicorn serves an application: by h11 alone, without logs, which would hold what people ask."""
    limits, shedding = state.limits, Shedding(state.engine, state.metrics)
    own = {"seconds": limits.seconds, "most_head": limits.head, "unsent": limits.unsent,
           "shed": staticmethod(shedding.answer), "most_connections": limits.connections, "waiting": {}}  # fmt: skip
    return uvicorn.Config(
        app,
        http=type("Connection", (Receiving,), own),
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        h11_max_incomplete_event_size=limits.head,
        timeout_keep_alive=int(limits.idle),
        timeout_graceful_shutdown=int(limits.drain),
        limit_concurrency=limits.connections + 1,  # where none of them is idle, a request is refused
        backlog=limits.accepted,
    )


class Listener(socket.socket):
    """A socket at which many may wait, of whom the loop accepts a few at a time: asyncio has one number for both."""

    def listen(self, backlog: int = BACKLOG) -> None:
        """Listen, with room for all who wait."""
        super().listen(BACKLOG)


class Server(uvicorn.Server):
    """uvicorn that ends in two steps: requests are refused while those in work finish; a second signal ends at once."""

    def __init__(self, app: ASGIApp, state: ServerState):
        super().__init__(_config(app, state))
        self.engine, self.limits, self._until, self._turns = state.engine, state.limits, 0.0, Turns()
        self.engine.give_way = self._turns.give_way

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until a signal."""
        with asyncio.Runner(loop_factory=self._turns.loop) as runner:
            runner.get_loop().set_exception_handler(_fault_of_loop)
            runner.run(self.serve(sockets))

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals that end the server; the process ends with 0. They reach the first thread alone."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        known = {number: signal.signal(number, self.handle_exit) for number in SIGNALS}
        try:
            yield
        finally:
            for number, handler in known.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """The first signal refuses new work, the second ends."""
        if self.engine.draining:
            self.force_exit = self.should_exit = True
            return
        self.engine.draining = True
        self._until = time.monotonic() + self.limits.drain

    async def on_tick(self, counter: int) -> bool:
        """Whether to end: work is done, or its time is over."""
        if self.engine.draining and not self.should_exit:
            late = time.monotonic() > self._until
            self.force_exit = late
            if self.engine.idle or late:
                self.should_exit = True
        return await super().on_tick(counter)


def _fault_of_loop(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Say on stderr what went wrong outside of any request."""
    error = context.get("exception")
    if isinstance(error, OSError):  # there are no more files for connections; the loop tries again after a second
        print(f"weft serve: no more connections for now: {error.strerror}", file=sys.stderr, flush=True)
    elif error is not None:
        reported(error)


def _more_files(wanted: int) -> None:
    """Let this process have open as many files as connections need, where the system lets it."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


@contextlib.contextmanager
def _bound(host: str, port: int, at: Path | None) -> Iterator[socket.socket]:
    """A socket that listens nowhere yet; its file is removed in the end."""
    if at is not None:
        found = Listener(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            before = os.umask(0o177)  # for this user alone
            try:
                found.bind(str(at))
            finally:
                os.umask(before)
        except OSError as error:
            found.close()
            raise WeftError(
                f"cannot be made: {error.strerror}", where=str(at), fix="remove it, or name another"
            ) from None
        try:
            with found:
                yield found
        finally:
            at.unlink(missing_ok=True)
        return
    if not 0 <= port <= 65535:
        raise WeftError(f"expected a port from 0 to 65535, found {port}", where="--port")
    try:
        family, *_, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        found = Listener(family, socket.SOCK_STREAM)
    except OSError as error:
        raise WeftError(f"no such address: {error.strerror}", where="--host", fix="use 127.0.0.1") from None
    with found:
        try:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            found.bind(place)
        except OSError as error:
            fix = "name another: --port 8001, or --port 0 for any that is free"
            problem = f"port {port} of {host} cannot be used: {error.strerror}"
            raise WeftError(problem, where="--port", fix=fix) from None
        yield found


def _token(said: str | None, host: str) -> str | None:
    """The token: the one that is said, or a new one where others than this machine may connect."""
    if said is not None and len(said) < SHORTEST_TOKEN:
        problem = f"a token has at least {SHORTEST_TOKEN} characters"
        raise WeftError(problem, where="--token", fix="leave it out: weft makes one where it is needed")
    return said or (None if is_loopback(host) else secrets.token_urlsafe(32))


def _address(host: str, port: int | None, at: Path | None, token: str | None) -> str:
    """The line that says where the server is."""
    if at is not None:
        return f"serving at the socket {at}" + (f"  (token {token})" if token else "")
    shown = f"[{host}]" if ":" in host else host
    line = f"serving at http://{shown}:{port}/" + (f"#token={token}" if token else "")
    if not is_loopback(host):
        line += (
            "\n  others on the network can reach this address: they need the token, and what they send is not encrypted"
        )
    return line
