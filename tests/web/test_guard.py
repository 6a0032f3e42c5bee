"""Who may ask: raw requests that other pages, other names and broken clients send. Nothing of it reaches a run."""

import sys
import threading
from typing import Any

import pytest
from helpers.serving import Answered, Running, until

from weft.web.guard import HEADERS, Allowed, is_loopback
from weft.web.table import RunTable

ASK = {"input": "Once", "settings": {"max_tokens": 2}}
PATH = "/api/predict/language-model"
TOKEN = "0123456789abcdef"


@pytest.mark.parametrize(
    "host",
    [
        "evil.test",
        "localhost.evil.test:{port}",
        "127.0.0.1.:{port}",
        "2130706433:{port}",
        "127.0.0.1",
        "127.0.0.1:1",
        "127.0.0.1:{port}/healthz?x=",
        "a@127.0.0.1:{port}",
        "[::ffff:127.0.0.1]:{port}",
        "0.0.0.0:{port}",
        " ",
    ],
)
def test_a_host_that_is_not_ours_is_refused(server: Running, host: str):
    for answer in (
        server.get("/healthz", host=host.format(port=server.port)),
        server.post(PATH, ASK, host=host.format(port=server.port)),
    ):
        assert answer.status in (400, 403)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "LOCALHOST"])
def test_names_of_this_machine_are_answered(server: Running, host: str):
    assert server.get("/healthz", host=f"{host}:{server.port}").status == 200


@pytest.mark.parametrize(
    "origin",
    ["null", "http://evil.test", "https://127.0.0.1:{port}", "http://127.0.0.1:1", "http://127.0.0.1", "file://"],
)
def test_pages_of_other_origins_are_refused_without_a_word_to_them(server: Running, origin: str):
    answer = server.post(PATH, ASK, origin=origin.format(port=server.port))
    assert answer.status == 403 and "access-control-allow-origin" not in answer.headers
    assert server.post(PATH, ASK, origin=f"http://127.0.0.1:{server.port}").status == 200


def test_browsers_that_come_from_other_sites_are_refused(server: Running):
    for site in ("cross-site", "same-site", "x"):
        assert server.get("/healthz", sec_fetch_site=site).status == 403
    assert server.get("/healthz", sec_fetch_site="same-origin").status == 200
    assert server.get("/healthz", sec_fetch_site="none").status == 200


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "text/html", ""]
)
def test_bodies_that_any_page_may_send_are_refused(server: Running, kind: str):
    assert server.post(PATH, ASK, content_type=kind).status == 415


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "BREW"])
def test_other_methods_are_refused(server: Running, method: str):
    assert server.ask(method, "/healthz").status in (400, 405)
    assert server.ask("GET", PATH).status == 405


@pytest.mark.parametrize(
    "said",
    [
        b"GET /healthz\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET http://127.0.0.1/healthz HTTP/1.1\r\n{h}\r\n\r\n",
        b"GET /healthz HTTP/1.1\n{h}\n\n",
        b"GET /healthz HTTP/1.1\r\n{h}\r\na: b\r\n c\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\n{h}\r\n{h}\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\n\r\n",
        b"POST /healthz HTTP/1.1\r\n{h}\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab",
        b"POST /healthz HTTP/1.1\r\n{h}\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\n{h}\r\n" + b"x: " + b"y" * 70000 + b"\r\n\r\n",
        b"GET /" + b"y" * 70000 + b" HTTP/1.1\r\n{h}\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\n{h}\r\n" + b"a: b\r\n" * 1000 + b"\r\n",
    ],
)
def test_what_is_no_plain_request_is_refused_and_the_connection_closed(server: Running, said: bytes):
    answer = server.raw(said.replace(b"{h}", b"host: 127.0.0.1:%d" % server.port))
    assert Answered(answer).status in (400, 403, 431)
    assert server.get("/healthz").status == 200


