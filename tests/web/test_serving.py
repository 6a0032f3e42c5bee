"""Runs over HTTP: what is asked is answered as in Python, limits hold, work ends when a client leaves."""

import base64
import gc
import io
import json
import re
import socket
import threading
import time

import numpy as np
import pytest
from helpers.serving import FINISHED, Answered, Running, read_all, until
from PIL import Image

from weft.core.changes import Without
from weft.web.table import RunTable

WRITE = "/api/predict/language-model"
LONG = {"input": "Once", "settings": {"max_tokens": 200_000}}


def picture() -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(np.arange(192, dtype=np.uint8).reshape(8, 8, 3)).save(buffer, "PNG")
    return buffer.getvalue()


def test_answers_are_those_of_python(server: Running, table: RunTable):
    for name, text in (("language-model", "Once"), ("classify-text", "the soup was fine"), ("translate", "The dog.")):
        settings = {"max_tokens": 8} if name != "classify-text" else {}
        known = table[name].run.predict([text, "x"], **settings)
        found = server.post(f"/api/predict/{name}", {"inputs": [text, "x"], "settings": settings}).json
        assert [{k: v for k, v in one.items() if k != "number"} for one in found["predictions"]] == known
        assert found["run"] == name and found["task"] == table[name].run.task.name


def test_a_picture_is_bytes_pixels_or_a_body(server: Running, table: RunTable):
    path, known = (
        "/api/predict/classify-images",
        table["classify-images"].run.predict(np.arange(192, dtype=np.uint8).reshape(8, 8, 3))[0]["label"],
    )
    pixels = np.arange(192).reshape(8, 8, 3).tolist()
    said = base64.b64encode(picture()).decode()
    answers = [
        server.post(path, {"input": {"pixels": pixels}}),
        server.post(path, {"input": {"base64": said}}),
        server.ask("POST", path, picture(), {"content-type": "image/png"}),
    ]
    assert [one.json["predictions"][0]["label"] for one in answers] == [known] * 3
    assert server.post(path, {"input": {"base64": "?"}}).status == 400
    assert server.ask("POST", WRITE, picture(), {"content-type": "image/png"}).status == 415


def test_text_streams_and_ends_with_all_of_it(server: Running, table: RunTable):
    events = server.post(WRITE, {"input": "Once", "stream": True, "settings": {"max_tokens": 40}}).events
    known = table["language-model"].run.predict("Once", max_tokens=40)[0]["text"]
    assert "".join(one["text"] for one in events[:-1]) == events[-1]["predictions"][0]["text"] == known
    assert len(events) > 2
    assert server.post("/api/predict/classify-text", {"input": "x", "stream": True}).status == 400


def test_the_runs_say_what_they_ask_for_and_the_description_names_all_routes(server: Running, table: RunTable):
    runs = {one["name"]: one for one in server.get("/api/runs").json["runs"]}
    assert set(runs) == set(table) and runs["classify-images"]["asks"][0]["kind"] == "picture"
    settings = {one["name"]: one for one in runs["language-model"]["settings"]}
    assert settings["temperature"]["type"] == "number" and "schema" not in settings
    paths = server.get("/openapi.json").json["paths"]
    assert {f"/api/predict/{name}" for name in table} <= set(paths)
    for path, methods in paths.items():
        found = server.get(path) if "get" in methods else server.post(path, {"model": "?"})
        assert found.status in (200, 400) or found.json["error"]["param"] == "model", path
    assert server.get("/readyz").json == {"status": "ready"}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"input": "a", "input": "b"}',
        b'{"input": NaN}',
        b'{"input": "\\ud800"}',
        b'\xef\xbb\xbf{"input": "a"}',
        b'{"input": "a"} x',
        b'{"input": ' + b"9" * 5000 + b"}",
        b"[" * 20000,
        b'{"input": ' + b"[" * 100 + b"]" * 100 + b"}",
        b'{"input": "\xff"}',
        '{"input": "a"}'.encode("utf-16"),
        b'{"input": 1}',
        b'{"input": null}',
        b'{"inputs": []}',
        b'{"inputs": "a"}',
        b'{"input": "a", "inputs": ["b"]}',
        b'{"input": "a", "setings": {}}',
        b'{"input": "a", "settings": []}',
        b'{"input": "a", "stream": 1}',
        b'{"input": "a", "settings": {"max_tokens": 1e9}}',
        b'{"input": "a", "settings": {"max_tokens": -1}}',
        b'{"input": "a", "settings": {"max_tokens": 1000000000000}}',
        b'{"input": "a", "settings": {"samples": 1000000}}',
        b'{"input": "a", "settings": {"temperature": -1}}',
        b'{"input": "a", "settings": {"schema": "/etc/passwd"}}',
        b'{"input": "a", "settings": {"encoding": "x"}}',
        b'{"input": "a", "settings": {"": 1}}',
    ],
)
def test_a_body_that_is_not_understood_is_refused_in_a_few_words(server: Running, body: bytes):
    answer = server.ask("POST", WRITE, body)
    assert answer.status == 400 and len(answer.body) < 1000 and answer.json["error"]["message"]


