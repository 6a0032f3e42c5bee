"""A server in this process for tests, and clients that say exactly what they are told."""

import asyncio
import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from weft.web.app import application
from weft.web.guard import Allowed
from weft.web.limits import Limits
from weft.web.serving import Listener, Server
from weft.web.table import RunTable

FINISHED = Path(__file__).parents[1] / "fixtures" / "finished"


class Answered:
    """An answer as a client reads it."""

    def __init__(self, raw: bytes):
        head, _, self.body = raw.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        self.status = int(first.split()[1]) if first else 0
        self.headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        if self.headers.get("transfer-encoding") == "chunked":
            self.body = _joined(self.body)

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def events(self) -> list[Any]:
        """The events of a stream."""
        said = [one.removeprefix("data: ") for one in self.body.decode().split("\n\n") if one]
        return [one if one == "[DONE]" else json.loads(one) for one in said]


class Running:
    """A server of some runs on a port of its own, in a thread."""

    def __init__(self, table: RunTable, *, token: str | None = None, names: tuple[str, ...] = (), **limits: Any):
        self.bound = Listener()
        self.bound.bind(("127.0.0.1", 0))
        self.port, self.limits = self.bound.getsockname()[1], Limits(**limits)
        app, self.state = application(table, Allowed(self.port, names=names, token=token), self.limits)
        self.server = Server(app, self.state)
        self._thread = threading.Thread(target=lambda: self.server.run(sockets=[self.bound]), daemon=True)
        self._thread.start()
        until(lambda: self.server.started)

    @property
    def threads(self) -> tuple[threading.Thread, threading.Thread]:
        """The thread of the loop, and the one that computes."""
        return self._thread, self.state.engine._thread

    def close(self) -> None:
        self.server.force_exit = self.server.should_exit = True
        self._thread.join(10)
        self.state.engine.close()

    @contextlib.contextmanager
    def connected(self) -> Iterator[socket.socket]:
        """A connection; reading from it ends after a while."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as made:
            yield made

    def raw(self, said: bytes) -> bytes:
        """What comes back for some bytes until the server closes."""
        with self.connected() as made:
            with contextlib.suppress(OSError):
                made.sendall(said)
            return read_all(made)

    def ask(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Answered:
        """The answer to a request."""
        return Answered(self.raw(self.request(method, path, body, headers)))

    def post(self, path: str, body: Any, **headers: str) -> Answered:
        """The answer to a request with a body of JSON."""
        return self.ask("POST", path, body, headers)

    def get(self, path: str, **headers: str) -> Answered:
        return self.ask("GET", path, None, headers)

    def request(self, method: str, path: str, body: Any, headers: dict[str, str] | None) -> bytes:
        """A request as bytes; a header without a value is left out."""
        content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        known = {"host": f"127.0.0.1:{self.port}", "connection": "close"}
        if body is not None:
            known |= {"content-type": "application/json", "content-length": str(len(content))}
        known |= {name.replace("_", "-"): value for name, value in (headers or {}).items()}
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in known.items() if value)]
        return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + content

    def metric(self, name: str) -> float:
        """A number of /metrics."""
        lines = self.get("/metrics").body.decode().splitlines()
        return next((float(line.split()[-1]) for line in lines if line.split()[0] == name), 0.0)


def read_all(made: socket.socket) -> bytes:
    """What comes until the other side closes."""
    parts = []
    with contextlib.suppress(ConnectionError):
        while part := made.recv(65536):
            parts.append(part)
    return b"".join(parts)


def read_until(made: socket.socket, end: bytes) -> bytes:
    """What comes until some bytes have come; more may have come with them."""
    said = b""
    while end not in said:
        piece = made.recv(4096)
        assert piece, said
        said += piece
    return said


def until(true: Any, seconds: float = 20.0) -> float:
    """Wait until something is true; returns the seconds."""
    start = time.monotonic()
    while not true():
        assert time.monotonic() - start < seconds, "it did not become true"
        time.sleep(0.002)
    return time.monotonic() - start


def asked(app: Any, path: str, body: bytes, *, kind: str = "application/json", query: str = "") -> tuple[int, bytes]:
    """Status and body of a request to an application, without a socket."""
    sent: list[dict[str, Any]] = []

    async def call() -> None:
        waiting = [{"type": "http.request", "body": body, "more_body": False}]
        done = asyncio.Event()

        async def receive() -> dict[str, Any]:
            if waiting:
                return waiting.pop()
            await done.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)

        headers = [(b"host", b"127.0.0.1:1"), (b"content-type", kind.encode()), (b"content-length", b"%d" % len(body))]
        scope = {"type": "http", "method": "POST", "path": path, "raw_path": b"/", "query_string": query.encode(),
                 "headers": headers, "server": ("127.0.0.1", 1), "root_path": "", "http_version": "1.1"}  # fmt: skip
        await app(scope, receive, send)
        done.set()

    asyncio.run(call())
    return sent[0]["status"], b"".join(one.get("body", b"") for one in sent[1:])


def _joined(chunks: bytes) -> bytes:
    found = b""
    while chunks:
        size, _, chunks = chunks.partition(b"\r\n")
        length = int(size or b"0", 16)
        found, chunks = found + chunks[:length], chunks[length + 2 :]
    return found
