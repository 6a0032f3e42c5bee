"""Rules for parts that many families have."""

from weft.core import Head, PerToken
from weft.interop.family import only
from weft.interop.rules import Joined, SameTensor, Tied, WeightRule


def linear(theirs: str, ours: str) -> list[WeightRule]:
    """A linear map with offsets."""
    return [SameTensor(f"{theirs}.{end}", f"{ours}.{end}") for end in ("weight", "bias")]


def layer_norm(theirs: str, ours: str) -> list[WeightRule]:
    """A layer norm with gain and offset."""
    return [SameTensor(f"{theirs}.weight", f"{ours}.gain"), SameTensor(f"{theirs}.bias", f"{ours}.offset")]


def joined(theirs: tuple[str, ...], ours: str) -> list[WeightRule]:
    """The rules of maps that are one of ours."""
    return [Joined(tuple(f"{name}.{end}" for name in theirs), f"{ours}.{end}") for end in ("weight", "bias")]


def next_word_head(head: Head.Config) -> WeightRule:
    """The matrix of a language model's head: the embedding table, or a tensor in its own right."""
    if only(head, PerToken.Config, "head").tied:
        return Tied("lm_head.weight", "embed.table.weight")
    return SameTensor("lm_head.weight", "head.out.weight")
