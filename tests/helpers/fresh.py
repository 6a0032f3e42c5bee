"""Fresh processes for tests: each call has a process of its own in which nothing of weft was imported before.

What one process imported hides from the next what it forgot to import. Starting Python and torch takes seconds, so one
process loads the libraries of others, never weft, and forks for every call.
"""

import importlib
import json
import os
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

from helpers import processes

LIBRARIES = ("torch", "torch._dynamo", "numpy", "einops", "jaxtyping", "safetensors", "safetensors.torch",
             "safetensors.numpy", "tokenizers", "PIL.Image", "matplotlib.figure", "regex", "xarray", "scipy.io",
             "sacrebleu", "sklearn.ensemble", "sklearn.feature_extraction.text", "sklearn.linear_model")  # fmt: skip


class Fresh:
    """The process that forks, in the folder `home`. `call` waits for the function it names and returns its result."""

    def __init__(self, home: Path):
        import weft

        paths = [str(Path(weft.__file__).parents[1]), str(Path(__file__).parents[1])]
        known = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}
        self._process = processes.start(
            [sys.executable, "-m", "helpers.fresh"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=known,
            cwd=home,
        )

    def call(self, function: str, *given: Any) -> Any:
        """The result of a function, named as "module.function", with arguments that JSON can say."""
        assert self._process.stdin is not None and self._process.stdout is not None
        print(json.dumps([function, given]), file=self._process.stdin, flush=True)
        found = json.loads(self._process.stdout.readline())
        assert "failed" not in found, found["failed"]
        return found["result"]

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()


def _answer(call: str) -> str:
    """The result of one call, computed in a child, as a line of JSON."""
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reads)
        os.dup2(2, 1)  # what is printed is no answer
        with os.fdopen(writes, "w") as out:
            out.write(_called(call))
        os._exit(0)
    os.close(writes)
    with os.fdopen(reads) as found:
        answer = found.read()
    _, status = os.waitpid(child, 0)
    return answer or json.dumps({"failed": f"the process ended with status {status} and no answer"})


def _called(call: str) -> str:
    function, given = json.loads(call)
    early = sorted(name for name in sys.modules if name.partition(".")[0] == "weft")
    try:
        assert not early, f"imported before the call: {early}"
        module, _, name = function.rpartition(".")
        return json.dumps({"result": getattr(importlib.import_module(module), name)(*given)})
    except BaseException:
        return json.dumps({"failed": traceback.format_exc()})


def _serve() -> None:
    for name in LIBRARIES:
        try:
            importlib.import_module(name)
        except ImportError:
            continue  # an extra that is not installed: a call that needs it says so
    answers = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        print(_answer(line), file=answers, flush=True)


if __name__ == "__main__":
    _serve()
