"""Holding some of a text out. Knows documents and shares; refuses to know what they say, and tokens."""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from weft.domains.texts.reading.corpus import Corpus
from weft.errors import ConfigError, DataError
from weft.files.decoding import shown
from weft.storage.marked import MarkedPieces
from weft.storage.prepared import StagedEntry, key_of, lasting_store

FEW = 20  # below this number of documents the text is cut instead of dealt out


@dataclass(frozen=True)
class CorpusPart:
    """A share of a corpus: a rule that lets some of its stream through, a mark of the rule, and how much that is."""

    characters: int
    bytes: int
    corpus: Corpus = field(repr=False)
    choose: Callable[[Iterable[str | None]], Iterator[str | None]] = field(repr=False)
    mark: str

    def pieces(self) -> MarkedPieces:
        """The text of this part. A document that is cut has its end, and so its None, in the later part."""
        mark = f"{self.corpus.fingerprint} {self.mark}"
        return MarkedPieces(mark, self.bytes, lambda: self.choose(self.corpus.pieces()))


@dataclass(frozen=True)
class TextSplit:
    """Text to learn from, text held out, and what that is: in short up to the colon, in full after it."""

    train: CorpusPart
    valid: CorpusPart
    rule: str


def split(corpus: Corpus, share: float = 0.1, *, most: int | None = None) -> TextSplit:
    """Hold out about a share of the text, by content alone: the same text is split the same way everywhere.

    `most` is the number of bytes above which less than the share is held out: about this number.
    """
    if not 0 < share < 1:
        raise ConfigError(f"expected a share between 0 and 1, found {share}", where="share")
    bounded = most is not None and share * corpus.bytes > most
    if most is not None and bounded:
        share = most / corpus.bytes
    held = _draw(corpus.marks, share) if corpus.documents >= FEW else None
    if held is None or (bounded and corpus.marks[held, 2].sum() > 2 * share * corpus.bytes):  # documents are too large
        return _cut(corpus, share)
    return _deal(corpus, share, held)


def _percent(share: float) -> str:
    """A share in words: 10%, or 0.25% of a large text."""
    return f"{share:.0%}" if share >= 0.01 else f"{100 * share:.2g}%"


def _draw(marks: np.ndarray, share: float) -> np.ndarray | None:
    """Which documents to hold out; None where all are the same."""
    _, inverse, counts = np.unique(marks[:, 0], return_inverse=True, return_counts=True)
    if len(counts) < 2:
        return None
    # Kinds of document in order of their hash, those that alone exceed the share last.
    sizes = np.bincount(inverse, weights=marks[:, 1])
    target = share * len(marks)
    order = np.argsort((counts > target) | (sizes > share * sizes.sum()), kind="stable")
    taken = 1 + np.abs(np.cumsum(counts[order])[:-1] - target).argmin()
    held = np.zeros(len(counts), bool)
    held[order[:taken]] = True
    return held[inverse]


def _deal(corpus: Corpus, share: float, held: np.ndarray) -> TextSplit:
    def part(keep: np.ndarray) -> CorpusPart:
        characters, size = (int(total) for total in corpus.marks[keep, 1:].sum(axis=0))
        mark = hashlib.sha256(np.packbits(keep).tobytes()).hexdigest()
        return CorpusPart(characters, size, corpus, partial(_whole, keep), f"documents {mark}")

    rule = (
        f"{held.sum()} of {corpus.documents} documents: about {_percent(share)}, the first in order of the SHA-256 of "
        "their content, so that identical documents fall on the same side; a document that alone is a larger share of "
        "the text or of the documents is held out only if nothing else can be"
    )
    return TextSplit(part(~held), part(held), rule)


def _cut(corpus: Corpus, share: float) -> TextSplit:
    cut = int((1 - share) * corpus.characters)
    if not 0 < cut < corpus.characters:
        problem = f"{corpus.characters} characters are too few to hold out {_percent(share)} of them"
        where = ", ".join(shown(str(file.path)) for file in corpus.files[:3])
        raise DataError(problem, where=where, fix="add more text, or name other data to validate on")
    sides = partial(_stretch, 0, cut), partial(_stretch, cut, corpus.characters)
    size = _bytes_of(sides[0], corpus, cut)
    rule = (
        f"the last {_percent(share)} of the text: characters {cut} to {corpus.characters} of the documents put one "
        "after another"
    )
    train, valid = (
        CorpusPart(cut, size, corpus, sides[0], f"characters to {cut}"),
        CorpusPart(corpus.characters - cut, corpus.bytes - size, corpus, sides[1], f"characters from {cut}"),
    )
    return TextSplit(train, valid, rule)


def _bytes_of(side: Callable[[Iterable[str | None]], Iterator[str | None]], corpus: Corpus, cut: int) -> int:
    """The bytes of the characters before a cut; of a large text they are counted once."""

    def count(staged: StagedEntry) -> None:
        staged.values["bytes"] = sum(len(piece.encode("utf-8")) for piece in side(corpus.pieces()) if piece)

    store = lasting_store(corpus.bytes)
    if store is not None:
        found: int = store.entry(key_of("cut", corpus.fingerprint, cut), count).values["bytes"]
        return found
    return sum(len(piece.encode("utf-8")) for piece in side(corpus.pieces()) if piece)


def _whole(keep: np.ndarray, pieces: Iterable[str | None]) -> Iterator[str | None]:
    """The documents that are kept. Reads on to the end, where a change of the files shows."""
    document = 0
    for piece in pieces:
        if document < len(keep) and keep[document]:
            yield piece
        document += piece is None


def _stretch(start: int, stop: int, pieces: Iterable[str | None]) -> Iterator[str | None]:
    """The characters from start to stop, with the document ends that follow one of them."""
    position = 0
    for piece in pieces:
        if piece is None:
            if start < position <= stop:
                yield None
            continue
        if part := piece[max(0, start - position) : max(0, stop - position)]:
            yield part
        position += len(piece)
