"""Questions about pictures as a user hands them over: pictures with one question for all, or rows that have both."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from weft.domains.captions.answering import PictureQuestion
from weft.domains.captions.reading.question_tables import questions_in
from weft.domains.captions.sample.named import NamedScene, named_scene, scene_of
from weft.domains.pictures.encoded.frames import Frames
from weft.domains.pictures.given import given_pictures, in_batches, opened_pictures
from weft.domains.pictures.reading.album import Album
from weft.domains.pictures.settings import Ground
from weft.errors import WeftError
from weft.files.json_values import is_json
from weft.files.pictures.locations import FilePlace
from weft.files.tables import is_table
from weft.modalities.image import Picture
from weft.tasks.asks import Given, Opened, Questioned, unlike
from weft.tasks.request import Loaded

ASK = 'add --set question="What colour is it?", or give rows: {"picture": "bird.jpg", "question": "…"}'


def opened_questions(words: Sequence[object], question: str | None, *, scenes: bool) -> Iterator[Given]:
    """The questions of each word: a picture, a folder or an array with `question`; a row; or a table of rows.

    With `scenes`, a scene of weft's own may be named, which has a question of its own.
    """
    for word in words:
        scene = named_scene(word) if scenes else None
        if scene is not None:
            known = scene.album.questions[0]
            asked = known[0].text if known and question is None else question
            if asked is None:
                raise _nothing_asked(str(word))
            yield Given(Questioned(Opened(scene), asked), str(word))
            continue
        for picture, text in _rows(word, question):
            for one in opened_pictures([picture]):
                assert isinstance(one.value, np.ndarray | Opened)
                yield Given(Questioned(one.value, text), one.name)


@dataclass(frozen=True)
class GivenQuestions:
    """Pictures with their names, and questions about them: one for each input."""

    names: list[str]
    frames: Frames
    asked: list[PictureQuestion]


def given_questions(run: Loaded, inputs: Sequence[Given], question: str | None) -> GivenQuestions:
    """The question of each input: its own, or `question` about a picture alone. Each picture is read once."""
    pictures: dict[object, Given] = {}
    asked: list[tuple[object, str]] = []
    for one in inputs:
        picture, text = _asked(one, question)
        key = _key(picture)
        pictures.setdefault(key, picture)
        asked.append((key, text))
    names, frames = given_pictures(run, list(pictures.values()), Ground())
    row = {key: number for number, key in enumerate(pictures)}
    return GivenQuestions(names, frames, [PictureQuestion(row[key], text) for key, text in asked])


@dataclass(frozen=True)
class OneQuestion:
    """A picture by its name, as a file has it and as the model reads it, and a question about it."""

    name: str
    frames: Frames
    read: Picture
    text: str


def one_question(run: Loaded, inputs: Sequence[Given], question: str | None) -> OneQuestion:
    """The one question that is looked at."""
    if len(inputs) != 1:
        problem = f"expected one picture with one question, found {len(inputs)}" if inputs else "no picture"
        raise WeftError(problem, where="weft look", fix=f"name one picture; {ASK}")
    given = given_questions(run, inputs, question)
    ((_, read),) = in_batches(run, given.frames)
    return OneQuestion(given.names[0], given.frames, read, given.asked[0].text)


def scene_asked(one: Given) -> NamedScene | None:
    """The scene that an input asks about; None for any other picture."""
    return scene_of(Given(one.value.about)) if isinstance(one.value, Questioned) else None


def _asked(one: Given, question: str | None) -> tuple[Given, str]:
    """The picture of an input, and the question about it."""
    if isinstance(one.value, Questioned):
        scene = scene_asked(one)
        return Given(one.value.about if scene is None else scene.pixels, one.name), one.value.question
    if isinstance(one.value, str):
        raise unlike(one, "a picture with a question")
    if question is None:
        raise _nothing_asked(one.name)
    return one, question


def _nothing_asked(name: str) -> WeftError:
    return WeftError("no question was asked", where=name[:60], fix=ASK)


def _rows(given: object, question: str | None) -> Iterator[tuple[object, str]]:
    """Pictures, each with a question."""
    if isinstance(given, str) and given.lstrip().startswith("{") and not os.path.exists(given):
        given = _parsed(given)
    if isinstance(given, Mapping):
        yield _row(given, question)
    elif isinstance(given, str | Path) and (is_table(given) or is_json(given)):
        yield from questions_in(Path(given), question)
    elif question is None:
        raise _nothing_asked(str(given))
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


def _key(picture: Given) -> object:
    """What tells pictures apart: the place of a file, else the object itself."""
    value = picture.value
    if isinstance(value, Opened) and isinstance(value.what, Album):
        place = value.what.pictures[0].place
        return place if isinstance(place, FilePlace) else id(place)
    return id(value)
