"""Decoding of sources by an encoder–decoder: many at once, of any lengths, each as if it were alone."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch

from weft.batches.samples import PaddedIds
from weft.errors import ConfigError
from weft.generate.beam import Beam, BeamSearch, Hypothesis
from weft.generate.choices import Rule
from weft.generate.compute import Compute, prepared
from weft.generate.sampling import Sampling, generator
from weft.generate.search import Drawing, Line, search
from weft.generate.session import Session
from weft.models.seq2seq import Seq2Seq
from weft.tokens import Tokens

MAX_HYPOTHESES = 256  # computed at once
MAX_SOURCE_TOKENS = 8192  # read at once


class Decoding(Beam, Compute):
    """How a target is found: by beam search, or drawn where the temperature is above 0."""

    temperature: float = 0.0
    top_k: int | None = None
    top_p: float = 1.0
    seed: int = 0
    max_tokens: int | None = None

    about: ClassVar[Mapping[str, str]] = {
        "beam": "beam search: number of hypotheses kept at each step; 1 is greedy search",
        "length_penalty": "above 0 favours longer answers: log p / length^length_penalty",
        "early_stopping": "stop once `beam` answers have ended, even if a better one could follow",
        "best": "answers to give for each input, the best first",
        "never": "ids of tokens that are never written",
        "forced_end": "beam search: an answer at the limit of tokens counts as ended there",
        "precision": Compute.about["precision"],
        "temperature": "above 0 samples at random instead of beam search; 1 samples with the model's own probabilities",
        "top_k": "when sampling: only the k likeliest tokens",
        "top_p": "when sampling (nucleus): only the likeliest tokens that together have this probability",
        "seed": "random seed of sampling",
        "max_tokens": "the most tokens of an answer; by default set by the length of the input",
    }

    def check(self) -> None:
        if self.temperature > 0:
            Beam(beam=max(self.best, 1), best=self.best).check()
        else:
            super().check()
        if self.max_tokens is not None and not 1 <= self.max_tokens <= 1_000_000:
            raise ConfigError(f"expected a value from 1 to 1000000, found {self.max_tokens}", where="max_tokens")
        self.drawing.check()

    @property
    def drawing(self) -> Sampling:
        """The settings of drawing."""
        shape = {"temperature": self.temperature, "top_k": self.top_k, "top_p": self.top_p}
        return Sampling(**shape, seed=self.seed, never=self.never)  # type: ignore[arg-type]


def decode(
    model: Seq2Seq,
    sources: Sequence[np.ndarray],
    *,
    end: int | Sequence[int],
    limits: Sequence[int],
    how: Decoding,
    opening: Sequence[int] = (),
    after: Sequence[int] = (),
    rules: Sequence[Rule] | None = None,
    listen: Callable[[int], None] | None = None,
) -> list[list[Hypothesis]]:
    """The best targets of each source of ids, the best first; `limits` are the most tokens of each target.

    A target ends at the id `end`, or at any of several. Targets go on from `opening`, which is not part of them; by
    default from the first end. The ids `after` stand behind each source; by default the first end does. `rules` say
    what may be written, one for each source. Sources of like length are computed together; `listen` is called with the
    number of sources done.
    """
    ends = [end] if isinstance(end, int) else list(end)
    order = sorted(range(len(sources)), key=lambda i: (len(sources[i]), limits[i]))
    found: list[list[Hypothesis]] = [[] for _ in sources]
    width, start = (how.beam if how.temperature == 0 else how.best), 0
    used: Any = prepared(model, how.precision)
    while start < len(order):
        stop = start + 1
        most = min(max(1, MAX_HYPOTHESES // width), max(1, MAX_SOURCE_TOKENS // (len(sources[order[start]]) + 1)))
        while stop < len(order) and stop - start < most:
            stop += 1
        rows = order[start:stop]
        some, longest = [sources[i] for i in rows], [limits[i] for i in rows]
        memory, keys = memorise(used, some, *(after or ends[:1])), [source.tolist() for source in some]
        bound = None if rules is None else [rules[i] for i in rows]
        opened = list(opening) or ends[:1]
        targets = written(used, memory, end=ends, opening=opened, limits=longest, how=how, keys=keys, rules=bound)
        for i, best in zip(rows, targets, strict=True):
            found[i] = best
        start = stop
        if listen is not None:
            listen(stop)
    return found


def written(
    model: Seq2Seq,
    memory: Tokens,
    *,
    end: int | Sequence[int],
    opening: list[int],
    limits: list[int],
    how: Decoding,
    keys: Sequence[list[int]],
    rules: Sequence[Rule] | None = None,
) -> list[list[Hypothesis]]:
    """The best targets of each row of a memory, the best first. Where they are drawn, a row's key decides the draw.

    A target ends at the id `end`, or at any of several. `rules` say what may be written, one for each row.
    """
    capacity = max(limits) + len(opening)
    if how.temperature == 0:
        session = Session(model.target, memory=memory, capacity=capacity)
        beam = BeamSearch(end, limits, how, rules, forced=len(opening) - 1)
        search(session, [opening for _ in limits], beam)
        return beam.found()
    many = torch.arange(len(limits)).repeat_interleave(how.best).to(memory.x.device)
    session = Session(model.target, memory=memory.rows(many), capacity=capacity)
    rows = [
        Line(opening, end, limit, generator(how.seed, key, i))
        for key, limit in zip(keys, limits, strict=True)
        for i in range(how.best)
    ]
    each = None if rules is None else [rule for rule in rules for _ in range(how.best)]
    search(session, [row.prompt for row in rows], Drawing(rows, how.drawing, scored=True, rules=each))
    drawn = [Hypothesis(tuple(row.ids), row.score, row.score, row.ended == "end") for row in rows]
    groups = [drawn[i : i + how.best] for i in range(0, len(drawn), how.best)]
    return [sorted(group, key=lambda h: -h.score) for group in groups]


@torch.inference_mode()
def memorise(model: Seq2Seq, sources: Sequence[np.ndarray], *after: int) -> Tokens:
    """The encoder's tokens for sources of ids, with the ids `after` behind each."""
    lines = PaddedIds.of([np.append(source, after) for source in sources])
    return model.memorise(lines.to(next(model.parameters()).device).raw())
