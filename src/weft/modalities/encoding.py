"""Streams of documents as ids, cut where no token is. Knows tokenizers; refuses to know files of data.

A stream is pieces of text, with None at the end of each document.
"""

import mmap
import re
import tempfile
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice

import numpy as np

from weft.errors import StorageError
from weft.modalities.tokenizer import Tokenizer
from weft.storage.marked import MarkedPieces
from weft.storage.prepared import StagedEntry, key_of, lasting_store

MAX_BYTES_IN_MEMORY = 16 * 2**20  # of ids; more go to a file and are mapped: held in memory they would be copied twice
CHUNK_CHARACTERS = 32 * 2**10  # given to the tokenizer library at a time
MAX_UNBROKEN = 2**20  # characters without white space; a longer run of them is cut
MAX_WORD = 256  # characters of a word that merges are learned from: the time grows with the square of its length

SAFE_CUT = re.compile(r"\S(?=[ \t\n])")  # no merge joins a word and the white space after it
LONG_WORD = re.compile(rf"\S{{{MAX_WORD}}}|\s{{{MAX_WORD}}}")
SHORT_WORD = re.compile(rf"\s{{0,{MAX_WORD}}}\S{{1,{MAX_WORD}}}|\s{{1,{MAX_WORD}}}")


def ended(texts: Iterable[str]) -> Iterator[str | None]:
    """Texts as a stream in which each is a document."""
    for text in texts:
        yield text
        yield None


def encode_pieces(tokenizer: Tokenizer, pieces: Iterable[str | None]) -> np.ndarray:
    """A stream of documents as one array of ids: the end token, then each document with an end token after it.

    The ids of a large text that is known by its mark are kept, and mapped into memory to be read. Of other texts more
    than 16 MiB of ids go to a temporary file that has no name, which is mapped too.
    """
    end = np.array([tokenizer.end], tokenizer.dtype)
    store = lasting_store(pieces.bytes) if isinstance(pieces, MarkedPieces) else None
    if isinstance(pieces, MarkedPieces) and store is not None:
        key = key_of("stream of ids", pieces.mark, tokenizer.digest)
        return store.entry(key, partial(_write_ids, tokenizer, pieces), {"kind": "ids of text"}).arrays["ids"]
    try:
        with tempfile.SpooledTemporaryFile(max_size=MAX_BYTES_IN_MEMORY) as spool:
            spool.write(end.tobytes())
            for ids in _encoded(tokenizer, pieces):
                spool.write((end if ids is None else ids).tobytes())
            size = spool.tell()
            if size > MAX_BYTES_IN_MEMORY:
                spool.flush()
                return np.frombuffer(mmap.mmap(spool.fileno(), size, access=mmap.ACCESS_READ), tokenizer.dtype)
            spool.seek(0)
            return np.frombuffer(bytearray(spool.read()), tokenizer.dtype)
    except OSError as error:
        problem, fix = f"no room for the ids: {error.strerror}", "free some space, or set TMPDIR to another folder"
        raise StorageError(problem, where=tempfile.gettempdir(), fix=fix) from None


def _write_ids(tokenizer: Tokenizer, pieces: Iterable[str | None], staged: StagedEntry) -> None:
    ids, end = staged.array("ids", tokenizer.dtype), np.array([tokenizer.end], tokenizer.dtype)
    ids.append(end)
    for some in _encoded(tokenizer, pieces):
        ids.append(end if some is None else some)


def _encoded(tokenizer: Tokenizer, pieces: Iterable[str | None]) -> Iterator[np.ndarray | None]:
    if tokenizer.kind in ("bytes", "characters"):
        whole = parts_of(pieces, CHUNK_CHARACTERS, MAX_UNBROKEN) if tokenizer.symbols else pieces  # a symbol is not cut
        yield from (None if piece is None else tokenizer.encode(piece) for piece in whole)
        return
    parts = (
        parts_of(pieces, CHUNK_CHARACTERS, MAX_UNBROKEN)
        if tokenizer.cuts_at_words
        else parts_of(pieces, 16 * MAX_UNBROKEN, 16 * MAX_UNBROKEN)
    )
    while batch := list(islice(parts, 64)):
        ids = iter(tokenizer.encode_all([part for part in batch if part is not None]))
        yield from (None if part is None else next(ids) for part in batch)


def parts_of(pieces: Iterable[str | None], size: int, run: int) -> Iterator[str | None]:
    """The same text cut anew, where a word meets the white space after it: parts of `size` characters or a little more.

    A word is whole even where two pieces met in it; only one of more than `run` characters is cut.
    """
    rest = ""
    for piece in pieces:
        if piece is None:
            yield from (rest, None) if rest else (None,)
            rest = ""
            continue
        text, start = rest + piece, 0
        while cut := SAFE_CUT.search(text, start + size - 1):
            yield text[start : cut.end()]
            start = cut.end()
        rest = text[start:]
        while len(rest) > size + run:
            yield rest[: size + run]
            rest = rest[size + run :]
    if rest:
        yield rest


def short_words(text: str) -> list[str]:
    """A text in words that are not too long to learn merges from."""
    return SHORT_WORD.findall(text) if LONG_WORD.search(text) else [text]
