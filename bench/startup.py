"""How long a user waits before anything happens: commands and imports, each in a process of its own."""

import subprocess
import sys
from pathlib import Path

from race import race
from report import Table, arguments, hand_in

PYTHON = (sys.executable, "-c")
COMMANDS = {
    "python -c pass": (*PYTHON, "pass"),
    "weft --help": (str(Path(sys.executable).with_name("weft")), "--help"),
    "import weft": (*PYTHON, "import weft"),
    "import weft; weft.train": (*PYTHON, "import weft; weft.train"),
    "import torch": (*PYTHON, "import torch"),
    "import transformers": (*PYTHON, "import transformers"),
    "from transformers import GPT2LMHeadModel": (*PYTHON, "from transformers import GPT2LMHeadModel"),
}


def start(command: tuple[str, ...]) -> None:
    """Run to the end, output thrown away."""
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def measure(*, quick: bool = False) -> list[Table]:
    """Seconds of each command."""
    calls = {name: lambda command=command: start(command) for name, command in COMMANDS.items()}
    timings = race(calls, rounds=1 if quick else 5, least=0.0)
    rows = [[f"`{name}`", timing.best, timing.median] for name, timing in timings.items()]
    return [Table("Start-up", ["command", "seconds, best", "median"], rows)]


if __name__ == "__main__":
    given = arguments(__doc__).parse_args()
    hand_in(measure(quick=given.quick), given.json)
