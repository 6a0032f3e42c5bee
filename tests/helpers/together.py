"""Processes that train together, begun once for many runs.

    with Together(2) as pair:
        run = pair.train("classify-text", folder, steps=4)     the run that the two of them trained

Each is this file as a program: it takes runs as lines of JSON and answers each with what went wrong, or nothing.
"""

import json
import os
import socket
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any, Self

from helpers import processes

TESTS = Path(__file__).parents[1]


def free_port() -> int:
    """A port of this machine that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Together:
    """Some processes, each of one thread, that are given the same runs."""

    def __init__(self, size: int):
        self.size = size
        paths = os.pathsep.join([str(TESTS), *sys.path])
        shared = {**os.environ, "PYTHONPATH": paths, "WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1",
                  "OMP_NUM_THREADS": "1"}  # fmt: skip
        self.each = [
            processes.start([sys.executable, __file__], env={**shared, "RANK": str(rank)}, stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, text=True)
            for rank in range(size)
        ]  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        for one in self.each:
            assert one.stdin is not None and one.stdout is not None
            one.stdin.close()
            one.wait()
            one.stdout.close()

    def train(self, name: str, out: Path, **settings: Any) -> None:
        """Train a task's trial together; what goes wrong in a process is raised here."""
        line = json.dumps({"port": free_port(), "name": name, "out": str(out), "settings": settings}) + "\n"
        for one in self.each:
            assert one.stdin is not None
            one.stdin.write(line)
            one.stdin.flush()
        wrong = [json.loads(one.stdout.readline() or '"it has ended"') for one in self.each if one.stdout is not None]
        if any(wrong):
            raise AssertionError("\n".join(wrong))


def main() -> None:
    """Train what the lines of standard input say, one after another."""
    import torch

    from helpers.trials import EVERY, train

    torch.set_num_threads(1)
    for line in sys.stdin:
        job, wrong = json.loads(line), ""
        os.environ["MASTER_PORT"] = str(job["port"])
        try:
            train(job["name"], EVERY[job["name"]].data, out=job["out"], **job["settings"])
        except BaseException:
            wrong = traceback.format_exc()
        print(json.dumps(wrong), flush=True)


if __name__ == "__main__":
    main()
