"""Inside a pass: what is kept of it for a recorder, and where the active changes act. Knows layers, branches, heads.

A trunk asks `watch` once a pass, and gives each block an `Inside` for its layer by the `Pass`. Nobody looks and nothing
is changed: both are None.

    tokens        Hidden                       before the first block
    heads         Unread, Pinned               weights, in place of the softmax's
                  Without, Scaled, Replaced    what a head read, ahead of W_O
    branches      Without, Scaled, Replaced    what a branch gives, before it joins the stream
    stream        Replaced, Added              after the block; layer 0: ahead of the first one
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from weft.core import changes as active_changes
from weft.core import recording
from weft.core.cache import Cache
from weft.core.changes import (
    Added,
    Change,
    LayerChange,
    PartChange,
    Pattern,
    Pinned,
    Replaced,
    Scaled,
    StreamChanges,
    Unread,
    Without,
)
from weft.core.recording import Reading, StreamPass
from weft.errors import ConfigError
from weft.tokens import Tokens

Numbers = Int[Tensor, "B N"]  # of tokens, counted from 1 in each row; 0 at padding


def watch(trunk: nn.Module) -> "Watch | None":
    """What is to be kept and changed of a pass through this trunk; None where that is nothing."""
    recorder, changes = recording.active(), active_changes.active()
    if recorder is None and changes is None:
        return None
    found = None if changes is None else changes.of(trunk)
    return Watch(trunk, recorder, found) if recorder is not None or found is not None else None


def added_everywhere(trunk: nn.Module) -> dict[int, list[Float[Tensor, "D"]]] | None:
    """By layer, what the active changes add to every token of a trunk's stream; None where they do anything else to it.

    Layer 0 is ahead of the first block. Each vector is added by itself, in the order of the changes.
    """
    held = active_changes.active()
    mine = None if held is None else held.of(trunk)
    if mine is None:
        return {}
    steering = [one for some in mine.layers.values() for one in some if isinstance(one, Added)]
    if mine.hidden or len(steering) < sum(map(len, mine.layers.values())):
        return None
    if any(one.tokens or one.row is not None for one in steering):
        return None
    like, watch, found = next(trunk.parameters()), Watch(trunk, None, mine), dict[int, list[Tensor]]()
    for one in steering:
        mine.met.add(one)
        found.setdefault(one.layer, []).append(watch.vector(one, like.detach()).to(like.dtype))
    return found


class Watch:
    """One pass of a stream: its tokens with their numbers, what is kept of it, and what is changed."""

    def __init__(self, trunk: nn.Module, recorder: recording.Recorder | None, changes: StreamChanges | None):
        self.trunk, self.recorder, self.changes = trunk, recorder, changes
        self.kept: StreamPass | None = None
        self.numbers: Numbers | None = None  # of the tokens of this pass
        self.key_numbers: Numbers | None = None  # of all that a cache holds, these included
        self.valid: Bool[Tensor, "B N"] | None = None
        self.stepping = False  # whether a cache holds earlier tokens, or later ones follow

    def begin(self, line: Tokens, cache: Cache | None) -> Tokens:
        """The tokens as the blocks see them: some may be hidden."""
        self.stepping = cache is not None
        if self.changes is not None:
            self._number(line, cache)
            for change in self.changes.hidden:
                gone = self.chosen(change, line.valid)
                valid = line.valid & ~(gone if gone.ndim == 2 else gone[:, None])
                line = replace(line, valid=valid, unpadded=False, padded_behind=False).padding_zeroed()
        self.valid = line.valid
        if self.recorder is not None:
            self.kept = self.recorder.begin(self.trunk, line)
        return line

    def _number(self, line: Tokens, cache: Cache | None) -> None:
        """Count the real tokens of each row, going on from those that a cache holds."""
        counted = line.valid.long().cumsum(1)
        if cache is None:
            self.numbers = self.key_numbers = counted.masked_fill(~line.valid, 0)
            return
        slots = cache.slots("changes")
        known = slots.get("numbers")  # hidden tokens have numbers too
        if known is None or known.shape[1] != cache.length:  # earlier tokens were read without changes
            earlier = cache.valid()
            known = counted[:, :0] if earlier is None else earlier.long().cumsum(1).masked_fill(~earlier, 0)
        last = known.amax(1, keepdim=True) if known.shape[1] else 0
        self.numbers = (counted + last).masked_fill(~line.valid, 0)
        self.key_numbers = torch.cat([known, self.numbers], 1)
        slots.set("numbers", self.key_numbers)

    def chosen(self, change: Any, like: Tensor, numbers: Numbers | None = None) -> Bool[Tensor, "B *N"]:
        """Which tokens (B N) a change is of, or which rows (B) where it is of all their tokens."""
        numbers = self.numbers if numbers is None else numbers
        assert numbers is not None and self.changes is not None
        self.changes.met.add(change)
        rows = torch.ones(len(numbers), dtype=torch.bool, device=like.device)
        if change.row is not None:
            if change.row > len(numbers):
                problem = f"row {change.row}: this pass has {len(numbers)}"
                raise ConfigError(problem, where=type(change).__name__)
            rows = torch.arange(len(numbers), device=like.device) == change.row - 1
        if not change.tokens:
            return rows
        asked = torch.tensor(change.tokens, device=like.device)
        if not self.stepping and (missing := asked[asked > int((numbers * rows[:, None]).max())]).numel():
            problem = f"token {int(missing[0])}: this input has {int(numbers.max())}"
            raise ConfigError(problem, where=type(change).__name__)
        return torch.isin(numbers, asked) & rows[:, None]

    def state(self, x: Float[Tensor, "B N D"], layer: int) -> Float[Tensor, "B N D"]:
        """The stream after a layer, or ahead of the first block for layer 0."""
        if self.changes is not None:
            for change in self.changes.layers.get(layer, ()):
                if isinstance(change, Added):
                    x = self._edited(x, change, lambda t, c=change: t + self.vector(c, t).to(t.dtype))
                elif isinstance(change, Replaced) and change.branch is change.head is None:
                    x = self._replaced(x, change, self._given(change.of).states[layer])
        if self.kept is not None and self.recorder is not None and "states" in self.recorder.kinds:
            self.kept.states.append(x)
        return x

    def layer(self, number: int) -> "Inside":
        """What is kept and changed within a layer, counted from 1."""
        if self.kept is not None:
            self.kept.readings.append({})
            if self.recorder is not None and "branches" in self.recorder.kinds:
                self.kept.branches.append({})
        found = () if self.changes is None else self.changes.layers.get(number, ())
        return Inside(self, number, found)

    def _given(self, name: str) -> StreamPass:
        """The recorded passes of this stream with another input."""
        assert self.changes is not None
        recorder = self.changes.given[name]
        if self.changes.stream not in recorder.passes:
            problem = f"nothing was kept of the stream {self.changes.stream!r} with the other input"
            raise ConfigError(problem, where="of", fix='record(model, keep=("readings", "states", "branches"))')
        return recorder.stream(self.changes.stream)

    def vector(self, change: Added, like: Tensor) -> Tensor:
        """What is added to each token."""
        if change.vector:
            return change.strength * like.new_tensor(change.vector)
        sides = [_mean_state(self._given(name), change.layer) for name in (change.of, change.minus) if name is not None]
        return change.strength * (sides[0] if len(sides) == 1 else sides[0] - sides[1])

    def _edited(self, t: Tensor, change: LayerChange, edit: Any) -> Tensor:
        """(B N ...) with what a change is of edited; the rest keeps its bits."""
        where = self.chosen(change, t)
        if bool(where.all()):
            return edit(t)
        new = t.clone()
        new[where] = edit(t[where])
        return new

    def _replaced(self, t: Tensor, change: LayerChange, source: Tensor) -> Tensor:
        """(B N ...) with the numbers of another input (B' N' ...), token by token."""
        assert self.numbers is not None
        where, new = self.chosen(change, t), t.clone()
        pass_of = self._given(change.of)  # type: ignore[attr-defined]
        for row in where.reshape(len(t), -1).any(1).nonzero()[:, 0].tolist():
            other = row if len(source) > 1 else 0
            if other >= len(source):
                raise ConfigError(f"the other input has {len(source)} rows, this pass {len(t)}", where="Replaced.of")
            real = source[other][pass_of.tokens.valid[other]]
            mine = self.numbers[row] > 0 if where.ndim == 1 else where[row]
            numbers = self.numbers[row][mine]
            if numbers.numel() and int(numbers.max()) > len(real):
                problem = f"token {int(numbers.max())}: the other input has {len(real)}"
                raise ConfigError(problem, where="Replaced", fix="name tokens that both have")
            new[row, mine] = real[numbers - 1].to(t.dtype)
        return new


@dataclass(frozen=True)
class Inside:
    """What is kept and changed within one layer; `step` is the only token that is read, where a mixer steps."""

    watch: Watch
    number: int
    changes: Sequence[Change]
    step: int | None = None

    def at_token(self, step: int) -> "Inside":
        """The same for one token of the pass, counted from 0."""
        return replace(self, step=step)

    def branch(self, name: str, y: Float[Tensor, "B N D"]) -> Float[Tensor, "B N D"]:
        """What a branch gives to the stream."""
        for change in self.changes:
            mine = isinstance(change, PartChange) and change.head is None
            if mine and change.branch == name:  # type: ignore[attr-defined]
                y = self._given(y, change, self._recorded_branch(change, name))
            elif mine and change.branch is None and isinstance(change, Without | Scaled):  # type: ignore[attr-defined]
                y = self._given(y, change, None)
        kept = self.watch.kept
        if kept is not None and self.watch.recorder is not None and "branches" in self.watch.recorder.kinds:
            kept.branches[-1][name] = y
        return y

    def context(self, y: Float[Tensor, "B D"]) -> Float[Tensor, "B D"]:
        """What a recurrent mixer read of a memory at its step: a branch of its own for those who change it."""
        for change in self.changes:
            if isinstance(change, Without | Scaled) and change.branch == "read" and change.head is None:
                y = self._given(y[:, None], change, None)[:, 0]
        return y

    def keep(self, name: str, reading: Reading) -> None:
        """Note a call of attention."""
        if self.watch.kept is not None:
            self.watch.kept.readings[-1].setdefault(name, []).append(reading)

    def heads(self, name: str, out: Float[Tensor, "B H Q e"]) -> Float[Tensor, "B H Q e"]:
        """What the heads of a branch read, ahead of W_O."""
        mine = [c for c in self.changes if isinstance(c, Without | Scaled | Replaced) and c.head and c.reader == name]
        if not mine:
            return out
        out = out.transpose(1, 2).clone()
        for change in mine:
            assert change.head is not None
            one = out[:, :, change.head - 1]
            one.copy_(self._given(one.clone(), change, self._recorded_head(change, name)))
        return out.transpose(1, 2)

    def _given(self, y: Tensor, change: Any, source: Tensor | None) -> Tensor:
        """(B N ...) as a Without, Scaled or Replaced wants it."""
        watch = self._watch()
        if isinstance(change, Replaced):
            assert source is not None
            return watch._replaced(y, change, source)
        if isinstance(change, Scaled):
            return watch._edited(y, change, lambda t: t * change.factor)
        if isinstance(change, Without) and change.by == "mean":
            if watch.stepping or self.step is not None:
                problem = "the mean over all tokens is not known while tokens come one by one"
                raise ConfigError(problem, where="Without.by", fix="use zero")
            return _put(y, watch.chosen(change, y), _mean_of(y, watch.valid))
        return watch._edited(y, change, torch.zeros_like) if isinstance(change, Without) else y

    def _watch(self) -> Watch:
        """The pass, cut to the only token where there is one."""
        if self.step is None:
            return self.watch
        one = Watch(self.watch.trunk, None, self.watch.changes)
        assert self.watch.numbers is not None and self.watch.valid is not None
        place = slice(self.step, self.step + 1)
        one.numbers, one.valid, one.stepping = self.watch.numbers[:, place], self.watch.valid[:, place], True
        return one

    def _recorded_branch(self, change: Change, name: str) -> Tensor | None:
        if not isinstance(change, Replaced):
            return None
        kept = self.watch._given(change.of).branches
        if not kept or name not in kept[self.number - 1]:
            raise ConfigError(f"the {name} of layer {self.number} was not kept with the other input", where="of")
        return kept[self.number - 1][name]

    def _recorded_head(self, change: PartChange, name: str) -> Tensor | None:
        if not isinstance(change, Replaced) or change.head is None:
            return None
        found = self.watch._given(change.of).readings[self.number - 1].get(name)
        if not found:
            raise ConfigError(f"the {name} of layer {self.number} was not kept with the other input", where="of")
        return torch.cat([one.out[:, change.head - 1] for one in found if one.out is not None], 1)

    # Weights

    def reweighed(self, name: str, heads: int) -> tuple[int, ...]:
        """The heads of a branch whose weights are changed, counted from 0."""
        mine = [c for c in self.changes if isinstance(c, Unread | Pinned) and c.reader == name]
        return tuple(range(heads)) if any(c.head is None for c in mine) else tuple(sorted({c.head - 1 for c in mine}))  # type: ignore[operator]

    def unread(self, name: str) -> list[Unread]:
        """The pairs of a branch that are not to be read, in any head."""
        return [c for c in self.changes if isinstance(c, Unread) and c.reader == name]

    def rows(self, name: str, head: int, like: Tensor) -> Bool[Tensor, "B #Q"]:
        """Which queries have other weights in a head; the others keep those of the kernel, bit for bit."""
        watch, found = self._watch(), None
        for change in self._weighing(name, head):
            mine = watch.chosen(change, like)
            mine = mine[:, None] if mine.ndim == 1 else mine
            found = mine if found is None else found | mine
        assert found is not None
        return found

    def closed_pairs(self, name: str, head: int | None, tokens: Tokens) -> Bool[Tensor, "B Q K"]:
        """The pairs that are not to be read in a head, where these tokens are the keys."""
        keys = self.keys(name, tokens)
        return self.closed(name, head, keys.repeat_interleave(len(self.queries()) // len(keys), 0))

    def closed(self, name: str, head: int | None, keys: Numbers) -> Bool[Tensor, "B Q K"]:
        """The pairs that are not to be read in a head; `keys` are the numbers of the keys."""
        watch = self._watch()
        queries = watch.numbers
        assert queries is not None
        found = torch.zeros(*queries.shape, keys.shape[1], dtype=torch.bool, device=keys.device)
        for change in self.unread(name):
            if change.head in (None, None if head is None else head + 1):
                mine = watch.chosen(change, keys, queries)
                mine = (mine[:, None] if mine.ndim == 1 else mine)[:, :, None]
                found = found | (mine & torch.isin(keys, torch.tensor(change.keys, device=keys.device))[:, None, :])
        return found

    def pinned(self, name: str, head: int) -> list[Pinned]:
        """The changes that say what the weights of a head are."""
        return [change for change in self._weighing(name, head) if isinstance(change, Pinned)]

    def keys(self, name: str, memory: Tokens | None) -> Numbers:
        """The numbers of the keys of a branch: those of the stream, or those of a memory."""
        if name == "read" and memory is not None:
            return memory.valid.long().cumsum(1).masked_fill(~memory.valid, 0)
        assert self.watch.key_numbers is not None
        return self.watch.key_numbers

    def queries(self) -> Numbers:
        """The numbers of the tokens that read."""
        numbers = self._watch().numbers
        assert numbers is not None
        return numbers

    def where(self, change: Change, like: Tensor) -> Bool[Tensor, "B #Q"]:
        """The queries that a change is of."""
        mine = self._watch().chosen(change, like)
        return mine[:, None] if mine.ndim == 1 else mine

    def recorded_weights(self, change: Pinned, name: str, head: int) -> Float[Tensor, "B Q K"]:
        """The weights of a head with another input."""
        assert change.of is not None
        found = self.watch._given(change.of).readings[self.number - 1].get(name)
        if not found:
            raise ConfigError(f"the {name} of layer {self.number} was not kept with the other input", where="Pinned.of")
        if self.step is not None:
            return found[self.step].weights(heads=[head])[:, 0]
        return torch.cat([one.weights(heads=[head])[:, 0] for one in found], 1)

    def _weighing(self, name: str, head: int) -> Iterable[Unread | Pinned]:
        for change in self.changes:
            if isinstance(change, Unread | Pinned) and change.reader == name and change.head in (None, head + 1):
                yield change


def wanted(pattern: Pattern, queries: Tensor, keys: Tensor) -> Tensor:
    """Which keys a pattern reads, by the numbers of queries and keys, which broadcast."""
    if pattern == "uniform":
        return (keys > 0) & (queries > 0)
    aim = {"previous": (queries - 1).clamp(min=1), "itself": queries, "first": torch.ones_like(queries)}[pattern]
    return (keys == aim) & (queries > 0)


def _mean_of(y: Float[Tensor, "B N *rest"], valid: Bool[Tensor, "B N"] | None) -> Tensor:
    """The mean over the real tokens of each row, in the place of each token."""
    assert valid is not None
    real = valid.reshape(*valid.shape, *(1,) * (y.ndim - 2))
    mean = y.masked_fill(~real, 0.0).sum(1, keepdim=True) / real.sum(1, keepdim=True).clamp(min=1)
    return mean.expand_as(y)


def _put(y: Tensor, where: Tensor, new: Tensor) -> Tensor:
    """`new` where a change is, and y elsewhere."""
    return torch.where(where.reshape(*where.shape, *(1,) * (y.ndim - where.ndim)), new, y)


def _mean_state(kept: StreamPass, layer: int) -> Float[Tensor, "D"]:
    """The mean over all real tokens of the stream after a layer."""
    if len(kept.states) <= layer:
        raise ConfigError("the stream was not kept with the other input", where="Added.of", fix='keep "states"')
    return kept.states[layer][kept.tokens.valid].mean(0)
