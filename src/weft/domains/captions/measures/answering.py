"""How well a run answers questions about held-out pictures, written and chosen, and whether it looked at them at all.

Accuracy is that of VQA (Antol et al., 2015).
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from weft.domains.captions.answering import Answerer, Answering, PictureQuestion
from weft.domains.captions.measures.looking import another, beside, in_words, unseeing
from weft.domains.captions.views.answering import words_read
from weft.domains.captions.views.inside import inside_measures, looked_at, text_spans, words_inside
from weft.domains.captions.views.reading import patch_grid, patch_middle
from weft.domains.pairs.writing import SHOWN
from weft.domains.pictures.encoded.frames import Frames
from weft.domains.pictures.given import frames_for, in_batches
from weft.domains.pictures.reading.album import Album
from weft.errors import DataError
from weft.files.pictures.regions import Question
from weft.models.seq2seq import Seq2Seq
from weft.models.stream import Stream
from weft.objectives.measures.resampling import bootstrap_means
from weft.objectives.measures.tallies import Tally
from weft.tasks.request import Measured
from weft.training.progress import Progress

ENOUGH = 3  # people who agree make an answer right
NUMBERS = {"none": "0", "zero": "0", "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6",
           "seven": "7", "eight": "8", "nine": "9", "ten": "10"}  # fmt: skip
ARTICLES = frozenset(("a", "an", "the"))
MARKS = ';/[]"{}()=+\\_-><@`,?!'
THOUSANDS = re.compile(r"\d,\d")
FULL_STOP = re.compile(r"\.(?!\d)")
MOST_STOPS = 32  # full stops that are dropped from one answer; the published evaluation drops no more


def _contractions() -> dict[str, str]:
    """Contractions written without an apostrophe, and as they should be."""
    ends = {
        "n't": "ai are ca could did does do had has have is might must need ought sha should was were wo would",
        "'ve": "could might must not should would we what where who you they",
        "'ll": "how it somebody someone something they what who why you",
        "'d": "he how it someone something there they where who you",
        "'s": "he how somebody someone that there what when where who why",
        "'re": "there they what why you",
    }
    found = {word + end.replace("'", ""): word + end for end, words in ends.items() for word in words.split()}
    for word in ("could", "had", "might", "should", "would"):
        found |= dict.fromkeys((f"{word}nt've", f"{word}n'tve"), f"{word}n't've")
    for word in ("he", "it", "she", "somebody", "someone", "something", "there", "they", "we", "who", "you"):
        found |= dict.fromkeys((f"{word}d've", f"{word}'dve"), f"{word}'d've")
    found |= dict.fromkeys(("ow's'at", "'ows'at", "'ow'sat"), "'ow's'at")
    found |= dict.fromkeys(("yall'll", "y'allll"), "y'all'll")
    found |= dict.fromkeys(("yall'd've", "y'alld've", "y'all'dve"), "y'all'd've")
    others = {"maam": "ma'am", "oclock": "o'clock", "twas": "'twas", "yall": "y'all", "somebody'd": "somebodyd"}
    return found | others


CONTRACTIONS = _contractions()


def plain_answer(text: str) -> str:
    """An answer in lower case, without marks and articles, numbers as digits, contractions with their apostrophe."""
    text = _trimmed(text)
    joined = THOUSANDS.search(text) is not None
    found = text
    for mark in MARKS:
        beside_space = f"{mark} " in text or f" {mark}" in text
        found = found.replace(mark, "" if joined or beside_space else " ")
    found = FULL_STOP.sub("", found, count=MOST_STOPS)
    words = (NUMBERS.get(word, word) for word in found.lower().split())
    return " ".join(CONTRACTIONS.get(word, word) for word in words if word not in ARTICLES)


def answer_accuracy(found: str, answers: Sequence[str]) -> float:
    """How right an answer is, from 0 to 1.

    With several people's answers: min(people who gave it / 3, 1), averaged over leaving out each of them (of two or
    three people, all others have to agree). Where all wrote the same, the published evaluation compares answers as they
    are written, and so does this. With one known answer: right or wrong.
    """
    if len(answers) == 1:
        return float(plain_answer(found) == plain_answer(answers[0]))
    wanted, given = [_trimmed(answer) for answer in answers], _trimmed(found)
    if len(set(wanted)) > 1:
        wanted, given = [plain_answer(answer) for answer in wanted], plain_answer(given)
    same, enough = wanted.count(given), min(ENOUGH, len(wanted) - 1)
    others = len(wanted) - same
    return (same * min((same - 1) / enough, 1.0) + others * min(same / enough, 1.0)) / len(wanted)


def answer_accuracies(found: Sequence[str], answers: Sequence[Sequence[str]]) -> np.ndarray:
    """The accuracy of each answer."""
    return np.array([answer_accuracy(one, known) for one, known in zip(found, answers, strict=True)])


def _trimmed(text: str) -> str:
    return text.replace("\n", " ").replace("\t", " ").strip()


def answer_measures(who: Answerer, frames: Frames, album: Album, progress: Progress) -> Measured:
    """Accuracy of written and of chosen answers, beside that of answers without a look at the picture; and the loss.

    A question whose text is beyond the model's context is left out, and counted.
    """
    asked, questions = _asked(who, album)
    long = sum(map(len, album.questions)) - len(asked)
    ways = [Answering(), *([Answering(choose=True)] if who.chooses else [])]
    written, *chosen = who.answer(frames, asked, ways, progress)
    given, known = [best[0][0] for best in written], [one.answers for one in questions]
    owner = np.array([one.picture for one in asked])
    own = answer_accuracies(given, known)
    blind = {
        name: answer_accuracies(found, known)
        for name, found in _blind(who, frames, album, asked, questions, progress).items()
    }
    compared = beside(own, blind, owner)
    scores = {"accuracy": own}
    for found in chosen:
        scores["chosen_accuracy"] = answer_accuracies([best[0][0] for best in found], known)
    scores |= {f"{name}_accuracy": score for name, score in blind.items()}
    inside, attention = _inside(who, album)
    learned = who.score(frames, album.questions)
    metrics = {name: float(score.mean()) for name, score in scores.items()}
    more = {
        "questions": len(asked),
        "intervals": bootstrap_means(scores, owner),
        "by_kind": _by_kind(scores, questions, owner),
        "beside": compared,
        "looked": in_words("accuracy", "answer", metrics["accuracy"], compared),
        **attention,
        **({} if learned is None else {"tokens": learned[1]}),
        **({"left_out_long": long} if long else {}),
        "samples": _samples(album, asked, questions, given),
    }
    every = {**metrics, **inside, **({} if learned is None else _loss(*learned))}
    tally = Tally.means("accuracy", own, owner)
    return Measured(len(album), every, more, tally=tally, baselines=unseeing("accuracy", "answer", blind, owner))


def _loss(total: float, tokens: int) -> dict[str, float]:
    loss = total / max(1, tokens)
    return {"loss": loss, "perplexity": math.exp(min(loss, 700))}


def _inside(who: Answerer, album: Album) -> tuple[dict[str, float], Mapping[str, Any]]:
    """The share of attention inside what each word of a question is about; nothing where no region is known."""
    rows = [row for row, some in enumerate(album.questions) if any(one.regions for one in some)]
    codec, found = who.question, list[tuple[float, float]]()
    some = album.take(looked_at(rows))
    for (row,), picture in in_batches(who.run, frames_for(who.run, some), Progress(quiet=True), at_once=1):
        one = next(one for one in some.questions[row] if one.regions)
        (ids,), before = codec.ids([one.text.strip()]), len(codec.marks.before)
        if len(codec.marks.around(ids)) > who.room:
            continue
        own = slice(before, before + len(ids))
        model = who.run.model
        assert isinstance(model, Seq2Seq | Stream)
        read = words_read(model, who.raw(picture, one.text), own, who.opening)
        spans = text_spans(codec.tokenizer, ids.tolist(), one.text)
        weights, grid = read.question.mean((0, 1)), patch_grid(model, picture)
        found += words_inside(weights, spans, one.regions, grid, patch_middle(model))
    return inside_measures(found, len(some))


def _blind(
    who: Answerer,
    frames: Frames,
    album: Album,
    asked: Sequence[PictureQuestion],
    questions: Sequence[Question],
    progress: Progress,
) -> dict[str, list[str]]:
    """Answers without a look at the picture, by baseline: written to another picture, if there is one, or guessed."""
    usual, found = who.usual, dict[str, list[str]]()
    if len(album) > 1:
        others = another(album.names)
        elsewhere = [one._replace(picture=int(others[one.picture])) for one in asked]
        (written,) = who.answer(frames, elsewhere, [Answering()], progress)
        found["shuffled"] = [best[0][0] for best in written]
    if usual is None:
        return found
    found["constant"] = [usual.answers[0]] * len(asked)
    if any(one.kind is not None for one in questions):
        found["kind"] = [usual.guess(None, one.kind) for one in questions]
    found["question"] = [usual.guess(one.text, one.kind) for one in questions]
    return found


def _asked(who: Answerer, album: Album) -> tuple[list[PictureQuestion], list[Question]]:
    """The questions that the model has room for, picture by picture."""
    codec, most = who.question, who.room
    marks = len(codec.marks.around(()))
    rows = [(row, one) for row, some in enumerate(album.questions) for one in some]
    ids = codec.ids(one.text.strip() for _, one in rows)
    fitting = [pair for pair, some in zip(rows, ids, strict=True) if len(some) + marks <= most]
    if not fitting:
        raise DataError(f"no question fits the {most} tokens that the model reads", fix="name shorter ones")
    return [PictureQuestion(row, one.text) for row, one in fitting], [one for _, one in fitting]


def _by_kind(
    scores: Mapping[str, np.ndarray], questions: Sequence[Question], owner: np.ndarray
) -> dict[str, dict[str, Any]]:
    """The measures for each kind of question that the data names, with the number of questions and the intervals."""
    found = {}
    for kind in sorted({one.kind for one in questions if one.kind is not None}):
        mine = np.array([one.kind == kind for one in questions])
        some = {name: score[mine] for name, score in scores.items()}
        found[kind] = {
            "questions": int(mine.sum()),
            **{name: round(float(score.mean()), 4) for name, score in some.items()},
            "intervals": bootstrap_means({"accuracy": some["accuracy"]}, owner[mine]),
        }
    return found


def _samples(
    album: Album, asked: Sequence[PictureQuestion], questions: Sequence[Question], given: Sequence[str]
) -> list[dict[str, Any]]:
    """A few questions, spread evenly over all, with the answers given and wanted."""
    places = np.unique(np.linspace(0, len(asked) - 1, min(SHOWN, len(asked))).round().astype(int))
    return [
        {
            "input": album.names[asked[i].picture],
            "question": questions[i].text,
            "text": given[i],
            "answers": list(questions[i].answers),
        }
        for i in places
    ]
