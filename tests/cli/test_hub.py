"""Models from the Hub: the real client against a small Hub of this machine's own."""

import hashlib
import json
import shutil
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from helpers.commands import Weft

from weft.interop import Marks, write_folder
from weft.modalities import tokenizer_making
from weft.models.zoo import Size, llama

pytest.importorskip("huggingface_hub")
COMMIT = "0123456789abcdef0123456789abcdef01234567"
UNWANTED = ("pytorch_model.bin", "modeling_own.py", "notes.md", "older/model.safetensors", "onnx/config.json")


class Hub(BaseHTTPRequestHandler):
    """The four answers that a download needs, for one model: its commit, its files, and a file's head and body."""

    protocol_version = "HTTP/1.1"
    folder: Path
    asked: list[str]
    cut: bool  # the weights come in half, and the rest never

    def do_GET(self) -> None:
        if self.path.split("?")[0] == f"/api/models/owner/name/tree/{COMMIT}":
            files = [path for path in sorted(self.folder.rglob("*")) if path.is_file()]
            oids = {path: hashlib.sha1(path.read_bytes()).hexdigest() for path in files}
            listed = [{"type": "file", "oid": oids[path], "size": path.stat().st_size,
                       "path": path.relative_to(self.folder).as_posix()} for path in files]  # fmt: skip
            self.answer(json.dumps(listed).encode())
        elif self.path == "/api/models/owner/name/revision/main":
            self.answer(json.dumps({"id": "owner/name", "sha": COMMIT, "siblings": []}).encode())
        else:
            self.file()

    def do_HEAD(self) -> None:
        self.file()

    def file(self) -> None:
        start, _, name = self.path.partition(f"/resolve/{COMMIT}/")
        if start != "/owner/name":
            self.answer(b"{}", 404, {"X-Error-Code": "RepoNotFound", "X-Error-Message": "Repository not found"})
            return
        if self.command == "GET":
            self.asked.append(name)
        body = (self.folder / name).read_bytes()
        marks = {"ETag": f'"{hashlib.sha1(body).hexdigest()}"', "X-Repo-Commit": COMMIT}
        if self.cut and name.endswith(".safetensors") and self.asked.count(name) > 1:
            self.answer(b"", 503)
        else:
            self.answer(body, 200, marks, half=self.cut and name.endswith(".safetensors"))

    def answer(
        self, body: bytes, status: int = 200, headers: dict[str, str] | None = None, *, half: bool = False
    ) -> None:
        self.send_response(status)
        for key, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(key, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body[: len(body) // 2] if half else body)
        self.close_connection = half

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[tuple[type[Hub], dict[str, str]]]:
    """A Hub with one model, and the environment in which it is the Hub."""
    words = tokenizer_making.train("bpe", ["Do you like tea? Yes, I like tea. " * 20], 280)
    model = llama(Size(dim=16, depth=1, heads=2, context=32), vocab=words.size).build()
    write_folder(tmp_path / "name", model, tokenizer_json=words.to_json(), marks=Marks(eos=(words.end,)))
    served = tmp_path / "served"
    shutil.copytree(tmp_path / "name", served)
    for name in UNWANTED:
        (served / name).parent.mkdir(exist_ok=True)
        (served / name).write_bytes(b"not to be fetched")
    handler = type("Served", (Hub,), {"folder": served, "asked": [], "cut": False})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    env = {"HF_ENDPOINT": f"http://127.0.0.1:{server.server_port}", "HF_HOME": str(tmp_path / "home"),
           "HF_HUB_OFFLINE": "0", "NO_PROXY": "127.0.0.1", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}  # fmt: skip
    try:
        yield handler, env
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.slow
def test_a_model_on_the_hub_becomes_the_run_that_its_folder_becomes(weft: Weft, hub, tmp_path: Path) -> None:
    handler, env = hub
    assert weft("import", "owner/name", "--out", "fetched", env=env).code == 0
    assert weft("import", tmp_path / "name", "--out", "read").code == 0
    assert sorted(handler.asked) == sorted(path.name for path in (tmp_path / "name").iterdir())
    a, b = weft.folder / "fetched", weft.folder / "read"
    for name in ("model.safetensors", "tokenizer.json"):
        assert (a / name).read_bytes() == (b / name).read_bytes()
    first, second = (json.loads((run / "config.json").read_text()) for run in (a, b))
    assert first["imported"].pop("source") == "owner/name" and second["imported"].pop("source").endswith("/name")
    assert first["imported"].pop("commit") == COMMIT
    assert first == second
    handler.asked.clear()
    assert weft("import", "owner/name", "--json", env=env).json["run"] == "runs/name-1"
    assert handler.asked == []


def test_what_cannot_be_fetched_is_told_in_a_sentence(weft: Weft, hub) -> None:
    handler, env = hub
    handler.cut = True
    nobody = {**env, "HF_ENDPOINT": "http://127.0.0.1:9"}  # the port where nobody listens
    for name, where, said in (
        ("owner/other", env, "there is no such model on the Hugging Face Hub"),
        ("owner/name", nobody, "the Hugging Face Hub cannot be reached"),
        ("owner/name", env, "could not be fetched"),
    ):
        done = weft("import", name, "--out", "run", env=where)
        assert done.code == 2 and said in done.err and "Traceback" not in done.err and done.out == ""
        assert not (weft.folder / "run").exists()
    handler.cut = False
    assert weft("import", "owner/name", "--out", "run", env=env).code == 0
