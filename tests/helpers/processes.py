"""Processes that tests start: they begin with the signals of a fresh login, whatever the shell of the tests ignores.

A shell starts `nohup make test &` with SIGHUP and SIGINT ignored, and what is ignored stays so in every child. A test
that sends a signal would wait for nothing.
"""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_RESTORED = ("SIGINT", "SIGHUP", "SIGTERM", "SIGPIPE", "SIGXFSZ")  # Python itself ignores the last two
_AFRESH = f"""
import os, signal, sys
for name in {_RESTORED!r}:
    signal.signal(getattr(signal, name), signal.SIG_DFL)
os.execvp(sys.argv[1], sys.argv[1:])
"""


def afresh(command: Sequence[str | Path]) -> list[str]:
    """The command, to be started with the default handling of signals; the process is the command's own."""
    return [sys.executable, "-I", "-S", "-c", _AFRESH, *map(str, command)]


def start(command: Sequence[str | Path], **options: Any) -> subprocess.Popen:
    """`subprocess.Popen` of a command, with the default handling of signals."""
    return subprocess.Popen(afresh(command), **options)


def run(command: Sequence[str | Path], **options: Any) -> subprocess.CompletedProcess:
    """`subprocess.run` of a command, with the default handling of signals."""
    return subprocess.run(afresh(command), **options)
