"""Beam search: the best few of all continuations of each source, followed side by side.

A hypothesis y of log-probability log p(y) is ranked by log p(y) / |y|^alpha, the end token counted: the ranking of the
Hugging Face library, so that a model finds the same texts there. One hypothesis is the greedy search. Sources in a
batch do not touch each other: one that is done leaves.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from weft.config import Config
from weft.errors import ConfigError
from weft.generate.choices import Rule, limited
from weft.generate.sampling import likeliest
from weft.generate.search import Move

Offer = tuple[float, int, int]  # log-probability, which hypothesis is continued, with which token


class Beam(Config):
    """How many hypotheses are followed and returned, the weight of length, when to stop, ids never written.

    `forced_end`: what runs at the limit is ended there by an end that costs nothing.
    """

    beam: int = 5
    length_penalty: float = 0.5
    early_stopping: bool = False
    best: int = 1
    never: tuple[int, ...] = ()
    forced_end: bool = False

    def check(self) -> None:
        for name, good, expected in (
            ("beam", 1 <= self.beam <= 100, "from 1 to 100"),
            ("length_penalty", -10 <= self.length_penalty <= 10, "from -10 to 10"),
            ("best", 1 <= self.best <= self.beam, f"from 1 to {self.beam}, the beam"),
        ):
            if not good:
                raise ConfigError(f"expected a value {expected}, found {getattr(self, name)}", where=name)


@dataclass(frozen=True)
class Hypothesis:
    """A target: its tokens without the end, its log-probability, its rank among others, and whether it ended itself."""

    ids: tuple[int, ...]
    log_probability: float
    score: float
    ended: bool


class BeamSearch:
    """A strategy that keeps `beam` hypotheses of each source.

    Every step each hypothesis offers its best continuations; the best that do not end go on. A source is done when
    `beam` hypotheses have ended and none that runs is ranked above the worst of them (with `early_stopping`, whatever
    runs), or at its limit of tokens.
    """

    def __init__(
        self,
        end: int | Collection[int],
        limits: list[int],
        how: Beam,
        rules: Sequence[Rule] | None = None,
        *,
        forced: int = 0,
    ):
        """`end` is the id that ends a target, or several of which any does.

        `limits` are the most tokens of each source's target, the end not counted; `rules` say what may be written
        there. `forced` tokens at the start of each target are given, and count in its length.

        A target is scored as if everything might be written: under a rule, `beam` as large as the number of targets
        that it allows finds the best of them for certain.
        """
        self.ends = frozenset((end,) if isinstance(end, int) else end)
        self.limits, self.how, self.rules, self.forced = limits, how, rules, forced
        self.ended: list[list[Hypothesis]] = [[] for _ in limits]
        self.going = list(range(len(limits)))
        self.running: list[list[tuple[int, ...]]] = [[()] for _ in limits]
        self.scores: Float[Tensor, "S R"] | None = None  # log-probabilities of those that run; R is 1, then the beam
        self.length = 0

    def rank(self, log_probability: float, length: int) -> float:
        """The log-probability divided by the length penalty."""
        return log_probability / (self.forced + length) ** self.how.length_penalty

    def advance(self, logits: Float[Tensor, "R V"]) -> Move | None:
        """Extend the hypotheses that run by one token each."""
        beam, sources = self.how.beam, len(self.going)
        scores, parents, tokens = self._offers(logits.float(), min((1 + len(self.ends)) * beam, logits.shape[1]))
        self.length += 1
        kept: list[tuple[int, list[Offer]]] = []
        for place, offers in enumerate(zip(scores.tolist(), parents.tolist(), tokens.tolist(), strict=True)):
            onward = self._sort(place, list(zip(*offers, strict=True)))
            if onward:
                kept.append((place, onward))
        if not kept:
            return None
        width = logits.shape[0] // sources
        rows = [place * width + parent for place, onward in kept for _, parent, _ in onward]
        device = logits.device
        self.running = [
            [(*self.running[place][parent], token) for _, parent, token in onward] for place, onward in kept
        ]
        self.scores = torch.tensor([[score for score, _, _ in onward] for _, onward in kept], device=device)
        self.going = [self.going[place] for place, _ in kept]
        return Move(
            torch.tensor([token for _, onward in kept for _, _, token in onward], device=device),
            torch.tensor(rows, device=device),
            torch.tensor([place for place, _ in kept], device=device),
        )

    def _offers(self, logits: Tensor, each: int) -> tuple[Tensor, Tensor, Tensor]:
        """The best continuations of each source: log-probability, which hypothesis it continues, with which token."""
        sources = len(self.going)
        written = [ids for running in self.running for ids in running]
        rules = None
        if self.rules is not None:
            rules = [self.rules[i] for i, running in zip(self.going, self.running, strict=True) for _ in running]
        best, tokens = likeliest(limited(logits, written, rules, self.how.never), logits, each)
        best = best.view(sources, -1, each)
        if self.scores is not None:
            best = best + self.scores[..., None]
        order = best.flatten(1).topk(min(each, best[0].numel()), -1)
        return order.values, order.indices // each, tokens.view(sources, -1).gather(1, order.indices)

    def _sort(self, place: int, offers: list[Offer]) -> list[Offer]:
        """Note the offers that end; returns those that go on, none if the source is done."""
        beam, source = self.how.beam, self.going[place]
        ended, onward = self.ended[source], list[Offer]()
        for number, (score, parent, token) in enumerate(offers):
            if score == float("-inf"):  # not allowed
                break
            if token in self.ends:
                if number < beam:
                    ids = self.running[place][parent]
                    ended.append(Hypothesis(ids, score, self.rank(score, self.length), True))
            elif len(onward) < beam:
                onward.append((score, parent, token))
        ended.sort(key=lambda h: -h.score)
        del ended[beam:]
        if not onward:
            return []
        if self.length >= self.limits[source]:
            self._cut(place, ended, onward)
            return []
        if self._done(ended, onward):
            return []
        while len(onward) < beam:  # fewer offers than the beam: the rest can never win
            onward.append((float("-inf"), *onward[0][1:]))
        return onward

    def _done(self, ended: list[Hypothesis], onward: list[Offer]) -> bool:
        """Whether nothing that runs is to be followed any further."""
        full = len(ended) >= self.how.beam
        return full and (self.how.early_stopping or ended[-1].score >= self.rank(onward[0][0], self.length))

    def _cut(self, place: int, ended: list[Hypothesis], onward: list[Offer]) -> None:
        """Take what runs at the limit among those that have ended. The score alone ranks them; under a rule a text
        that it lets end is ranked first, since one that was cut is none that the rule allows.
        """
        forced = self.how.forced_end and self.rules is None
        if forced and self._done(ended, onward):
            return
        for score, parent, token in onward:
            ids, length = (*self.running[place][parent], token), self.length + forced
            ended.append(Hypothesis(ids, score, self.rank(score, length), forced))
        ended.sort(key=lambda h: (self.rules is not None and not h.ended, -h.score))
        del ended[self.how.beam :]

    def found(self) -> list[list[Hypothesis]]:
        """The best hypotheses of each source, the best first."""
        return [ended[: self.how.best] for ended in self.ended]
