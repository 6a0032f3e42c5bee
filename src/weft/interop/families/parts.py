"""Rules for parts that many families have."""

from weft.interop.tables import Rule, Same


def linear(theirs: str, ours: str) -> list[Rule]:
    """A linear map with offsets."""
    return [Same(f"{theirs}.{end}", f"{ours}.{end}") for end in ("weight", "bias")]


def layer_norm(theirs: str, ours: str) -> list[Rule]:
    """A layer norm with gain and offset."""
    return [Same(f"{theirs}.weight", f"{ours}.gain"), Same(f"{theirs}.bias", f"{ours}.offset")]
