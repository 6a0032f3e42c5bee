"""A model's answer as looks show it, and probabilities in words."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class LookedAnswer:
    """What a model answers to what is looked at, the likeliest first, each with its probability where it has one.

    `called` says what kind of answer it is: answer, next token, translation.
    """

    said: tuple[tuple[str, float | None], ...]
    called: str = "answer"

    def __str__(self) -> str:
        return f"{self.called}: {', '.join(_said(text, chance) for text, chance in self.said)}"

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        said = [{"text": text, "probability": None if p is None else round(p, 6)} for text, p in self.said]
        return {"called": self.called, "said": said}


def _said(text: str, chance: float | None) -> str:
    return text if chance is None else f"{text} ({probability(chance)})"


def probability(chance: float) -> str:
    """A probability in words: 93 %, 0.4 %, below 0.1 %."""
    if chance < 0.001:
        return "below 0.1 %"
    return f"{100 * chance:.1f} %" if chance < 0.0995 or chance > 0.995 else f"{100 * chance:.0f} %"
