"""Questions about passages, with answers that stand in them. Refuses to know tokens.

    {"data": [{"paragraphs": [{"context": "…", "qas": [{"question": "…", "answers": [{"text": "…",
     "answer_start": 0}]}]}]}]}                                                                    SQuAD, 1.1 and 2.0
    {"context": "…", "question": "…", "answers": {"text": ["…"], "answer_start": [0]}}             a row of .jsonl
    passage, question, answer                                                                      a table

A question without an answer is one that its passage does not answer.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from weft.domains.texts.reading.labelled_texts import same
from weft.errors import DataError
from weft.files.bad_rows import Skip, reasons
from weft.files.columns import listed
from weft.files.decoding import shown
from weft.files.finding import ending, find
from weft.files.gather import GatheredRows, Reading, fingerprint, tried
from weft.files.json_values import has_keys, is_json, objects_in, read_json
from weft.files.known_roles import (
    ANSWER,
    ENOUGH,
    PASSAGE,
    PASSAGE_ASKED,
    QUESTION,
    SURE_PASSAGE_NAMES,
    SURE_QUESTION_NAMES,
)
from weft.files.roles import asked_column
from weft.files.survey import NO, Judgement, Survey, Surveyed, sure_if
from weft.files.tables import ENDINGS as TABLES
from weft.files.tables import LISTS, Row, Table, as_cell, is_table, open_table

LEAST = 10  # questions to learn from
OBJECT = 'write {"context": "…", "question": "…", "answer": "…"} on every line'
SAY = "say which columns they are: --set passage_column=… --set question_column=… --set answer_column=…"
WHY = "questions about passages, with answers that stand in them"
SQUAD = ("data", "paragraphs", "qas", "context")


class PassageColumns(NamedTuple):
    """The columns of a table that a user names, by name or number."""

    passage: str | None = None
    question: str | None = None
    answer: str | None = None


@dataclass(frozen=True, slots=True)
class PassageQuestion:
    """A question about a passage, the answers that count as right, and where the first of them begins.

    Without answers the passage does not answer the question.
    """

    passage: str
    question: str
    answers: tuple[str, ...] = ()
    start: int = 0

    @property
    def span(self) -> tuple[int, int] | None:
        """The first character of the answer and the one behind it; None without an answer."""
        return (self.start, self.start + len(self.answers[0])) if self.answers else None

    def digest(self) -> bytes:
        """The same for questions about one passage."""
        return hashlib.sha256(same(self.passage).encode("utf-8")).digest()


@dataclass(frozen=True)
class PassageQuestions:
    """What a number of files hold, with notes for people and what was left out."""

    rows: list[PassageQuestion]
    files: tuple[Path, ...]
    notes: tuple[str, ...]
    skipped: tuple[tuple[str, str], ...]
    taken: Mapping[str, str]

    @property
    def fingerprint(self) -> str:
        """The SHA-256 over all of it in order."""
        return fingerprint(
            text for row in self.rows for text in (row.passage, row.question, str(row.start), *row.answers)
        )


def read_questions(
    sources: Sequence[str | Path], asked: PassageColumns, skip: Skip = None, *, learn: bool = True
) -> PassageQuestions:
    """The questions in files; with `learn`, too few are refused. `skip` is how many may be bad."""
    found = find(list(sources), (*TABLES, *LISTS))
    gathered, taken = GatheredRows[PassageQuestion](skip, found.skipped, len(found.paths)), dict[str, str]()
    for path in found.paths:
        reading = gathered.opened(partial(_reading, path, asked))
        gathered.take(reading)
        taken = taken or dict(reading.taken)
    gathered.bad.check(len(gathered.rows))
    where, least = ", ".join(shown(path) for path in found.paths[:3]), LEAST if learn else 1
    if len(gathered.rows) < least:
        problem = f"{len(gathered.rows)} questions about passages; at least {least} are needed"
        raise DataError(problem + reasons(gathered.left_out), where=where, fix=f"add more; {OBJECT}")
    if learn and not any(row.answers for row in gathered.rows):
        raise DataError("no question has an answer", where=where, fix=OBJECT)
    files = tuple(file.path for file in gathered.files)
    notes = (*gathered.notes, *gathered.bad.lost_in_words())
    return PassageQuestions(gathered.rows, files, notes, gathered.left_out, taken)


def is_squad(path: Path) -> bool:
    """Whether a file has the form of SQuAD, by the keys that stand in it."""
    return is_json(path) and not is_table(path) and has_keys(path, SQUAD)


def squad_rows(path: Path) -> Iterator[tuple[str, str, Mapping[str, Any]] | DataError]:
    """Of each question in a file of SQuAD's form its place, its passage and all that is said of it."""
    for article in objects_in(read_json(path), "data", path, OBJECT):
        if isinstance(article, DataError):
            yield article
            continue
        for paragraph in objects_in(article[1], "paragraphs", path, OBJECT):
            if isinstance(paragraph, DataError):
                yield paragraph
                continue
            for one in objects_in(paragraph[1], "qas", path, OBJECT):
                where = f"{shown(path)}, {article[0]}.{paragraph[0]}"
                passage = _text(paragraph[1].get("context"), "passage", where)
                yield one if isinstance(one, DataError) else (f"{where}.{one[0]}", passage, one[1])


