"""Proofs of exports in tests: what other libraries compute comes from forks of one process that has loaded them.

To load torch and transformers takes seconds, each time. The command in a process of its own proves as for users.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from helpers import processes

SERVER = r"""
import contextlib, json, os, runpy, sys, traceback
import numpy, safetensors.torch, torch
with contextlib.suppress(ImportError):  # an extra
    from transformers import AutoImageProcessor, AutoTokenizer, BertForMaskedLM, GPT2LMHeadModel, ViTModel
for line in sys.stdin:
    words, notes = json.loads(line)
    child = os.fork()
    if child == 0:
        code = 1
        file = os.open(notes, os.O_WRONLY | os.O_CREAT, 0o600)
        os.dup2(file, 1)
        os.dup2(file, 2)
        sys.stdout, sys.stderr = (open(n, "w", closefd=False) for n in (1, 2))
        sys.argv = words
        try:
            runpy.run_path(words[0], run_name="__main__")
            code = 0
        except SystemExit as end:
            code = int(bool(end.code))
            print(end.code, file=sys.stderr)
        except BaseException:
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def forked() -> None:
    """From now on, the scripts of proofs run in forks, where the system has them."""
    from weft.interop import proof

    if hasattr(os, "fork"):
        proof.subprocess = SimpleNamespace(run=_run)


@cache
def _server(environment: tuple[tuple[str, str], ...]) -> subprocess.Popen[str]:
    command = [sys.executable, "-I", "-c", SERVER]
    return processes.start(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=dict(environment))


def _run(command: Sequence[str], *, env: dict[str, str], **options: Any) -> subprocess.CompletedProcess[str]:
    """`subprocess.run` of a Python script, captured as text."""
    assert command[:2] == [sys.executable, "-I"] and options == {"capture_output": True, "text": True}
    known = {name: value for name, value in env.items() if not name.startswith("PYTEST_")}
    server = _server(tuple(sorted(known.items())))
    assert server.stdin is not None and server.stdout is not None
    with tempfile.TemporaryDirectory() as place:
        notes = Path(place) / "notes"
        print(json.dumps([list(command[2:]), str(notes)]), file=server.stdin, flush=True)
        code = int(server.stdout.readline())
        said = notes.read_text(errors="replace") if notes.exists() else ""
    return subprocess.CompletedProcess(command, code, "", said)
