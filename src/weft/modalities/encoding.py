"""Streams of documents as ids, cut where no token is. Knows tokenizers; refuses to know files of data.

A stream is pieces of text, with None at the end of each document.
"""

import mmap
import re
import tempfile
from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np

from weft.errors import StorageError
from weft.modalities.tokenizer import Tokenizer

SPILL = 256 * 2**20  # bytes of ids kept in memory; more go to a temporary file
PART = 32 * 2**10  # characters given to the library at a time
RUN = 2**20  # characters without white space after which a text is cut all the same
WORD = 256  # the same where merges are learned: the time of learning grows with the square of a word's length

SAFE = re.compile(r"\S(?=[ \t\n])")  # from a word to the white space after it there is never a merge
LONG = re.compile(rf"\S{{{WORD}}}|\s{{{WORD}}}")
SHORT = re.compile(rf"\s{{0,{WORD}}}\S{{1,{WORD}}}|\s{{1,{WORD}}}")


def ended(texts: Iterable[str]) -> Iterator[str | None]:
    """Texts as a stream in which each is a document."""
    for text in texts:
        yield text
        yield None


def encode_pieces(tokenizer: Tokenizer, pieces: Iterable[str | None]) -> np.ndarray:
    """A stream of documents as one array of ids: the end token, then each document with an end token after it.

    More than 256 MiB of ids are kept in a temporary file that has no name, and mapped into memory to be read.
    """
    end = np.array([tokenizer.end], tokenizer.dtype)
    try:
        with tempfile.SpooledTemporaryFile(max_size=SPILL) as spool:
            spool.write(end.tobytes())
            for ids in _encoded(tokenizer, pieces):
                spool.write((end if ids is None else ids).tobytes())
            size = spool.tell()
            if size > SPILL:
                spool.flush()
                return np.frombuffer(mmap.mmap(spool.fileno(), size, access=mmap.ACCESS_READ), tokenizer.dtype)
            spool.seek(0)
            return np.frombuffer(bytearray(spool.read()), tokenizer.dtype)
    except OSError as error:
        problem, fix = f"no room for the ids: {error.strerror}", "free some space, or set TMPDIR to another folder"
        raise StorageError(problem, where=tempfile.gettempdir(), fix=fix) from None


def _encoded(tokenizer: Tokenizer, pieces: Iterable[str | None]) -> Iterator[np.ndarray | None]:
    if tokenizer.kind in ("bytes", "characters"):
        yield from (None if piece is None else tokenizer.encode(piece) for piece in pieces)
        return
    parts = parts_of(pieces, PART, RUN) if tokenizer.cuts_at_words else parts_of(pieces, 16 * RUN, 16 * RUN)
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
        while cut := SAFE.search(text, start + size - 1):
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
    return SHORT.findall(text) if LONG.search(text) else [text]
