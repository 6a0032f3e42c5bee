"""What goes wrong inside, and texts and numbers that are meant to make it: each costs one request, and is said."""

import json
import re
import sys
from typing import Any

import pytest
from helpers.serving import Running, until

from weft.web.engine import Engine
from weft.web.table import RunTable
from weft.web.writing import RunWriter

WRITE, CHAT, TRANSLATE, EMBED = "/v1/completions", "/v1/chat/completions", "/translate", "/v1/embeddings"
ASK: dict[str, Any] = {"model": "language-model", "prompt": "Once", "max_tokens": 4, "seed": 1}
HOSTILE = (
    "</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "\u202egnol\u202c", "\x1b[2J\x1b]0;x\x07",
    "a\x00b", "\r\nHTTP/1.1 200 OK\r\n\r\n", "\ufeff\ufffe\uffff", "e" + "\u0301" * 500, "\U0001f469\u200d" * 50,
    "w" * 10_000, " " * 1000, "<s></s><pad><eos>[MASK]<|endoftext|>", "{{7*7}}${jndi:ldap://x}%s%n",
    "'; DROP TABLE x;--",
    "data:text/html,<script>alert(1)</script>", "file:///etc/passwd", "http://127.0.0.1:1/x.png", "\ue000\U0010fffd",
)  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_any_text_is_a_text(server: Running, text: str):
    asked = [
        (WRITE, {**ASK, "prompt": text}),
        (CHAT, {"model": "language-model", "messages": [{"role": "user", "content": text}], "max_tokens": 2}),
        ("/api/predict/classify-text", {"input": text}),
        ("/api/predict/translate", {"input": text, "settings": {"max_tokens": 2}}),
        (EMBED, {"model": "classify-text", "input": text}),
        (WRITE, {**ASK, "model": text}),
        (WRITE, {**ASK, "stop": text}),
        (WRITE, {**ASK, text: 1}),
        (f"/api/predict/{'x'}", {"input": text}),
    ]
    for path, body in asked:
        answer = server.post(path, body)
        assert answer.status in (200, 400, 404), (path, answer.body[:300])
        assert answer.status == 200 or len(answer.body) < 4096
        json.loads(answer.body)
        assert answer.headers["content-type"] == "application/json" and answer.headers["x-content-type-options"]


@pytest.mark.parametrize(
    "more",
    [{"temperature": 101}, {"top_p": 0}, {"top_p": 1.5}, {"top_p": -1},
     {"n": 33}, {"n": 10**18}, {"seed": 10**400}, {"max_tokens": 10**300}, {"max_tokens": -1}, {"max_tokens": 1.5},
     {"logprobs": 10**6}, {"stop": ["x"] * 10_000}, {"stop": "x" * 10_000}, {"stop": [""]}, {"temperature": "nan"},
     {"weft": {"top_k": 0}}, {"weft": {"top_k": -5}}, {"weft": {"min_p": 1}}, {"weft": {"repetition_penalty": 0}},
     {"temperature": True}, {"n": True}, {"prompt": [[-1]]}, {"prompt": ["a"] * 1000}, {"prompt": [[0] * 10**5]}],
)  # fmt: skip
def test_numbers_beyond_reason_are_refused_with_their_limits(server: Running, more: dict[str, Any]):
    answer = server.post(WRITE, {**ASK, **more})
    assert answer.status == 400 and len(answer.body) < 4096
    error = answer.json["error"]
    assert error["message"] and error["param"]


@pytest.mark.parametrize("number", [b"NaN", b"Infinity", b"-Infinity", b"1e999", b"-1e999", b"1e-400", b"9" * 5000])
def test_what_json_or_a_float_cannot_hold_is_no_temperature(server: Running, number: bytes):
    body = json.dumps({**ASK, "temperature": 7}).encode().replace(b"7", number)
    status = server.ask("POST", WRITE, body).status
    assert status == 400 or (status == 200 and number == b"1e-400"), "which is 0"


def test_numbers_at_their_limits_are_taken(server: Running):
    for more in ({"temperature": 1e-30}, {"temperature": 1e-300}, {"temperature": 100}, {"top_p": 1e-30}, {"n": 32},
                 {"weft": {"top_k": 10**9}},
                 {"max_tokens": 0}, {"seed": 2**63 - 1}, {"stop": ["x"] * 16}):  # fmt: skip
        answer = server.post(WRITE, {**ASK, **more})
        assert answer.status == 200, answer.body[:300]


