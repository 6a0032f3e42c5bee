"""Texts written by a run's encoder–decoder: found by search, or scored where they are given. Knows no files."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from weft.batches.like_lengths import scored as micro_batches
from weft.domains.pairs.codec import TargetCodec
from weft.domains.pairs.encoded import PairRows
from weft.domains.pairs.reading.texts import Held
from weft.domains.texts.codec.text import TextCodec
from weft.errors import DataError, WeftError
from weft.generate.beam import Hypothesis
from weft.generate.choices import Rule
from weft.generate.decode import Decoding, decode
from weft.modalities.words import sentences
from weft.models.backbone import context_of
from weft.models.seq2seq import Seq2Seq
from weft.objectives import TargetToken
from weft.objectives.scoring import scored
from weft.tasks.request import Loaded, Measured, Prediction
from weft.training.progress import Progress, counter

EXTRA_TOKENS = 10  # allowed beyond ratio × source length
USUAL_RATIO = 2.0  # target tokens for each source token, of a model whose training data is unknown
UNSPACED = re.compile(r"[。！？]$")  # ends a sentence that no space follows
SHOWN = 5  # examples in an evaluation

WrittenText = tuple[str, Hypothesis]
Bound = Callable[[str, int], Rule]  # a text and the most tokens of its answer -> what may be written


def seq2seq(run: Loaded) -> Seq2Seq:
    """The run's model, which is an encoder–decoder."""
    assert isinstance(run.model, Seq2Seq)
    return run.model


class TextWriter:
    """Answers texts with texts, by the model and codecs of a run."""

    def __init__(self, run: Loaded):
        self.model = seq2seq(run)
        self.source = run.codec("source", TextCodec)
        target = run.codecs.get("target")
        self.target = target if isinstance(target, TargetCodec) else run.codec("target", TextCodec)
        self.context = context_of(self.model.config)
        self.ratio = run.data.amounts.get("ratio", USUAL_RATIO)
        self._source_ids: dict[str, np.ndarray] = {}  # by text: each is tokenized once for all that asks for its ids

    def source_ids(self, texts: Sequence[str]) -> list[np.ndarray]:
        """Sources behind the marks that stand before them, without the end."""
        new = [text for text in dict.fromkeys(texts) if text not in self._source_ids]
        before = self.source.marks.before
        for text, ids in zip(new, self.source.ids(new), strict=True):
            self._source_ids[text] = np.concatenate((np.array(before, ids.dtype), ids))
        return [self._source_ids[text] for text in texts]

    def target_ids(self, texts: Sequence[str]) -> list[np.ndarray]:
        """Targets behind all marks but the first, which is where a decoder starts."""
        before = self.target.marks.before[1:]
        return [np.concatenate((np.array(before, ids.dtype), ids)) for ids in self.target.ids(texts)]

    def write(
        self, texts: Sequence[str], how: Decoding, progress: Progress | None = None, bound: Bound | None = None
    ) -> list[list[WrittenText]]:
        """The best answers to each text, with their tokens and scores. A blank text has an empty answer.

        `bound` gives the rule under which a text is answered.
        """
        asked = [text for text in texts if text.strip()]
        ids, after = self.source_ids(asked), self.source.marks.after
        for text, one in zip(asked, ids, strict=True):
            if len(one) + len(after) > self.context:
                raise WeftError(
                    f"a text of {len(one) + len(after)} tokens is longer than the model's context of {self.context}",
                    where=repr(text[:60]),
                    fix="give it in shorter parts, or train with a longer context (--set context=…)",
                )
        done = None if progress is None else counter(progress, len(asked), "answered")
        limits = [how.max_tokens or self.limit(len(one) + 1) for one in ids]
        opening, ends = list(self.target.marks.written_from), self.target.ends
        rules = None if bound is None else [bound(text, limit) for text, limit in zip(asked, limits, strict=True)]
        found = iter(
            decode(
                self.model,
                ids,
                end=ends,
                limits=limits,
                how=how,
                opening=opening,
                after=after,
                rules=rules,
                listen=done,
            )
        )
        if progress is not None:
            progress.stop()
        empty = [("", Hypothesis((), 0.0, 0.0, True))]
        return [[self._answer(h) for h in next(found)] if text.strip() else empty for text in texts]

    def write_long(
        self, texts: Sequence[str], how: Decoding, progress: Progress | None = None
    ) -> list[list[WrittenText]]:
        """The best answers to texts; one beyond the model's context is answered sentence by sentence."""
        after = len(self.source.marks.after)
        lengths = [len(ids) + after for ids in self.source_ids(texts)]
        known = zip(texts, lengths, strict=True)
        parts = [[t] if length <= self.context else sentences(t) or [t] for t, length in known]
        flat = iter(self.write([part for pieces in parts for part in pieces], how, progress))
        return [_joined([next(flat) for _ in pieces]) for pieces in parts]

    def limit(self, tokens: int) -> int:
        """The most tokens of an answer to a source with this number of tokens."""
        return min(self.context, math.ceil(self.ratio * tokens) + EXTRA_TOKENS)

    def _answer(self, hypothesis: Hypothesis) -> WrittenText:
        return self.target.decode(hypothesis.ids).strip(), hypothesis

    def score(self, pairs: Sequence[tuple[str, str]]) -> tuple[float, int]:
        """The summed loss of targets in nats, and the number of tokens; without targets beyond the context.

        All that follows the start counts, the end and a mark that comes first included.
        """
        sources = self.source_ids([source for source, _ in pairs])
        targets = self.target_ids([target for _, target in pairs])
        fitting = [(s, t) for s, t in zip(sources, targets, strict=True) if len(t) < self.context]
        if not fitting:
            return 0.0, 0
        marks, after = self.target.marks, self.source.marks.after
        rows = PairRows(fitting, marks.end, marks.start, after)
        return scored(TargetToken.Config(), self.model, micro_batches(rows))


