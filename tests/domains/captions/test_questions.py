"""Questions about pictures: in tables, in lists of JSON and in files of VQA v2; recognised, and every fault named."""

import csv
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from helpers import processes
from helpers.pictures import encoded, scene, write

from weft.domains import recognising
from weft.domains.captions.dataset import AskedPictures, measured_questions
from weft.domains.captions.reading import captions
from weft.domains.captions.reading.question_tables import QuestionColumns, questions_in
from weft.domains.captions.reading.questions import judge, read_questions
from weft.domains.pictures.reading.album import Album
from weft.domains.recognising import recognise
from weft.errors import DataError
from weft.files import json_values as json_files
from weft.files.bounds import outside_allowed
from weft.files.pictures.regions import Question
from weft.files.roles import LearnedColumn
from weft.files.survey import Survey

NAMES = tuple(f"COCO_val2014_{number:012d}.jpg" for number in (9, 25, 30))
ROWS = [(NAMES[0], "What is it?", "a dog"), (NAMES[1], "Is it red?", "no"), (NAMES[0], "How many dogs?", "2"),
        (NAMES[2], "Where is the cat?", "on a mat")]  # fmt: skip
EXPECTED = {NAMES[0]: (("What is it?", ("a dog",)), ("How many dogs?", ("2",))), NAMES[1]: (("Is it red?", ("no",)),),
            NAMES[2]: (("Where is the cat?", ("on a mat",)),)}  # fmt: skip
FIELDS = ("picture", "question", "answer")


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    for seed, name in enumerate(NAMES):
        write(tmp_path / "photos" / name, encoded(scene(seed=seed), "JPEG"))
    return tmp_path / "photos"


def table(path: Path, rows: list[tuple[Any, ...]] = ROWS, fields: tuple[str, ...] | None = FIELDS) -> Path:
    if path.suffix == ".jsonl":
        return write(path, "".join(json.dumps(dict(zip(fields or FIELDS, r, strict=True))) + "\n" for r in rows))
    if path.suffix == ".json":
        return write(path, json.dumps([dict(zip(fields or FIELDS, row, strict=True)) for row in rows]))
    text = io.StringIO()
    csv.writer(text, delimiter="," if path.suffix == ".csv" else "\t").writerows([*([fields] if fields else []), *rows])
    return write(path, text.getvalue())


def found(*sources: Path, **options: Any) -> Album:
    return read_questions(sources, **options).train


def asked(album: Album) -> dict[str, tuple[tuple[str, tuple[str, ...]], ...]]:
    return {p.name: tuple((q.text, q.answers) for q in p.questions) for p in album.pictures}


def wrong(*sources: Path, **options: Any) -> str:
    with pytest.raises(DataError) as caught:
        found(*sources, **{"skip": 0, **options})
    return str(caught.value)


@pytest.mark.parametrize("name", ["q.csv", "q.tsv", "q.jsonl", "q.json", "bare.csv", "bare.tsv"])
def test_a_table_of_questions_is_recognised_and_no_other_kind_of_data(name: str, photos: Path):
    file = table(photos.parent / name, fields=None if name.startswith("bare") else FIELDS)
    for sources in ([file], [file, photos]):
        survey = Survey(sources)
        assert judge(survey).level == "sure"
        assert [name for name, judged in recognising.judge(survey).items() if judged.level == "sure"] == ["answer"]
        assert asked(found(*sources)) == EXPECTED


def test_long_answers_are_not_taken_for_captions(photos: Path):
    rows = [(name, "What is in this picture?", "a dog that runs over the grass") for name in NAMES]
    for fields in (("image", "question", "answer"), None):
        survey = Survey([table(photos.parent / "q.tsv", rows, fields), photos])
        assert judge(survey) and not captions.judge(survey)
    described = Survey(
        [table(photos.parent / "c.tsv", [(n, "a dog on the grass") for n in NAMES], ("image", "caption"))]
    )
    assert captions.judge(described) and not judge(described)


def test_columns_may_be_asked_for_and_need_not_be_there_when_measured(photos: Path):
    file = table(photos.parent / "q.csv", [(a, "x", b, c, "y") for a, b, c in ROWS], ("im", "no", "ask", "say", "sort"))
    assert "which column holds the answer is not clear" in wrong(file, photos)
    album = found(file, photos, asked=QuestionColumns("im", "ask", "say", "sort"))
    assert asked(album) == EXPECTED and {q.kind for p in album.pictures for q in p.questions} == {"y"}
    other = table(photos.parent / "other.tsv")
    assert (
        asked(found(other, photos, asked=QuestionColumns(*map(LearnedColumn, ("im", "ask", "say", "sort")))))
        == EXPECTED
    )
    assert "no column 'ask'" in wrong(other, photos, asked=QuestionColumns(question="ask"))


