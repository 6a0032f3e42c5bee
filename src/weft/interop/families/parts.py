"""Rules for parts that many families have."""

from collections.abc import Iterable

from weft.core import Head, PerToken
from weft.interop.family import only
from weft.interop.rules import JoinedRows, SameTensor, Tied, WeightRule
from weft.models.outline import outline, own_tensors
from weft.models.stream import Model


def linear(theirs: str, ours: str, *, offsets: bool = True) -> list[WeightRule]:
    """A linear map, with offsets or without."""
    ends = ("weight", "bias") if offsets else ("weight",)
    return [SameTensor(f"{theirs}.{end}", f"{ours}.{end}") for end in ends]


def layer_norm(theirs: str, ours: str, *, offsets: bool = True) -> list[WeightRule]:
    """A layer norm with gain, and with offset or without."""
    gain: list[WeightRule] = [SameTensor(f"{theirs}.weight", f"{ours}.gain")]
    return [*gain, SameTensor(f"{theirs}.bias", f"{ours}.offset")] if offsets else gain


def joined(theirs: tuple[str, ...], ours: str) -> list[WeightRule]:
    """The rules of maps that are one of ours."""
    return [JoinedRows(tuple(f"{name}.{end}" for name in theirs), f"{ours}.{end}") for end in ("weight", "bias")]


def next_word_head(head: Head.Config, theirs: str = "lm_head") -> WeightRule:
    """The matrix of a language model's head: the embedding table, or a tensor in its own right."""
    tied = only(head, PerToken.Config, "head").tied
    kind, ours = (Tied, "embed.table.weight") if tied else (SameTensor, "head.out.weight")
    return kind(f"{theirs}.weight", ours)


def there(rules: Iterable[WeightRule], config: Model.Config) -> list[WeightRule]:
    """The rules without those of tensors that a model does not have: offsets and gains that were left out."""
    own = own_tensors(outline(config))
    return [rule for rule in rules if all(name in own for name in rule.uses())]
