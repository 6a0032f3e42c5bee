"""Files of word vectors: word2vec's text and binary forms, GloVe's text without a header, .npz with words and vectors.

text     "words width" on the first line (GloVe has none), then a word and its numbers a line
binary   the same first line, then for each word its letters, a space, and its numbers in fp32, little end first

Nothing is believed unchecked: a header that claims more than the file holds is refused before memory is taken.
"""

import gzip
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from weft.errors import DataError
from weft.files.arrays import array, headers
from weft.files.decoding import opened, shown
from weft.files.finding import ending
from weft.storage.store import write_file

ENDINGS = (".txt", ".vec", ".bin", ".npz")
HEADER = re.compile(rb"\s*(\d{1,12})[ \t]+(\d{1,7})\s*\r?\n")
HEAD_BYTES = 64
LONGEST_WORD = 4096  # bytes
LONGEST_LINE = 2**24  # bytes
WIDEST = 2**16  # numbers in a vector
GZIP = b"\x1f\x8b"
TEXT_FIX = "every line must hold a word and the same count of numbers, between single spaces"
COPY_FIX = "copy or download it again"


@dataclass(frozen=True)
class WordFile:
    """Words and their vectors, in the order of the file."""

    words: list[str]
    vectors: np.ndarray
    form: str


def is_word_file(source: str | Path) -> bool:
    """Whether this names a file that could hold word vectors. A pickle of weights may end in .bin too: no header."""
    path = Path(source)
    kind = ending(path, ENDINGS)
    if kind is None or not path.is_file():
        return False
    if kind == ".npz":
        return {"words", "vectors"} <= set(headers(path))
    with _stream(path) as stream:
        return kind != ".bin" or HEADER.match(stream.read(HEAD_BYTES)) is not None


def read_word_file(source: str | Path) -> WordFile:
    """All words of a file with their vectors; what is wrong with it is said with its line or offset."""
    path = Path(source)
    if ending(path, ENDINGS) == ".npz":
        return _checked(_from_arrays(path), path)
    with _stream(path) as stream:
        head = HEADER.match(stream.readline(HEAD_BYTES))
        size = (int(head[1]), int(head[2])) if head else None
        if size is None:
            if ending(path, ENDINGS) == ".bin":
                raise DataError("no header with the number of words and their width", where=shown(path), fix=COPY_FIX)
            stream.seek(0)
        elif not size[0] or not 1 <= size[1] <= WIDEST:
            raise DataError(f"its header claims {size[0]} words of {size[1]} numbers", where=f"{shown(path)}, line 1")
        if size is not None and _is_binary(stream, size[1]):
            return _checked(_from_binary(path, stream, size), path)
        return _checked(_from_text(path, stream, size), path)


def write_word_file(path: str | Path, words: list[str], vectors: np.ndarray) -> None:
    """Words and vectors in word2vec's form: binary where the name ends in .bin, else text. Read again and compared."""
    path = Path(path)
    spaced = next((word for word in words if not word or re.search(r"\s", word)), None)
    if spaced is not None:
        raise DataError(f"the word {spaced!r:.60} has white space, which this form cannot hold", where=shown(path))
    table = np.ascontiguousarray(vectors, "<f4")
    first = f"{len(words)} {table.shape[1]}\n".encode()
    if path.suffix == ".bin":
        rows = (b"%s %s\n" % (word.encode(), row.tobytes()) for word, row in zip(words, table, strict=True))
    else:
        form = " ".join(["%.9g"] * table.shape[1])  # nine digits give every fp32 back
        rows = (f"{word} {form % tuple(row)}\n".encode() for word, row in zip(words, table.tolist(), strict=True))
    write_file(path, b"".join([first, *rows]))
    again = read_word_file(path)
    if again.words != words or not np.array_equal(again.vectors, table):
        path.unlink()
        raise DataError("what was written does not read back as the same vectors", where=shown(path))


@contextmanager
def _stream(path: Path) -> Iterator[BinaryIO]:
    """The bytes of a file, unpacked where it is a gzip."""
    try:
        with opened(path) as file:
            packed = file.read(len(GZIP)) == GZIP
            file.seek(0)
            yield gzip.GzipFile(fileobj=file) if packed else file  # type: ignore[misc]
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"the gzip file is damaged or cut short: {error}", where=shown(path), fix=COPY_FIX) from None


def _is_binary(stream: BinaryIO, width: int) -> bool:
    """Whether what follows a header is not a line of a word and numbers in letters."""
    here = stream.tell()
    head = stream.read(min(LONGEST_LINE, LONGEST_WORD + 32 * width))
    stream.seek(here)
    cells = head.split(b"\n")[0].split()[1:]
    return b"\0" in head or not cells or _numbers(cells[:1]) is None