def _reading(path: Path, asked: PassageColumns) -> Reading[PassageQuestion]:
    if is_squad(path):
        return Reading((path,), tried(squad_rows(path), lambda row: _asked(row[1], row[2], row[0])))
    table = open_table(path, PASSAGE_ASKED, asked, objects=OBJECT)
    if not table.columns:
        return Reading((path,), table.faults())
    places = passage_places(table, asked)
    names = ("passage_column", "question_column", "answer_column")
    taken = {name: table.title(place) for name, place in zip(names, places, strict=True)}
    return Reading((path,), table.each(partial(_row, table, places)), tuple(taken.values()), taken=taken)


def passage_places(table: Table, asked: PassageColumns) -> tuple[int, int, int]:
    """The places of passage, question and answer: asked for, else by their names."""
    wanted, found = table.wanted(asked), list[int]()
    for role, name in zip((PASSAGE, QUESTION, ANSWER), wanted, strict=True):
        named = [place for place in role.by_name(table.names) if place not in found]
        place = next(iter(named), None)
        if name is not None:
            place = asked_column(table.columns, name, table.where(table.line))
        if place is None:
            problem = f"which column holds the {role.name} is not clear; its columns:{listed(table.columns)}"
            raise DataError(problem, where=table.where(table.line), fix=SAY)
        found.append(place)
    passage, question, answer = found
    return passage, question, answer


def _row(table: Table, places: tuple[int, int, int], row: Row) -> PassageQuestion:
    passage, question, answers = (table.value(row, place) for place in places)
    where = table.where(row.line)
    start = row.cells.get("answer_start") if isinstance(row.cells, dict) else None
    said = {"question": question, "answers": answers, "answer_start": start}
    return _asked(_text(passage, "passage", where), said, where)


def _asked(passage: str, said: Mapping[str, Any], where: str) -> PassageQuestion:
    """A question with its answers, of which the first stands in the passage."""
    question = _text(said.get("question"), "question", where)
    found = [] if said.get("is_impossible") else list(_answers(said.get("answers"), said.get("answer_start"), where))
    if not found:
        return PassageQuestion(passage, question)
    (text, start), texts = found[0], tuple(dict.fromkeys(text for text, _ in found))
    if start is None or passage[start : start + len(text)] != text:
        start = passage.find(text) if start is None else _nearest(passage, text, start)
    if start < 0:
        problem = f"the answer {shown(text[:40])!r} does not stand in the passage"
        raise DataError(problem, where=where, fix="write it as it stands there, or delete the row")
    return PassageQuestion(passage, question, texts, start)


def _nearest(passage: str, text: str, start: int) -> int:
    """Where a text stands in a passage, the nearest to a place; -1 where it does not."""
    places = list[int]()
    place = passage.find(text)
    while place >= 0:
        places.append(place)
        place = passage.find(text, place + 1)
    return min(places, key=lambda one: abs(one - start), default=-1)


def _answers(value: Any, start: Any, where: str) -> Iterator[tuple[str, int | None]]:
    """The answers in a field, each with its first character where that is said."""
    if isinstance(value, Mapping):  # columns of answers, as the datasets library has them
        texts, starts = value.get("text"), value.get("answer_start")
        texts = texts if isinstance(texts, list) else [texts]
        starts = starts if isinstance(starts, list) else [starts] * len(texts)
        value = [{"text": text, "answer_start": at} for text, at in zip(texts, starts, strict=False)]
    for one in value if isinstance(value, list) else [value]:
        text = one.get("text") if isinstance(one, Mapping) else one
        at = one.get("answer_start") if isinstance(one, Mapping) else start
        if isinstance(text, dict | list):
            raise DataError(f"expected an answer, found {str(text)[:40]!r}", where=where, fix=OBJECT)
        if said := as_cell(text).strip():
            yield said, at if type(at) is int and at >= 0 else None


def _text(value: Any, name: str, where: str) -> str:
    """A text that is not blank, as it stands: answers are found by their place in it."""
    if not isinstance(value, str) or not value.strip():
        raise DataError(f"no {name} here", where=where, fix=OBJECT)
    return value


# Recognition


def judge(survey: Survey) -> Judgement:
    """Whether these are questions about passages."""
    return survey.weakest(_judge_source)


def _judge_source(source: Surveyed) -> Judgement:
    if source.kind == "file" and ending(source.path, LISTS) and is_squad(source.path):
        return Judgement("sure", WHY)
    return sure_if(bool(source.tables) and all(map(_holds_passages, source.tables)), WHY) if source.tables else NO


def _holds_passages(table: Table) -> bool:
    """Whether columns are named as passages, questions and answers; yes and no are classes, and no such answers."""
    known, answers = {(name or "").strip().lower() for name in table.names}, ANSWER.by_name(table.names)
    if not (known & {*SURE_PASSAGE_NAMES} and known & {*SURE_QUESTION_NAMES} and answers):
        return False
    column = table.columns[answers[0]]
    return column.distinct > 2 or len(column.values) < ENOUGH
