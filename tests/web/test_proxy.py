"""nginx in front of two servers, by the configuration in docs/serving.md."""

import contextlib
import re
import shutil
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.processes import start
from helpers.serving import Answered, Running, read_all, read_until, until

from weft.web.table import RunTable

DOCS = Path(__file__).parents[2] / "docs" / "serving.md"
NGINX = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")
NAME, WRITE = "weft.example.org", "/v1/completions"
ASK: dict[str, Any] = {"model": "language-model", "prompt": "Once", "max_tokens": 8, "seed": 1}
LONG = {**ASK, "max_tokens": 200_000, "stream": True}

pytestmark = pytest.mark.skipif(NGINX is None, reason="nginx is not installed")


def configured(port: int, replicas: list[int], home: Path) -> str:
    """The configuration of the page, at a port of loopback without TLS, for these replicas."""
    (block,) = re.findall(r"```nginx\n(.*?)```", DOCS.read_text(), re.DOTALL)
    block = re.sub(r"\n *ssl_certificate.*", "", block.replace("listen 443 ssl;", f"listen 127.0.0.1:{port};"))
    for known, real in zip(("8001", "8002"), replicas, strict=True):
        assert block.count(f"127.0.0.1:{known} ") == 1
        block = block.replace(f"127.0.0.1:{known} ", f"127.0.0.1:{real} ")
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    places = "".join(f"{kind}_temp_path {home / kind};" for kind in kinds)
    return f"pid {home / 'pid'}; daemon off; master_process off; error_log {home / 'errors'}; events {{}}\n" + (
        f"http {{ access_log off; {places}\n{block}}}\n"
    )


@contextlib.contextmanager
def proxied(home: Path, replicas: list[Running]) -> Iterator[Callable[[bytes], socket.socket]]:
    """nginx before some servers; what opens a connection to it and says something."""
    assert NGINX is not None
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (home / "nginx.conf").write_text(configured(port, [one.port for one in replicas], home))
    process = start([NGINX, "-p", home, "-e", home / "errors", "-c", home / "nginx.conf"])

    def said(words: bytes) -> socket.socket:
        made = socket.create_connection(("127.0.0.1", port), timeout=20)
        made.sendall(words)
        return made

    try:
        until(lambda: (home / "pid").exists())
        yield said
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)


def test_two_replicas_behind_nginx_stream_and_end_one_after_the_other(table: RunTable, tmp_path: Path):
    replicas = [Running(table, names=(NAME,)) for _ in range(2)]
    first = replicas[0]
    headers = {"host": NAME, "origin": f"https://{NAME}"}
    try:
        with proxied(tmp_path, replicas) as said:

            def ask(method: str, path: str, body: Any = None) -> Answered:
                with contextlib.closing(said(first.request(method, path, body, headers))) as made:
                    return Answered(read_all(made))

            known = first.post(WRITE, ASK).json["choices"]
            assert all(ask("POST", WRITE, ASK).json["choices"] == known for _ in range(4))
            assert all(one.metric("weft_tokens_total") > 0 for one in replicas), "both are asked"
            assert ask("GET", "/readyz").status == 200 and ask("GET", "/").status == 200
            assert ask("POST", WRITE, {**ASK, "stream": True}).events[-1] == "[DONE]"
            with contextlib.ExitStack() as kept:
                streams = [said(first.request("POST", WRITE, LONG, headers)) for _ in replicas]
                for made in streams:
                    kept.enter_context(made)
                    read_until(made, b"data: ")  # events come while more are written
                until(lambda: not any(one.state.engine.idle for one in replicas))  # nginx has no reason to prefer one
                first.server.handle_exit(signal.SIGTERM, None)
                assert first.get("/readyz").status == 503
                for _ in range(6):
                    assert ask("POST", WRITE, ASK).json["choices"] == known, "the other one answers"
                assert not first.state.engine.idle, "its stream goes on"
            for one in replicas:
                until(lambda one=one: one.state.engine.idle)  # a client that leaves nginx ends the work
    finally:
        for one in replicas:
            one.close()


def test_replicas_that_were_full_are_asked_again_at_once(table: RunTable, tmp_path: Path):
    replicas = [Running(table, names=(NAME,), rows=1, waiting=1) for _ in range(2)]
    headers = {"host": NAME, "origin": f"https://{NAME}"}
    try:
        with proxied(tmp_path, replicas) as said:

            def ask() -> int:
                with contextlib.closing(said(replicas[0].request("POST", WRITE, ASK, headers))) as made:
                    return Answered(read_all(made)).status

            with contextlib.ExitStack() as kept:
                for one in replicas:
                    for _ in range(2):  # one that is written, one that waits
                        made = kept.enter_context(one.connected())
                        made.sendall(one.request("POST", WRITE, {**LONG, "max_tokens": 100_000}, headers))
                        until(lambda one=one: one.state.engine._writers)
                    until(lambda one=one: one.state.engine.full)
                assert [ask() for _ in range(3)] == [429, 429, 429]
            for one in replicas:
                until(lambda one=one: one.state.engine.idle)
            assert [ask() for _ in range(3)] == [200, 200, 200]
    finally:
        for one in replicas:
            one.close()
