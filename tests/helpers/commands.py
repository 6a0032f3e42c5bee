"""The `weft` command in processes of its own, as fast as a fork: a server loads the libraries once and never computes.

    weft = Weft(folder)                     # runs in that folder
    done = weft("train", "book.txt")        # waits; done.code, done.out, done.err, done.json
    job = weft.start("train", "book.txt")   # does not wait; job.signal(), job.wait()

`before` is Python code that the process runs ahead of the command, to stop it at a chosen place.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from helpers import processes
from weft.cli.app import run as command

WEFT = Path(sys.executable).with_name("weft")
LOOK, PATIENCE = 0.005, 20_000  # seconds between looks at a process, and looks after which it is given up

SERVER = r"""
import json, os, signal, sys, traceback
os.environ["OMP_NUM_THREADS"] = "1"
os.fsync = lambda file: None  # see disks.py
import torch
torch.set_num_threads(1)
import weft.cli.app, weft.runs.training, weft.domains.texts.language_model, weft.domains.pairs.translate
import weft.inspect.curves
import matplotlib.pyplot, torch._dynamo, torch.distributed.fsdp, torch.distributed.device_mesh, rich.progress
import contextlib, gc, io
with contextlib.redirect_stdout(io.StringIO()):
    weft.cli.app.run(["tasks"])  # loads what typer loads late
weft.domains.texts.language_model.SAMPLE = 20
weft.runs.training.loss_curve = lambda *args, **more: b"a picture"
gc.collect()
gc.freeze()
for line in sys.stdin:
    order = json.loads(line)
    if "wait" in order:
        pid, status = os.waitpid(order["wait"], os.WNOHANG)
        print(json.dumps(None if pid == 0 else os.waitstatus_to_exitcode(status)), flush=True)
        continue
    pid = os.fork()
    if pid:
        print(json.dumps(pid), flush=True)
        continue
    code = 99
    try:
        os.setsid()
        os.chdir(order["folder"])
        os.environ.update(order["env"])
        for number, name in ((0, os.devnull), (1, order["out"]), (2, order["err"])):
            file = os.open(name, os.O_RDWR | os.O_CREAT, 0o600)
            os.dup2(file, number)
            os.close(file)
        sys.stdin, sys.stdout, sys.stderr = (open(n, m, closefd=False) for n, m in ((0, "r"), (1, "w"), (2, "w")))
        exec(order["before"], {})
        code = weft.cli.app.run(order["words"])
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError, AttributeError):
                pass
        os._exit(code)
"""


@cache
def _server() -> subprocess.Popen[str]:
    return processes.start([sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _ask(order: dict[str, Any]) -> Any:
    server = _server()
    assert server.stdin is not None and server.stdout is not None
    server.stdin.write(json.dumps(order) + "\n")
    server.stdin.flush()
    return json.loads(server.stdout.readline())


@dataclass(frozen=True)
class Done:
    """How a command ended. A code below zero is the signal that killed it."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The one object on stdout, and nothing else there."""
        assert self.out.count("\n") == 1, self.out
        data = json.loads(self.out)
        assert isinstance(data, dict)
        return data


class Job:
    """A command under way."""

    def __init__(self, pid: int, out: Path, err: Path):
        self.pid, self.out, self.err = pid, out, err
        self.code: int | None = None

    def signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def running(self) -> bool:
        if self.code is None:
            self.code = _ask({"wait": self.pid})
        return self.code is None

    def until(self, happened: Any) -> None:
        """Wait for something to become true while the command runs."""
        for _ in range(PATIENCE):
            if happened():
                return
            assert self.running(), self.err.read_text()
            time.sleep(LOOK)
        raise AssertionError("it did not happen")

    def wait(self) -> Done:
        for _ in range(PATIENCE):
            if not self.running():
                break
            time.sleep(LOOK)
        if self.code is None:
            os.kill(self.pid, signal.SIGKILL)
            raise AssertionError(f"the command did not end: {self.err.read_text()}")
        return Done(self.code, self.out.read_text(errors="replace"), self.err.read_text(errors="replace"))


class Weft:
    """The command in a folder."""

    def __init__(self, folder: Path, notes: Path):
        self.folder, self.notes, self.count = folder, notes, 0

    def start(self, *words: str | Path, before: str = "", env: dict[str, str] | None = None) -> Job:
        self.count += 1
        out, err = self.notes / f"out-{self.count}", self.notes / f"err-{self.count}"
        order = {"words": list(map(str, words)), "folder": str(self.folder), "out": str(out), "err": str(err)}
        return Job(_ask({**order, "before": before, "env": env or {}}), out, err)

    def __call__(self, *words: str | Path, before: str = "", env: dict[str, str] | None = None) -> Done:
        return self.start(*words, before=before, env=env).wait()

    def here(self, *words: str | Path) -> Done:
        """The command in this process, which is enough for one that is refused before it computes."""
        self.count += 1
        names = self.notes / f"out-{self.count}", self.notes / f"err-{self.count}"
        with contextlib.ExitStack() as stack:
            out, err = (stack.enter_context(name.open("w+", errors="replace")) for name in names)
            stack.enter_context(pytest.MonkeyPatch.context()).setattr(
                sys, "stdin", stack.enter_context(open(os.devnull))
            )
            for change in (
                contextlib.chdir(self.folder),
                contextlib.redirect_stdout(out),
                contextlib.redirect_stderr(err),
            ):
                stack.enter_context(change)
            code = command(list(map(str, words)))
        return Done(code, *(name.read_text(errors="replace") for name in names))

    def refused(self, *words: str | Path, before: str = "", code: int = 2) -> str:
        """Run a command that must be refused: no traceback, nothing on stdout, nothing left behind; returns stderr."""
        return self._message(lambda: self(*words, before=before), code)

    def refused_here(self, *words: str | Path) -> str:
        """The same in this process, which is faster."""
        return self._message(lambda: self.here(*words), code=2)

    def _message(self, run: Callable[[], Done], code: int) -> str:
        found = sorted(self.folder.rglob("*"))
        done = run()
        assert done.code == code, (done.code, done.err)
        assert "Traceback" not in done.err and "\nweft: " in "\n" + done.err, done.err
        assert done.out == ""
        assert sorted(self.folder.rglob("*")) == found, "something was left behind"
        return done.err


SENTENCES = "The weaver carries a thread across the loom, row after row, and sings of the sea. "


def text(characters: int = 4000) -> str:
    """A text with some variety, the same every time."""
    words = SENTENCES.split()
    state, made = 1, []
    while sum(map(len, made)) < characters:
        state = state * 1103515245 + 12345 & 0x7FFFFFFF
        made.append(words[(state >> 8) % len(words)] + ("\n" if state % 11 == 0 else " "))
    return "".join(made)[:characters]


TINY = ("--set", "dim=16", "--set", "depth=2", "--set", "heads=2", "--set", "context=16", "--set", "batch=4",
        "--set", "precision=fp32", "--set", "baselines=false")  # fmt: skip
TINY_SETTINGS = {
    "dim": 16, "depth": 2, "heads": 2, "context": 16, "batch": 4, "precision": "fp32", "baselines": False,
}  # fmt: skip


@pytest.fixture
def weft(tmp_path: Path) -> Iterator[Weft]:
    """The command, in a folder with a small book."""
    folder, notes = tmp_path / "work", tmp_path / "notes"
    folder.mkdir()
    notes.mkdir()
    (folder / "book.txt").write_text(text())
    yield Weft(folder, notes)


def lines(run: Path) -> list[dict[str, Any]]:
    """The metrics of a run."""
    path = run / "metrics.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
