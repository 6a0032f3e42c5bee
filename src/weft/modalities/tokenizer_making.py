"""Tokenizers chosen, learned from texts, and read from files."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from weft.errors import ConfigError, nearest
from weft.json_text import MAX_JSON_BYTES, write_json
from weft.modalities.encoding import CHUNK_CHARACTERS, MAX_UNBROKEN, parts_of, short_words
from weft.modalities.tokenizer import Tokenizer, any_of, codes_of
from weft.modalities.tokenizer_json import MAX_VOCAB, UNKNOWN, byte_letters, check_symbols, made, typed
from weft.storage.marked import MarkedPieces
from weft.storage.prepared import StagedEntry, key_of, lasting_store

KINDS = ("bytes", "characters", "bpe")
LEARNED_CHARACTERS = (
    20_000_000  # characters that merges are learned from; of a longer text stretches spread evenly over it
)


def choose(characters: int, distinct: int, bytes: int) -> tuple[str, int | None]:
    """The kind of tokenizer and size of vocabulary for an amount of text.

    Below 2 MB, with at most 256 distinct characters, `characters`: so little text cannot teach what a few thousand
    tokens mean. Otherwise `bpe`, with twice the vocabulary for five times the text:

        below 0.4 MB 512 · from 0.4 MB 1024 · 2 MB 2048 · 10 MB 4096 · 50 MB 8192 · 250 MB 16384 · 1.25 GB 32768
    """
    if bytes < 2_000_000 and distinct <= 256 and characters > 0:
        return "characters", None
    return "bpe", 512 << sum(bytes >= 400_000 * 5**step for step in range(6))


def vocabulary_of_pairs(characters: int) -> int:
    """Word pieces for a vocabulary that two languages share: the more text, the more pieces are met often enough."""
    return 1024 << sum(characters >= bound for bound in (1_000_000, 4_000_000, 40_000_000, 160_000_000, 640_000_000))


def vocabulary_of_texts(bytes: int) -> int:
    """Word pieces for texts that are read whole: most words in one piece, since pieces say little of a text's meaning.

    Words that are met once are spelt in pieces all the same, so few texts make a smaller vocabulary than this.
    """
    return 4096 << sum(bytes >= step for step in (2_000_000, 10_000_000, 50_000_000))


def train(
    kind: str,
    pieces: Iterable[str | None],
    vocab: int | None = None,
    *,
    mask: bool = False,
    characters: int | None = None,
    symbols: Sequence[str] = (),
    marks: Sequence[str] = (),
) -> Tokenizer:
    """A tokenizer of a kind for a text, which is streamed. A kind that ends in .json is the path of one to load.

    With `mask` it has a token that stands for hidden ones. `symbols` are texts that are one token each, `marks` tokens
    that no text holds. `vocab` counts all of them. `characters` is the length of the text: where that is known, bpe
    learns from part of a long one.
    """
    extra: dict[str, Any] = {"mask": mask, "symbols": symbols, "marks": marks}
    if kind != "bpe" and vocab is not None:
        raise ConfigError("only a bpe tokenizer has a vocabulary size to choose", where="vocab", fix="leave it out")
    if kind.endswith(".json"):
        return load(kind, **extra)
    if kind not in KINDS:
        raise ConfigError(f"unknown tokenizer {kind!r}", fix=f"{nearest(kind, KINDS)}, or the path of a tokenizer.json")
    check_symbols((*symbols, *marks))
    store = lasting_store(pieces.bytes) if isinstance(pieces, MarkedPieces) else None
    if not isinstance(pieces, MarkedPieces) or store is None:
        return _learned(kind, pieces, vocab, characters, extra)

    def learn(staged: StagedEntry) -> None:
        staged.values["json"] = _learned(kind, pieces, vocab, characters, extra).to_json()

    key = key_of("tokenizer", pieces.mark, kind, vocab, characters, mask, list(symbols), list(marks))
    return Tokenizer.from_json(store.entry(key, learn, {"kind": "tokenizer"}).values["json"])


def _learned(
    kind: str, pieces: Iterable[str | None], vocab: int | None, characters: int | None, extra: Mapping[str, Any]
) -> Tokenizer:
    symbols = extra["symbols"]
    if kind == "bpe":
        return _train_bpe(without(symbols, pieces), vocab, characters or 0, extra)
    if kind == "bytes":
        return Tokenizer.from_json(write_json(made("bytes", byte_letters())), **extra)
    seen = np.zeros(0x110000, bool)
    for piece in without(symbols, pieces):
        seen[codes_of(piece or "")] = True
    seen[ord(UNKNOWN)] = False
    names = [UNKNOWN, *map(chr, np.flatnonzero(seen))]
    return Tokenizer.from_json(write_json(made("characters", names)), **extra)


def without(symbols: Sequence[str], pieces: Iterable[str | None]) -> Iterator[str | None]:
    """A stream of texts without the symbols in them: what stands before and behind one is apart."""
    known = any_of(symbols)
    if known is None:
        yield from pieces
        return
    for part in parts_of(pieces, CHUNK_CHARACTERS, MAX_UNBROKEN):
        yield from (None,) if part is None else known.split(part)[::2]


def sampled(parts: Iterable[str | None], characters: int) -> Iterator[str]:
    """Parts of a text: all of a short one, or about `LEARNED_CHARACTERS` in stretches spread evenly over it."""
    step, place = max(CHUNK_CHARACTERS, CHUNK_CHARACTERS * characters // LEARNED_CHARACTERS), 0
    for part in parts:
        if part:
            if characters <= LEARNED_CHARACTERS or place % step < CHUNK_CHARACTERS:
                yield part
            place += len(part)


def _train_bpe(pieces: Iterable[str | None], vocab: int | None, characters: int, extra: Mapping[str, Any]) -> Tokenizer:
    mask, more = extra["mask"], len(extra["symbols"]) + len(extra["marks"])
    least = 257 + mask + more
    if vocab is None or not least <= vocab <= MAX_VOCAB:
        special = f"{'the end and the mask' if mask else 'and the end'}{f', and {more} symbols' * bool(more)}"
        problem = f"expected a size from {least} (256 bytes {special}) to {MAX_VOCAB}, found {vocab}"
        raise ConfigError(problem, where="vocab")
    from tokenizers import Tokenizer as Library
    from tokenizers import decoders, models, pre_tokenizers, trainers

    library = Library(models.BPE())
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    library.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab - (least - 256), min_frequency=2, initial_alphabet=byte_letters(), show_progress=False
    )
    words = (
        word
        for part in sampled(parts_of(pieces, CHUNK_CHARACTERS, MAX_UNBROKEN), characters)
        for word in short_words(part)
    )
    with typed("bpe"):
        library.train_from_iterator(words, trainer)
        return Tokenizer.from_json(library.to_str(), **extra)


def load(path: str | Path, *, mask: bool = False, symbols: Sequence[str] = (), marks: Sequence[str] = ()) -> Tokenizer:
    """The tokenizer of a tokenizer.json file; with `mask`, it gets a token for hidden tokens if it has none.

    It also gets the `symbols` and `marks` that it has not.
    """
    path = Path(path)
    if not path.is_file():
        raise ConfigError("no such file", where=str(path), fix=f"kinds of tokenizer: {', '.join(KINDS)}")
    if path.stat().st_size > MAX_JSON_BYTES:
        raise ConfigError(f"larger than {MAX_JSON_BYTES >> 20} MiB", where=str(path))
    try:
        text = path.read_text(encoding="utf-8-sig")
        return Tokenizer.from_json(text, where=str(path), mask=mask, symbols=symbols, marks=marks)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot be read: {error}", where=str(path)) from None
