"""The tasks by the name a user types, and which of them fits some files."""

from collections.abc import Sequence
from pathlib import Path

from weft.errors import DataError, WeftError, nearest
from weft.tasks.language_model import LanguageModel
from weft.tasks.task import Task

TASKS: dict[str, Task] = {task.name: task for task in (LanguageModel(),)}


def task_named(name: str) -> Task:
    """The task of that name."""
    if name not in TASKS:
        raise WeftError(f"there is no task {name!r}", where="--task", fix=nearest(name, TASKS))
    return TASKS[name]


def recognise(sources: Sequence[str]) -> Task:
    """The task whose data these files look like."""
    for task in TASKS.values():
        if task.recognises([Path(source) for source in sources]):
            return task
    takes = "\n     ".join(f"{task.name}: {task.files}" for task in TASKS.values())
    raise DataError(
        "not recognised as data for any task",
        where=", ".join(sources),
        fix=f"name the task with --task, or give data of one of these kinds:\n     {takes}",
    )
