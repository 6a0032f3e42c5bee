"""The user's sentence pairs as ids: read, split, tokenized; and the record of them in a run. Knows no model."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from weft.data.decoding import shown
from weft.data.pairs.batches import PairBundles
from weft.data.readers.pair_texts import Held, Pair, overlap, split_pairs
from weft.errors import DataError
from weft.modalities import tokenizer_making as tokenizers
from weft.modalities.encoding import ended
from weft.modalities.tokenizer import Tokenizer
from weft.tasks.text_data import several
from weft.training.progress import count

Encoded = tuple[np.ndarray, np.ndarray]
MOST_TOKENS = 512  # the longest side that is trained on unless the user sets a context


@dataclass(frozen=True)
class PairData:
    """Pairs as a task gets them from files or from a sample: texts, and what is to be said of them."""

    train: Sequence[Pair]
    held_out: Sequence[Held]
    columns: tuple[str, str]
    fingerprint: str
    rule: str
    described: str
    notes: tuple[str, ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()

    @property
    def overlap(self) -> int:
        """Held-out sources that are also trained on."""
        return overlap(self.train, self.held_out)

    @cached_property
    def characters(self) -> int:
        """Characters on both sides of what is trained on."""
        return sum(len(pair.source) + len(pair.target) for pair in self.train)


@dataclass(frozen=True)
class ReadPairs:
    """Pairs as ids. `long` counts pairs left out because a side has more tokens than `context`."""

    data: PairData
    tokenizer: Tokenizer
    train: Sequence[Encoded]
    held_out: Sequence[Encoded]
    context: int
    long: int

    @property
    def tokens(self) -> int:
        """Target tokens to train on."""
        return sum(len(target) + 1 for _, target in self.train)

    def bundles(self, tokens: int, seed: int) -> PairBundles:
        """The samples of a model that computes so many tokens at once."""
        return PairBundles(
            self.train,
            self.held_out,
            end=self.tokenizer.end,
            tokens=tokens,
            fingerprint=self.data.fingerprint,
            seed=seed,
        )


def held_apart(
    rows: Sequence[Pair], fingerprint: str, valid: tuple[Sequence[Pair], str, str] | None
) -> tuple[Sequence[Pair], list[Held], str, str]:
    """What to learn from, what is held out, the fingerprint of both and the rule: by a file of its own, or split off."""
    if valid is None:
        split = split_pairs(rows)
        return split.train, split.held_out, fingerprint, split.rule
    held, mark, name = valid
    return rows, grouped(held), f"{fingerprint} {mark}", f"the file {shown(name)}"


def grouped(rows: Sequence[Pair]) -> list[Held]:
    """Pairs with one source as that source with several references."""
    references: dict[str, dict[str, None]] = {}
    for pair in rows:
        references.setdefault(pair.source, {})[pair.target] = None
    return [Held(source, tuple(targets)) for source, targets in references.items()]


def encode_pairs(
    data: PairData,
    tokenizer: Tokenizer | None,
    kind: str | None,
    vocab: int | None,
    context: int | None,
    spelt: Callable[[str], str],
) -> ReadPairs:
    """Texts to ids, targets as they are `spelt` for the model.

    With no tokenizer one is made for both sides together, of a size that suits the text.
    """
    texts = [(pair.source, spelt(pair.target)) for pair in data.train]
    if tokenizer is None:
        kind = kind or "bpe"
        tokenizer = tokenizers.train(
            kind, ended(chain.from_iterable(texts)), vocab or vocabulary(data.characters, kind)
        )
    train = _ids(tokenizer, texts)
    held = _ids(tokenizer, [(one.source, spelt(one.references[0])) for one in data.held_out])
    longest = max((max(len(a), len(b)) + 1 for a, b in train), default=1)
    context = context or max(64, min(MOST_TOKENS, -(-longest // 64) * 64))
    fitting = [pair for pair in train if max(map(len, pair)) < context]
    if not fitting:
        problem = f"no pair has fewer than {context} tokens on both sides"
        raise DataError(problem, where=data.described, fix=f"set a longer context, say --set context={longest}")
    held_fitting = [pair for pair in held if max(map(len, pair)) < context] or fitting[:1]
    return ReadPairs(data, tokenizer, fitting, held_fitting, context, len(train) - len(fitting))


def vocabulary(characters: int, kind: str) -> int | None:
    """The size of a joint vocabulary: the more text, the more pieces are met often enough to be learned."""
    if kind != "bpe":
        return None
    return 1024 << sum(characters >= bound for bound in (1_000_000, 4_000_000, 40_000_000, 160_000_000, 640_000_000))


def pair_record(data: PairData, read: ReadPairs) -> dict[str, Any]:
    """What config.json says of the pairs."""
    return {
        "rule": data.rule,
        "columns": list(data.columns),
        "pairs": len(data.train),
        "held_out": len(data.held_out),
        "left_out_long": read.long,
        "overlap": data.overlap,
        "described": data.described,
        "tokenizer": read.tokenizer.kind,
        "tokenizer_digest": read.tokenizer.digest,
        "vocabulary": read.tokenizer.size,
        "train_tokens": read.tokens,
        "notes": list(data.notes),
        "skipped": [list(item) for item in data.skipped],
    }


def pair_lines(data: PairData, read: ReadPairs) -> Mapping[str, str]:
    """The pairs for people: how many, which way, what was left out and what is odd about them."""
    first = data.notes[0] if data.notes else f"{len(data.train):,} pairs"
    lines = {"data": f"{data.described}: {first}"}
    for number, note in enumerate(data.notes[1:]):
        lines[" " * (number + 1)] = note
    if data.skipped:
        names = [f"{name} ({reason})" for name, reason in data.skipped]
        lines["skipped"] = several(names)
    if read.long:
        lines["left out"] = f"{read.long:,} pairs with a side of {read.context} tokens or more (--set context=…)"
    held = data.rule.partition(" (")[0]
    if data.overlap:
        held += f"; {data.overlap:,} of its sources are also trained on"
    kind, size = read.tokenizer.kind, read.tokenizer.size
    return {
        **lines,
        "held out": held,
        "tokens": f"{kind} for both sides, vocabulary {size}; {count(read.tokens)} target tokens to train on",
    }


def stem(sources: Sequence[str]) -> str:
    """A name for a run on these files."""
    name = Path(str(sources[0])).absolute().name.removesuffix(".gz")
    return name.split(".")[0] or "pairs"


def _ids(tokenizer: Tokenizer, pairs: Sequence[tuple[str, str]]) -> list[Encoded]:
    if tokenizer.kind in ("bytes", "characters"):
        return [(tokenizer.encode(source), tokenizer.encode(target)) for source, target in pairs]
    both = tokenizer.encode_all([text for pair in pairs for text in pair])
    return list(zip(both[::2], both[1::2], strict=True))
