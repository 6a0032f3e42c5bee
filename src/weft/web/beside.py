"""`weft train --watch`: a server in a process of its own, beside a run in training. It reads the run's folder alone.

Once it is there, it gives way to the training wherever both want the processor. It ends when the process that started
it ends, and shares nothing with it: a run has the same bits with and without.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

PORT = 8000
NICENESS = 15


class Companion:
    """The other process. `say` hears what it says: its address."""

    def __init__(self, folder: Path, say: Callable[[str], Any]):
        words = [sys.executable, "-m", "weft.web.beside", str(folder)]
        self.address, self._closing = "", False
        self._process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            encoding="utf-8", start_new_session=True,
        )  # fmt: skip
        threading.Thread(target=self._listen, args=(say,), name="weft watch", daemon=True).start()

    def _listen(self, say: Callable[[str], Any]) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.address = line.strip()
            say(f"  {'watch':<10} {self.address}")
        if not self.address and not self._closing:
            say("warning: the page cannot be shown; training goes on without it")

    def wait(self) -> None:
        """Until it ends, by itself or by Ctrl-C."""
        with contextlib.suppress(KeyboardInterrupt):
            self._process.wait()

    def close(self) -> None:
        """End it."""
        self._closing = True
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()  # it ends when nobody is there any more
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def main(folder: str) -> None:
    """The process: it serves one run, on one thread and after all others, until its parent has gone."""
    os.environ["OMP_NUM_THREADS"] = "1"
    import torch

    from weft.errors import WeftError
    from weft.web.serving import serve

    torch.set_num_threads(1)
    threading.Thread(target=_until_alone, name="weft parent", daemon=True).start()

    def say(line: str) -> None:
        if line.startswith("serving at "):
            print(line.removeprefix("serving at "), flush=True)
            if hasattr(os, "nice"):
                os.nice(NICENESS)  # once it is there: on one core it would not even start beside a training

    try:
        serve([folder], port=PORT, device="cpu", say=say)
    except WeftError as error:
        if error.where != "--port":
            raise
        serve([folder], port=0, device="cpu", say=say)


def _until_alone() -> None:
    """End this process when the one that started it has ended, however that came."""
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main(sys.argv[1])
