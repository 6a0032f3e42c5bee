"""How well a run answers questions about held-out pictures, written and chosen, and whether it looked at them at all."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from weft.data.images.album import Album, Question
from weft.data.images.frames import Frames
from weft.data.order import key, permuted
from weft.errors import DataError
from weft.objectives.measures.answers import answer_accuracies
from weft.objectives.measures.resampling import bootstrap
from weft.tasks.answering import Answering, AnswerWriter, PictureQuestion
from weft.tasks.request import Measured
from weft.tasks.writing import SHOWN
from weft.training.progress import Progress


def answer_measures(writer: AnswerWriter, frames: Frames, album: Album, progress: Progress) -> Measured:
    """Accuracy of answers that are written, chosen, and written to another picture; of guesses; and the loss.

    A question whose text is beyond the model's context is left out.
    """
    asked, questions = _asked(writer, album)
    others = another_row(len(album))
    written, chosen = writer.answer(frames, asked, [Answering(), Answering(choose=True)], progress)
    elsewhere = [one._replace(picture=int(others[one.picture])) for one in asked]
    (shuffled,) = writer.answer(frames, elsewhere, [Answering()], progress)
    usual, given = writer.usual, [best[0][0] for best in written]
    texts = {
        "accuracy": given,
        "chosen_accuracy": [best[0][0] for best in chosen],
        "shuffled_accuracy": [best[0][0] for best in shuffled],
        "constant_accuracy": [usual.answers[0]] * len(asked),
        "question_accuracy": [usual.guess(one.text, one.kind) for one in questions],
    }
    known = [one.answers for one in questions]
    scores = {name: answer_accuracies(found, known) for name, found in texts.items()}
    total, tokens = writer.score(frames, album.questions)
    loss, owner = total / max(1, tokens), np.array([one.picture for one in asked])
    metrics = {name: float(score.mean()) for name, score in scores.items()}
    more = {
        "questions": len(asked),
        "intervals": _intervals(scores, owner, len(album)),
        "by_kind": _by_kind(scores, questions, owner, len(album)),
        "tokens": tokens,
        "samples": _samples(album, asked, questions, given),
    }
    return Measured(len(album), {**metrics, "loss": loss, "perplexity": math.exp(min(loss, 700))}, more)


def another_row(count: int) -> np.ndarray:
    """For each of some rows another one, always the same: the next in a fixed random order; a single row has no other."""
    order = permuted(np.arange(count), count, key("", 0, "shuffled"))
    others = np.empty(count, np.int64)
    others[order] = np.roll(order, 1)
    return others


def _asked(writer: AnswerWriter, album: Album) -> tuple[list[PictureQuestion], list[Question]]:
    """The questions that the model has room for, picture by picture."""
    codec, most = writer.texts.question, writer.contexts.question
    marks = len(codec.marks.around(()))
    rows = [(row, one) for row, some in enumerate(album.questions) for one in some]
    ids = codec.ids(one.text.strip() for _, one in rows)
    fitting = [pair for pair, some in zip(rows, ids, strict=True) if len(some) + marks <= most]
    if not fitting:
        raise DataError(f"no question fits the {most} tokens that the model reads", fix="name shorter ones")
    return [PictureQuestion(row, one.text) for row, one in fitting], [one for _, one in fitting]


def _intervals(scores: Mapping[str, np.ndarray], owner: np.ndarray, pictures: int) -> dict[str, list[float]]:
    """The middle 95 % of each measure over resamples of the pictures, each with all its questions."""
    sums = {name: np.bincount(owner, score, pictures) for name, score in scores.items()}
    counts = np.bincount(owner, minlength=pictures)

    def measure(rows: np.ndarray) -> dict[str, float]:
        many = counts[rows].sum()
        return {name: float(each[rows].sum() / many) if many else math.nan for name, each in sums.items()}

    return bootstrap(pictures, measure)


def _by_kind(
    scores: Mapping[str, np.ndarray], questions: Sequence[Question], owner: np.ndarray, pictures: int
) -> dict[str, dict[str, Any]]:
    """The measures for each kind of question that the data names, with the number of questions and the intervals."""
    found = {}
    for kind in sorted({one.kind for one in questions if one.kind is not None}):
        mine = np.array([one.kind == kind for one in questions])
        some = {name: score[mine] for name, score in scores.items()}
        found[kind] = {
            "questions": int(mine.sum()),
            **{name: round(float(score.mean()), 4) for name, score in some.items()},
            "intervals": _intervals({"accuracy": some["accuracy"]}, owner[mine], pictures),
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
