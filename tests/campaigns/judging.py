"""A folder is used in a child process with bounded memory and time, and how that ended is judged.

Used in peace, or refused by a `WeftError` that names a file and is short: anything else is a miss, above all another
exception, a crash, a hang, and hunger for memory.
"""

import contextlib
import gc
import json
import os
import resource
import select
import signal
import time
import traceback
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any

from weft import machine
from weft.errors import WeftError

SECONDS = 60  # of computing after which a child is taken to hang
PATIENCE = 600  # seconds after which a child that does not compute is taken to hang, however busy the machine is
MEMORY = 3 * 2**30  # bytes that a child may ask for beyond what its parent has
LONGEST = 1500  # characters of a message
WORKS = "works"

Verdict = str  # WORKS, "refused", or what was wrong


def judged(
    use: Callable[[], Any], names: Collection[str], place: Path, *, seconds: float = SECONDS, memory: int = MEMORY
) -> Verdict:
    """How the use of a folder ended; a refusal must name one of these files. The child works in the folder `place`."""
    told, ending = _in_child(use, place, seconds, memory)
    if told is None:
        return ending
    kind, text = told["kind"], told["text"]
    if kind == "works":
        return WORKS
    if kind == "other":
        return f"untyped: {text[-600:]}"
    if len(text) > LONGEST:
        return f"a message of {len(text)} characters: {text[:200]}"
    if not any(name in text for name in names):
        return f"no file is named: {text}"
    return "refused"


def _in_child(use: Callable[[], Any], place: Path, seconds: float, memory: int) -> tuple[dict[str, str] | None, str]:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        os.chdir(place)
        _use(use, writing, memory)
    os.close(writing)
    try:
        found, begun = b"", time.monotonic()
        while True:
            if select.select([reading], [], [], 1.0)[0]:
                part = os.read(reading, 65536)
                if not part:
                    break
                found += part
            elif _computed(child) > seconds or time.monotonic() - begun > PATIENCE:
                os.kill(child, signal.SIGKILL)
                return None, f"hangs: no end after {_computed(child):.0f} seconds of computing"
    finally:
        os.close(reading)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return (json.loads(found), "") if found else (None, f"crashed with the exit code {code}")


def _computed(child: int) -> float:
    """Seconds of a processor that a child has used."""
    behind_name = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, behind_name[11:13])) / os.sysconf("SC_CLK_TCK")


def _use(use: Callable[[], Any], writing: int, memory: int) -> None:
    """Never returns."""
    gc.disable()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + memory
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    machine.memory.cache_clear()
    quiet = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(quiet, stream)
    kind, text = "works", ""
    try:
        use()
    except WeftError as error:
        kind, text = "refused", str(error)
    except BaseException as error:
        where = "".join(traceback.format_tb(error.__traceback__)[-3:])
        kind, text = "other", f"{where}{type(error).__name__}: {str(error)[:300]}"
    os.write(writing, json.dumps({"kind": kind, "text": text}).encode())
    os._exit(0)


def warm(uses: Iterable[Callable[[], Any]], place: Path) -> None:
    """Use what is whole, once, before any child is made: it has to work, and loads what every child would load."""
    import torch

    torch.set_num_threads(1)  # no other thread may hold a lock while a child is made
    with contextlib.chdir(place):
        for use in uses:
            use()
    gc.collect()
    gc.freeze()
