"""`weft serve` as a command: it says where it is, ends by signals, and names what it lacks."""

import json
import shutil
import signal
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from helpers import processes
from helpers.commands import Weft

from weft.storage.lock import RunLock
from weft.web.beside import Companion

FINISHED = Path(__file__).parents[1] / "fixtures" / "finished"
NO_EXTRA = """
import importlib.util as util
find = util.find_spec
util.find_spec = lambda name, *more: None if name == "uvicorn" else find(name, *more)
"""


def test_without_its_extra_the_command_says_what_to_install(weft: Weft):
    done = weft("serve", str(FINISHED / "translate"), before=NO_EXTRA)
    assert done.code == 2 and "pip install 'weft[serve]'" in done.err


def test_the_command_line_loads_nothing_of_the_extra_before_it_serves():
    code = "import sys, weft.cli.app; print(*({'starlette', 'uvicorn', 'h11', 'anyio'} & set(sys.modules)))"
    assert not processes.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()


def test_it_serves_until_a_signal_lets_it_finish(weft: Weft):
    pytest.importorskip("starlette")
    pytest.importorskip("uvicorn")
    job = weft.start("serve", str(FINISHED / "translate"), "--port", "0")
    job.until(lambda: job.err.exists() and "serving at" in job.err.read_text())
    address = job.err.read_text().split("serving at ")[1].split()[0]
    with urllib.request.urlopen(f"{address}api/runs") as answer:
        assert [one["name"] for one in json.load(answer)["runs"]] == ["translate"]
    job.signal(signal.SIGTERM)
    assert job.wait().code == 0


def test_what_cannot_be_served_is_refused_in_words(weft: Weft):
    pytest.importorskip("starlette")
    pytest.importorskip("uvicorn")
    run = str(FINISHED / "translate")
    assert "did you mean" in weft.refused_here("serve", run[:-1])
    assert "--port" in weft.refused_here("serve", run, "--port", "99999")
    assert "16 characters" in weft.refused_here("serve", run, "--token", "short")
    assert "int8" in weft.refused_here("serve", run, "--precision", "int3")


@pytest.mark.slow
def test_a_run_that_is_watched_has_the_bits_of_one_that_is_not(weft: Weft, tmp_path: Path):
    pytest.importorskip("starlette")
    pytest.importorskip("uvicorn")
    words = ["--task", "language-model", "--preset", "tiny", "--steps", "40", "--set", "checkpoint_every=10"]
    words += ["--set", "baselines=false"]
    assert weft("train", *words, "--out", str(tmp_path / "plain")).code == 0
    job = weft.start("train", *words, "--out", str(tmp_path / "watched"), "--watch")
    done = job.wait()
    assert done.code == 0
    one, other = (tmp_path / name / "model.safetensors" for name in ("plain", "watched"))
    assert one.read_bytes() == other.read_bytes()


@pytest.mark.slow
def test_a_page_beside_a_run_shows_it_and_ends_with_its_parent(tmp_path: Path):
    pytest.importorskip("starlette")
    pytest.importorskip("uvicorn")
    run = shutil.copytree(Path(__file__).parents[1] / "fixtures" / "runs" / "language-model" / "begun", tmp_path / "it")
    said: list[str] = []
    with RunLock(run):
        companion = Companion(run, said.append)
        try:
            deadline = time.monotonic() + 300
            while not said and time.monotonic() < deadline:
                time.sleep(0.05)
            with urllib.request.urlopen(f"{companion.address}api/training") as answer:
                assert json.load(answer)["training"] == [{"name": "it", "state": "training"}]
        finally:
            companion.close()
    with pytest.raises(OSError):
        urllib.request.urlopen(f"{companion.address}healthz", timeout=20)
    assert len(said) == 1 and "http://127.0.0.1:" in said[0], "it ends without a word"


def test_a_sweep_is_not_watched(weft: Weft):
    pytest.importorskip("starlette")
    said = weft.refused_here("train", "--task", "language-model", "--set", "lr=1e-3,2e-3", "--watch")
    assert "weft serve FOLDER" in said
