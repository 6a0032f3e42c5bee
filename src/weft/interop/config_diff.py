"""In what two configs of models compute something else: compared as trees, sizes as the shapes of their weights."""

from collections.abc import Iterator
from typing import Any

from weft.config import Config
from weft.core.attention import Attention
from weft.core.trunk import Trunk
from weft.modalities.convnet import ResNet
from weft.modalities.image import PictureEmbed
from weft.models.outline import outline, own_tensors
from weft.models.stream import Model, Stream

# Fields that say how a model starts, how it is trained or how long its inputs may be; or that only set shapes.
NOT_COMPARED = frozenset(
    {"std", "dropout", "drop", "init", "context", "memory_dim", "outputs", "ratio", "hidden", "reference"}
)


def differences(a: Model.Config, b: Model.Config) -> list[str]:
    """Where two configs differ in what they compute, by path; the first layer stands for all that differ alike."""
    parts = sorted(set(_odd(_plain(a, 0), _plain(b, 0), "")))
    ours, theirs = ({name: t.shape for name, t in own_tensors(outline(config)).items()} for config in (a, b))
    compared = ours.keys() & theirs.keys() if parts else ours.keys() | theirs.keys()
    return parts + sorted(name for name in compared if ours.get(name) != theirs.get(name))


def _plain(value: Any, dim: int) -> Any:
    """A config as a tree without what does not matter, defaults that follow from other fields filled in."""
    if isinstance(value, tuple):
        return [_plain(item, dim) for item in value]
    if not isinstance(value, Config):
        return value
    dim = value.dim if isinstance(value, Stream.Config) else dim
    fields = {name: item for name, item in vars(value).items() if name not in NOT_COMPARED}
    if isinstance(value, Attention.Config):
        width = value.width(dim)
        own = {"kv_heads": value.kv_heads or value.heads, "head_dim": width, "value_dim": value.value_dim or width}
        fields |= own | {"out_offsets": value.ends_offset}
    if isinstance(value, PictureEmbed.Config):
        each = {"mean": value.mean, "scale": value.std}
        fields |= {name: numbers * (value.channels // len(numbers)) for name, numbers in each.items()}
    if isinstance(value, ResNet.Config):
        fields["first"] = value.first or value.widths[0]
    if isinstance(value, Trunk.Config):
        whole = {name: fields[name] for name in ("passes", "bias", "distances", "memory", "adapters")}
        fields = {"blocks": value.all_blocks(), "norm": value.last_norm(), **whole}
    return {"type": type(value).__qualname__, **{name: _plain(item, dim) for name, item in fields.items()}}


def _odd(a: Any, b: Any, path: str) -> Iterator[str]:
    if isinstance(a, dict) and isinstance(b, dict) and a["type"] == b["type"]:
        for name in a:
            yield from _odd(a[name], b[name], f"{path}.{name}" if path else name)
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for left, right in zip(a, b, strict=True):
            yield from _odd(left, right, path)
    elif a != b:
        yield path or "the model"