def test_a_refusal_says_where_and_what_to_do(server: Running):
    error = server.post(WRITE, {"input": "a", "settings": {"temprature": 1}}).json["error"]
    assert "temperature" in error["message"] and error["type"] == "invalid_request_error"
    error = server.post("/api/predict/languag-model", {"input": "a"}).json["error"]
    assert "language-model" in error["message"] and error["type"] == "not_found_error"


def test_a_bad_input_costs_itself(server: Running):
    path = "/api/predict/classify-images"
    good, bad = {"base64": base64.b64encode(picture()).decode()}, {"pixels": [[[1, 2]]]}
    found = server.post(path, {"inputs": [good, bad, good]}).json["predictions"]
    assert ["error" in one for one in found] == [False, True, False] and [one["number"] for one in found] == [0, 1, 2]


def test_of_several_inputs_each_that_is_none_has_its_own_error(server: Running):
    path, texts = "/api/predict/translate", ["The dog.", 5, "", None, {"text": "x"}, "The horse."]
    settings = {"max_tokens": 8}
    found = server.post(path, {"inputs": texts, "settings": settings}).json["predictions"]
    assert [one["number"] for one in found] == list(range(6))
    assert ["error" in one for one in found] == [False, True, False, True, True, False]
    assert found[1]["error"]["param"] == "input 2" and "a text" in found[1]["error"]["message"]
    known = server.post(path, {"inputs": ["The dog.", "", "The horse."], "settings": settings}).json["predictions"]
    assert [one["text"] for one in found if "text" in one] == [one["text"] for one in known]
    pictures = [{"base64": "?"}, {"base64": base64.b64encode(picture()).decode()}, 5, {"pixels": [[[300]]]}, {"x": 1}]
    found = server.post("/api/predict/classify-images", {"inputs": pictures}).json["predictions"]
    assert ["error" in one for one in found] == [True, False, True, True, True]
    events = server.post(WRITE, {"inputs": [5, "Once"], "stream": True, "settings": {"max_tokens": 8}}).events
    assert {one["number"] for one in events[:-1]} == {1} and "error" in events[-1]["predictions"][0]
    for alone in ({"input": 5}, {"inputs": [5]}):
        assert server.post(path, alone).json["error"]["param"] == "input 1"


def test_long_and_compressed_bodies_are_refused_before_they_are_read(table: RunTable):
    server = Running(table, body=1000)
    try:
        head = server.request("POST", WRITE, b"", {"content-length": str(2**30)})
        assert Answered(server.raw(head)).status == 413
        chunked = server.request("POST", WRITE, b"", {"content-length": "", "transfer-encoding": "chunked"})
        assert Answered(server.raw(chunked + (b"400\r\n" + b"x" * 1024 + b"\r\n") * 50)).status == 413
        assert server.ask("POST", WRITE, b"x" * 2000).status == 413
        assert server.post(WRITE, {"input": "a"}, content_encoding="gzip").status == 415
    finally:
        server.close()


