"""Texts that a task has read from the user's files, the tokenizer made for them, and their record in a run. Knows no model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from weft.modalities import tokenizer_making as tokenizers
from weft.modalities.encoding import ended
from weft.modalities.tokenizer import Tokenizer
from weft.tasks.text_data import named


@dataclass(frozen=True)
class TextData:
    """What a task has read: things to learn from and things held out, and what is to be said of them."""

    train: Sequence[Any]
    held_out: Sequence[Any]
    rule: str
    fingerprint: str
    described: str
    lines: Sequence[str]  # what people should know of the data
    record: Mapping[str, Any] = field(default_factory=dict)  # for config.json

    @property
    def counts(self) -> dict[str, int]:
        """How many things there are."""
        return {"train": len(self.train), "held_out": len(self.held_out)}

    def recorded(self, sources: Sequence[str], valid: str | None, tokenizer: Tokenizer) -> dict[str, Any]:
        """What config.json says of the data."""
        return {
            **named(sources),
            "valid": None if valid is None else str(Path(valid).absolute()),
            "rule": self.rule,
            "described": self.described,
            **self.counts,
            "tokenizer": tokenizer.kind,
            "tokenizer_digest": tokenizer.digest,
            "vocabulary": tokenizer.size,
            **self.record,
        }


def tokenizer_for(texts: Sequence[str], kind: str | None, vocab: int | None) -> Tokenizer:
    """A tokenizer for texts: by default word pieces, so that a token says something by itself."""
    size = sum(len(text.encode("utf-8", "replace")) for text in texts)
    kind = kind or "bpe"
    vocab = vocab or (vocabulary(size) if kind == "bpe" else None)
    return tokenizers.train(kind, ended(texts), vocab, characters=sum(map(len, texts)))


def vocabulary(size: int) -> int:
    """Word pieces for so many bytes of texts: most words whole, since pieces of words say little of a text's meaning.

    Those that are met once are spelt in pieces all the same, so few texts make a smaller vocabulary than this.
    """
    return 4096 << sum(size >= step for step in (2_000_000, 10_000_000, 50_000_000))
