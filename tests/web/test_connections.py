"""Raw sockets: many that are slow, idle, odd or gone. Others are answered, and nothing of them stays."""

import contextlib
import re
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.serving import Answered, Running, read_all, until

from weft.web.guard import HEADERS
from weft.web.table import RunTable

WRITE = "/v1/completions"
ASK: dict[str, Any] = {"model": "language-model", "prompt": "Once", "max_tokens": 4, "seed": 1}
LONG = {**ASK, "max_tokens": 200_000}


@contextlib.contextmanager
def many(server: Running, count: int) -> Iterator[list[socket.socket]]:
    with contextlib.ExitStack() as kept:
        yield [kept.enter_context(server.connected()) for _ in range(count)]


def is_closed(made: socket.socket) -> bool:
    made.settimeout(20)
    read_all(made)  # which ends once the other side has closed
    return True


def test_many_slow_senders_are_closed_at_their_deadline_while_others_are_answered(table: RunTable):
    server = Running(table, seconds=1.0)
    try:
        said = server.request("POST", WRITE, ASK, None)
        with many(server, 100) as slow:
            for count in range(1, 4):
                for number, made in enumerate(slow):
                    with contextlib.suppress(ConnectionError):
                        made.sendall((said if number % 2 else said[:-60])[count - 1 : count])
                assert server.get("/healthz").status == 200
            assert all(is_closed(made) for made in slow)
        assert server.post(WRITE, ASK).status == 200
    finally:
        server.close()


def test_the_longest_idle_connection_gives_way_to_a_new_one(table: RunTable):
    server = Running(table, connections=20)
    try:
        with many(server, 20) as idle, server.connected() as busy:
            busy.sendall(server.request("POST", WRITE, LONG, None))
            until(lambda: not server.state.engine.idle)
            for _ in range(5):
                assert server.get("/healthz").status == 200
            assert is_closed(idle[0]) and not server.state.engine.idle, "who waits for an answer is not idle"
        assert until(lambda: server.state.engine.idle) < 5
    finally:
        server.close()


def test_where_all_are_busy_a_further_request_is_refused(table: RunTable):
    server = Running(table, connections=3, tokens=2**22)
    try:
        with many(server, 3) as busy:
            for made in busy:
                made.sendall(server.request("POST", WRITE, LONG, None))
            until(lambda: len(server.state.engine._working) == 3)
            assert server.get("/healthz").status == 503
        until(lambda: server.state.engine.idle)
        assert server.get("/healthz").status == 200
    finally:
        server.close()


def test_while_the_queue_is_full_whole_requests_are_refused_before_they_are_read(table: RunTable):
    server = Running(table, waiting=0)
    try:
        answer = server.post(WRITE, ASK)
        assert answer.status == 429 and int(answer.headers["retry-after"]) > 0
        assert {name: answer.headers[name] for name in HEADERS} == HEADERS
        assert answer.json["error"]["type"] == "rate_limit_error" and answer.headers["connection"] == "close"
        assert int(answer.headers["content-length"]) == len(answer.body)
        assert server.ask("POST", WRITE, b"nonsense").status == 429, "it is not read"
        assert server.get("/healthz").status == server.get("/readyz").status == 200
        said = server.request("POST", WRITE, ASK, None)
        with server.connected() as made:
            made.sendall(said[:-5])
            time.sleep(0.05)
            made.sendall(said[-5:])
            assert Answered(read_all(made)).status == 429, "what comes in pieces is read first"
        lying = server.request("POST", WRITE, ASK, {"content-length": "3"})
        assert Answered(server.raw(lying)).status == 400
        assert server.metric("weft_refused_total") == 3
    finally:
        server.close()


@pytest.mark.parametrize("stream", [False, True])
def test_a_client_that_leaves_while_its_prompt_is_read_ends_its_work(server: Running, stream: bool):
    window = server.state.table["language-model"].window
    assert window is not None
    prompt, before = "a" * (window - 1), server.metric("weft_left_total")
    with server.connected() as made:
        made.sendall(server.request("POST", WRITE, {**LONG, "prompt": prompt, "stream": stream}, None))
        until(lambda: not server.state.engine.idle)
    assert until(lambda: server.state.engine.idle) < 5
    assert server.metric("weft_left_total") == before + 1


def test_a_client_that_leaves_before_its_request_is_whole_costs_nothing(server: Running):
    said = server.request("POST", WRITE, {**ASK, "prompt": "x" * 2000}, None)
    before = server.metric("weft_left_total")
    for end in (1, 20, said.index(b"\r\n\r\n") + 4, len(said) - 1):
        with server.connected() as made:
            made.sendall(said[:end])
            time.sleep(0.01)
    until(lambda: len(server.server.server_state.connections) <= 1)
    assert server.state.engine.idle and server.metric("weft_left_total") == before
    assert server.get("/healthz").status == 200


