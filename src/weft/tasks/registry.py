"""The tasks by the name a user types, and which of them fits some files."""

import os
from collections.abc import Sequence
from pathlib import Path

from weft.data.decoding import shown
from weft.data.files import is_pattern, missing
from weft.errors import DataError, WeftError, nearest
from weft.tasks.caption import Caption
from weft.tasks.classify_images import ClassifyImages
from weft.tasks.classify_text import ClassifyText
from weft.tasks.distill_images import DistillImages
from weft.tasks.fill_mask import FillMask
from weft.tasks.language_model import LanguageModel
from weft.tasks.parse import Parse
from weft.tasks.reconstruct_images import ReconstructImages
from weft.tasks.tag_text import TagText
from weft.tasks.task import Task
from weft.tasks.translate import Translate

TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        LanguageModel(),
        FillMask(),
        Translate(),
        Parse(),
        ClassifyText(),
        TagText(),
        ClassifyImages(),
        ReconstructImages(),
        DistillImages(),
        Caption(),
    )
}


def task_named(name: str, where: str = "--task") -> Task:
    """The task of that name, which stands in some place."""
    if name not in TASKS:
        raise WeftError(f"there is no task {name!r}", where=where, fix=nearest(name, TASKS))
    return TASKS[name]


def recognise(sources: Sequence[str]) -> Task:
    """The task whose data these files look like."""
    paths = [Path(source) for source in sources]
    for path in paths:
        if not os.path.lexists(path) and not is_pattern(path):
            raise missing(path)
    for task in reversed(TASKS.values()):  # those with forms of their own before plain text
        if task.recognises(paths):
            return task
    takes = "\n     ".join(f"{task.name}: {task.files}" for task in TASKS.values())
    raise DataError(
        "not recognised as data for any task",
        where=", ".join(map(shown, sources)),
        fix=f"name the task with --task, or give data of one of these kinds:\n     {takes}",
    )
