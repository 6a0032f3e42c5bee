"""Questions about pictures as samples: drawn by index alone, each picture read once, answers by their frequency."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from weft.domains.captions.codec import UsualAnswers
from weft.domains.captions.encoded.question_ids import TextCodecs
from weft.domains.captions.encoded.questions import SeenQuestions, asked_pictures, usual_answer
from weft.domains.pictures.codec import PictureCodec
from weft.domains.pictures.dataset import PictureData, held_apart
from weft.domains.pictures.reading.album import Album, FoundPictures
from weft.domains.pictures.reading.arrays import album_of
from weft.domains.pictures.settings import Augment
from weft.domains.texts.codec.text import TextCodec
from weft.errors import DataError
from weft.files.pictures.regions import Question
from weft.modalities.tokenizer_making import train

LONG = "What do you see behind the house and in front of the tree?"
ASKED = (
    Question("What colour?", ("red", "red", "blue", "red"), "colour"),
    Question("How many?", ("2",), "count"),
    Question(LONG, ("a dog",)),
)


def album(count: int, seed: int) -> Album:
    pixels = np.random.default_rng(seed).integers(0, 256, (count, 8, 8, 3), np.uint8)
    found = album_of(f"pictures {seed}", pixels)
    return Album(tuple(replace(one, questions=ASKED) for one in found.pictures))


def data() -> PictureData:
    return held_apart(FoundPictures(album(5, 0), album(2, 1)), None, "made", None)


def seen(question: int | None = None, answer: int | None = None) -> SeenQuestions:
    text = TextCodec.of(train("characters", [LONG, "What colour? How many?", "red blue 2 a dog"], None), "source")
    picture = PictureCodec(PictureCodec.Config(size=8, shape=(8, 8)), read=str.encode)
    return SeenQuestions.asked(data(), picture, TextCodecs(text, text.in_role("caption")), (question, answer), None)


def texts(found: SeenQuestions, ids: np.ndarray) -> str:
    return found.texts.answer.decode(ids).strip()


def test_each_visit_draws_some_questions_none_twice_by_the_index_alone() -> None:
    found = seen()
    source = asked_pictures(found, 2, how=Augment.none(), stride=4, seed=0)
    whole, parts = source.batch(np.arange(6)), [source.batch(np.arange(0, 2)), source.batch(np.arange(2, 6))]
    assert (
        len(whole) == 12
        and len(whole.given.picture) == 6
        and whole.given.owner.tolist() == sorted([0, 1, 2, 3, 4, 5] * 2)
    )
    rows = [
        [row[:n].tolist() for row, n in zip(b.given.questions.ids, b.given.questions.lengths, strict=True)]
        for b in (whole, *parts)
    ]
    assert rows[0] == rows[1] + rows[2]
    for one in range(0, 12, 2):
        assert rows[0][one] != rows[0][one + 1]


def test_an_answer_is_drawn_as_often_as_it_was_given() -> None:
    found = seen()
    batch = asked_pictures(found, 3, how=Augment.none(), stride=4, seed=0).batch(np.arange(400))
    drawn = Counter(texts(found, ids[1 : n - 1]) for ids, n in zip(batch.wanted.ids, batch.wanted.lengths, strict=True))
    assert set(drawn) == {"red", "blue", "2", "a dog"} and drawn["2"] == drawn["a dog"] == 400
    assert drawn["red"] + drawn["blue"] == 400 and 0.7 < drawn["red"] / 400 < 0.8


def test_held_out_questions_come_with_the_usual_answer_and_pictures_once() -> None:
    found = seen()
    (batch,) = asked_pictures(found, 1, how=Augment.none(), stride=4, seed=0).held_out()
    given = [texts(found, ids[1 : n - 1]) for ids, n in zip(batch.wanted.ids, batch.wanted.lengths, strict=True)]
    assert given == ["red", "2", "a dog"] * 2 and len(batch.given.picture) == 2
    assert usual_answer([np.array([5]), np.array([4]), np.array([4])]).tolist() == [4]


def test_questions_and_answers_beyond_their_contexts_are_left_out_and_counted() -> None:
    assert seen().long == 0 and seen().contexts.question == 64
    short = seen(question=20)
    assert short.long == 5 and "5 questions longer" in short.lines()["left out"] and short.amounts["questions"] == 10
    assert seen(answer=2).long == 10  # of the answers, only "2" fits behind the mark
    with pytest.raises(DataError, match="no question fits 3 tokens"):
        seen(question=3)


def test_usual_answers_are_those_of_the_question_else_of_its_kind_else_of_all() -> None:
    usual = UsualAnswers.learn(
        [
            ("What  colour?", "colour", ["red", "red", "blue"]),
            ("Which colour?", "colour", ["blue", "blue"]),
            ("How many?", "count", ["2"] * 5),
            ("Why?", None, ["because"]),
        ]
    )
    assert usual.answers == ("2", "blue", "red", "because")  # three times blue, twice red
    assert usual.guess("what colour?", "colour") == "red" and usual.guess("WHICH COLOUR?", None) == "blue"
    assert usual.guess("The colour is?", "colour") == "blue" and usual.guess("Who?", "person") == "2"
    again = UsualAnswers(usual.config, read=lambda name: usual.files()[name])
    assert again.same(usual) and again.answers == usual.answers
