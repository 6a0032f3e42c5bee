"""Tables that name pictures and ask something about each, with the answers. Refuses to look for the pictures.

A column is known by its name or by its cells: names of pictures, and texts that end in a question mark; what is left
are the answers. Several rows may be about one picture, and a question may have several answers: in columns answer_1,
answer_2 and so on, in a list of JSON, or in several rows.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from weft.domains.captions.reading.about import AboutPicture, named_picture, text_fault, tidy
from weft.domains.pictures.reading.lookup import Shelves, picture_beside
from weft.errors import DataError
from weft.files.columns import listed, plain
from weft.files.decoding import shown
from weft.files.gather import Reading, raising
from weft.files.json_lines import kind as kind_of_value
from weft.files.json_lines import read_string
from weft.files.json_values import begins_a_list, first_table, has_keys, is_json, object_table
from weft.files.known_roles import (  # fmt: skip
    ANSWER,
    ASKED,
    CAPTION_NAME,
    CLASS_NAMES,
    KIND,
    LABEL,
    PICTURE,
    QUESTION,
    SURE_QUESTION_NAMES,
)
from weft.files.pictures.regions import Question
from weft.files.roles import Role, asked_column
from weft.files.survey import NO, Judgement
from weft.files.tables import Row, Table, as_cell, open_table

COLUMNS = "--set picture_column=… --set question_column=… --set answer_column=…"
SAY = f"say which columns they are, by name or number: {COLUMNS}"
HEADER = "give it a header line with the names picture, question and answer; in .json and .jsonl, name the fields so"
OBJECT = 'write {"picture": "…", "question": "…", "answer": "…"}; several answers are a list'
MEND = "correct or delete the row"
INSIDE = "questions"  # the key of a list of questions that have their answers in them, as CLEVR's have


class QuestionColumns(NamedTuple):
    """The columns asked for by name or number."""

    picture: str | None = None
    question: str | None = None
    answer: str | None = None
    kind: str | None = None


@dataclass(frozen=True)
class ChosenColumns:
    """Which column is which; None and nothing where there is none."""

    picture: int | None
    question: int | None
    answers: tuple[int, ...]
    kind: int | None


def is_question_list(path: Path) -> bool:
    """Whether a .json file is a list of objects with questions and answers, or holds one."""
    if begins_a_list(path):
        return any(has_keys(path, ("question", key)) for key in ("answer", "answers"))
    return has_keys(path, (INSIDE, "question", "answer"))


def judge_table(table: Table) -> Judgement:
    """Whether a table names pictures, asks something about them, and has the answers.

    Sure where columns are named question and answer. Where the question is known only by its marks, or by a name like
    prompt that other tables have too, a class or a caption beside it says more of what the table is for.
    """
    found = _columns(table, QuestionColumns())
    pictures = PICTURE.by_content(table.columns)
    if found.question is None or found.picture is None or found.picture not in pictures:
        return NO
    if not found.answers:
        labels = [place for place in LABEL.by_name(table.names) if table.columns[place].values]
        return _perhaps(table, found.picture, found.question, labels[0]) if labels and _prompts(table, found) else NO
    answered = ANSWER.means(table.names[found.answers[0]] or "") is not None
    names = {plain(name or "") for name in table.names}
    if answered and plain(table.names[found.question] or "") in SURE_QUESTION_NAMES:
        return Judgement("sure", "a table of pictures, questions and answers, by the names of its columns")
    if names & set(CLASS_NAMES) or any(map(CAPTION_NAME.fullmatch, names)):
        return NO
    if found.question in QUESTION.by_content(table.columns) and (answered or not any(table.names)):
        return Judgement("sure", "a table of pictures, questions and answers")
    return _perhaps(table, found.picture, found.question, found.answers[0])


def _prompts(table: Table, found: ChosenColumns) -> bool:
    """Whether the column of questions is known by its name."""
    return found.question in QUESTION.by_name(table.names)


def _perhaps(table: Table, *places: int) -> Judgement:
    """Possible, with the columns of pictures, questions and answers as settings."""
    roles = zip(("picture", "question", "answer"), places, strict=True)
    ask = " ".join(f"--set {role}_column={table.columns[place].called}" for role, place in roles)
    return Judgement("possible", "a table of pictures, and perhaps questions", ask)


def read_rows(path: Path, asked: QuestionColumns) -> Reading[AboutPicture]:
    """The rows of a table, or what is wrong with one."""
    table = opened(path, asked)
    if not table.columns:
        return Reading((path,), table.faults())
    columns = _needed(table, asked)
    places = {"picture": columns.picture, "question": columns.question, "kind": columns.kind}
    places["answer"] = columns.answers[0] if len(columns.answers) == 1 else None
    taken = {f"{role}_column": table.title(place) for role, place in places.items() if place is not None}
    return Reading((path,), table.each(lambda item: _row(table, item, columns)), taken=taken)


def opened(path: Path, asked: QuestionColumns = QuestionColumns()) -> Table:
    """A .tsv, .csv, .jsonl or .json file as a table."""
    if is_json(path):
        return object_table(path, _list_key(path), OBJECT)
    return open_table(path, ASKED, asked, objects=OBJECT)


def first_rows(path: Path) -> Table:
    """A .json file by the objects at its beginning, as a table."""
    return first_table(path, _list_key(path), OBJECT)


def _list_key(path: Path) -> str | None:
    """The key of the list of questions; None where the file is the list."""
    return None if begins_a_list(path) else INSIDE


def questions_in(path: Path, question: str | None = None) -> Iterator[tuple[str, str]]:
    """The pictures that a table names, by their paths, and what it asks about each, or one question about all.

    Pictures are where training looks for them: in the table's folder, else in those that stand in it.
    """
    table, shelves = opened(path), Shelves((), what="question")
    columns = _columns(table, QuestionColumns())
    if columns.picture is None or (columns.question is None and question is None):
        missing = "names pictures" if columns.picture is None else "holds questions"
        problem = f"no column {missing}; its columns:{listed(table.columns)}"
        raise DataError(problem, where=table.where(table.line), fix=HEADER)
    for item in raising(table.each(lambda row: row)):
        where = table.where(item.line)
        name = named_picture(table.text(item, columns.picture), where)
        text = question if columns.question is None else table.text(item, columns.question)
        asked = _one(tidy([text or ""]), "question", where)
        yield str(picture_beside(name, path, where, shelves)), asked[0]


def _columns(table: Table, asked: QuestionColumns) -> ChosenColumns:
    """Which column is which: asked for, else by name, else by what it holds."""
    wanted = table.wanted(asked)
    taken: set[int] = set()

    def first(role: Role, name: str | None) -> int | None:
        free = [column for column in table.columns if column.place not in taken]
        named = [place for place in role.by_name(table.names) if place not in taken]
        place = next(iter((*named, *role.by_content(free))), None)
        if name is not None:
            place = asked_column(table.columns, name, table.where(table.line))
        taken.update([] if place is None else [place])
        return place

    picture, question, kind = first(PICTURE, wanted[0]), first(QUESTION, wanted[1]), first(KIND, wanted[3])
    if wanted[2] is not None:
        answer = asked_column(table.columns, wanted[2], table.where(table.line))
        return ChosenColumns(picture, question, (answer,), kind)
    answers = tuple(place for place in ANSWER.by_name(table.names) if place not in taken)
    others = [column.place for column in table.columns if column.place not in taken and column.values]
    return ChosenColumns(picture, question, answers or tuple(others if len(others) == 1 else ()), kind)


def _needed(table: Table, asked: QuestionColumns) -> ChosenColumns:
    columns = _columns(table, asked)
    missing = {"picture": columns.picture is None, "question": columns.question is None, "answer": not columns.answers}
    for role, is_so in missing.items():
        if is_so:
            problem = f"which column holds the {role} is not clear; its columns:{listed(table.columns)}"
            raise DataError(problem, where=table.where(table.line), fix=SAY)
    return columns


def _row(table: Table, item: Row, columns: ChosenColumns) -> AboutPicture:
    assert columns.picture is not None and columns.question is not None
    where, at = table.where(item.line), f"{table.unit} {item.line}"
    picture = named_picture(table.text(item, columns.picture), where)
    question = _one(tidy([table.text(item, columns.question)]), "question", f"{where}: {shown(picture)}")[0]
    texts = [text for place in columns.answers for text in _texts(table.value(item, place), where)]
    answers = _one(tidy(texts), "answer", f"{where}: {shown(picture)}")
    kind = None if columns.kind is None else as_cell(table.value(item, columns.kind)).strip() or None
    return AboutPicture(at, picture, question=Question(question, answers, kind))


def _texts(found: Any, where: str) -> list[str]:
    """The answers in a field: one, several in a list, or none."""
    many = [] if found is None else found if isinstance(found, list) else [found]
    texts = []
    for one in many:
        value = one.get("answer") if isinstance(one, dict) else one
        if not isinstance(value, str | int | float):
            raise DataError(f"expected an answer, found {kind_of_value(value)}", where=where, fix=OBJECT)
        texts.append(
            read_string({"answer": value}, "answer", where=where, fix=OBJECT)
            if isinstance(value, str)
            else as_cell(value)
        )
    return texts


def _one(texts: tuple[str, ...], what: str, where: str) -> tuple[str, ...]:
    """The texts, if there is one and none is too long."""
    if (fault := text_fault(texts, what)) is not None:
        raise DataError(fault, where=where, fix=MEND)
    return texts