def test_what_finds_no_room_in_the_queue_is_refused_and_the_rest_answered(table: RunTable):
    server = Running(table, waiting=2, tokens=2**18)
    try:
        with server.connected() as busy:
            busy.sendall(server.request("POST", WRITE, LONG, None))
            until(lambda: not server.state.engine.idle)
            assert server.post(WRITE, LONG).status == 429, "the tokens of both are too many"
            assert server.post(WRITE, {**LONG, "settings": {"max_tokens": 300_000}}).status == 400, (
                "there is never room"
            )
            statuses: list[int] = []
            small = {"input": "a", "settings": {"max_tokens": 1}}
            threads = [
                threading.Thread(target=lambda: statuses.append(server.post(WRITE, small).status)) for _ in range(5)
            ]
            for one in threads:
                one.start()
            until(lambda: statuses.count(429) == 3)
            answer = server.post(WRITE, small)
            assert answer.status == 429 and int(answer.headers["retry-after"]) > 0
        for one in threads:
            one.join()
        assert sorted(statuses) == [200, 200, 429, 429, 429], "who waited is answered once the other has left"
    finally:
        server.close()


@pytest.mark.parametrize("stream", [False, True])
def test_work_ends_soon_after_its_client_has_left(server: Running, stream: bool, capfd: pytest.CaptureFixture[str]):
    for _ in range(3):
        before = server.metric("weft_left_total")
        with server.connected() as made:
            made.sendall(server.request("POST", WRITE, {**LONG, "stream": stream}, None))
            until(lambda: not server.state.engine.idle)
            time.sleep(0.02)
        assert until(lambda: server.state.engine.idle) < 0.5
        assert server.metric("weft_left_total") == before + 1
    gc.collect()
    assert capfd.readouterr().err == "", "it is no fault"


def test_a_client_that_does_not_read_holds_neither_work_nor_memory(table: RunTable):
    server = Running(table, unsent=500)
    try:
        server.bound.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2048)
        with server.connected() as made:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            made.sendall(server.request("POST", WRITE, {**LONG, "stream": True}, None))
            until(lambda: not server.state.engine.idle)
            until(lambda: server.state.engine.idle)
        assert server.metric("weft_left_total") == 1
    finally:
        server.close()


