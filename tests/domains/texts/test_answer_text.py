"""Questions about passages: files in SQuAD's form and tables, answers by windows, and what evaluations count."""

import json
from pathlib import Path

import numpy as np
import pytest
from helpers.trials import DATA, train

import weft
from weft.core import SpanEnds
from weft.domains.recognising import recognise
from weft.domains.texts.encoded.questions import tokens_of
from weft.domains.texts.measures import answer_scores
from weft.domains.texts.reading.questions import PassageColumns, judge, read_questions
from weft.errors import DataError, WeftError
from weft.files.survey import Survey
from weft.modalities.passages import passage_windows
from weft.modalities.tokenizer import Tokenizer
from weft.modalities.tokenizer_json import PairMarks
from weft.modalities.tokenizer_making import train as tokenizer_of

ROWS = [json.loads(line) for line in (DATA / "lives.jsonl").read_text().splitlines()]
ASKED = {"question": "What does Ada sell?", "context": "Ada lives near the moon and sells wool."}


def as_squad(rows: list[dict]) -> dict:
    """Rows of one passage each in SQuAD's form; the last has no answer, as in version 2.0."""
    asked = [
        {"id": str(i), "question": row["question"], "is_impossible": i == len(rows) - 1,
         "answers": [{"text": row["answers"]["text"][0], "answer_start": row["answers"]["answer_start"][0]}]}
        for i, row in enumerate(rows)
    ]  # fmt: skip
    return {"data": [{"title": "t", "paragraphs": [
        {"context": row["context"], "qas": [one]} for row, one in zip(rows, asked, strict=True)]}]}  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> weft.Run:
    return train("answer-text", [DATA / "lives.jsonl"], out=tmp_path_factory.mktemp("lives") / "run")


def test_files_in_squad_s_form_and_tables_hold_the_same_questions(tmp_path: Path):
    squad, table = tmp_path / "a.json", tmp_path / "b.csv"
    squad.write_text(json.dumps(as_squad([*ROWS, ROWS[0]])))
    cells = "".join(f'"{row["context"]}","{row["question"]}",{row["answers"]["text"][0]}\n' for row in ROWS)
    table.write_text("passage,question,answer\n" + cells)
    lines, columns = read_questions([DATA / "lives.jsonl"], PassageColumns()).rows, PassageColumns()
    found = read_questions([squad], columns).rows
    assert found[:-1] == lines == read_questions([table], columns).rows
    assert found[-1].answers == () and found[-1].span is None
    assert {recognise([str(path)])[0].name for path in (squad, table, DATA / "lives.jsonl")} == {"answer-text"}


def test_questions_with_yes_or_no_are_not_taken_for_answers_in_passages(tmp_path: Path):
    path = tmp_path / "a.csv"
    rows = "".join(f'"{row["context"]}","{row["question"]}",{i % 2 == 0}\n' for i, row in enumerate(ROWS))
    path.write_text("passage,question,answer\n" + rows)
    assert judge(Survey([str(path)])).level == "no"


def test_an_answer_that_does_not_stand_in_its_passage_is_a_bad_row(tmp_path: Path):
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({**row, "answers": {"text": ["a whale"]}}) + "\n" for row in ROWS))
    with pytest.raises(DataError, match="'a whale' does not stand in the passage"):
        read_questions([path], PassageColumns())


def test_a_wrong_place_of_an_answer_is_mended_by_the_nearest(tmp_path: Path):
    path = tmp_path / "a.jsonl"
    row = {"context": "tea, tea and tea", "question": "What?", "answers": {"text": ["tea"], "answer_start": [6]}}
    path.write_text(json.dumps(row) + "\n")
    assert read_questions([path], PassageColumns(), learn=False).rows[0].span == (5, 8)


def test_inputs_are_passages_with_a_question_rows_and_files(run: weft.Run, tmp_path: Path):
    squad = tmp_path / "a.json"
    squad.write_text(json.dumps(as_squad(ROWS)))
    (one,), (same,), (typed,) = (
        run.predict(ASKED["context"], question=ASKED["question"]),
        run.predict(ASKED),
        run.predict(json.dumps(ASKED)),
    )
    assert one == same == typed and one["input"][one["start"] : one["end"]] == one["text"]
    assert len(run.predict(squad)) == len(ROWS) == len(run.predict(DATA / "lives.jsonl"))
    assert len(run.predict(ASKED, best=3)) == 3
    with pytest.raises(WeftError, match="no question was asked"):
        run.predict(ASKED["context"])


def test_a_question_may_have_no_answer(run: weft.Run):
    texts = [one["text"] for one in run.predict(ASKED, no_answer=True, best=100, longest=1)]
    assert texts.count("") == 1 and "" not in [one["text"] for one in run.predict(ASKED, best=100, longest=1)]


def test_windows_cover_a_passage_and_share_tokens():
    marks, question, passage = PairMarks((1,), (2, 2), (3,)), np.arange(10, 14), np.arange(100, 150)
    windows = list(passage_windows(marks, question, passage, 24, 6))
    assert [(one.first, one.count) for one in windows] == [(0, 16), (10, 16), (20, 16), (30, 16), (40, 10)]
    for one in windows:
        assert one.ids[one.place : one.place + one.count].tolist() == passage[one.first :][:16].tolist()
        assert one.segments.tolist() == [0] * 7 + [1] * (one.count + 1) and one.ids[-1] == 3
        assert one.at(one.first) == one.place and one.at(one.first - 1) is None
    assert len(list(passage_windows(marks, question, passage[:16], 24, 6))) == 1


def test_an_answer_behind_the_first_window_is_found(run: weft.Run):
    far = {**ASKED, "context": "Nobody knows. " * 40 + ASKED["context"]}
    (whole,), (near,) = run.predict(far, window=64, overlap=50), run.predict(ASKED, window=64)
    assert whole["input"][whole["start"] : whole["end"]] == whole["text"] and near["score"] > 0


@pytest.mark.parametrize("kind", ["characters", "bytes", "bpe"])
def test_places_of_tokens_are_those_of_their_characters(kind: str):
    text = "Ada façade <|endoftext|> 12 €uro 𝄞 sells wool."
    tokenizer: Tokenizer = tokenizer_of(kind, [text, None] * 20, 300 if kind == "bpe" else None, characters=100)
    ids, places = tokenizer.encode_places(text)
    assert ids.tolist() == tokenizer.encode(text).tolist() and places[-1, 1] == len(text)
    start = text.index("wool")
    first, last = tokens_of(places, start, start + 4)
    assert text[places[first, 0] : places[last, 1]].strip() == "wool"


def test_answers_count_as_squad_counts_them():
    exact, f1 = answer_scores(["The old mill.", "mill", "", ""], [["old mill"], ["old mill", "a pond"], [], ["x"]])
    assert exact.tolist() == [1, 0, 1, 0] and f1.tolist() == pytest.approx([1, 2 / 3, 1, 0])


def test_an_encoder_that_filled_blanks_learns_to_find_answers(tmp_path: Path):
    origin = Path(__file__).parents[2] / "fixtures" / "foreign" / "bert"
    run = weft.train(
        DATA / "lives.jsonl", from_=origin, out=tmp_path / "run", steps=2, quiet=True, baselines=False, precision="fp32"
    )
    assert run.report["task"] == "answer-text" and isinstance(run.model.head, SpanEnds)
    assert run.model.config.embed.segments == 2 and len(run.predict(ASKED)) == 1