def test_several_answers_are_a_list_columns_or_rows(photos: Path):
    one = {"image": NAMES[0], "question": "What is it?"}
    forms = {
        "list.jsonl": json.dumps({**one, "answers": ["a dog", "dog", 3]}) + "\n",
        "objects.jsonl": json.dumps({**one, "answers": [{"answer": text} for text in ("a dog", "dog", "3")]}) + "\n",
        "columns.csv": f"image,question,answer_1,answer_2,answer_3\n{NAMES[0]},What is it?,a dog,dog,3\n",
        "rows.tsv": "image\tquestion\tanswer\n"
        + "".join(f"{NAMES[0]}\tWhat is it?\t{t}\n" for t in ("a dog", "dog", 3)),
    }
    for name, text in forms.items():
        (picture,) = found(write(photos.parent / name, text), photos).pictures
        assert picture.questions == (Question("What is it?", ("a dog", "dog", "3")),), name


def test_questions_are_part_of_what_the_data_is(photos: Path):
    first = found(table(photos.parent / "a.tsv"), photos).fingerprint
    assert found(table(photos.parent / "b.csv"), photos).fingerprint == first
    for place, change in ((1, "Is it big?"), (2, "a cat")):
        rows = [tuple(change if i == place else cell for i, cell in enumerate(ROWS[0])), *ROWS[1:]]
        assert found(table(photos.parent / "c.tsv", rows), photos).fingerprint != first


TABLE_FAULTS = {
    "no answer": ((NAMES[0], "What?", " "), f"q.tsv, line 6: {NAMES[0]}: no answer"),
    "no question": ((NAMES[0], "", "a dog"), f"q.tsv, line 6: {NAMES[0]}: no question"),
    "an answer of 1 MB": ((NAMES[0], "What?", "x" * 2**20), "an answer of 1,048,576 characters, more than 10,000"),
    "no picture named": (("", "What?", "a dog"), "q.tsv, line 6: no picture is named"),
    "picture not there": (("gone.jpg", "What?", "a dog"), "gone.jpg: a question without a picture"),
}


@pytest.mark.parametrize("fault", TABLE_FAULTS)
def test_a_bad_row_is_named_and_refused_or_left_out(fault: str, photos: Path):
    row, message = TABLE_FAULTS[fault]
    file = table(photos.parent / "q.tsv", [*ROWS, row])
    assert message in wrong(file, photos)
    album = found(file, photos, skip=1)
    assert asked(album) == EXPECTED and any(message.split(": ")[-1] in reason for _, reason in album.skipped)


def test_damaged_files_are_named_with_their_place(photos: Path):
    lines = table(photos.parent / "q.jsonl").read_text()
    assert "bad.jsonl, line 5: not valid JSON" in wrong(
        write(photos.parent / "bad.jsonl", lines + '{"picture": \n'), photos
    )
    cut = write(photos.parent / "cut.json", table(photos.parent / "q.json").read_text()[:-9])
    assert "cut.json, line 1: not valid JSON at column" in wrong(cut, photos)
    assert judge(Survey([cut, photos])), "recognised, so that reading it says what is wrong"
    mixed = write(photos.parent / "mixed.json", json.dumps([dict(zip(FIELDS, ROWS[0], strict=True)), 3]))
    assert "mixed.json, [1]: expected an object, found a number" in wrong(mixed, photos)


def test_a_list_of_json_that_names_no_pictures_is_a_table_of_something_else(photos: Path):
    for text in (
        '[{"question": "why?", "answer": "so"},]',
        '[{"question": "why?", "answer": "so"}]',
        '[{"question": "answer": ',
    ):
        file = write(photos.parent / "q.json", text)
        assert judge(Survey([file])).level == "no"
        with pytest.raises(DataError, match="not clear|no list of objects|not valid JSON"):
            recognise([str(file)])


def test_a_long_list_is_recognised_by_its_beginning_and_parsed_once(photos: Path, monkeypatch: pytest.MonkeyPatch):
    file = table(photos.parent / "q.json", [(NAMES[0], "Is it red?", f"answer {i}") for i in range(9000)])
    assert file.stat().st_size > json_files.START
    parsed = []
    read = json_files.read_json
    monkeypatch.setattr(json_files, "read_json", lambda path: parsed.append(path) or read(path))
    assert recognise([str(file), str(photos)])[0].name == "answer" and not parsed
    assert found(file, photos).pictures[0].questions[0].answers[-1] == "answer 8999" and parsed == [file]


