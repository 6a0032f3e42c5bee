"""Changes: what a person may switch off, scale, pin, replace or add inside a model, as frozen configs.

A change names a layer, a branch (mix, read, transform), a head, tokens: all counted from 1, as people count. Tokens
are counted within a row, padding apart; where a memory is the prefix of the line, its tokens come first. A `row` limits
a change to one row of the batch, so that rows of one batch may have different changes. A `stream` is named by where
its trunk stands in the model: "source" and "target" of an encoder and a decoder, "source.picture", "encoder"; the only
stream of a model, or its target, needs no name. `changed` checks changes against a model and holds them active.

Without changes the cost is one comparison. Native code knows one, `Added` at all tokens: else passes and steps go by
the modules.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from torch import nn

from weft.config import Config, from_json
from weft.core.recording import Recorder, stream_name
from weft.errors import ConfigError, listed, nearest

BranchName = Literal["mix", "read", "transform"]
Pattern = Literal["uniform", "previous", "itself", "first"]

_active: ContextVar["Changed | None"] = ContextVar("changes", default=None)
_watchers = 0  # number of active contexts: a plain number is checked first, which costs nothing and can be compiled


# The types


class Change(Config):
    """Something inside a model that is to be otherwise, in one stream, for one row of the batch or for all."""

    stream: str | None = None
    row: int | None = None

    def check(self) -> None:
        _from_one(self, "row")


class LayerChange(Change):
    """A change within a layer, of all tokens or of some."""

    layer: int = field(kw_only=False)
    tokens: tuple[int, ...] = ()

    lowest: ClassVar[int] = 1  # the first layer that can be named

    def check(self) -> None:
        super().check()
        _from_one(self, "tokens")
        if self.layer < self.lowest:
            raise ConfigError(f"expected a number from {self.lowest} up, found {self.layer}", where="layer")


class PartChange(LayerChange):
    """A change of what a branch, or one head of its attention, gives."""

    branch: BranchName | None = None
    head: int | None = None

    def check(self) -> None:
        super().check()
        _from_one(self, "head")
        if self.head is not None and self.branch == "transform":
            raise ConfigError("a transform has no heads", where="head", fix="leave it out, or name mix or read")

    @property
    def reader(self) -> BranchName:
        """The branch whose attention has the head."""
        return self.branch or "mix"


class Without(PartChange):
    """Ablation: a head, a branch, or all branches of a layer give nothing, or their mean over the row's tokens.

    A head is switched off ahead of W_O, a branch before it joins the stream. The mean needs all tokens in one pass.
    """

    by: Literal["zero", "mean"] = "zero"


class Scaled(PartChange):
    """The same, graded: what is given is multiplied. A factor of 1 changes nothing, bit for bit."""

    factor: float


class Unread(PartChange):
    """Attention knock-out: queries (`tokens`; none named: all) do not read these keys; the rest is weighed anew.

    In attention of one head, or of all heads; along edges, in a mean over neighbours too: the edge is cut. The weights
    of these heads are written out: they equal the fused kernel's to rounding, not bit for bit.
    """

    keys: tuple[int, ...]

    def check(self) -> None:
        super().check()
        _from_one(self, "keys")
        if not self.keys:
            raise ConfigError("which tokens are not to be read?", where="Unread.keys")


class Pinned(PartChange):
    """The weights of a head, or of all heads, in place of the softmax: a pattern, or the weights of another input.

    uniform: all that may be read alike; previous: the token before; itself; first. `of` names the other input. What
    may not be read stays unread, and a query that can read none of it reads nothing.
    """

    weights: Pattern | None = None
    of: str | None = None

    def check(self) -> None:
        super().check()
        if (self.weights is None) == (self.of is None):
            raise ConfigError("expected a pattern, or another input whose weights are taken", where="Pinned")


class Replaced(PartChange):
    """Activation patching: what another input, named by `of`, has in the same place.

    Without branch and head it is the stream after the layer; layer 0 is what the embedder gives. All tokens, or some:
    the token with the same number is taken.
    """

    of: str
    lowest: ClassVar[int] = 0

    def check(self) -> None:
        super().check()
        if not self.layer and (self.branch or self.head):
            raise ConfigError("ahead of layer 1 there are no branches", where="Replaced.layer")


class Added(LayerChange):
    """Steering: `strength` times a vector is added to the stream after a layer; 0 is what the embedder gives.

    The `vector` is given in numbers, or is the mean over the tokens of another input (`of`) at this place, less that
    of a second one (`minus`).
    """

    vector: tuple[float, ...] = ()
    of: str | None = None
    minus: str | None = None
    strength: float = 1.0
    lowest: ClassVar[int] = 0

    def check(self) -> None:
        super().check()
        if bool(self.vector) == (self.of is not None):
            raise ConfigError("expected a vector, or another input of which it is made", where="Added")
        if self.minus is not None and self.of is None:
            raise ConfigError("a difference needs both inputs", where="Added.minus", fix="name the first one by `of`")


class Hidden(Change):
    """Occlusion: these tokens (words, patches, nodes, cells) are there no more, from the embedder on.

    No token reads them, no head counts them; the others keep their places.
    """

    tokens: tuple[int, ...] = field(kw_only=False)

    def check(self) -> None:
        super().check()
        _from_one(self, "tokens")
        if not self.tokens:
            raise ConfigError("which tokens are to be hidden?", where="Hidden.tokens")


KINDS: tuple[type[Change], ...] = (Without, Scaled, Unread, Pinned, Replaced, Added, Hidden)


def _from_one(change: Change, name: str) -> None:
    given = getattr(change, name)
    for number in given if isinstance(given, tuple) else [given]:
        if number is not None and number < 1:
            raise ConfigError(f"counted from 1, found {number}", where=f"{type(change).__name__}.{name}")


def changes_from_json(data: Any, *, where: str = "changes") -> tuple[Change, ...]:
    """The changes that `[change.to_json(), …]` wrote."""
    if not isinstance(data, list):
        raise ConfigError("expected a list of changes", where=where)
    return tuple(from_json(one, Change, where=f"{where}[{number}]") for number, one in enumerate(data))


# Held to a model


@dataclass(frozen=True)
class StreamChanges:
    """The changes of one stream: of its tokens, and by layer; layer 0 is ahead of the first block."""

    hidden: tuple[Hidden, ...]
    layers: Mapping[int, tuple[LayerChange, ...]]
    given: Mapping[str, Recorder]
    stream: str
    met: set[Change]  # those that a pass came to


class Changed:
    """Changes held to one model. `given` are recordings of other inputs, by the names that the changes use."""

    def __init__(self, model: nn.Module, changes: Sequence[Change], given: Mapping[str, Recorder]):
        self.model, self.changes, self.given = model, tuple(changes), dict(given)
        self.met: set[Change] = set()
        trunks = streams_of(model)
        named: dict[str, list[Change]] = {}
        for change in self.changes:
            stream = stream_in(trunks, change.stream)
            check_change(change, trunks[stream], stream, self.given)
            named.setdefault(stream, []).append(change)
        streams = {stream: self._of_stream(stream, some) for stream, some in named.items()}
        self._streams = {id(trunks[stream]): found for stream, found in streams.items()}

    def _of_stream(self, stream: str, changes: Sequence[Change]) -> StreamChanges:
        layers: dict[int, list[LayerChange]] = {}
        for change in changes:
            if isinstance(change, LayerChange):
                layers.setdefault(change.layer, []).append(change)
        hidden = tuple(change for change in changes if isinstance(change, Hidden))
        return StreamChanges(hidden, {k: tuple(v) for k, v in layers.items()}, self.given, stream, self.met)

    def same_as(self, other: "Changed") -> bool:
        """Whether these are the same changes of the same model, with the same recordings of other inputs."""
        if self is other:
            return True
        if self.model is not other.model or self.changes != other.changes or self.given.keys() != other.given.keys():
            return False
        return all(self.given[name] is other.given[name] for name in self.given)

    def of(self, trunk: nn.Module) -> StreamChanges | None:
        """The changes of the stream that goes through this trunk, or None."""
        return self._streams.get(id(trunk))

    def follow(self, model: nn.Module, copy: nn.Module) -> None:
        """Change a copy of the model too."""
        if model is self.model:
            mine = streams_of(model)
            for name, trunk in streams_of(copy).items():
                if (found := self._streams.get(id(mine[name]))) is not None:
                    self._streams[id(trunk)] = found

    @property
    def unmet(self) -> tuple[Change, ...]:
        """The changes that no pass came to."""
        return tuple(change for change in self.changes if change not in self.met)

    @property
    def by_row(self) -> bool:
        """Whether some are of one row of the batch."""
        return any(change.row is not None for change in self.changes)


@contextmanager
def changed(model: nn.Module, *changes: Change, given: Mapping[str, Recorder] | None = None) -> Iterator[Changed]:
    """The model is changed inside this block, after the changes were checked against it.

    `given` holds recordings of other inputs (`record(model, keep=("readings", "states", "branches"))`) by the names
    that `Replaced`, `Pinned` and `Added` use. Changes of an outer block go on to hold, those of another model do not.
    """
    global _watchers
    outer = active()
    if outer is not None and outer.model is model:
        changes, given = (*outer.changes, *changes), {**outer.given, **(given or {})}
    found = Changed(model, changes, given or {})
    token = _active.set(found if found.changes or found.given else None)
    _watchers += 1
    try:
        yield found
    finally:
        _watchers -= 1
        _active.reset(token)


def active() -> Changed | None:
    """The active changes, or None."""
    return _active.get() if _watchers else None


# Checked


def streams_of(model: nn.Module) -> dict[str, Any]:
    """The trunks of a model by the names of their streams."""
    from weft.core.trunk import Trunk

    return {stream_name(path): part for path, part in model.named_modules() if isinstance(part, Trunk)}


def stream_in(trunks: Mapping[str, Any], asked: str | None) -> str:
    """The name of the stream that a change is of: the one asked for, the only one, or the target."""
    if asked is not None:
        if asked in trunks:
            return asked
        fix = f"they are {listed(list(trunks))}" if "" not in trunks else "leave the name out"
        raise ConfigError(f"this model has no stream {asked!r}", where="stream", fix=fix)
    usual = next((name for name in ("", "target") if name in trunks), None)
    if usual is None and len(trunks) == 1:
        usual = next(iter(trunks))
    if usual is None:
        problem = f"this model has the streams {listed(list(trunks))}" if trunks else "this model has no layers"
        raise ConfigError(problem, where="stream", fix="say which one" if trunks else "")
    return usual


def check_change(change: Change, trunk: Any, stream: str, given: Mapping[str, Recorder]) -> None:
    """Refuse a change that the trunk has no place for, in words."""
    if not isinstance(change, LayerChange):
        return
    layers = trunk.passes * len(trunk.blocks)
    of = "this model" if not stream else f"its stream {stream!r}"
    if change.layer > layers:
        has = f"{of} has {layers}" if layers else f"{of} has none: its network is in the embedder"
        raise ConfigError(f"layer {change.layer}: {has}", where=type(change).__name__)
    for name in filter(None, (getattr(change, "of", None), getattr(change, "minus", None))):
        if name not in given:
            known = nearest(name, list(given)) if given else "record it first, and give it by this name"
            raise ConfigError(f"there is no other input {name!r:.60}", where=f"{type(change).__name__}.of", fix=known)
    if isinstance(change, Added) and change.vector and len(change.vector) != trunk.dim:
        problem = f"a vector of {len(change.vector)} numbers; the stream has {trunk.dim}"
        raise ConfigError(problem, where="Added.vector")
    if isinstance(change, PartChange) and change.layer:
        _check_part(change, trunk.blocks[(change.layer - 1) % len(trunk.blocks)])


def _check_part(change: PartChange, block: Any) -> None:
    """Refuse a branch or a head that a block does not have."""
    where, layer = type(change).__name__, f"layer {change.layer}"
    inner = getattr(block.mix, "read", None)  # a recurrent mixer may read a memory itself
    there = [name for name in ("mix", "read", "transform") if getattr(block, name) is not None]
    there += ["read"] if inner is not None and "read" not in there else []
    if change.branch is not None and change.branch not in there:
        raise ConfigError(f"{layer} has no {change.branch}: it has {listed(there)}", where=where)
    weighs = isinstance(change, Unread | Pinned)
    if change.head is None and not weighs:
        return
    reader = change.reader
    if reader not in there or reader == "transform":
        raise ConfigError(f"{layer} has no {reader}: it has {listed(there)}", where=where)
    mixer = getattr(block, reader) if getattr(block, reader) is not None else inner
    heads = getattr(mixer, "heads", None)
    if heads is None and not (isinstance(change, Unread) and change.head is None and hasattr(mixer, "shares")):
        kind = type(mixer).__name__
        fix = "name the branch read" if reader == "mix" and "read" in there else "switch off the whole branch"
        raise ConfigError(f"the {reader} of {layer} is {kind}, which has no heads", where=where, fix=fix)
    if heads is not None and (change.head or 1) > heads:
        raise ConfigError(f"head {change.head}: the {reader} of {layer} has {heads}", where=where)
