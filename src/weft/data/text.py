"""Documents of text. Knows .txt, .md and .jsonl files and how to hold some of the text out; refuses to know tokens.

Text is streamed, never held whole: `pieces()` gives strings, and None where a document ends. A .txt or .md file is one
document; in a .jsonl file every line is an object whose field "text" is one. Empty documents are left out and listed.
"""

import hashlib
import json
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from weft.data.files import ending, find, read_text, shown
from weft.errors import ConfigError, DataError

ENDINGS = (".txt", ".md", ".jsonl")
MAX_LINE = 64 * 2**20  # characters of one line of JSON, which is held in memory
FEW = 20  # below this number of documents the text is cut instead of dealt out


@dataclass(frozen=True)
class SourceFile:
    """A file that was read: the size of its text in UTF-8, its documents, and the digest of them in order."""

    path: Path
    bytes: int
    documents: int
    digest: str


@dataclass(frozen=True)
class Corpus:
    """What a number of files hold.

    `fingerprint` is the SHA-256 over the SHA-256 of each document, in order: names, gzip, byte order marks, newline style
    and the way documents are spread over files do not change it. `marks` has a row for each document: 64 bits of its
    SHA-256, its characters, its bytes.
    """

    files: tuple[SourceFile, ...]
    skipped: tuple[tuple[str, str], ...]
    fingerprint: str
    characters: int
    bytes: int
    documents: int
    distinct: int  # different characters
    marks: np.ndarray = field(repr=False, compare=False)

    def pieces(self) -> Iterator[str | None]:
        """The text again, from the files. A file that has changed since it was first read is refused at its end."""
        for file in self.files:
            digest = _Digest()
            for piece in _documents(file.path):
                if digest.take(piece) is not None or piece:
                    yield piece
            if digest.hex() != file.digest:
                fix = "leave the files alone while weft works, then start again"
                raise DataError("the file has changed since it was first read", where=shown(file.path), fix=fix)


class _Digest:
    """The SHA-256 of documents as they stream past, and that of all together."""

    def __init__(self) -> None:
        self.all, self.one, self.size = hashlib.sha256(), hashlib.sha256(), 0

    def take(self, piece: str | None) -> bytes | None:
        """Take a piece; at the end of a document that is not empty, its digest."""
        if piece is not None:
            data = piece.encode("utf-8")
            self.one.update(data)
            self.size += len(data)
            return None
        digest = self.one.digest() if self.size else None
        if digest is not None:
            self.all.update(digest)
        self.one, self.size = hashlib.sha256(), 0
        return digest

    def hex(self) -> str:
        return self.all.hexdigest()


def read_corpus(sources: Sequence[str | Path]) -> Corpus:
    """Read all files once: check every line, count, and take the fingerprint."""
    found = find(sources, ENDINGS)
    files, skipped = [], list(found.skipped)
    whole, marks, seen = hashlib.sha256(), array("Q"), np.zeros(0x110000, bool)
    for path in found.paths:
        file, empty = _scan(path, whole.update, marks, seen)
        if file.documents:
            files.append(file)
        if empty:
            skipped.append((shown(path), "empty" if not file.documents else f"{empty} of its documents are empty"))
    table = np.array(marks, np.uint64).reshape(-1, 3)
    size = sum(file.bytes for file in files)
    if not any(not chr(c).isspace() for c in np.flatnonzero(seen)):
        where = ", ".join(shown(path) for path in found.paths[:3]) + (", …" if len(found.paths) > 3 else "")
        problem = f"0 training samples in {where} ({size} bytes{', all white space' if size else ''})"
        raise DataError(problem, fix="name files that hold text")
    return Corpus(
        files=tuple(files),
        skipped=tuple(skipped),
        fingerprint=whole.hexdigest(),
        characters=int(table[:, 1].sum()),
        bytes=size,
        documents=len(table),
        distinct=int(seen.sum()),
        marks=table,
    )


def _scan(path: Path, whole: Callable[[bytes], Any], marks: array, seen: np.ndarray) -> tuple[SourceFile, int]:
    """Read one file, adding to what is known of all; also how many of its documents were empty."""
    digest, characters, total, documents, empty = _Digest(), 0, 0, 0, 0
    for piece in _documents(path):
        size = digest.size
        mark = digest.take(piece)
        if piece is not None:
            characters += len(piece)
            seen[np.frombuffer(piece.encode("utf-32-le"), np.uint32)] = True
        elif mark is None:
            empty += 1
        else:
            whole(mark)
            marks.extend((int.from_bytes(mark[:8], "big"), characters, size))
            characters, total, documents = 0, total + size, documents + 1
    return SourceFile(path, total, documents, digest.hex()), empty


