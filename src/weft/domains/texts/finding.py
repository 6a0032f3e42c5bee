"""Answers found in passages by a run: for every window the likeliest spans, and over all windows the best of them."""

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch

from weft.batches.like_lengths import together
from weft.config import at_least, at_most
from weft.domains.texts.encoded.questions import OVERLAP, PassageRows, knows_segments
from weft.domains.texts.views.streams import text_of
from weft.errors import DataError
from weft.generate.compute import Compute
from weft.modalities.passages import PassageWindow, passage_windows
from weft.models.backbone import context_of
from weft.tasks.measuring import counted
from weft.tasks.request import Loaded
from weft.training.progress import Progress


class FindingAnswers(Compute):
    """Settings of a prediction. The bounds are those that pipelines of the Hugging Face library had."""

    question: str | None = None
    best: int = 1
    longest: int = 15
    window: int = 384
    overlap: int = OVERLAP
    no_answer: bool | None = None

    about: ClassVar[Mapping[str, str]] = {
        **Compute.about,
        "question": "what is asked about the passages; inputs may also be rows with a question and a context each",
        "best": "answers to give to each question, the best first",
        "longest": "the most tokens of an answer",
        "window": "the most tokens of a question with a part of its passage that are read at once",
        "overlap": "tokens of a passage that neighbouring windows share, at most",
        "no_answer": "give an empty answer where that is likelier (SQuAD 2.0); by default where training had such "
        "questions",
    }

    def check(self) -> None:
        super().check()
        for name, least, most in (("best", 1, 100), ("longest", 1, 1000), ("window", 16, 2**20), ("overlap", 0, 2**20)):
            at_least(self, least, name)
            at_most(self, most, name)


@dataclass(frozen=True)
class FoundAnswer:
    """A span of a passage by its characters, and p(first token) · p(last token) in its window. No answer is empty."""

    text: str
    score: float
    start: int = 0
    end: int = 0


def may_lack(run: Loaded, how: FindingAnswers) -> bool:
    """Whether a question may have no answer."""
    return bool(run.data.amounts.get("unanswered")) if how.no_answer is None else how.no_answer


@torch.inference_mode()
def found_answers(
    run: Loaded, asked: Sequence[tuple[str, str]], how: FindingAnswers, progress: Progress | None = None
) -> list[list[FoundAnswer]]:
    """The best answers to questions, each asked about a passage."""
    model, tokenizer, none = run.stream.eval(), text_of(run.codecs).tokenizer, may_lack(run, how)
    device, longest = next(model.parameters()).device, min(how.window, context_of(model.config))
    encoded = {passage: tokenizer.encode_places(passage) for passage in dict.fromkeys(one for one, _ in asked)}
    windows, owners = list[PassageWindow](), list[int]()
    for row, (passage, question) in enumerate(asked):
        if not len(encoded[passage][0]):
            raise DataError("expected a passage, found nothing that the model reads", where=question[:60])
        ids = tokenizer.encode(question)
        some = list(passage_windows(tokenizer.pair_marks, ids, encoded[passage][0], longest, how.overlap))
        windows += some
        owners += [row] * len(some)
    rows = PassageRows(windows, [], knows_segments(model.config))
    found: list[list[FoundAnswer]] = [[] for _ in asked]
    empty = [1.0] * len(asked)
    with counted(progress, len(windows), "passages") as count:
        for batch in together([len(one.ids) for one in windows]):
            logits = model(rows.given(batch).to(device).raw()).cpu().double().numpy()
            for number, values in zip(batch.tolist(), logits, strict=True):
                row, window = owners[number], windows[number]
                passage = asked[row][0]
                chances, nothing = _chances(window, values)
                empty[row] = min(empty[row], nothing)
                places = encoded[passage][1][window.first : window.first + window.count]
                filled = np.array([bool(passage[start:end].strip()) for start, end in places])
                spans = _likeliest(chances, filled, how.longest, how.best)
                found[row] += [_answer(passage, encoded[passage][1], window.first, *span) for span in spans]
            count(len(batch))
    for row, nothing in enumerate(empty if none else ()):
        found[row].append(FoundAnswer("", nothing))
    return [_best(some, how.best) for some in found]


def _chances(window: PassageWindow, logits: np.ndarray) -> tuple[np.ndarray, float]:
    """p(first) and p(last) of a window's tokens of the passage, as rows; and the chance that there is no answer.

    The first mark stands for no answer: both are over it and the passage alone.
    """
    inside = np.concatenate([logits[:1], logits[window.place : window.place + window.count]])
    powers = np.exp(inside - inside.max(0))
    chances = powers / powers.sum(0)
    return chances[1:].T, float(chances[0].prod())


def _likeliest(chances: np.ndarray, filled: np.ndarray, longest: int, count: int) -> Iterator[tuple[float, int, int]]:
    """The likeliest spans of at most `longest` tokens: their chance, first and last token.

    Some token of a span is `filled`, with more than white space.
    """
    (first, last), before = chances, np.concatenate([[0], filled.cumsum()])
    spans = (
        (float(first[i] * last[j]), i, j)
        for i in range(len(first))
        for j in range(i, min(i + longest, len(last)))
        if before[j + 1] > before[i]
    )
    yield from heapq.nlargest(count, spans, key=lambda one: one[0])


def _answer(passage: str, places: np.ndarray, shift: int, chance: float, first: int, last: int) -> FoundAnswer:
    """A span of tokens as characters; white space that belongs to its first token is left out."""
    start, end = int(places[shift + first, 0]), int(places[shift + last, 1])
    text = passage[start:end]
    start += len(text) - len(text.lstrip())
    return FoundAnswer(text.strip(), chance, start, start + len(text.strip()))


def _best(found: Sequence[FoundAnswer], count: int) -> list[FoundAnswer]:
    """The best answers; a span that several windows hold counts once."""
    spans: dict[tuple[int, int], FoundAnswer] = {}
    for one in found:
        key = (one.start, one.end)
        if key not in spans or one.score > spans[key].score:
            spans[key] = one
    return sorted(spans.values(), key=lambda one: -one.score)[:count]