def _from_text(path: Path, stream: BinaryIO, size: tuple[int, int] | None) -> WordFile:
    words: list[str] = []
    rows: list[np.ndarray] = []
    lines: dict[str, int] = {}
    width = None if size is None else size[1]
    first = 1 if size is None else 2
    for number, line in enumerate(iter(lambda: stream.readline(LONGEST_LINE), b""), first):
        where = f"{shown(path)}, line {number}"
        if not line.strip():
            continue
        width = width or len(line.split()) - 1
        cells = line.rstrip().rsplit(b" ", width)
        row = _numbers(cells[1:])
        if row is None or len(cells) != width + 1 or not cells[0].strip():
            found = len(line.split()) - 1
            raise DataError(f"expected a word and {width} numbers, found {found} cells", where=where, fix=TEXT_FIX)
        word = _word(cells[0].lstrip(), where)
        if word in lines:
            raise DataError(
                f"the word {word!r:.60} stands in line {lines[word]} already", where=where, fix="remove one"
            )
        if not np.isfinite(row).all():
            raise DataError(f"a number of {word!r:.60} is not finite", where=where, fix="remove the line")
        lines[word] = number
        words.append(word)
        rows.append(row)
    if not words:
        raise DataError("no words in this file", where=shown(path), fix=TEXT_FIX)
    if size is not None and size[0] != len(words):
        problem = f"its header claims {size[0]:,} words, {len(words):,} follow"
        raise DataError(problem, where=f"{shown(path)}, line 1", fix=COPY_FIX)
    return WordFile(words, np.stack(rows), "GloVe text" if size is None else "word2vec text")


def _from_binary(path: Path, stream: BinaryIO, size: tuple[int, int]) -> WordFile:
    many, width = size
    here = stream.tell()
    if not isinstance(stream, gzip.GzipFile):
        there = stream.seek(0, 2) - here
        stream.seek(here)
        if there < many * (4 * width + 2):
            problem = f"its header claims {many:,} words of {width} numbers, {there:,} bytes follow"
            raise DataError(problem, where=f"{shown(path)}, offset {here}", fix=COPY_FIX)
    words: list[str] = []
    seen: set[str] = set()
    rows: list[np.ndarray] = []
    for number in range(many):
        where = f"{shown(path)}, word {number + 1} at offset {stream.tell()}"
        letters = bytearray()
        while (letter := stream.read(1)) not in (b" ", b""):
            letters += letter
            if len(letters) > LONGEST_WORD:
                raise DataError(f"a word of more than {LONGEST_WORD} bytes", where=where, fix=COPY_FIX)
        data = stream.read(4 * width)
        if len(data) < 4 * width:
            raise DataError(f"the file ends within this word; {many:,} were claimed", where=where, fix=COPY_FIX)
        word, row = _word(bytes(letters).lstrip(b"\n"), where), np.frombuffer(data, "<f4")
        if word in seen or not word:
            raise DataError(f"the word {word!r:.60} is {'empty' if not word else 'there already'}", where=where)
        if not np.isfinite(row).all():
            raise DataError(f"a number of {word!r:.60} is not finite", where=where, fix=COPY_FIX)
        seen.add(word)
        words.append(word)
        rows.append(row)
    if stream.read(2).strip():
        raise DataError(f"there is more than the {many:,} words of its header", where=shown(path), fix=COPY_FIX)
    return WordFile(words, np.stack(rows), "word2vec binary")


def _from_arrays(path: Path) -> WordFile:
    known = headers(path)
    if not {"words", "vectors"} <= set(known):
        raise DataError("expected the arrays words and vectors", where=shown(path), fix="save them with numpy.savez")
    words, vectors = array(path, "words"), array(path, "vectors")
    if words.dtype.kind != "U" or words.ndim != 1 or vectors.dtype.kind != "f" or vectors.ndim != 2:
        problem = f"words are {words.dtype} of {words.shape}, vectors {vectors.dtype} of {vectors.shape}"
        raise DataError(problem, where=shown(path), fix="expected texts of (words) and numbers of (words, width)")
    if len(words) != len(vectors) or not len(words):
        raise DataError(f"{len(words):,} words and {len(vectors):,} vectors", where=shown(path))
    listed = words.tolist()
    bad = np.flatnonzero(~np.isfinite(vectors).all(1))
    if len(bad):
        raise DataError(f"a number of {listed[bad[0]]!r:.60} is not finite", where=f"{shown(path)}: vectors[{bad[0]}]")
    place: dict[str, int] = {}
    for i, word in enumerate(listed):
        if place.setdefault(word, i) != i:
            problem = f"the word {word!r:.60} is words[{place[word]}] already"
            raise DataError(problem, where=f"{shown(path)}: words[{i}]", fix="remove one")
    return WordFile(listed, vectors.astype(np.float32), "npz")


def _checked(found: WordFile, path: Path) -> WordFile:
    if len(found.words) < 2:
        raise DataError("one word alone is near nothing", where=shown(path), fix="name a file with more words")
    return found


def _numbers(cells: list[bytes]) -> np.ndarray | None:
    try:
        return np.array([float(cell) for cell in cells], np.float32)
    except ValueError:
        return None


def _word(data: bytes, where: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise DataError(f"the word {data!r:.60} is not UTF-8", where=where, fix="convert the file to UTF-8") from None
