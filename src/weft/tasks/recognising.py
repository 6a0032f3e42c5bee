"""Which task some files are data for: they are surveyed once, and every reader judges the survey. Imports no torch."""

from collections.abc import Mapping, Sequence

from weft.data.columns import listed
from weft.data.survey import Judgement, Survey
from weft.errors import DataError
from weft.tasks.registry import CARDS, Card


def recognise(sources: Sequence[str]) -> tuple[Card, str]:
    """The task that files are data for, and why: the surest is taken."""
    survey = Survey(sources)
    survey.check()
    judged = {card.name: card.reader.judge(survey) for card in CARDS.values()}
    sure = {name: judgement for name, judgement in judged.items() if judgement.level == "sure"}
    possible = {name: judgement for name, judgement in judged.items() if judgement.level == "possible"}
    best = sure or ({} if survey.tables else possible)
    if len(best) == 1:
        ((name, judgement),) = best.items()
        return CARDS[name], judgement.why
    if best or survey.tables:
        raise _unclear(survey, sure or possible)
    takes = "\n     ".join(f"{card.name}: {card.files}" for card in CARDS.values())
    reasons = ", ".join(dict.fromkeys(judgement.why for judgement in judged.values() if judgement.why))
    raise DataError(
        "not recognised as data for any task" + (f": {reasons}" if reasons else ""),
        where=str(survey),
        fix=f"name the task with --task, or give data of one of these kinds:\n     {takes}",
    )


def _unclear(survey: Survey, possible: Mapping[str, Judgement]) -> DataError:
    """The error for data that could be of several tasks, or of none for sure: its columns, and what could be done."""
    table = next(iter(survey.tables), None)
    problem = "what to learn from it is not clear"
    if table is not None:
        problem = f"what to learn from this table is not clear; its columns:{listed(table.columns)}"
    ways = [f"weft train {survey} --task {name} {found.settings}".rstrip() for name, found in possible.items()]
    lines = "\n     ".join(ways)
    fix = f"say what to learn, for example:\n     {lines}" if ways else (
        "no task of weft's learns from such columns alone: a text with its label, a sentence with its translation, or a "
        "picture with its class or caption in each row is needed"
    )  # fmt: skip
    return DataError(problem, where=str(survey), fix=fix)
