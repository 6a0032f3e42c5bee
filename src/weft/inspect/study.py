"""Study: one input as the stream that answers sees it, and the answer that is read out of it.

Every task makes one for an input; lens, attribution, effects and kinds work on it and know no task.

    embedder -> tokens, memory -> trunk of the answering stream -> read -> values -> measure

The measure of an answer is one number: its log-odds against the next likeliest answer, which is a difference of two
values; the log-odds of a yes; or a value itself, such as that of a forecast's cell.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from weft.core.changes import Change, Hidden, LayerChange, changed, streams_of
from weft.core.heads import PerToken
from weft.core.memories import Prefix
from weft.core.recording import Kept, Recorder, record
from weft.core.trunk import Trunk
from weft.errors import ConfigError
from weft.modalities.text import Text
from weft.models.seq2seq import Seq2Seq
from weft.models.stream import Stream
from weft.tokens import Tokens

TOKENS_AT_ONCE = 8192  # of all rows that are computed together
ALL_KINDS: tuple[Kept, ...] = ("readings", "states", "branches")

Kind = Literal["classes", "yes", "number"]


@dataclass(frozen=True)
class Study:
    """One input of a model, and its answer.

    `embed` gives the tokens of one input ahead of the trunk, `memory` what the trunk reads beside them. `read` gives
    the values (R V) of the trunk's last tokens (R N D), at the token `place` (counted from 1; None: of all tokens
    together). `answer` and `against` are numbers of values, `label` names a value, `tokens` name the tokens of each
    stream, in the order in which changes count them.
    """

    model: nn.Module
    stream: str
    embed: Callable[[], Tokens]
    memory: Callable[[], Tokens | None]
    read: Callable[[Tokens, int | None], Float[Tensor, "R V"]]
    label: Callable[[int], str]
    tokens: Mapping[str, tuple[str, ...]]
    place: int | None = None
    answer: int = 0
    against: int | None = None
    kind: Kind = "classes"
    uncapped: Callable[[Tokens, int | None], Float[Tensor, "R V"]] | None = None  # `read` before values are bounded
    distances: Callable[[], tuple[np.ndarray, str]] | None = None  # (N N) between tokens that are no line, and the unit
    between: Callable[[], None] = lambda: None  # called before each batch of rows; an error ends the work
    at_once: int = TOKENS_AT_ONCE

    @property
    def trunk(self) -> Trunk:
        """The trunk of the stream that answers."""
        return streams_of(self.model)[self.stream]

    @property
    def joined(self) -> bool:
        """Whether a memory stands before the tokens in one line."""
        return isinstance(self.trunk.memory, Prefix)

    @property
    def measured(self) -> str:
        """What the measure is, in words."""
        if self.kind == "number":
            return f"value of {self.label(self.answer)}"
        rival = "" if self.against is None else f" against {self.label(self.against)}"
        return f"log-odds of {self.label(self.answer)}{rival}"

    def measure(self, values: Float[Tensor, "R V"]) -> Float[Tensor, "R"]:
        """The measure of the answer."""
        own = values[:, self.answer]
        return own if self.against is None else own - values[:, self.against]

    def at(self, place: int) -> "Study":
        """The same input with the answer at another token; the answer is the likeliest there."""
        if self.place is None:
            raise ConfigError("this model gives one answer for all tokens", where="token", fix="leave the token out")
        return answered(replace(self, place=place))

    def asking(self, answer: int, against: int | None = None) -> "Study":
        """The same with a named answer, against another one: by default the likeliest other."""
        if against is None and self.kind == "classes":
            with torch.no_grad():
                against = _rival(self.values()[0], answer)
        return replace(self, answer=answer, against=against)

    def begun(self, rows: int = 1) -> tuple[Tokens, Tokens | None]:
        """The tokens of as many copies of the input, and the memory that they share."""
        tokens, memory = self.embed(), self.memory()
        return tokens.rows(torch.zeros(rows, dtype=torch.long, device=tokens.x.device)), memory

    def values(self, by_row: Sequence[Sequence[Change]] = ((),)) -> Float[Tensor, "R V"]:
        """The values of the answer with the changes of each row.

        Rows are computed together, and what no change has touched yet is computed once: a row begins at the block in
        which its first change is. Changes of other streams, and lines with a prefix, take a whole pass each.
        """
        rows = [tuple(some) for some in by_row]
        if self.joined or self.trunk.gives == "added" or any(self._elsewhere(one) for some in rows for one in some):
            return torch.cat([self._paused(some) for some in rows])
        tokens, memory = self.embed(), self.memory()
        order = sorted(range(len(rows)), key=lambda row: _first_layer(rows[row]))
        most, found = max(1, self.at_once // max(tokens.shape[1], 1)), []
        states = [one.detach() if not torch.is_grad_enabled() else one for one in self.trunk.states(tokens, memory)]
        for start in range(0, len(order), most):
            self.between()
            found.append(self._staged([rows[row] for row in order[start : start + most]], tokens, memory, states))
        values = torch.cat(found)
        return values[torch.tensor(order, device=values.device).argsort()]

    def _staged(
        self, rows: Sequence[tuple[Change, ...]], tokens: Tokens, memory: Tokens | None, states: Sequence[Tensor]
    ) -> Tensor:
        """The values of rows that are in the order of their first layers; `states` are those without changes."""
        numbered = [one.replace(row=row + 1) for row, some in enumerate(rows) for one in some]
        begins, trunk = [_first_layer(some) for some in rows], self.trunk
        x, last = states[0][:0], tokens
        with changed(self.model, *numbered):
            for layer in range(trunk.layers):
                new = begins.count(layer)
                x = torch.cat([x, states[layer].expand(new, -1, -1)]) if new else x
                if not len(x):
                    continue
                copies = tokens.rows(torch.zeros(len(x), dtype=torch.long, device=x.device)).with_x(x)
                x = trunk.between(copies, memory, layer, layer + 1)
            left = len(rows) - len(x)  # rows without any change, or of a trunk without blocks
            x = torch.cat([x, states[-1].expand(left, -1, -1)]) if left else x
            last = tokens.rows(torch.zeros(len(x), dtype=torch.long, device=x.device))
            hidden = [row for row, some in enumerate(rows) if any(isinstance(one, Hidden) for one in some)]
            if hidden:
                last, _ = trunk.begun(last, memory)
            return self.read(last.with_x(x if trunk.norm is None else trunk.norm(x)), self.place)

    def _paused(self, changes: Sequence[Change]) -> Tensor:
        self.between()
        return self._alone(changes)

    def _alone(self, changes: Sequence[Change]) -> Tensor:
        with changed(self.model, *changes):
            tokens, memory = self.begun()
            return self.read(self.trunk(tokens, memory), self.place)

    def _elsewhere(self, change: Change) -> bool:
        """Whether a change is of another stream than the one that answers."""
        return change.stream not in (None, self.stream)

    def recorded(self, changes: Sequence[Change] = (), keep: Sequence[Kept] = ALL_KINDS) -> Recorder:
        """What happens inside in one pass over the input, the source's included."""
        with torch.no_grad(), record(self.model, keep) as recorder:
            self._alone(changes)
        return recorder

    def best(self, values: Float[Tensor, "V"], most: int = 5) -> tuple[tuple[str, float | None], ...]:
        """The likeliest answers with their probabilities; of numbers the one that is asked about."""
        if self.kind == "number":
            return ((f"{float(values[self.answer]):.4g}", None),)
        exact = values.cpu().double()  # not every device has doubles
        chances = exact.softmax(-1) if self.kind == "classes" else exact.sigmoid()
        top = chances.topk(min(most, len(chances)))
        return tuple((self.label(i), p) for p, i in zip(top.values.tolist(), top.indices.tolist(), strict=True))

    def chance(self, values: Float[Tensor, "R V"]) -> Float[Tensor, "R"]:
        """The probability of the answer; of a number the number."""
        if self.kind == "number":
            return values[:, self.answer]
        exact = values.cpu().double()
        return (exact.softmax(-1) if self.kind == "classes" else exact.sigmoid())[:, self.answer]