def test_pictures_without_an_ending_are_found_by_a_column_that_is_asked_for(photos: Path):
    rows = [{"image": Path(name).stem, "question": question, "answer": answer} for name, question, answer in ROWS]
    for name, text in (("q.json", json.dumps(rows)), ("q.jsonl", "".join(json.dumps(row) + "\n" for row in rows))):
        file = write(photos.parent / name, text)
        assert [len(q) for q in found(file, photos, asked=QuestionColumns(picture="image")).questions] == [2, 1, 1], (
            name
        )


def test_no_more_files_of_a_folder_are_opened_than_it_takes_to_tell(photos: Path, monkeypatch: pytest.MonkeyPatch):
    for number in range(5):
        write(photos.parent / f"{number}.json", "{}")
    table(photos.parent / "q.tsv")
    monkeypatch.setattr("weft.domains.captions.reading.questions.LOOK", 3)
    assert not judge(Survey([photos.parent])) and asked(found(photos.parent)) == EXPECTED


# VQA v2

ASKS = [{"image_id": image, "question": text, "question_id": number}
        for image, text, number in ((9, "What is it?", 9000), (25, "Is it red?", 25000),
                                    (9, "How many?", 9001))]  # fmt: skip
ANSWERS = [{"question_id": ask["question_id"], "image_id": ask["image_id"], "answer_type": "other",
            "question_type": "what",
            "multiple_choice_answer": "dog", "answers": [{"answer": text, "answer_id": i, "answer_confidence": "yes"}
                                                         for i, text in enumerate(("dog", "dog", "a dog"))]}
           for ask in ASKS]  # fmt: skip


def vqa(folder: Path, asks: Any = ASKS, answers: Any = ANSWERS) -> tuple[Path, Path]:
    return (write(folder / "v2_questions.json", json.dumps({"info": {}, "task_type": "Open-Ended", "questions": asks})),
            write(folder / "v2_annotations.json", json.dumps({"info": {}, "annotations": answers})))  # fmt: skip


def test_the_two_files_of_vqa_are_recognised_and_joined_in_any_order(photos: Path):
    questions, answers = vqa(photos.parent)
    for sources in ([questions, answers, photos], [photos, answers, questions], [photos.parent]):
        assert judge(Survey(sources)).level == "sure" and not captions.judge(Survey(sources))
        album = found(*sources)
        assert [picture.place.where.rpartition("/")[2] for picture in album.pictures] == list(NAMES[:2])
        first = album.pictures[0].questions
        assert first[0] == Question("What is it?", ("dog", "dog", "a dog"), "other") and len(first) == 2


VQA_FAULTS: dict[str, tuple[Any, Any, str]] = {
    "a question without answers": ([*ASKS, {"image_id": 9, "question": "Who?", "question_id": 7}], ANSWERS,
                                   "questions[3]: a question without answers: 7"),
    "answers without a question": (ASKS, [*ANSWERS, {**ANSWERS[0], "question_id": 7}],
                                   "answers to the question 7, which is in no file"),
    "two of one id": ([*ASKS, {**ASKS[0], "question": "Who?"}], ANSWERS, "questions[3]: a second question 9000"),
    "answered twice": (ASKS, [*ANSWERS, ANSWERS[0]], "annotations[3]: the question 9000 has answers twice"),
    "of another image": ([*ASKS, {"image_id": 9, "question": "Who?", "question_id": 7}],
                         [*ANSWERS, {**ANSWERS[0], "question_id": 7, "image_id": 25}], "is about the image 9"),
    "no words": ([*ASKS, {"image_id": 9, "question": "", "question_id": 7}],
                 [*ANSWERS, {**ANSWERS[0], "question_id": 7}], "questions[3]: no question"),
    "blank answers": ([*ASKS, {"image_id": 9, "question": "Who?", "question_id": 7}],
                      [*ANSWERS, {**ANSWERS[0], "question_id": 7, "answers": [{"answer": " "}]}],
                      "annotations[3]: no answer"),
    "no picture": ([*ASKS, {"image_id": 7, "question": "Who?", "question_id": 7}],
                   [*ANSWERS, {**ANSWERS[0], "question_id": 7, "image_id": 7}],
                   "questions[3]: 7: a question without a picture"),
}  # fmt: skip


