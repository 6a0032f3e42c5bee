"""Many captions and questions, in mapped files: what is read, drawn and counted is the same to the bit."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from weft.domains.captions.encoded.captions import SeenCaptions, captioned_pictures
from weft.domains.captions.encoded.question_ids import TextCodecs
from weft.domains.captions.encoded.questions import SeenQuestions, asked_pictures
from weft.domains.captions.reading import captions as caption_reading
from weft.domains.captions.reading import questions as question_reading
from weft.domains.captions.reading.captions import read_captions
from weft.domains.captions.reading.kept import KeptSaid
from weft.domains.captions.reading.questions import read_questions
from weft.domains.pictures.codec import PictureCodec
from weft.domains.pictures.dataset import PictureData, held_apart
from weft.domains.pictures.reading.album import FoundPictures
from weft.domains.pictures.settings import Augment
from weft.domains.texts.codec.text import TextCodec
from weft.errors import DataError
from weft.modalities.encoding import ended
from weft.storage import file_marks
from weft.storage.prepared import prepared_in

PICTURES = 24


@pytest.fixture(autouse=True)
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_marks, "SETTLED_SECONDS", 0.0)


def photos(folder: Path) -> None:
    folder.mkdir()
    for n in range(PICTURES):
        Image.fromarray(np.random.default_rng(n).integers(0, 256, (8, 8, 3), np.uint8)).save(folder / f"{n}.png")


def captions(folder: Path) -> Path:
    """A table with one to three captions a picture, the second row of each once more, and a row without any."""
    photos(folder / "photos")
    rows = [(f"{n}.png", f"a thing of number {n}{' seen' * k}") for n in range(PICTURES) for k in range(1 + n % 3)]
    lines = [f"photos/{name}\t{text}" for name, text in [*rows, rows[1], ("3.png", "")]]
    (folder / "c.tsv").write_text("picture\tcaption\n" + "\n".join(lines) + "\n")
    return folder / "c.tsv"


def questions(folder: Path) -> list[Path]:
    """VQA's two files, with ten answers to each question."""
    photos(folder / "photos")
    numbers = [(n * 10 + k, n) for n in range(PICTURES) for k in range(1 + n % 3)]
    asked = [{"question_id": q, "image_id": n, "question": f"What is {q % 4}?"} for q, n in numbers]
    answers = [{"answer": "yes" if (q + i) % 3 else f"no {q}"} for q, _ in numbers for i in range(10)]
    known = [
        {"question_id": q, "image_id": n, "answer_type": "yes/no", "answers": answers[10 * i : 10 * i + 10]}
        for i, (q, n) in enumerate(numbers)
    ]
    (folder / "q.json").write_text(json.dumps({"questions": asked}))
    (folder / "a.json").write_text(json.dumps({"annotations": known}))
    return [folder / "q.json", folder / "a.json", folder / "photos"]


def facts(found: FoundPictures) -> list[Any]:
    album = found.train
    said = [[tuple(one.captions), tuple(one.questions)] for one in album.pictures]
    return [said, album.names, album.fingerprint, album.skipped, found.taken]


def data(found: FoundPictures) -> PictureData:
    return held_apart(found, None, "made", None)


PICTURE = PictureCodec(PictureCodec.Config(size=8, shape=(8, 8)), read=str.encode)


def seen_captions(found: FoundPictures, context: int | None = None) -> SeenCaptions:
    texts = [text for some in found.train.captions for text in some]
    codec = TextCodec.learn(ended(texts), "characters", None, characters=10**4, role="caption")
    return SeenCaptions.captioned(data(found), (PICTURE, codec), context, None)


def seen_questions(found: FoundPictures, context: int | None = None, answer: int | None = None) -> SeenQuestions:
    texts = [text for some in found.train.questions for one in some for text in (one.text, *one.answers)]
    codec = TextCodec.learn(ended(texts), "characters", None, characters=10**4, role="source")
    return SeenQuestions.asked(
        data(found), PICTURE, TextCodecs(codec, codec.in_role("caption")), (context, answer), None
    )


def seen_facts(seen: SeenCaptions | SeenQuestions) -> list[Any]:
    return [dict(seen.lines()), dict(seen.amounts)]


def batches(source: Any) -> list[list[int]]:
    found = [source.batch(np.arange(20)), *source.held_out()]
    return [[*one.wanted.ids.flatten().tolist(), *one.wanted.lengths.tolist()] for one in found]


def test_captions_in_mapped_files_are_those_in_memory(tmp_path: Path) -> None:
    table = captions(tmp_path)
    sides = []
    for place in ("none", str(tmp_path / "kept"), str(tmp_path / "kept")):
        with prepared_in(place):
            found = read_captions([table], skip=5)
            whole, short = seen_captions(found), seen_captions(found, 28)
            assert 0 < short.long < len(whole.captions.rows) and isinstance(short.captions[0][0], np.ndarray)
            both = [captioned_pictures(one, 2, how=Augment.none(), stride=4, seed=1) for one in (whole, short)]
            sides.append(
                [facts(found), whole.lines(), whole.amounts, short.lines(), short.amounts, list(map(batches, both))]
            )
    assert sides[0] == sides[1] == sides[2]
    assert isinstance(found.train.pictures[0].captions, KeptSaid) and isinstance(whole.captions.rows.ids, np.memmap)


def test_questions_in_mapped_files_are_those_in_memory(tmp_path: Path) -> None:
    files = questions(tmp_path)
    sides = []
    for place in ("none", str(tmp_path / "kept"), str(tmp_path / "kept")):
        with prepared_in(place):
            found = read_questions(files, skip=5)
            whole, short = seen_questions(found), seen_questions(found, None, 4)
            assert len(short.questions.given) < len(whole.questions.given)
            both = [asked_pictures(one, 2, how=Augment.none(), stride=4, seed=1) for one in (whole, short)]
            sides.append(
                [facts(found), whole.lines(), whole.amounts, short.lines(), short.amounts, list(map(batches, both))]
            )
    assert sides[0] == sides[1] == sides[2]
    assert isinstance(found.train.pictures[0].questions, KeptSaid) and isinstance(whole.questions.given, np.memmap)


def test_a_second_start_reads_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "c").mkdir()
    (tmp_path / "q").mkdir()
    table, files = captions(tmp_path / "c"), questions(tmp_path / "q")
    with prepared_in(str(tmp_path / "kept")):
        before = [facts(read_captions([table], skip=5)), facts(read_questions(files))]
        for module, name in ((caption_reading, "rows_in"), (question_reading, "_readings")):
            monkeypatch.setattr(module, name, lambda *given: pytest.fail("a file was read"))
        assert before == [facts(read_captions([table], skip=5)), facts(read_questions(files))]


def test_what_is_refused_in_memory_is_refused_in_files(tmp_path: Path) -> None:
    table = captions(tmp_path)
    for place in ("none", str(tmp_path / "kept"), str(tmp_path / "kept")):
        with prepared_in(place), pytest.raises(DataError, match="no caption"):
            read_captions([table], skip=0)
