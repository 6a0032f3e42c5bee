"""`weft serve` as a command: it says where it is, ends by signals, and names what it lacks."""

import json
import signal
import sys
import urllib.request
from pathlib import Path

import pytest
from helpers import processes
from helpers.commands import Weft

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
