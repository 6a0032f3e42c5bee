"""Rules for parts that many families have."""

from weft.interop.rules import Joined, SameTensor, WeightRule


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
    return [Joined(tuple(f"{name}.{end}" for name in theirs), f"{ours}.{end}") for end in ("weight", "bias")]