@pytest.mark.parametrize("half", ["draw", "advance"])
@pytest.mark.parametrize("kind", [MemoryError, RuntimeError, RecursionError, KeyError])
def test_a_step_that_fails_costs_those_who_were_in_it(
    table: RunTable,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    kind: type[Exception],
    half: str,
):
    server, words = Running(table), "the secret prompt\x1b[31m"
    try:
        with monkeypatch.context() as patched:

            def fail(*given: Any) -> Any:
                raise kind(words)

            patched.setattr(f"weft.generate.together.Together.{half}", fail)
            answer = server.post(WRITE, {**ASK, "prompt": "secret"})
        assert answer.status == 500 and b"secret" not in answer.body and kind.__name__ not in answer.body.decode()
        said = capfd.readouterr().err
        number = re.search(r"number ([0-9a-f]{12})", answer.json["error"]["message"])
        assert number is not None and number[1] in said and kind.__name__ in said
        assert "secret" not in said and "\x1b" not in said, "what was asked is in no log"
        assert server.post(WRITE, ASK).status == 200 and server.get("/readyz").status == 200
    finally:
        server.close()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("kind", [MemoryError, SystemExit])
def test_a_thread_that_dies_says_so_and_nobody_waits_for_it(
    table: RunTable, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], kind: type[BaseException]
):
    server, words = Running(table), "secret"
    try:
        with server.connected() as waiting:
            waiting.sendall(server.request("POST", WRITE, {**ASK, "max_tokens": 200_000}, None))
            until(lambda: not server.state.engine.idle)
            with monkeypatch.context() as patched:

                def die(*given: Any) -> Any:
                    raise kind(words)

                patched.setattr(Engine, "_joining", die)
                until(lambda: not server.state.engine.alive)
            assert b" 503 " in waiting.recv(4096).split(b"\r\n")[0]
        assert kind.__name__ in (said := capfd.readouterr().err) and "secret" not in said
        for path in ("/healthz", "/readyz"):
            assert server.get(path).status in (500, 503)
        answer = server.post(WRITE, ASK)
        assert answer.status == 503 and "start the server anew" in answer.json["error"]["message"]
        assert server.get("/v1/models").status == 200, "the rest is answered"
    finally:
        server.close()


def test_a_model_that_cannot_be_made_ready_costs_one_request(
    server: Running, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    with monkeypatch.context() as patched:
        patched.setattr(RunWriter, "__init__", lambda *given: 1 / 0)
        assert server.post(WRITE, ASK).status == 500
    assert "ZeroDivisionError" in capfd.readouterr().err
    assert server.post(WRITE, ASK).status == 200


def test_nothing_that_was_asked_or_answered_is_logged(server: Running, capfd: pytest.CaptureFixture[str]):
    said = "a-word-that-nobody-else-says"
    for path, body in (
        (WRITE, {**ASK, "prompt": said}),
        (WRITE, {**ASK, said: said}),
        (f"/{said}", {}),
        ("/api/predict/classify-text", {"input": said}),
        (CHAT, {"model": said, "messages": [{"role": "user", "content": said}]}),
    ):
        server.post(path, body)
    server.raw(f"GET /{said}\x1b[2J HTTP/1.1\r\n\r\n".encode())
    heard = capfd.readouterr()
    assert heard.out == heard.err == ""


connected: list[Any] | None = None  # where this process connects to while somebody watches


def watch(event: str, args: tuple[Any, ...]) -> None:
    """Note what would lead out."""
    if connected is not None and event in (
        "socket.connect",
        "socket.getaddrinfo",
        "urllib.Request",
        "http.client.connect",
    ):
        connected.append(args)


sys.addaudithook(watch)


@pytest.mark.parametrize(
    "address",
    ["http://127.0.0.1:1/x.png", "https://evil.test/x", "file:///etc/passwd", "ftp://x/y", "//evil.test/x.png",
     "data:image/png;base64,iVBORw0KGgo=", "data:text/html,x"],
)  # fmt: skip
def test_an_address_is_never_visited(table: RunTable, address: str):
    from helpers.serving import asked

    from weft.web.app import application
    from weft.web.guard import Allowed

    global connected
    app, state = application(table, Allowed(1))
    forms: list[Any] = [
        address,
        {"url": address},
        {"picture": address},
        {"base64": address},
        {"image_url": {"url": address}},
    ]
    talk = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": address}}]}]
    connected = []
    try:
        for form in forms:
            for path in ("/api/predict/classify-images", "/api/look/classify-images", "/api/predict/classify-text"):
                status, body = asked(app, path, json.dumps({"input": form}).encode())
                assert status == 400 or (status == 200 and form == address and path.endswith("text")), body[:200]
        status, _ = asked(app, CHAT, json.dumps({"model": "language-model", "messages": talk}).encode())
        assert status == 400
        assert not connected
    finally:
        connected = None
        state.engine.close()
