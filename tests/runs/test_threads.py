"""One run asked by several threads at once gives the answers of one thread, whatever its task."""

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.trials import TRIALS, train
from PIL import Image

import weft
from weft.config import field_types

FINISHED = Path(__file__).parents[1] / "fixtures" / "finished"
THREADS = 8
TEXTS = ["Once upon a time", "the soup was fine", "The dog sees the man.", "x"]
PICTURES = [np.random.default_rng(i).integers(0, 255, (8, 8, 3), dtype=np.uint8) for i in range(4)]


def inputs_of(kind: str) -> list[Any]:
    return [Image.fromarray(one) for one in PICTURES] if kind == "picture" else list(TEXTS)


@pytest.mark.parametrize("name", ["language-model", "classify-text", "translate", "classify-images", "caption"])
def test_eight_threads_get_the_answers_of_one(name: str):
    run = weft.load(FINISHED / name)
    settings = {"max_tokens": 6} if name in ("language-model", "translate") else {}
    check_threads(run, inputs_of(run.task.asks[0].kind), settings)


@pytest.mark.slow
@pytest.mark.parametrize("name", list(TRIALS))
def test_eight_threads_get_the_answers_of_one_in_every_task(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)  # some answers are files
    trial = TRIALS[name]
    run = train(name, trial.data, out=tmp_path / "run")
    known = field_types(run.task.Predict)
    settings = {setting: value for setting, value in (("max_tokens", 4), ("steps", 1)) if setting in known}
    check_threads(run, [trial.input] * 3, settings)


def check_threads(run: weft.Run, inputs: list[Any], settings: dict[str, Any]) -> None:
    """Each thread asks all inputs, beginning with another one."""
    known = [run.predict(one, **settings) for one in inputs]
    found: list[Any] = [None] * THREADS
    begin = threading.Barrier(THREADS)

    def ask(number: int) -> None:
        begin.wait()
        own = inputs[number % len(inputs) :] + inputs[: number % len(inputs)]
        found[number] = [run.predict(one, **settings) for one in own]

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(THREADS)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    for number, answers in enumerate(found):
        turned = number % len(inputs)
        assert answers == known[turned:] + known[:turned]