def answered(study: Study) -> Study:
    """The study with the likeliest answer, against the next likeliest one; of numbers the answer stays."""
    if study.kind == "number":
        return study
    with torch.no_grad():
        values = study.values()[0]
    answer = int(values.argmax())
    return replace(study, answer=answer, against=_rival(values, answer) if study.kind == "classes" else None)


def _rival(values: Float[Tensor, "V"], answer: int) -> int | None:
    """The likeliest other value."""
    if len(values) < 2:
        return None
    return int(values.index_fill(0, torch.tensor([answer], device=values.device), float("-inf")).argmax())


def _first_layer(changes: Sequence[Change]) -> int:
    """The number of blocks that are the same with and without the changes."""
    if not changes:
        return 10**9
    return min(max(one.layer - 1, 0) if isinstance(one, LayerChange) else 0 for one in changes)


Read = Callable[[Tokens, int | None], Tensor]


def _readers(head: nn.Module, size: int | None) -> tuple[Read, Read | None]:
    """How a head gives the values at a token, or of all tokens; and the same before a bound, where it has one."""

    def read(tokens: Tokens, at: int | None) -> Tensor:
        return head(tokens if at is None else _one(tokens, at)).float()[..., :size].reshape(tokens.shape[0], -1)

    def uncapped(tokens: Tokens, at: int | None) -> Tensor:
        assert at is not None and isinstance(head, PerToken)
        return head.uncapped(_one(tokens, at).x)[:, 0].float()[:, :size]

    return read, uncapped if isinstance(head, PerToken) and head.cap is not None else None