@dataclass(frozen=True)
class AnsweredSources:
    """Answers to held-out sources, the loss of their references, and how many sources do not fit the context."""

    held: Sequence[Held]
    answers: Sequence[str]
    loss: float
    tokens: int
    long: int

    def measured(self, measures: Mapping[str, float], more: Mapping[str, object]) -> Measured:
        """The measures of the answers, beside the loss and a few examples."""
        metrics = {**measures, "loss": self.loss, "perplexity": math.exp(min(self.loss, 700))}
        examples = [
            {"source": one.source, "text": text, "references": list(one.references)}
            for one, text in zip(self.held[:SHOWN], self.answers[:SHOWN], strict=True)
        ]
        long = {"left_out_long": self.long} if self.long else {}
        more = {**more, "tokens": self.tokens, **long, "samples": examples}
        return Measured(len(self.held), metrics, more, rows=self.held)


Write = Callable[[Sequence[str], Decoding, Progress | None], list[list[WrittenText]]]


def answer_all(
    writer: TextWriter,
    held: Sequence[Held],
    write: Write,
    how: Decoding,
    spelt: Callable[[str], str],
    progress: Progress,
) -> AnsweredSources:
    """Held-out sources answered by `write` and their first references scored by the writer.

    `spelt` is how the model writes a reference.
    """
    lengths = [len(ids) for ids in writer.source_ids([one.source for one in held])]
    fitting = [one for one, length in zip(held, lengths, strict=True) if length < writer.context]
    if not fitting:
        problem = f"no source has fewer than {writer.context} tokens"
        raise DataError(problem, fix="train with a longer context")
    total, tokens = writer.score([(one.source, spelt(one.references[0])) for one in fitting])
    found = write([one.source for one in fitting], how, progress)
    answers = [best[0][0] for best in found]
    return AnsweredSources(fitting, answers, total / max(1, tokens), tokens, len(held) - len(fitting))


def answered(text: str, answer: WrittenText) -> Prediction:
    """An answer as the user gets it; one that was cut at its limit says so."""
    found, hypothesis = answer
    cut = {} if hypothesis.ended else {"cut": True}
    return {"source": text, "text": found, "score": round(hypothesis.score, 4) + 0.0, **cut}


def _joined(parts: list[list[WrittenText]]) -> list[WrittenText]:
    """The answers to the sentences of one text as answers to the text, the n-th best of each with one another."""
    if len(parts) == 1:
        return parts[0]
    several = [[best[min(k, len(best) - 1)] for best in parts] for k in range(max(map(len, parts)))]
    return [
        (
            "".join(text if UNSPACED.search(text) else f"{text} " for text, _ in one).strip(),
            replace(
                one[0][1],
                ids=tuple(i for _, h in one for i in h.ids),
                log_probability=sum(h.log_probability for _, h in one),
                score=sum(h.score for _, h in one),
                ended=all(h.ended for _, h in one),
            ),
        )
        for one in several
    ]
