"""Files looked through in a process of their own, so that one which crashes a library ends that process alone.

Run as `python -m weft.domains.fields.reading.probe`: one request as JSON on standard input, answers as lines of JSON on
standard output. A file is named before it is read, so that the parent knows at which one a child died.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from weft.domains.fields.reading.scan import Count, Scan
from weft.errors import DataError, WeftError
from weft.files.decoding import shown

MODULE = "weft.domains.fields.reading.probe"
SECONDS = 300  # that a block of values may take
MEMORY = 8 * 2**30  # bytes
ROOT = str(Path(__file__).parents[4])  # where weft is
DAMAGED = "the file may be damaged: get it again, or write it again"


def look_apart(
    sources: Sequence[str | Path], variables: Sequence[str], *, strict: bool, count: Count | None = None
) -> Scan | None:
    """What a child finds in files. Where it dies, the error names the file. None where no child can be started."""
    if not sys.executable or getattr(sys, "frozen", False):  # then the executable is the user's program
        return None
    request = {"sources": [os.fspath(source) for source in sources], "variables": list(variables), "strict": strict}
    command = [sys.executable, "-P", "-m", MODULE]
    path = os.pathsep.join([ROOT, *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    try:
        child = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            text=True,
        )
    except OSError:
        return None
    with child:
        assert child.stdin is not None and child.stdout is not None
        try:
            with suppress(BrokenPipeError):  # a child that is dead already has said all it will say
                child.stdin.write(json.dumps(request))
                child.stdin.close()
            answer, at = _listen(child.stdout, count)
        except BaseException:
            child.kill()
            raise
    if answer is None:
        raise DataError(f"reading it ended its process: {_fate(child.returncode)}", where=at, fix=DAMAGED)
    if "error" in answer:
        problem, where, fix = answer["error"]
        raise (DataError if answer["data"] else WeftError)(problem, where=where, fix=fix)
    return Scan.of(answer["scan"])


def _listen(answers: Any, count: Count | None) -> tuple[dict[str, Any] | None, str]:
    """The last answer, and the file at which it was given."""
    at = ""
    for line in answers:
        try:
            heard = json.loads(line)
        except ValueError:  # a line that a dying child could not finish
            break
        if "at" in heard:
            at = heard["at"]
        elif "done" in heard:
            if count is not None:
                count(*heard["done"])
        else:
            return heard, at
    return None, at


def _fate(code: int) -> str:
    if code == -getattr(signal, "SIGALRM", 0):
        return f"it took longer than {SECONDS} seconds"
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"


def serve() -> None:
    """Answer the one request."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what a library prints must not stand between answers
    _limit()
    request = json.loads(sys.stdin.read())

    here = [""]  # the files that were read, the last one last

    def say(**words: Any) -> None:
        answers.write(json.dumps(words) + "\n")
        if hasattr(signal, "alarm"):
            signal.alarm(SECONDS)

    try:
        from weft.domains.fields.reading.joining import joined
        from weft.domains.fields.reading.scan import scan

        def at(path: Path) -> None:
            here.append(shown(path))
            say(at=here[-1])

        fields = joined(request["sources"], request["variables"], strict=request["strict"], at=at)
        found = scan(fields, at, lambda done, total: say(done=(done, total)))
        say(scan=found.record())
    except WeftError as error:
        say(error=(error.problem, error.where, error.fix), data=isinstance(error, DataError))
    except MemoryError:
        say(error=("a block of its values does not fit into memory", here[-1], DAMAGED), data=True)
    except Exception as error:  # whatever a damaged file leads a library to do
        say(error=(f"cannot be read: {type(error).__name__}: {error}"[:300], here[-1], DAMAGED), data=True)


def _limit() -> None:
    """Bounds on memory, and no picture of it where the process crashes."""
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        resource.setrlimit(
            resource.RLIMIT_DATA, (MEMORY if hard == resource.RLIM_INFINITY else min(MEMORY, hard), hard)
        )
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(SECONDS)


if __name__ == "__main__":
    serve()