@pytest.mark.parametrize("path", ["/", "/healthz", "/v1/models", "/nowhere"])
@pytest.mark.parametrize("origin", ["", "http://evil.test", "null"])
def test_a_handshake_of_a_web_socket_opens_none(server: Running, path: str, origin: str):
    asked = {"connection": "Upgrade, close", "upgrade": "websocket", "origin": origin}
    answer = server.get(path, **asked, sec_websocket_version="13", sec_websocket_key="dGhlIHNhbXBsZSBub25jZQ==")
    assert answer.status == 403 if origin else answer.status in (200, 404)
    assert "upgrade" not in answer.headers and "sec-websocket-accept" not in answer.headers


def test_other_protocols_are_not_taken_up(server: Running):
    upgraded = server.get(
        "/healthz", connection="Upgrade, HTTP2-Settings, close", upgrade="h2c", http2_settings="AAMAAABk"
    )
    assert upgraded.status == 200 and "upgrade" not in upgraded.headers
    preface = server.raw(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    assert Answered(preface).status in (400, 405)
    assert server.get("/healthz").status == 200


def test_the_rest_of_http_is_answered_plainly(server: Running):
    whole, head = server.get("/healthz"), server.ask("HEAD", "/healthz")
    assert head.status == 200 and head.body == b"" and head.headers["content-length"] == str(len(whole.body))
    ranged = server.get("/healthz", range="bytes=0-3")
    assert ranged.status == 200 and ranged.body == whole.body and "content-range" not in ranged.headers
    for kind in ("bytes=9-1", "bytes=" + ",".join(["0-0"] * 900)):
        assert server.get("/healthz", range=kind).body == whole.body
    for method in ("GET", "HEAD"):
        assert server.ask(method, WRITE).status == 405
    assert server.ask("HEAD", "/nowhere").status == 404
    conditional = server.get("/page/page.js", if_modified_since="Wed, 21 Oct 2037 07:28:00 GMT", if_none_match="*")
    assert conditional.status == 200


def test_a_body_is_asked_for_only_where_it_will_be_read(server: Running):
    body = server.request("POST", WRITE, ASK, {"expect": "100-continue"})
    head, _, content = body.partition(b"\r\n\r\n")
    with server.connected() as made:
        made.sendall(head + b"\r\n\r\n")
        assert made.recv(100).startswith(b"HTTP/1.1 100 ")
        made.sendall(content)
        assert Answered(read_all(made)).status == 200
    for said in (
        head.replace(b"application/json", b"text/plain"),
        re.sub(rb"content-length: \d+", b"content-length: 999999999", head),
        head.replace(WRITE.encode(), b"/nowhere"),
    ):
        assert Answered(server.raw(said + b"\r\n\r\n")).status in (404, 413, 415)


def test_nothing_stays_of_requests_that_are_over(table: RunTable):
    server = Running(table)
    try:
        for number in range(30):
            assert server.post(WRITE, {**ASK, "stream": bool(number % 2)}).status == 200
            assert server.post(WRITE, {**ASK, "n": 0}).status == 400
            with server.connected() as made:
                made.sendall(server.request("POST", WRITE, {**LONG, "stream": True}, None))
            server.raw(b"nonsense\r\n\r\n")
        until(lambda: server.state.engine.idle and not server.server.server_state.connections)
        until(lambda: not server.server.server_state.tasks)
        engine = server.state.engine
        assert not engine._waiting and not engine._working and not engine._writers
        connection = server.server.config.http_protocol_class
        assert not connection.waiting, "no connection is remembered"  # type: ignore[attr-defined]
    finally:
        server.close()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_memory_stays_flat_over_thousands_of_requests(table: RunTable):
    server = Running(table)

    def held() -> float:
        (line,) = (one for one in Path("/proc/self/status").read_text().splitlines() if one.startswith("VmRSS"))
        return int(line.split()[1]) / 1024

    def some(count: int) -> None:
        for number in range(count):
            assert server.post(WRITE, {**ASK, "stream": bool(number % 2), "seed": number}).status == 200
            assert server.post(WRITE, {**ASK, "n": 0}).status == 400
            if number % 10 == 0:
                with server.connected() as made:
                    made.sendall(server.request("POST", WRITE, {**LONG, "stream": True}, None))

    try:
        some(500)
        before = held()
        some(1000)
        assert held() - before < 2, "MB of 2,100 requests"
    finally:
        server.close()
