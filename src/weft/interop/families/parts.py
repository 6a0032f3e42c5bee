"""Rules for parts that many families have."""

from weft.interop.rules import Joined, SameTensor, WeightRule


def linear(theirs: str, ours: str) -> list[WeightRule]:
    """A linear map with offsets."""
    return [SameTensor(f"{theirs}.{end}", f"{ours}.{end}") for end in ("weight", "bias")]


def layer_norm(theirs: str, ours: str) -> list[WeightRule]:
    """A layer norm with gain and offset."""
    return [SameTensor(f"{theirs}.weight", f"{ours}.gain"), SameTensor(f"{theirs}.bias", f"{ours}.offset")]


def joined(theirs: tuple[str, ...], ours: str) -> list[WeightRule]:
    """The rules of maps that are one of ours."""
    return [Joined(tuple(f"{name}.{end}" for name in theirs), f"{ours}.{end}") for end in ("weight", "bias")]
