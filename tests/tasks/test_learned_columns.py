"""Columns of tables: those taken are recorded, other tables are read by them, and what a user names must be there."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.tables import write_table
from PIL import Image

from weft.config import Config
from weft.domains.captions.dataset import AskedPictures, CaptionedPictures
from weft.domains.captions.settings import AnswerTraining, CaptionTraining
from weft.domains.graphs.dataset.reader import LabelledGraphs, LabelledSets
from weft.domains.graphs.settings import GraphTraining, SetTraining
from weft.domains.pairs.dataset import Translations
from weft.domains.pairs.settings import PairTraining
from weft.domains.pictures.dataset import LabelledPictures
from weft.domains.pictures.settings import PictureLabelTraining
from weft.domains.places.dataset import PlacesWithValues
from weft.domains.places.settings import PlaceTraining
from weft.domains.texts.dataset.labelled import LabelledDocuments
from weft.domains.texts.settings import LabelTraining
from weft.errors import DataError
from weft.files.dataset import Reader, as_learned

PEOPLE = ("ann", "bob", "cat", "dan")
MOLECULES = ("CCO", "CCC", "CCN", "CCCl", "C=O", "CC=O", "CCCO", "CNC", "COC", "CCS", "CC#N", "CCBr")


@dataclass(frozen=True)
class Case:
    """A reader, its settings, a table whose columns are found, and one in which `other` could be taken as well."""

    reader: Reader[Any]
    asked: Config
    names: Sequence[str]
    row: Callable[[int], Sequence[object]]
    taken: dict[str, str]
    other: str  # the name of a column that would be taken by its name
    values: Callable[[Any], set[str]]  # what was read to be learned


def texts(rows: Any) -> set[str]:
    return {row.label for row in rows}


CASES = {
    "classify-text": Case(
        LabelledDocuments(), LabelTraining(), ["words", "mood"],
        lambda i: [f"the long day number {i} was here", "good" if i % 2 else "bad"],
        {"text_column": "words", "label_column": "mood"}, "label", texts,
    ),
    "translate": Case(
        Translations(), PairTraining(source="en", target="there"), ["en", "there"],
        lambda i: [f"the long day number {i}", f"der lange Tag Nummer {i}"],
        {"source": "en", "target": "there"}, "target", lambda rows: {one.target.split()[0] for one in rows},
    ),
    "graph": Case(
        LabelledGraphs(), GraphTraining(), ["smiles", "expt"], lambda i: [MOLECULES[i % 12], -i / 4],
        {"label_column": "expt"}, "label", texts,
    ),
    "sets": Case(
        LabelledSets(), SetTraining(label_column="kind"), ["bag", "x", "kind"],
        lambda i: [i // 2, i % 5, "ab"[i // 2 % 2]], {"set_column": "bag", "label_column": "kind"}, "label", texts,
    ),
    "classify-images": Case(
        LabelledPictures(), PictureLabelTraining(), ["path", "species"], lambda i: [f"{i % 24}.png", "ab"[i % 2]],
        {"label_column": "species"}, "label", lambda album: set(album.labels),
    ),
    "caption": Case(
        CaptionedPictures(), CaptionTraining(caption_column="said"), ["path", "said"],
        lambda i: [f"{i % 24}.png", f"a picture of {PEOPLE[i % 4]}"],
        {"picture_column": "path", "caption_column": "said"}, "caption",
        lambda album: {text for some in album.captions for text in some},
    ),
    "answer": Case(
        AskedPictures(), AnswerTraining(answer_column="said"), ["path", "question", "said"],
        lambda i: [f"{i % 24}.png", "Who is it?", PEOPLE[i % 4]],
        {"picture_column": "path", "question_column": "question", "answer_column": "said"}, "answer",
        lambda album: {text for some in album.questions for one in some for text in one.answers},
    ),
    "fit-field": Case(
        PlacesWithValues(), PlaceTraining(), ["lat", "lon", "warmth"], lambda i: [i % 60, i % 7, i / 4 + 0.1],
        {"lat_column": "lat", "lon_column": "lon", "value_column": "warmth"}, "value",
        lambda rows: {f"{value:g}" for value in rows.values},
    ),
}  # fmt: skip


@pytest.fixture(params=CASES, ids=str)
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Case:
    found = CASES[request.param]
    if any("path" in name for name in found.names):
        for i in range(24):
            Image.fromarray(np.full((4, 4, 3), 9 * i, np.uint8)).save(tmp_path / f"{i}.png")
    write_table(tmp_path / "train.csv", found.names, [found.row(i) for i in range(48)])
    wrong = [[f"zzz {i % 2}", *reversed(list(found.row(i)))] for i in range(48)]
    write_table(tmp_path / "test.csv", [found.other, *reversed(found.names)], wrong)
    return found


def test_the_columns_that_were_taken_are_recorded_and_taken_again(case: Case, tmp_path: Path) -> None:
    data = case.reader.read([str(tmp_path / "train.csv")], None, case.asked)
    assert dict(data.taken) == case.taken
    asked = as_learned(case.asked, data.taken)
    again = case.reader.read([str(tmp_path / "test.csv")], None, asked)
    assert not any("zzz" in value for value in case.values(again.train)) and dict(again.taken) == case.taken


def test_a_column_that_was_learned_from_may_have_another_name(case: Case, tmp_path: Path) -> None:
    asked = as_learned(case.asked, {**case.taken, list(case.taken)[-1]: "nowhere"})
    if isinstance(case.reader, LabelledSets | LabelledDocuments):  # whose labels are known by a name alone
        with pytest.raises(DataError, match="label"):
            case.reader.read([str(tmp_path / "train.csv")], None, asked)
        return
    data = case.reader.read([str(tmp_path / "train.csv")], None, asked)
    assert len(case.values(data.train)) > 1 or isinstance(case.reader, Translations)


def test_a_column_that_a_user_names_must_be_there(case: Case, tmp_path: Path) -> None:
    setting = list(case.taken)[-1]
    with pytest.raises(DataError, match="nowhere") as error:
        case.reader.read([str(tmp_path / "test.csv")], None, case.asked.replace(**{setting: "nowhere"}))
    assert case.other in error.value.problem
