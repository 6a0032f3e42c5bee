"""What a run of a task is made of. A config.json that says otherwise is refused when the run is opened.

Tasks may then rely on the kinds of their codecs, of their model and of what embeds its input.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from weft.errors import ConfigError
from weft.modalities.embedder import Embedder
from weft.models.stream import Model, Stream
from weft.tasks.codec import Codec, Codecs

READER = "source"  # the side of a model that reads its input; a model without sides is its own


@dataclass(frozen=True)
class End:
    """The kinds of codec that may stand at one end of a task's samples, and the side of the model that embeds them."""

    codecs: tuple[type[Codec], ...]
    side: str = READER

    @classmethod
    def of(cls, *codecs: type[Codec], side: str = READER) -> "End":
        """The end with one of these codecs."""
        return cls(codecs, side)


@dataclass(frozen=True)
class Parts:
    """The ends by name, the kinds of model, and what embeds the model's input; None where nothing does.

    `source` is the kind of encoder that a decoder reads, where it may be of several.
    """

    ends: Mapping[str, End]
    wirings: tuple[type[Model], ...]
    embed: type[Embedder] | None
    source: type[Model] | None = None

    def fits(self, codecs: Codecs, model: Model.Config, *, imported: bool) -> bool:
        """Whether a run has this wiring and these ends; an imported model may come without codecs."""
        ends = (_is_at(end, codecs.get(name), imported=imported) for name, end in self.ends.items())
        return self.has_wiring(model) and self.embeds(model) and all(ends)

    def embeds(self, model: Model.Config) -> bool:
        """Whether a model reads its input by this embedder."""
        return self.embed is None or isinstance(model.reader().embed, self.embed.Config)

    def has_wiring(self, model: Model.Config) -> bool:
        """Whether a model is of one of these kinds."""
        fits = self.source is None or isinstance(getattr(model, READER, None), self.source.Config)
        return fits and isinstance(model, tuple(kind.Config for kind in self.wirings))


def parts_of(known: Sequence[Parts], codecs: Codecs, model: Model.Config, *, imported: bool = False) -> Parts:
    """The first of a task's alternatives whose wiring and ends a run has; else the one that shares most ends."""
    fitting = (parts for parts in known if parts.fits(codecs, model, imported=imported))

    def nearness(parts: Parts) -> tuple[int, bool, bool]:
        wired = parts.has_wiring(model)
        return len(parts.ends.keys() & codecs.keys()), wired, wired and parts.embeds(model)

    return next(fitting, max(known, key=nearness))


def check_fit(known: Sequence[Parts], codecs: Codecs, model: Model.Config, where: str) -> None:
    """Refuse codecs that do not fit the model's embedders. `known` are the task's alternatives, none without a task."""
    ends = parts_of(known, codecs, model).ends if known else {}
    for name, codec in codecs.items():
        side = getattr(model, ends[name].side if name in ends else READER, model)
        if hasattr(side, "embed"):
            codec.check_fit(side.embed, where)


def check_parts(
    task: str, known: Sequence[Parts], codecs: Codecs, model: Model.Config, where: str, *, imported: bool
) -> None:
    """Refuse a run whose parts are not those of its task. An imported model may come without codecs."""
    parts = parts_of(known, codecs, model, imported=imported)
    if not parts.has_wiring(model):
        kinds = dict.fromkeys(kind.__name__ for one in known for kind in one.wirings)
        raise ConfigError(f"a run of the task {task} has a {' or '.join(kinds)}", where=f"{where}: model")
    if parts.embed is not None and not parts.embeds(model):
        problem = f"a run of the task {task} reads its input by a {parts.embed.__name__}"
        raise ConfigError(problem, where=f"{where}: model")
    for name, end in parts.ends.items():
        if not _is_at(end, codecs.get(name), imported=imported):
            named = " or ".join(kind.__name__ for kind in end.codecs)
            raise ConfigError(f"a run of the task {task} has a {named} here", where=f"{where}: codecs.{name}")
    outputs = model.outputs if isinstance(model, Stream.Config) and model.head is not None else None
    for name, codec in codecs.items():
        if codec.named_outputs is not None and outputs not in (None, codec.named_outputs):
            problem = f"there are {codec.named_outputs} names, and the model has {outputs} outputs"
            fix = "config.json and the weights are of different runs"
            raise ConfigError(problem, where=f"{where}: codecs.{name}", fix=fix)


def _is_at(end: End, codec: Codec | None, *, imported: bool) -> bool:
    return isinstance(codec, end.codecs) or (imported and codec is None)
