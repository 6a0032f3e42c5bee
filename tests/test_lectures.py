"""The tour of the lectures: every row is there, and every command of it runs, in order, with a tiny model."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from weft.cli.app import run

TOUR = (Path(__file__).parents[1] / "docs/lectures.md").read_text(encoding="utf-8")
COMMANDS = [shlex.split(words) for words in re.findall(r"`(weft [^`]+)`", TOUR) if "NAME" not in words]
ROWS = [*(f"A{n}" for n in range(1, 16)), *(f"B{n}" for n in range(1, 22)), *(f"C{n}" for n in range(1, 9))]


def test_the_tour_has_every_row_with_a_command() -> None:
    lines = [line for line in TOUR.splitlines() if re.match(r"\| [ABC]\d+ \|", line)]
    assert [line.split("|")[1].strip() for line in lines] == ROWS
    assert all("`weft " in line for line in lines)


@pytest.mark.slow
def test_every_command_of_the_tour_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Image.fromarray(np.arange(64, dtype=np.uint8).reshape(8, 8) * 3).save("digit.png")
    for _, command, *words in COMMANDS:
        if command == "lab":
            continue  # has tests of its own
        tiny = ["--steps", "1", "--set", "baselines=false"] if command == "train" else []
        sized = ["--preset", "tiny"] if command == "train" and "--from" not in words else []
        assert run([command, *words, *sized, *tiny]) == 0, [command, *words]