def test_a_fault_is_told_by_a_number_alone_and_the_next_request_is_answered(
    server: Running, table: RunTable, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    with monkeypatch.context() as patched:
        patched.setattr(type(table["classify-text"].run.task), "predict", lambda *given: 1 / 0)
        answer = server.post("/api/predict/classify-text", {"input": "secret"})
    message = answer.json["error"]["message"]
    assert answer.status == 500 and "ZeroDivision" not in message and "secret" not in message
    assert message.split("number ")[1][:12] in capfd.readouterr().err
    assert server.post("/api/predict/classify-text", {"input": "a"}).status == 200


def test_several_requests_on_one_connection_are_answered_in_order(server: Running):
    said = server.request("POST", WRITE, {"input": "a", "settings": {"max_tokens": 1}}, {"connection": ""})
    last = server.request("GET", "/healthz", None, None)
    assert server.raw(said + said + last).count(b"HTTP/1.1 200") == 3


def test_requests_that_are_alike_are_computed_together(table: RunTable, monkeypatch: pytest.MonkeyPatch):
    server = Running(table)
    try:
        with server.connected() as busy:
            busy.sendall(server.request("POST", WRITE, LONG, None))
            until(lambda: not server.state.engine.idle)
            found: list[Answered] = []
            ask = {"input": "the soup was fine"}
            threads = [
                threading.Thread(target=lambda: found.append(server.post("/api/predict/classify-text", ask)))
                for _ in range(6)
            ]
            for one in threads:
                one.start()
            until(lambda: server.metric("weft_queue") == 6)
        for one in threads:
            one.join()
        assert {one.status for one in found} == {200} and len({json.dumps(one.json) for one in found}) == 1
        assert server.metric("weft_batch_rows_count") == 2 and server.metric("weft_batch_rows_sum") == 7
    finally:
        server.close()


def test_two_runs_of_one_name_and_a_run_that_is_not_there():
    from weft.errors import WeftError

    twice = RunTable.of([FINISHED / "translate", FINISHED / "translate"])
    assert list(twice) == ["translate", "finished-translate"]
    assert set(RunTable.of([FINISHED])) >= {"language-model", "translate"}
    with pytest.raises(WeftError, match="did you mean"):
        RunTable.of([FINISHED / "translat"])


def test_nothing_of_a_request_is_read_after_the_server_closed_its_side(server: Running):
    with server.connected() as made:
        made.sendall(server.request("GET", "/healthz", None, None))
        assert Answered(read_all(made)).status == 200


def test_the_page_is_a_fixed_set_of_files_without_any_address_of_others(server: Running):
    page = server.get("/")
    assert page.status == 200 and page.headers["content-type"].startswith("text/html")
    named = re.findall(r'(?:src|href)="([^"]+)"', page.body.decode())
    assert set(named) - {"data:,"} == {"/page/page.css", "/page/page.js"}
    for name in set(named) - {"data:,"}:
        found = server.get(name)
        assert found.status == 200 and b"http" not in found.body and b"innerHTML" not in found.body
    assert server.get("/page/index.html").status == 404


def test_what_a_model_does_inside_is_a_page_that_reaches_nothing(server: Running):
    report = server.post("/api/look/translate", {"input": "The dog."}).json
    page = server.get(report["page"])
    assert page.status == 200 and page.body.startswith(b"<!doctype html>") and report["text"]
    assert page.headers["content-security-policy"].startswith("sandbox allow-scripts")
    assert server.get("/look/x").status == 404
    assert server.post("/api/look/translate", {"input": "The dog."}, accept="text/html").body[:9] == b"<!doctype"
    assert server.post("/api/look/translate", {"input": "a", "settings": {"encoding": "x"}}).status == 400
    assert server.post("/api/look/translate", {"input": {"path": "/etc/passwd"}}).status == 400


def test_a_look_takes_a_picture_as_a_body(server: Running):
    path, as_bytes = "/api/look/classify-images", {"content-type": "image/png"}
    known = server.post(path, {"input": {"base64": base64.b64encode(picture()).decode()}}).json
    found = server.ask("POST", path, picture(), as_bytes)
    assert found.status == 200 and found.json["text"] == known["text"]
    assert server.get(found.json["page"]).body == server.get(known["page"]).body
    assert server.ask("POST", path, picture(), {**as_bytes, "accept": "text/html"}).body[:9] == b"<!doctype"
    refused = server.ask("POST", path + "?setting=1", picture(), as_bytes)
    assert refused.status == 400 and "unknown setting" in refused.json["error"]["message"]
    assert server.ask("POST", "/api/look/translate", picture(), as_bytes).status == 415


def test_changes_of_a_model_hold_for_one_request(server: Running, table: RunTable):
    path, run = "/api/predict/classify-text", table["classify-text"].run
    change, ask = Without(1, branch="transform"), {"input": "the soup was fine"}
    with run.changed(change):
        known = run.predict(ask["input"])[0]["probabilities"]
    found = server.post(path, {**ask, "changes": [change.to_json()]}).json["predictions"][0]["probabilities"]
    plain = server.post(path, ask).json["predictions"][0]["probabilities"]
    assert found == known != plain == run.predict(ask["input"])[0]["probabilities"]
    named = {**change.to_json(), "type": "Replaced", "of": "/etc/passwd"}
    for bad in ([named], [{"type": "X"}], [1], [{**change.to_json(), "layer": 99}], [change.to_json()] * 100):
        assert server.post(path, {**ask, "changes": bad}).status == 400