@pytest.mark.parametrize("fault", VQA_FAULTS)
def test_a_fault_in_vqa_is_named_and_refused_or_left_out(fault: str, photos: Path):
    asks, answers, message = VQA_FAULTS[fault]
    files = vqa(photos.parent, asks, answers)
    assert message in wrong(*files, photos)
    album = found(*files, photos, skip=2)
    assert [len(questions) for questions in album.questions] == [2, 1]


@pytest.mark.parametrize("fault", [{"answers": [{"answer": 3}]}, {"image_id": None}])
def test_an_annotation_that_cannot_be_read_is_one_bad_row(fault: dict[str, Any], photos: Path):
    files = vqa(photos.parent, ASKS, [*ANSWERS[:2], {**ANSWERS[2], **fault}])
    message = wrong(*files, photos)
    assert "1 of 3 rows cannot be used" in message and "annotations[2]" in message and "its answers too" not in message
    assert [len(questions) for questions in found(*files, photos, skip=1).questions] == [1, 1]


def test_half_of_vqa_is_refused_with_what_is_missing(photos: Path):
    questions, answers = vqa(photos.parent)
    assert "answers without the file of their questions" in wrong(answers, photos)
    assert "3 of 3 rows cannot be used" in wrong(questions, photos) and "its answers too" in wrong(questions, photos)


def test_a_number_that_two_pictures_end_in_is_refused(photos: Path):
    write(photos / "9.jpg", encoded(scene(), "JPEG"))
    assert "2 pictures have this name" in wrong(*vqa(photos.parent), photos)


# The data set


class Settings:
    """What a training asks for."""

    picture_column: str | None = None
    question_column: str | None = None
    answer_column: str | None = None
    kind_column: str | None = None
    allowed: int | float | None = None


def test_held_out_questions_may_name_pictures_of_the_others(photos: Path):
    file, held = table(photos.parent / "q.tsv"), table(photos.parent / "held" / "h.tsv", ROWS[-1:])
    data = AskedPictures().read([str(file), str(photos)], str(held), Settings())
    assert len(data.train) == 3 and data.held_out.questions == ((Question("Where is the cat?", ("on a mat",)),),)
    assert not data.still and measured_questions([str(file), str(photos)], Settings()).questions == data.train.questions


def test_the_pictures_and_questions_of_a_table_are_listed_for_predictions(photos: Path):
    file = table(photos.parent / "q.csv", [(f"photos/{a}", b) for a, b, _ in ROWS], ("picture", "question"))
    assert list(questions_in(file))[0] == (str(photos / NAMES[0]), "What is it?")
    bare = write(photos.parent / "p.csv", f"picture,note\nphotos/{NAMES[1]},x\n")
    assert list(questions_in(bare, "What is it?")) == [(str(photos / NAMES[1]), "What is it?")]
    with pytest.raises(DataError, match="no column holds questions"):
        list(questions_in(bare))


@pytest.mark.parametrize("name", ["more.tsv", "more.json"])
def test_pictures_of_a_table_for_predictions_are_found_where_training_finds_them(name: str, photos: Path):
    file = table(photos.parent / name, [(a, b) for a, b, _ in ROWS], ("picture", "question"))
    assert list(questions_in(file)) == [(str(photos / a), b) for a, b, _ in ROWS]


@pytest.mark.parametrize("absolute", [True, False])
def test_a_row_for_predictions_does_not_lead_out_of_the_tables_folder(absolute: bool, photos: Path):
    away = str(photos / NAMES[0]) if absolute else f"../photos/{NAMES[0]}"
    file = table(photos.parent / "tables" / "q.tsv", [(away, "What is it?")], ("picture", "question"))
    with pytest.raises(DataError, match=r"q.tsv, line 2: .*: the path leads out of the data's folder"):
        list(questions_in(file))
    with outside_allowed(True):
        assert len(list(questions_in(file))) == 1
    gone = table(photos.parent / "gone.tsv", [("gone.jpg", "What is it?")], ("picture", "question"))
    with pytest.raises(DataError, match="gone.tsv, line 2: gone.jpg: a question without a picture"):
        list(questions_in(gone))


def test_recognising_and_reading_questions_needs_no_torch(photos: Path):
    files = [str(file) for file in (*vqa(photos.parent), photos)]
    code = (
        "import sys; from weft.files.survey import Survey\n"
        "from weft.domains.captions.reading.questions import judge, read_questions\n"
        f"assert judge(Survey({files})); assert len(read_questions({files}).train) == 2\n"
        "assert 'torch' not in sys.modules"
    )
    assert processes.run([sys.executable, "-c", code]).returncode == 0
