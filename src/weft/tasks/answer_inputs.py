"""Questions about pictures as a user hands them over: pictures with one question for all, or rows that have both."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weft.data.images.frames import Frames
from weft.data.images.settings import Ground
from weft.data.readers.json_files import is_json
from weft.data.readers.question_tables import questions_in
from weft.data.tables import is_table
from weft.errors import WeftError
from weft.modalities.image import Picture
from weft.tasks.answering import PictureQuestion
from weft.tasks.pictures import in_batches, pictures_of_each
from weft.tasks.request import Loaded

ASK = 'add --set question="What colour is it?", or give rows: {"picture": "bird.jpg", "question": "…"}'


@dataclass(frozen=True)
class GivenQuestions:
    """Pictures with their names, and questions about them."""

    names: list[str]
    frames: Frames
    asked: list[PictureQuestion]


def given_questions(run: Loaded, inputs: Sequence[object], question: str | None) -> GivenQuestions:
    """The questions of each input: a picture, a folder or an array with `question`; a row; or a table of rows."""
    rows = [row for one in inputs for row in _rows(one, question)]
    different: dict[object, object] = {}  # each picture is read once
    for picture, _ in rows:
        different.setdefault(_key(picture), picture)
    names, frames, places = pictures_of_each(run, list(different.values()), Ground())
    of = dict(zip(different, places, strict=True))
    asked = [PictureQuestion(place, text) for picture, text in rows for place in of[_key(picture)]]
    return GivenQuestions(names, frames, asked)


@dataclass(frozen=True)
class OneQuestion:
    """A picture by its name, as a file has it and as the model reads it, and a question about it."""

    name: str
    frames: Frames
    read: Picture
    text: str


def one_question(run: Loaded, input: object, question: str | None) -> OneQuestion:
    """The one question that is looked at."""
    given = given_questions(run, [] if input is None else [input], question)
    if len(given.asked) != 1:
        problem = "no picture" if input is None else f"expected one picture with one question, found {len(given.asked)}"
        raise WeftError(problem, where="weft look", fix=f"name one picture; {ASK}")
    ((_, read),) = in_batches(run, given.frames)
    return OneQuestion(given.names[0], given.frames, read, given.asked[0].text)


def _rows(given: object, question: str | None) -> Iterator[tuple[object, str]]:
    """Pictures, each with a question."""
    if isinstance(given, str) and given.lstrip().startswith("{") and not os.path.exists(given):
        given = _parsed(given)
    if isinstance(given, Mapping):
        yield _row(given, question)
    elif isinstance(given, str | Path) and (is_table(given) or is_json(given)):
        yield from questions_in(Path(given), question)
    elif question is None:
        raise WeftError("no question was asked", where=str(given)[:60], fix=ASK)
    else:
        yield given, question


def _row(given: Mapping[Any, Any], question: str | None) -> tuple[object, str]:
    picture, text = given.get("picture"), given.get("question", question)
    if picture is None or not isinstance(text, str):
        problem = f"expected a picture and a question, found {', '.join(map(str, given)) or 'nothing'}"
        raise WeftError(problem, where="a row", fix=ASK)
    return picture, text


def _parsed(text: str) -> Mapping[str, Any]:
    try:
        found: Mapping[str, Any] = json.loads(text)
    except (ValueError, RecursionError) as error:
        problem = "nested too deeply" if isinstance(error, RecursionError) else error
        raise WeftError(f"not JSON: {problem}", where=text[:60], fix=ASK) from None
    return found


def _key(picture: object) -> object:
    return str(picture) if isinstance(picture, str | Path) else id(picture)
