"""The law of sizes: every number in every part that a model has is refused where it cannot be meant, or works.

Nothing crashes: a width of 0 reaches libraries that divide by it.
"""

import json
from collections.abc import Iterator
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from campaigns.judging import judged, warm
from helpers import trials

from weft.config import Config, from_json, part_name
from weft.core.transforms import Gated, Mlp
from weft.errors import ConfigError
from weft.models.outline import outline
from weft.models.stream import Model

RUNS = Path(__file__).parents[1] / "fixtures" / "runs"
VALUES = (0, -1, 10**12)


def numbers(config: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """The numbers of a config and of all parts in it: what each is called in any model, and where it stands."""
    if isinstance(config, tuple):
        for place, one in enumerate(config):
            yield from numbers(one, f"{path}.{place}")
    if isinstance(config, Config):
        for field in fields(config):  # type: ignore[arg-type]
            value, at = getattr(config, field.name), f"{path}.{field.name}".lstrip(".")
            if isinstance(value, int | float) and not isinstance(value, bool):
                yield f"{part_name(type(config))}.{field.name}", at
            yield from numbers(value, at)


def models() -> Iterator[tuple[str, Model.Config]]:
    """A model of every task, by the task's name."""
    from weft.domains.registry import task_of

    for folder in sorted(RUNS.iterdir()):
        data = json.loads((folder / "finished" / "config.json").read_text())
        task_of(data, folder.name)  # imports what its parts are named after
        yield folder.name, from_json(data["model"])


def cases() -> list[Any]:
    """Each number of each part once, in the first model that has the part."""
    known: dict[str, tuple[str, Model.Config, str]] = {}
    for task, config in models():
        for name, path in numbers(config):
            known.setdefault(name, (task, config, path))
    return [pytest.param(*case, id=name) for name, case in known.items()]


def refused(config: Model.Config, path: str, value: int) -> bool:
    """Whether a number is refused before anything is computed; what is built otherwise has no empty weight."""
    try:
        built = outline(config.set(path, value))
    except ConfigError:
        return True
    assert all(weight.numel() > 0 for weight in built.parameters())
    return False


@pytest.mark.parametrize("task, config, path", cases())
def test_a_number_that_cannot_be_meant_is_refused_or_builds_a_model(task: str, config: Model.Config, path: str):
    for value in VALUES:
        refused(config, path, value)


@pytest.mark.parametrize("part, sum_", [(Mlp, "ratio 0 x 8 = 0"), (Gated, "2/3 x ratio 0 x 8 = 0")])
def test_a_hidden_width_of_nothing_is_refused_with_the_arithmetic(part: type[Mlp], sum_: str):
    with pytest.raises(ConfigError, match=f"{part.__name__}.ratio: a hidden width of {sum_}; it must be at least 1"):
        part.Config(ratio=0.0).build(dim=8)
    assert part.Config(ratio=0.2).build(dim=8).down.weight.shape[1] >= 1


@pytest.mark.slow
@pytest.mark.parametrize("task", trials.TRIALS)
def test_training_with_any_number_ends_in_words_or_works(task: str, tmp_path: Path):
    """In a child: a crash of native code would end this process."""
    trial = trials.TRIALS[task]
    few = {"steps": 1, "evaluate_every": 1}
    run = trials.train(task, trial.data, out=tmp_path / "whole", **few)
    warm([], tmp_path)
    for number, (name, path) in enumerate(dict(numbers(run.model.config)).items()):
        for value in VALUES[:2]:
            if not refused(run.model.config, path, value):
                settings = {**few, f"model.{path}": value}
                use = partial(trials.train, task, trial.data, out=tmp_path / f"{number} {value}", **settings)
                assert not judged(use, [""], tmp_path).startswith(("crashed", "hangs", "untyped")), (name, path, value)