def _documents(path: Path) -> Iterator[str | None]:
    """Pieces of the documents of a file, and None at the end of each."""
    if ending(path, ENDINGS) == ".jsonl":
        for number, line in _lines(path):
            if line and not line.isspace():
                text = _field(line, f"{shown(path)}, line {number}")
                yield from (text, None) if text else (None,)
    else:
        yield from read_text(path)
        yield None


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file with their numbers, from 1."""
    number, tail = 1, ""
    for piece in read_text(path):
        *lines, tail = (tail + piece).split("\n")
        for line in lines:
            yield number, line
            number += 1
        if len(tail) > MAX_LINE:
            problem, fix = f"longer than {MAX_LINE >> 20} MiB", "put a document of this size in a .txt file of its own"
            raise DataError(problem, where=f"{shown(path)}, line {number}", fix=fix)
    yield number, tail


def _field(line: str, where: str) -> str:
    """The text of one line of JSON."""
    fix = 'every line must be an object with a text, as in {"text": "Once upon a time"}'
    try:
        data = json.loads(line, object_pairs_hook=_unique, parse_constant=_refuse)
    except RecursionError:
        raise DataError("nested too deeply", where=where, fix=fix) from None
    except json.JSONDecodeError as error:
        raise DataError(f"not valid JSON at column {error.colno}: {error.msg}", where=where, fix=fix) from None
    except ValueError as error:
        raise DataError(f"not valid JSON: {error}", where=where, fix=fix) from None
    if not isinstance(data, dict):
        raise DataError(f"expected an object, found {_name(data)}", where=where, fix=fix)
    if "text" not in data:
        keys = ", ".join(map(repr, list(data)[:8])) or "none"
        raise DataError(f'no field "text"; its fields: {keys}', where=where, fix=fix)
    text = data["text"]
    if not isinstance(text, str):
        raise DataError(f'the field "text" is {_name(text)}, expected a string', where=where, fix=fix)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        problem = f"\\u{ord(text[error.start]):04x} is half of a surrogate pair, not a character"
        raise DataError(problem, where=where, fix="write the whole pair, or leave it out") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _name(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise ValueError(f"the key {key!r} stands twice")
        result[key] = value
    return result


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not a number in JSON")


@dataclass(frozen=True)
class Part:
    """A share of a corpus: a rule that lets some of its stream through, and how much that is."""

    characters: int
    bytes: int
    corpus: Corpus = field(repr=False)
    choose: Callable[[Iterator[str | None]], Iterator[str | None]] = field(repr=False)

    def pieces(self) -> Iterator[str | None]:
        """The text of this part. A document that is cut has its end, and so its None, in the later part."""
        return self.choose(self.corpus.pieces())


@dataclass(frozen=True)
class Split:
    """Text to learn from, text held out, and the rule in words."""

    train: Part
    valid: Part
    rule: str


def split(corpus: Corpus, share: float = 0.1) -> Split:
    """Hold out about a share of the text, by content alone: the same text is split the same way everywhere."""
    if not 0 < share < 1:
        raise ConfigError(f"expected a share between 0 and 1, found {share}", where="share")
    held = _draw(corpus.marks, share) if corpus.documents >= FEW else None
    return _cut(corpus, share) if held is None else _deal(corpus, share, held)


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


def _deal(corpus: Corpus, share: float, held: np.ndarray) -> Split:
    def part(keep: np.ndarray) -> Part:
        characters, size = (int(total) for total in corpus.marks[keep, 1:].sum(axis=0))
        return Part(characters, size, corpus, partial(_whole, keep))

    rule = (
        f"{held.sum()} of {corpus.documents} documents are held out: about {share:.0%}, the first in order of the SHA-256 of "
        "their content, so that identical documents fall on the same side; a document that alone is a larger share of "
        "the text or of the documents is held out only if nothing else can be"
    )
    return Split(part(~held), part(held), rule)


def _cut(corpus: Corpus, share: float) -> Split:
    cut = int((1 - share) * corpus.characters)
    if not 0 < cut < corpus.characters:
        problem = f"{corpus.characters} characters are too few to hold out {share:.0%} of them"
        where = ", ".join(shown(file.path) for file in corpus.files[:3])
        raise DataError(problem, where=where, fix="add more text, or name other data to validate on")
    sides = partial(_stretch, 0, cut), partial(_stretch, cut, corpus.characters)
    size = sum(len(piece.encode("utf-8")) for piece in sides[0](corpus.pieces()) if piece)
    rule = (
        f"the last {share:.0%} of the text is held out: characters {cut} to {corpus.characters} of the documents put "
        "one after another"
    )
    train, valid = (
        Part(cut, size, corpus, sides[0]),
        Part(corpus.characters - cut, corpus.bytes - size, corpus, sides[1]),
    )
    return Split(train, valid, rule)


def _whole(keep: np.ndarray, pieces: Iterator[str | None]) -> Iterator[str | None]:
    """The documents that are kept. Reads on to the end, where a change of the files shows."""
    document = 0
    for piece in pieces:
        if document < len(keep) and keep[document]:
            yield piece
        document += piece is None


def _stretch(start: int, stop: int, pieces: Iterator[str | None]) -> Iterator[str | None]:
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
