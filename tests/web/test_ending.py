"""How a server begins and ends: what it prints, what it needs, what becomes of requests in work."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from helpers import processes
from helpers.serving import FINISHED, Answered, Running, read_all, until

from weft.errors import WeftError
from weft.web.serving import Server, serve
from weft.web.table import RunTable

WRITE = "/v1/completions"
ASK: dict[str, Any] = {"model": "language-model", "prompt": "Once", "max_tokens": 4000, "seed": 1, "stream": True}
LONG = {**ASK, "max_tokens": 200_000}


def said_by(monkeypatch: pytest.MonkeyPatch, **more: Any) -> list[str]:
    """The lines of a server that ends as soon as it has begun."""
    lines: list[str] = []
    monkeypatch.setattr(Server, "run", lambda self, sockets: None)
    serve([FINISHED / "language-model"], port=0, say=lines.append, **more)
    return lines


def test_an_address_for_others_needs_a_token_and_warns(monkeypatch: pytest.MonkeyPatch):
    name, open_to_all = said_by(monkeypatch, host="0.0.0.0")
    assert "language-model" in name
    found = re.search(r"serving at http://0\.0\.0\.0:\d+/#token=(\S{40,})\n(.*)", open_to_all, re.DOTALL)
    assert found is not None and "not encrypted" in found[2]
    again = said_by(monkeypatch, host="0.0.0.0")[-1]
    assert found[1] not in again, "each start makes its own"
    own = said_by(monkeypatch, host="0.0.0.0", token="my own long token")[-1]
    assert "#token=my own long token" in own
    assert "token" not in said_by(monkeypatch)[-1]
    for short in ("x", "123456789012345"):
        with pytest.raises(WeftError, match="at least 16"):
            said_by(monkeypatch, token=short)


def test_a_port_in_use_is_one_clear_line(monkeypatch: pytest.MonkeyPatch):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(WeftError) as raised:
            serve([FINISHED / "language-model"], port=port, say=lambda line: None)
    assert (
        f"port {port}" in raised.value.problem and "--port 0" in raised.value.fix and "\n" not in raised.value.problem
    )
    for bad in (-1, 65_536):
        with pytest.raises(WeftError, match="0 to 65535"):
            serve([FINISHED / "language-model"], port=bad, say=lambda line: None)
    with pytest.raises(WeftError, match="--host"):
        serve([FINISHED / "language-model"], host="nowhere.invalid", port=0, say=lambda line: None)


def whole_answer(connection: socket.socket) -> bytes:
    """One answer of a connection that stays open; head and body may come apart."""
    found = b""
    while (head := found.partition(b"\r\n\r\n"))[1] == b"" or len(head[2]) < _length(head[0]):
        part = connection.recv(4096)
        assert part, found
        found += part
    return found


def _length(head: bytes) -> int:
    return int(re.findall(rb"content-length: (\d+)", head)[0])


def test_requests_in_work_are_finished_and_new_ones_refused(table: RunTable):
    server = Running(table)
    with server.connected() as busy, server.connected() as kept:
        busy.sendall(server.request("POST", WRITE, LONG, None))
        until(lambda: not server.state.engine.idle)
        kept.sendall(server.request("GET", "/readyz", None, {"connection": ""}))
        assert whole_answer(kept).startswith(b"HTTP/1.1 200 ")
        server.server.handle_exit(signal.SIGTERM, None)
        assert server.get("/readyz").status == 503 and server.get("/healthz").status == 200
        answer = server.post(WRITE, ASK)
        assert answer.status == 503 and int(answer.headers["retry-after"]) > 0
        kept.sendall(server.request("GET", "/readyz", None, {"connection": ""}))
        assert whole_answer(kept).startswith(b"HTTP/1.1 503 ")
        for job in list(server.state.engine._working):
            for line in job.lines:  # type: ignore[attr-defined]
                line.limit = len(line.ids) + 50  # the end comes soon
        said = Answered(read_all(busy))
    assert said.status == 200 and said.events[-1] == "[DONE]" and said.events[-2]["choices"][0]["finish_reason"]
    server._thread.join(20)
    assert not server._thread.is_alive()
    with pytest.raises(ConnectionError), server.connected():
        pass
    server.close()


def test_a_second_signal_ends_at_once(table: RunTable):
    server = Running(table)
    with server.connected() as busy:
        busy.sendall(server.request("POST", WRITE, LONG, None))
        until(lambda: not server.state.engine.idle)
        server.server.handle_exit(signal.SIGTERM, None)
        assert not server.server.should_exit
        server.server.handle_exit(signal.SIGTERM, None)
        server._thread.join(20)
        assert not server._thread.is_alive()
        assert b"[DONE]" not in read_all(busy)
    server.close()


def test_work_that_outlasts_its_time_is_given_up(table: RunTable):
    server = Running(table, drain=0.3)
    with server.connected() as busy:
        busy.sendall(server.request("POST", WRITE, LONG, None))
        until(lambda: not server.state.engine.idle)
        server.server.handle_exit(signal.SIGTERM, None)
        server._thread.join(20)
        assert not server._thread.is_alive()
        assert b"[DONE]" not in read_all(busy)
    server.close()


class Process:
    """`weft serve` as people start it."""

    def __init__(self, *words: str, files: int | None = None):
        limited = [] if files is None else ["prlimit", f"--nofile={files}:{files}"]
        command = [*limited, sys.executable, "-m", "weft", "serve", str(FINISHED / "language-model"), *words]
        self.process = processes.start(command, stderr=subprocess.PIPE, text=True)
        self.lines: list[str] = []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        self.lines += iter(self.process.stderr.readline, "")

    def port(self) -> int:
        def found() -> list[str]:
            return re.findall(r"serving at http://\S+:(\d+)/", "".join(self.lines))

        until(found, 120)
        return int(found()[0])


@contextlib.contextmanager
def started(*words: str, **more: Any) -> Iterator[Process]:
    one = Process(*words, **more)
    try:
        yield one
    finally:
        one.process.kill()
        one.process.wait()


def ask(port: int, path: str, body: bytes = b"") -> socket.socket:
    made = socket.create_connection(("127.0.0.1", port), timeout=60)
    head = f"{'POST' if body else 'GET'} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n"
    kind = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n" if body else ""
    made.sendall(f"{head}{kind}\r\n".encode() + body)
    return made


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_a_process_ends_with_0_once_its_work_is_done_and_at_once_when_asked_twice():
    body = b'{"model": "language-model", "prompt": "Once", "max_tokens": 3000, "stream": true}'
    with started("--port", "0") as one:
        port = one.port()
        with ask(port, WRITE, body) as busy:
            assert busy.recv(100).startswith(b"HTTP/1.1 200 ")
            one.process.send_signal(signal.SIGTERM)
            assert read_all(busy).endswith(b"0\r\n\r\n")
        assert one.process.wait(30) == 0
        assert not [line for line in one.lines if "Traceback" in line]
    with started("--port", "0") as one, ask(one.port(), WRITE, body.replace(b"3000", b"200000")) as busy:
        assert busy.recv(100).startswith(b"HTTP/1.1 200 ")
        start = time.monotonic()
        one.process.send_signal(signal.SIGINT)
        time.sleep(0.3)
        one.process.send_signal(signal.SIGINT)
        assert one.process.wait(15) == 0 and time.monotonic() - start < 10


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="prlimit")
def test_where_the_system_lets_no_more_files_be_opened_others_are_answered_later():
    with started("--port", "0", files=80) as one:
        port = one.port()
        with contextlib.ExitStack() as kept:
            idle = [kept.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60)) for _ in range(120)]
            until(lambda: any("no more connections" in line for line in one.lines), 30)
            assert len(idle) == 120
            with ask(port, "/healthz") as made:
                assert Answered(read_all(made)).status == 200, "once the idle ones have been closed"
        one.process.send_signal(signal.SIGTERM)
        assert one.process.wait(30) == 0
        assert not [line for line in one.lines if "Traceback" in line]


@pytest.mark.slow
def test_a_port_in_use_ends_the_process_with_2_and_says_what_to_do():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with started("--port", str(taken.getsockname()[1])) as one:
            assert one.process.wait(120) == 2
            until(lambda: len(one.lines) == 2)
            assert "cannot be used" in one.lines[0] and "--port 0" in one.lines[1], "what is wrong, and what to do"