UNDER = ("/", "/page/", "/look/", "/v1/models/", "/api/predict/", "/api/training/")
ASTRAY = (
    "..", "../../../etc/passwd", "..%2f..%2fetc%2fpasswd", "%2e%2e/%2e%2e/etc/passwd", "%252e%252e%252fetc%252fpasswd",
    "..\\..\\etc\\passwd", "..%5c..%5cetc%5cpasswd", "....//....//etc/passwd", "..;/etc/passwd", "/etc/passwd",
    "%2fetc%2fpasswd", "page.js%00.html", "%00", "C:\\Windows\\win.ini", "C%3a%5cWindows%5cwin.ini", "\\\\host\\share",
    "%5c%5chost%5cshare", "%c0%ae%c0%ae%c0%afetc%c0%afpasswd", "%ef%bc%8fetc", "~/.ssh/id_rsa", "*", "index.html",
    "file:///etc/passwd", "page.js/", "page.js/..", "-secret/page.js", "language-model/../../weights",
)  # fmt: skip

opened: list[str] | None = None  # what a server opens while somebody watches
strangers: set[int] = set()  # threads that are not the server's


def watch(event: str, args: tuple[Any, ...]) -> None:
    """Note what is opened and listed."""
    noted = event in ("open", "os.listdir", "os.scandir", "glob.glob")
    if opened is not None and noted and threading.get_ident() not in strangers:
        opened.append(f"{event} {args[0] if args else ''}")


sys.addaudithook(watch)


@pytest.mark.parametrize("under", UNDER)
def test_a_path_leads_to_no_file(server: Running, under: str):
    global opened, strangers
    server.post(f"{under}x", ASK)  # what is loaded once is loaded by now
    strangers = {one.ident or 0 for one in threading.enumerate() if one not in server.threads}
    try:
        for path in (f"{under}{astray}" for astray in ASTRAY):
            opened = []
            said = [server.get(path), server.post(path, ASK)]
            assert not opened, path
            assert all(one.status in (404, 405) and b"root:" not in one.body for one in said), path
    finally:
        opened = None


def test_a_name_beside_a_known_address_is_none(server: Running):
    for path in ("/healthz/", "/page-secret", "/page", "/page/", "/pag", "/page/page.jsx", "/PAGE/page.js", "/look"):
        assert server.get(path).status == 404, path


def test_every_answer_has_the_strict_headers(server: Running):
    for answer in (
        server.get("/healthz"),
        server.get("/nope"),
        server.get("/healthz", host="evil"),
        server.post(PATH, {}),
    ):
        assert {name: answer.headers[name] for name in HEADERS} == HEADERS
        assert answer.headers["cache-control"] == "no-store" and len(answer.body) < 4096
        assert not any(name.startswith("access-control") for name in answer.headers)


def test_a_token_is_asked_for_everywhere_but_where_a_page_begins(table: RunTable):
    server = Running(table, token=TOKEN, names=("weft.test",))
    try:
        for path in ("/api/runs", "/metrics", "/openapi.json"):
            assert server.get(path).status == 401
            assert server.get(path, authorization=f"Bearer {TOKEN}").status == 200
        for said in (TOKEN, f"Basic {TOKEN}", f"Bearer {TOKEN}x", "Bearer ", f"Bearer {TOKEN[:-1]}"):
            assert server.post(PATH, ASK, authorization=said).status == 401
        assert server.post(PATH, ASK, x_api_key=TOKEN).status == 401, "one header, one place"
        assert server.post(f"{PATH}?token={TOKEN}", ASK).status == 401
        assert server.get("/healthz").status == server.get("/readyz").status == 200
        assert server.get("/healthz", host="weft.test", origin="https://weft.test").status == 200
    finally:
        server.close()


def test_which_addresses_are_of_this_machine_alone():
    assert is_loopback("127.0.0.1") and is_loopback("::1") and is_loopback("localhost")
    assert not is_loopback("0.0.0.0") and not is_loopback("10.0.0.1") and not is_loopback("example.org")
    hosts = Allowed(80, "10.0.0.1").hosts({"server": ("10.0.0.1", 80)})
    assert {"10.0.0.1", "10.0.0.1:80", "localhost"} <= hosts and "0.0.0.0" not in hosts


def test_a_request_that_does_not_come_in_is_ended_while_others_are_answered(table: RunTable):
    server = Running(table, seconds=0.5)
    try:
        slow = [b"", b"GET /healthz HT", server.request("POST", PATH, ASK, None)[:-4]]
        for said in slow:
            with server.connected() as made:
                made.sendall(said)
                took = until(lambda made=made: made.recv(9) or True)
                assert took < 2
                assert server.get("/healthz").status == 200
    finally:
        server.close()
