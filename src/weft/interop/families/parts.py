"""Rules for parts that many families have."""

from weft.interop.rules import Joined, Rule, Same


def linear(theirs: str, ours: str) -> list[Rule]:
    """A linear map with offsets."""
    return [Same(f"{theirs}.{end}", f"{ours}.{end}") for end in ("weight", "bias")]


def layer_norm(theirs: str, ours: str) -> list[Rule]:
    """A layer norm with gain and offset."""
    return [Same(f"{theirs}.weight", f"{ours}.gain"), Same(f"{theirs}.bias", f"{ours}.offset")]


def joined(theirs: tuple[str, ...], ours: str) -> list[Rule]:
    """The rules of maps that are one of ours."""
    return [Joined(tuple(f"{name}.{end}" for name in theirs), f"{ours}.{end}") for end in ("weight", "bias")]
