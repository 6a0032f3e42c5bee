"""Tokenizers chosen, learned from texts, and read from files."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from weft.config import MAX_JSON_BYTES, write_json
from weft.errors import ConfigError, nearest
from weft.modalities.encoding import CHUNK_CHARACTERS, MAX_UNBROKEN, parts_of, short_words
from weft.modalities.tokenizer import Tokenizer, codes_of
from weft.modalities.tokenizer_json import MAX_VOCAB, UNKNOWN, byte_letters, made, typed

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
) -> Tokenizer:
    """A tokenizer of a kind for a text, which is streamed. A kind that ends in .json is the path of one to load.

    With `mask` it has a token that stands for hidden ones, which `vocab` counts. `characters` is the length of the
    text: where that is known, bpe learns from part of a long one.
    """
    if kind != "bpe" and vocab is not None:
        raise ConfigError("only a bpe tokenizer has a vocabulary size to choose", where="vocab", fix="leave it out")
    if kind.endswith(".json"):
        return load(kind, mask=mask)
    if kind not in KINDS:
        raise ConfigError(f"unknown tokenizer {kind!r}", fix=f"{nearest(kind, KINDS)}, or the path of a tokenizer.json")
    if kind == "bpe":
        return _train_bpe(pieces, vocab, mask, characters or 0)
    if kind == "bytes":
        return Tokenizer.from_json(write_json(made("bytes", byte_letters())), mask=mask)
    seen = np.zeros(0x110000, bool)
    for piece in pieces:
        seen[codes_of(piece or "")] = True
    seen[ord(UNKNOWN)] = False
    names = [UNKNOWN, *map(chr, np.flatnonzero(seen))]
    return Tokenizer.from_json(write_json(made("characters", names)), mask=mask)


def sampled(parts: Iterable[str | None], characters: int) -> Iterator[str]:
    """Parts of a text: all of a short one, or about `LEARNED_CHARACTERS` in stretches spread evenly over it."""
    step, place = max(CHUNK_CHARACTERS, CHUNK_CHARACTERS * characters // LEARNED_CHARACTERS), 0
    for part in parts:
        if part:
            if characters <= LEARNED_CHARACTERS or place % step < CHUNK_CHARACTERS:
                yield part
            place += len(part)


def _train_bpe(pieces: Iterable[str | None], vocab: int | None, mask: bool, characters: int) -> Tokenizer:
    if vocab is None or not 257 + mask <= vocab <= MAX_VOCAB:
        special = "the end and the mask" if mask else "and the end"
        problem = f"expected a size from {257 + mask} (256 bytes {special}) to {MAX_VOCAB}, found {vocab}"
        raise ConfigError(problem, where="vocab")
    from tokenizers import Tokenizer as Library
    from tokenizers import decoders, models, pre_tokenizers, trainers

    library = Library(models.BPE())
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    library.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab - 1 - mask, min_frequency=2, initial_alphabet=byte_letters(), show_progress=False
    )
    words = (
        word
        for part in sampled(parts_of(pieces, CHUNK_CHARACTERS, MAX_UNBROKEN), characters)
        for word in short_words(part)
    )
    with typed("bpe"):
        library.train_from_iterator(words, trainer)
        return Tokenizer.from_json(library.to_str(), mask=mask)


def load(path: str | Path, *, mask: bool = False) -> Tokenizer:
    """The tokenizer of a tokenizer.json file; with `mask`, it gets a token for hidden tokens if it has none."""
    path = Path(path)
    if not path.is_file():
        raise ConfigError("no such file", where=str(path), fix=f"kinds of tokenizer: {', '.join(KINDS)}")
    if path.stat().st_size > MAX_JSON_BYTES:
        raise ConfigError(f"larger than {MAX_JSON_BYTES >> 20} MiB", where=str(path))
    try:
        return Tokenizer.from_json(path.read_text(encoding="utf-8-sig"), where=str(path), mask=mask)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot be read: {error}", where=str(path)) from None