def _one(tokens: Tokens, place: int) -> Tokens:
    """One token of each row, by its place from 1."""
    return tokens.take(torch.full((tokens.shape[0], 1), place - 1, device=tokens.x.device))


def stream_study(
    model: Stream,
    raw: Any,
    *,
    names: Sequence[str],
    label: Callable[[int], str],
    place: int | None = None,
    size: int | None = None,
    kind: Kind = "classes",
    answer: int = 0,
    stream: str = "",
    distances: Callable[[], tuple[np.ndarray, str]] | None = None,
) -> Study:
    """The study of a model of one stream: `raw` is a batch of one, as the embedder takes it.

    `place` is the token whose values are the answer, from 1; None where the head gives one answer for all tokens.
    Only the first `size` values are answers. `stream` is the name of the stream where it is part of a larger model.
    """
    head = model.head
    if head is None:
        raise ConfigError("this model has no head: there is no answer to follow", where="weft look")

    read, uncapped = _readers(head, size)
    study = Study(
        model=model.eval(),
        stream=stream,
        embed=lambda: model.embed(raw),
        memory=lambda: None,
        read=read,
        uncapped=uncapped,
        label=label,
        tokens={stream: tuple(names)},
        place=place,
        answer=answer,
        kind=kind,
        distances=distances,
    )
    return answered(study)


def pair_study(
    model: Seq2Seq,
    raw: Any,
    target: Sequence[int],
    *,
    source_names: Sequence[str],
    target_names: Sequence[str],
    label: Callable[[int], str],
    place: int,
    size: int | None = None,
) -> Study:
    """The study of an encoder–decoder: `raw` is the source (a batch of one), `target` the ids that the decoder reads.

    The answer is what follows token `place` of the target, from 1. Names are those of the tokens that each side reads.
    """
    head, decoder = model.target.head, model.target
    assert head is not None, "a decoder has a head"
    device = next(model.parameters()).device
    read, uncapped = _readers(head, size)
    prefix = isinstance(decoder.trunk.memory, Prefix)
    study = Study(
        model=model.eval(),
        stream="target",
        embed=lambda: decoder.embed(Text(torch.tensor([list(target)], device=device))),
        memory=lambda: model.memorise(raw),
        read=read,
        uncapped=uncapped,
        label=label,
        tokens={
            "source": tuple(source_names),
            "target": (*source_names, *target_names) if prefix else tuple(target_names),
        },
        place=place,
    )
    return answered(study)
