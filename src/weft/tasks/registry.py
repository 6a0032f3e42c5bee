"""The tasks by the name a user types, and which of them fits some files."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from weft.data.columns import listed
from weft.data.survey import Judgement, Survey
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


class Recognised(NamedTuple):
    """The task that files are data for, and why."""

    task: Task
    why: str

    @property
    def name(self) -> str:
        """The task's name."""
        return self.task.name


def recognise(sources: Sequence[str]) -> Recognised:
    """The task that files are data for: the files are surveyed once, every task judges the survey, the surest is taken."""
    survey = Survey(sources)
    survey.check()
    judged = {task: task.judge(survey) for task in TASKS.values()}
    sure = {task: judgement for task, judgement in judged.items() if judgement.level == "sure"}
    possible = {task: judgement for task, judgement in judged.items() if judgement.level == "possible"}
    best = sure or ({} if survey.tables else possible)
    if len(best) == 1:
        ((task, judgement),) = best.items()
        return Recognised(task, judgement.why)
    if best or survey.tables:
        raise _unclear(survey, sure or possible)
    takes = "\n     ".join(f"{task.name}: {task.files}" for task in TASKS.values())
    reasons = ", ".join(dict.fromkeys(judgement.why for judgement in judged.values() if judgement.why))
    raise DataError(
        "not recognised as data for any task" + (f": {reasons}" if reasons else ""),
        where=str(survey),
        fix=f"name the task with --task, or give data of one of these kinds:\n     {takes}",
    )


def _unclear(survey: Survey, possible: Mapping[Task, Judgement]) -> DataError:
    """The error for data that could be of several tasks, or of none for sure: its columns, and what could be done."""
    table = next(iter(survey.tables), None)
    problem = "what to learn from it is not clear"
    if table is not None:
        problem = f"what to learn from this table is not clear; its columns:{listed(table.columns)}"
    ways = [f"weft train {survey} --task {task.name} {found.settings}".rstrip() for task, found in possible.items()]
    lines = "\n     ".join(ways)
    fix = f"say what to learn, for example:\n     {lines}" if ways else (
        "no task of weft's learns from such columns alone: a text with its label, a sentence with its translation, or a "
        "picture with its class or caption in each row is needed"
    )  # fmt: skip
    return DataError(problem, where=str(survey), fix=fix)
