"""Preset: a size with a name. Its numbers stand once; a recipe builds a model by them, a card says them in words."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass

LAYERS = "{depth} layers, {dim} wide"


@dataclass(frozen=True)
class Preset:
    """The width, layers, heads and context of a model; `note` is what a card says behind them."""

    dim: int
    depth: int
    heads: int = 1
    context: int = 1
    note: str = ""

    def in_words(self, form: str = LAYERS) -> str:
        """The size in a form of words that names its numbers, and the note."""
        return f"{form}{self.note}".format(**asdict(self))


def in_words(presets: Mapping[str, Preset], form: str = LAYERS) -> dict[str, str]:
    """Presets for people, by name."""
    return {name: preset.in_words(form) for name, preset in presets.items()}
