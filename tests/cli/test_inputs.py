"""Inputs of which some are bad, inputs that are piped in, data that moved, and what a run says to do next."""

import shlex
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from helpers.commands import TINY, Weft
from PIL import Image

from weft.amounts import counted
from weft.errors import ConfigError, DataError, WeftError
from weft.files.bad_rows import BadRows, check_bad
from weft.runs.asking import parted
from weft.tasks.asks import Given, texts_of

SMALL = ("--preset", "tiny", "--steps", "1", "--out", "run", "--set", "dim=8", "--set", "depth=1", "--set", "heads=1")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with pictures of two classes, a damaged one, and a run."""
    folder = tmp_path_factory.mktemp("pictures")
    chance = np.random.default_rng(0)
    for name, base in (("dark", 30), ("light", 200)):
        (folder / "photos" / name).mkdir(parents=True)
        for i in range(10):
            pixels = (chance.integers(0, 40, (8, 8, 3)) + base).astype(np.uint8)
            Image.fromarray(pixels).save(folder / "photos" / name / f"{i}.png")
    (folder / "bad.png").write_bytes((folder / "photos/dark/0.png").read_bytes()[:60])
    done = Weft(folder, folder)("train", "photos", *SMALL)
    assert done.code == 0, done.err
    (folder / "said.txt").write_text(done.out + done.err)
    return folder


@pytest.fixture
def there(place: Path, tmp_path: Path) -> Weft:
    return Weft(place, tmp_path)


def test_a_bad_file_costs_itself_and_not_the_others(there: Weft):
    done = there("predict", "run", "photos/dark/0.png", "bad.png", "photos/light/1.png", "none.png", "--json")
    assert done.code == 2
    assert [one["input"] for one in done.json["predictions"]] == ["photos/dark/0.png", "photos/light/1.png"]
    assert [one["input"] for one in done.json["failed"]] == ["bad.png", "none.png"]
    assert "weft: bad.png: a damaged PNG file" in done.err and "2 inputs could not be used" in done.err
    alone = there.refused("predict", "run", "bad.png")
    assert "the others are answered" not in alone


def test_a_bad_picture_in_a_folder_costs_itself(there: Weft, place: Path):
    folder = place / "mixed"
    folder.mkdir()
    for name in ("a.png", "b.png"):
        (folder / name).write_bytes((place / "photos/light/2.png").read_bytes())
    (folder / "c.png").write_bytes((place / "bad.png").read_bytes())
    done = there("embed", "run", "mixed", "-o", "vectors.npy")
    assert done.code == 2 and "wrote vectors.npy: 2 vectors of 96 numbers" in done.err and "mixed/c.png" in done.err


def test_inputs_are_piped_in_by_the_name_of_a_dash(there: Weft, place: Path):
    (place / "names.txt").write_text("photos/dark/0.png\nphotos/light/1.png\n")
    piped = "import os, sys; sys.stdin = open('names.txt')"
    named = there("predict", "run", "photos/dark/0.png", "photos/light/1.png").out
    assert there("predict", "run", "--input", "-", before=piped).out == named
    assert "2 vectors" in there("embed", "run", "-", "-o", "piped.npy", before=piped).err


def test_after_training_the_next_commands_are_said_and_work(there: Weft, place: Path):
    said = (place / "said.txt").read_text()
    predict, evaluate = (
        next(line for line in said.splitlines() if f"weft {word} run" in line) for word in ("predict", "evaluate")
    )
    assert predict.startswith("next: ") and "1 step;" in said and "1 steps" not in said
    for line in (predict.removeprefix("next: "), evaluate):
        done = there(*shlex.split(line)[1:])
        assert done.code == 0, done.err
    assert Path(shlex.split(predict)[-1]).name.endswith(".png")


def test_data_that_moved_is_asked_for_by_the_command_that_takes_it(weft: Weft):
    assert weft("train", "book.txt", *TINY, "--steps", "1", "--out", "run").code == 0
    (weft.folder / "book.txt").rename(weft.folder / "moved.txt")
    said = weft("evaluate", "run").err
    assert "is no longer at" in said and "weft evaluate run NEW/PATH" in said
    assert weft("evaluate", "run", "moved.txt").code == 0


def test_an_export_is_a_folder_and_says_so(there: Weft):
    assert "name a folder: --out model" in there.refused("export", "run", "--to", "onnx", "--out", "model.onnx")


def test_halves_are_tried_until_only_bad_inputs_are_left():
    calls: list[list[str]] = []

    def answer(first: int, some: Sequence[Given]) -> list[str]:
        texts = texts_of(some)
        calls.append(texts)
        if any(one.startswith("bad") for one in texts):
            raise DataError("bad", where=texts[0])
        return [one.upper() for one in texts]

    words = [f"good{i}" for i in range(31)] + ["bad"] + [f"good{i}" for i in range(32)]
    found = list(parted(answer, [Given(word, word) for word in words]))
    good = [part for _, part in found if not isinstance(part, WeftError)]
    assert [one for some in good for one in some] == [one.upper() for one in words if one != "bad"]
    assert [words[first] for first, part in found if isinstance(part, WeftError)] == ["bad"] and len(calls) <= 2 * 6 + 1
    assert [first for first, _ in found] == sorted(first for first, _ in found)


def test_an_error_that_every_input_meets_is_raised_at_once():
    calls: list[int] = []

    def answer(first: int, some: Sequence[Given]) -> None:
        calls.append(len(some))
        raise ConfigError("no such setting")

    with pytest.raises(ConfigError):
        list(parted(answer, [Given("a"), Given("b"), Given("c")]))
    assert calls == [3]


def test_messages_about_bad_rows_say_what_to_type():
    rows = BadRows(1)
    rows.take(DataError("two columns", where="t.csv, line 2", fix="add one"))
    for refuse in (lambda: rows.take(DataError("two columns")), lambda: check_bad([("a", "b")] * 3, 9, 0, "x")):
        with pytest.raises(WeftError) as error:
            refuse()
        assert "--set skip=" in error.value.fix


def test_one_thing_is_singular():
    assert [counted(1, "step"), counted(1200, "step"), counted(1.0, "epoch"), counted(0.5, "epoch")] == [
        "1 step", "1,200 steps", "1 epoch", "0.5 epochs",
    ]  # fmt: skip
