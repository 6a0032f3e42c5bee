"""How long a user waits before anything happens: commands and imports, each in a process of its own.

Bytecode is kept between the processes, as an installed package has it, whatever PYTHONDONTWRITEBYTECODE says.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from race import race
from report import Table, arguments, hand_in

PYTHON, WEFT = (sys.executable, "-c"), (sys.executable, "-m", "weft")
TEXT = "The loom stands by the window, and the thread runs on.\n" * 200
OPINIONS = "label\ttext\n" + "".join(f"good\tfine day {i}\nbad\tpoor show {i}\n" for i in range(40))
MADE = {"book": ("book.txt", TEXT), "opinions": ("opinions.tsv", OPINIONS)}
COMMANDS = {
    "python -c pass": (*PYTHON, "pass"),
    "weft --help": (*WEFT, "--help"),
    "import weft": (*PYTHON, "import weft"),
    "import weft; weft.train": (*PYTHON, "import weft; weft.train"),
    "weft train nowhere.txt": (*WEFT, "train", "nowhere.txt"),
    "weft train book.txt --set lrr=1": (*WEFT, "train", "book.txt", "--set", "lrr=1"),
    "import torch": (*PYTHON, "import torch"),
    "weft predict book": (*WEFT, "predict", "book", "The loom", "--set", "max_tokens=50"),
    "weft predict opinions": (*WEFT, "predict", "opinions", "a fine show"),
    "import transformers": (*PYTHON, "import transformers"),
    "from transformers import GPT2LMHeadModel": (*PYTHON, "from transformers import GPT2LMHeadModel"),
}
REFUSED = {"weft train nowhere.txt", "weft train book.txt --set lrr=1"}


class Shell:
    """Runs commands in a folder, with a place for bytecode."""

    def __init__(self, folder: Path):
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        self.folder, self.environment = folder, {**kept, "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}

    def run(self, command: tuple[str, ...], *, refused: bool = False) -> None:
        """Run to the end, output thrown away."""
        silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        done = subprocess.run(command, cwd=self.folder, env=self.environment, **silent)
        assert bool(done.returncode) is refused, f"{' '.join(command)}: exit code {done.returncode}"

    def make_runs(self) -> None:
        """A small language model and a small classifier."""
        for run, (name, content) in MADE.items():
            (self.folder / name).write_text(content)
            self.run((*WEFT, "train", name, "--preset", "tiny", "--steps", "5", "--out", run))


def measure(*, quick: bool = False) -> list[Table]:
    """Seconds of each command."""
    with tempfile.TemporaryDirectory() as folder:
        shell = Shell(Path(folder))
        shell.make_runs()
        calls = {
            name: lambda name=name, command=command: shell.run(command, refused=name in REFUSED)
            for name, command in COMMANDS.items()
        }
        timings = race(calls, rounds=1 if quick else 5, least=0.0)
    rows = [[f"`{name}`", timing.best, timing.median] for name, timing in timings.items()]
    return [Table("Start-up", ["command", "seconds, best", "median"], rows)]


if __name__ == "__main__":
    given = arguments(__doc__).parse_args()
    hand_in(measure(quick=given.quick), given.json)
