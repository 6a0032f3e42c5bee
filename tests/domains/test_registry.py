"""The registry: its plain words agree with the tasks, which are final, short, and loaded only when they are used."""

import inspect
import re
import sys

import pytest
import torch
from helpers import processes

from weft.domains.graphs.labels import ElementLabels
from weft.domains.registry import CARDS
from weft.tasks.labels.task import LabelTask
from weft.tasks.request import Request
from weft.tasks.task import Task
from weft.training.schedule import Budget


@pytest.mark.parametrize("name", CARDS)
def test_models_and_presets_in_words_are_those_of_the_recipe(name: str) -> None:
    card = CARDS[name]
    assert card.name == card.task.name and card.training is card.task.training
    assert set(card.models) == set(card.task.recipe.models) and list(card.presets) == list(card.task.recipe.presets)
    for preset, size in card.task.recipe.presets.items():
        layers, width = re.match(r"(\d+)\D.*?(\d+) wide", card.presets[preset].replace("+", " ", 1)).groups()
        assert (int(layers), int(width)) == (size.depth, size.dim), preset


@pytest.mark.parametrize("name", CARDS)
def test_a_preset_says_a_size_and_leaves_the_model_that_the_task_has_without_one(name: str) -> None:
    task, device = CARDS[name].task, torch.device("cpu")
    usual = task.model_name(Request((), None, None, Budget(steps=1), None, {}, device))
    for preset in task.recipe.presets:
        assert task.model_name(Request((), None, preset, Budget(steps=1), None, {}, device)) == usual, preset


@pytest.mark.parametrize("name", CARDS)
def test_a_task_is_a_final_class_on_the_one_abstract_task(name: str) -> None:
    kind = type(CARDS[name].task)
    above = kind.__mro__[1 : kind.__mro__.index(Task) + 1]
    assert getattr(kind, "__final__", False) and set(above) <= {ElementLabels, LabelTask, Task}
    assert all(inspect.isabstract(one) for one in above)


def test_the_words_and_the_readers_of_all_tasks_load_no_torch() -> None:
    code = (
        "import sys, weft.runs.start\n"
        "from weft.domains.registry import CARDS\n"
        "[card.reader for card in CARDS.values()]\n"
        "print('torch' in sys.modules)"
    )
    done = processes.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
