"""`weft check` and `weft.check`: what data is, what could be learned from it, what is wrong with it. Trains nothing.

Torch is loaded for the plan alone, and only where the data can be trained on.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from weft.config import field_types
from weft.domains.recognising import Use, judge, separator_hint, surest, unclear, uses
from weft.domains.registry import card_named
from weft.errors import ConfigError, DataError, WeftError
from weft.files.bad_rows import listing
from weft.files.dataset import Dataset, no_pictures
from weft.files.known_roles import ALL
from weft.files.survey import Survey
from weft.files.tables import open_table
from weft.runs.check_facts import ColumnFacts, DataFacts, columns_of, facts_of, files_in_words, scripts_of
from weft.runs.start import Asked, check_words
from weft.storage.prepared import prepared_in
from weft.tasks.card import Card
from weft.tasks.settings.limits import take_prepared, with_settings
from weft.training.progress import Progress, read_counter
from weft.training.schedule import Budget

ANY_SHARE = 0.999999  # of rows may be bad while data is checked: all of them are listed
MOST = 1_000_000  # bad rows that are listed


@dataclass(frozen=True)
class Defect:
    """Something wrong in the data, and where it is."""

    where: str
    problem: str


@dataclass(frozen=True)
class Checked:
    """What is known of some data.

    `certainty` is one of sure, likely, asked for and not clear. `uses` are tasks with their commands, the best first.
    `refused` says why `weft train` would refuse the data; `plan` holds the lines of its plan where it would not.
    """

    sources: tuple[str, ...]
    files: str
    task: str | None
    why: str
    certainty: str
    uses: tuple[dict[str, str], ...]
    columns: tuple[ColumnFacts, ...] = ()
    scripts: dict[str, float] = field(default_factory=dict)
    facts: DataFacts = field(default_factory=DataFacts)
    defects: tuple[Defect, ...] = ()
    refused: dict[str, str] | None = None
    plan: dict[str, str] = field(default_factory=dict)
    data: Dataset[Any, Any] | None = field(default=None, repr=False, compare=False)

    def to_json(self) -> dict[str, Any]:
        """All of it as plain values."""
        known = {
            name: getattr(self, name) for name in ("files", "task", "why", "certainty", "refused", "plan", "scripts")
        }
        return {
            "sources": list(self.sources),
            **known,
            "uses": list(self.uses),
            "columns": [asdict(column) for column in self.columns],
            **asdict(self.facts),
            "defects": [asdict(defect) for defect in self.defects],
        }

    def sheet(self, format: str = "png") -> bytes:
        """A contact sheet of the pictures in the data."""
        if self.data is None:
            raise no_pictures()
        return self.data.contact_sheet(", ".join(self.sources), format)


def check(
    data: str | Path | Sequence[str | Path],
    *,
    task: str | None = None,
    minutes: float | None = None,
    plan: bool = True,
    quiet: bool = True,
    **settings: Any,
) -> Checked:
    """Look at files without training on them. `settings` are those of `weft train`; without `plan` no torch is loaded.

    Data that is not there, or of a format that weft does not read, is refused with what to do.
    """
    sources = tuple(str(s) for s in ([data] if isinstance(data, str | Path) else data))
    if not sources:
        raise WeftError("no data named", where="weft check", fix="name files or folders")
    progress, prepared = Progress(quiet=quiet), take_prepared(settings)
    with prepared_in(prepared):
        asked = Asked(sources, task, None, None, Budget(minutes=minutes), None, None, settings).fetched(progress)
        progress.stop()
        with asked.reading(), listing(MOST):
            return _checked(asked, Survey(asked.sources, asked.options), progress, plan)


def _checked(asked: Asked, survey: Survey, progress: Progress, plans: bool) -> Checked:
    survey.check()
    judged = judge(survey)
    found, taken = uses(judged), surest(survey, judged)
    certainty = "not clear" if taken is None else {"sure": "sure", "possible": "likely"}[taken.level]
    if asked.task is not None:
        card = card_named(asked.task)
        own = judged[card.name] if card.name in judged else card.reader.judge(survey)
        taken, certainty = Use(card, own.level, own.why or "it was asked for", own.settings), "asked for"
    elif taken is None and not found and not survey.tables:
        raise unclear(survey, judged)
    known: dict[str, Any] = {
        "sources": asked.sources,
        "files": files_in_words(survey),
        "task": None if taken is None else taken.card.name,
        "why": "" if taken is None else taken.why,
        "certainty": certainty,
        "uses": tuple(_in_words(use, taken, asked) for use in found),
        "columns": columns_of(survey, () if taken is None else taken.card.reader.roles),
        "scripts": scripts_of(survey),
    }
    if taken is None:
        return _unclear(known, asked, survey, unclear(survey, judged), found, progress)
    try:
        data = _read(taken.card, asked, progress)
    except DataError as error:
        defects = (*_uneven_rows(survey), *([Defect(error.where, error.problem)] if error.where else []))
        return Checked(**known, defects=tuple(dict.fromkeys(defects)), refused=_plain(error))
    finally:
        progress.stop()
    defects = tuple(Defect(where, problem) for where, problem in data.skipped)
    refused = _refused_for_bad_rows(taken, asked, progress, len(defects)) if defects else None
    lines = _plan(taken.card, asked, data, progress) if plans else {}
    return Checked(**known, facts=facts_of(data), defects=defects, refused=refused, plan=lines, data=data)


def _unclear(
    known: dict[str, Any], asked: Asked, survey: Survey, error: DataError, found: Sequence[Use], progress: Progress
) -> Checked:
    """What is known of data without a task yet: a table by its columns, other data as the first task would read it."""
    data = None
    if not survey.tables and found:
        try:
            data = _read(found[0].card, asked, progress)
        except DataError as wrong:
            return Checked(**known, defects=(Defect(wrong.where, wrong.problem),), refused=_plain(error))
        finally:
            progress.stop()
    left_out = tuple(Defect(where, problem) for where, problem in data.skipped) if data is not None else ()
    facts = DataFacts() if data is None else facts_of(data)
    return Checked(**known, facts=facts, defects=(*_uneven_rows(survey), *left_out), refused=_plain(error), data=data)


def _in_words(use: Use, taken: Use | None, asked: Asked) -> dict[str, str]:
    alone = taken is not None and use.card.name == taken.card.name and asked.task is None
    command = use.command(asked.sources, asked.options, named=not alone)
    return {
        "task": use.card.name,
        "learns": use.card.summary,
        "certainty": use.level,
        "why": use.why,
        "command": command,
    }


def _read(card: Card, asked: Asked, progress: Progress, *, skip: float | None = ANY_SHARE) -> Dataset[Any, Any]:
    """The data as the task reads it; a share `skip` of its rows may be bad, where the user says nothing else."""
    check_words(card, asked)
    settings = dict(asked.training_settings)
    if card.reader.leaves_out and "skip" in field_types(card.training):
        settings.setdefault("skip", skip)
    elif "skip" in settings:
        raise ConfigError("no such setting", where="--set skip", fix=f"{card.name} reads no rows that could be bad")
    return card.reader.read(asked.sources, None, with_settings(card.training(), settings), read_counter(progress))


def _refused_for_bad_rows(taken: Use, asked: Asked, progress: Progress, count: int) -> dict[str, str] | None:
    """Why `weft train` would refuse data some of whose rows are bad, if it would, and how to leave them out."""
    try:
        _read(taken.card, asked, progress, skip=None)
    except DataError as error:
        leave = f"{taken.command(asked.sources, asked.options, named=asked.task is not None)} --set skip={count}"
        return {"problem": error.problem, "where": error.where, "fix": f"correct them, or leave them out: {leave}"}
    finally:
        progress.stop()
    return None


def _plan(card: Card, asked: Asked, data: Dataset[Any, Any], progress: Progress) -> dict[str, str]:
    from weft.requirements import check_requirements

    check_requirements()
    from weft.runs.training import planned_lines

    return planned_lines(asked, card, data, progress)


def _uneven_rows(survey: Survey) -> tuple[Defect, ...]:
    """The rows of all tables that cannot be read, or have other columns than the first."""
    found = []
    for table in survey.tables:
        try:
            items = open_table(table.path, ALL).rows()
            found += [Defect(item.where, item.problem) for item in items if isinstance(item, DataError)]
        except DataError as error:
            found.append(Defect(error.where, error.problem))
        if hint := separator_hint(table):
            found.append(Defect(str(table.path), hint))
    return tuple(found)


def _plain(error: DataError) -> dict[str, str]:
    return {"problem": error.problem, "where": error.where, "fix": error.fix}
