"""Documents of text, in files with any ending. Refuses to know tokens.

Text is streamed, never held whole: `pieces()` gives strings, and None where a document ends. A file is one document; in
a .jsonl file every line is an object whose field "text" is one, in other tables every row with a column "text", in a
mailbox every mail. Empty documents are left out and listed. Of a folder, the files that end in .txt, .md, .jsonl, .mbox
or .parquet are taken; where it has none, all that are text; or those with the endings that a user names.
"""

import hashlib
import shlex
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np

from weft.errors import DataError
from weft.files.bad_rows import BadRows, Skip
from weft.files.decoding import current_encoding, read_text, shown
from weft.files.endings import ENDINGS_OF_ONE_KIND
from weft.files.finding import FoundFiles, ending, endings_asked, find
from weft.files.foreign import by_ending
from weft.files.foreign_text import known_text
from weft.files.gather import raising
from weft.files.json_lines import numbered, objects_on, read_string
from weft.files.known_roles import ALL, ENOUGH
from weft.files.mailboxes import ENDINGS as MAILS
from weft.files.mailboxes import mails
from weft.files.parquet_columns import PARQUET
from weft.files.pictures.formats import named_as_picture
from weft.files.survey import NO, Judgement, Survey, Surveyed
from weft.files.tables import Table, is_table, open_table
from weft.files.ways import current_ways
from weft.storage.file_marks import FileMarks
from weft.storage.marked import MarkedPieces
from weft.storage.prepared import StagedEntry, key_of, lasting_store

ENDINGS = (".txt", ".md", ".jsonl", *MAILS, PARQUET)
STRUCTURED = (".json", ".geojson", ".ipynb")
TABBED = "columns with tabs between them, in a file without the ending of a table"
TAB_LINES = 200  # lines looked at to tell a table from a text
LISTED_FILES = 20  # that are named where prepared data is listed
FEW = 20  # files of a folder that are opened to tell whether it holds text
FIX = 'every line must be an object with a text, as in {"text": "Once upon a time"}'


@dataclass(frozen=True)
class GivenText:
    """A text that is at hand, read as a file of that name would be."""

    name: str
    text: str = field(repr=False)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class SourceFile:
    """A file that was read: the size of its text in UTF-8, its documents, and the digest of them in order."""

    path: Path | GivenText
    bytes: int
    documents: int
    digest: str


@dataclass(frozen=True)
class Corpus:
    """What a number of files hold.

    `fingerprint` is the SHA-256 over the SHA-256 of each document, in order: names, gzip, byte order marks, newline
    style and the way documents are spread over files do not change it. `marks` has a row for each document: 64 bits of
    its SHA-256, its characters, its bytes.
    """

    files: tuple[SourceFile, ...]
    skipped: tuple[tuple[str, str], ...]
    fingerprint: str
    characters: int
    bytes: int
    documents: int
    distinct: int  # different characters
    marks: np.ndarray = field(repr=False, compare=False)
    encoding: str | None = None  # of the files, where the user named one
    passed_by: Mapping[str, int] = field(default_factory=dict)  # bytes of text by the endings that were not taken

    def pieces(self) -> MarkedPieces:
        """The text again, from the files. A file that has changed since it was first read is refused at its end."""
        return MarkedPieces(self.fingerprint, self.bytes, self._pieces)

    def _pieces(self) -> Iterator[str | None]:
        for file in self.files:
            digest = _Digest()
            for piece in _documents(file.path, self.encoding):
                if isinstance(piece, DataError):
                    continue
                if digest.take(piece) is not None or piece:
                    yield piece
            if digest.hex() != file.digest:
                fix = "leave the files alone while weft works, then start again"
                raise DataError("the file has changed since it was first read", where=shown(str(file.path)), fix=fix)


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


def read_corpus(sources: Sequence[str | Path | GivenText], skip: Skip = None) -> Corpus:
    """Read all files once: check every line, count, and take the fingerprint. `skip` is how many may be bad."""
    given = [source for source in sources if isinstance(source, GivenText)]
    named = [source for source in sources if not isinstance(source, GivenText)]
    found = find(named, endings_asked() or ENDINGS, others=True) if named or not given else FoundFiles((), ())
    read = partial(_read_paths, [*given, *found.paths], skip)
    whole = read() if given else _remembered(found.paths, skip, read)
    return replace(whole, skipped=(*found.skipped, *whole.skipped), passed_by=found.passed_by)


def _remembered(paths: Sequence[Path], skip: Skip, read: Callable[[], Corpus]) -> Corpus:
    """What files hold; where they are as they were when they were last read, it is known without reading them."""
    marks = FileMarks.of(paths)
    store = None if marks is None else lasting_store(marks.bytes)
    if marks is None or store is None:
        return read()

    def scan(staged: StagedEntry) -> None:
        whole = read()
        staged.array("marks", np.uint64, width=3).append(whole.marks)
        files = [(str(file.path), file.bytes, file.documents, file.digest) for file in whole.files]
        kept = ("skipped", "fingerprint", "characters", "bytes", "documents", "distinct", "encoding")
        staged.values.update({"files": files, **{name: getattr(whole, name) for name in kept}})

    key = key_of("corpus", marks.files, [str(path) for path in paths], skip, current_ways())
    source = {"kind": "text", "files": [str(path) for path in paths[:LISTED_FILES]]}
    entry = store.entry(key, scan, source, keep=lambda: marks.trusted(paths))
    values = dict(entry.values)
    files = tuple(SourceFile(Path(path), *more) for path, *more in values.pop("files"))
    skipped = tuple((where, reason) for where, reason in values.pop("skipped"))
    return Corpus(files=files, skipped=skipped, marks=entry.arrays["marks"], **values)


def _read_paths(paths: Sequence[Path | GivenText], skip: Skip) -> Corpus:
    files, skipped = list[SourceFile](), list[tuple[str, str]]()
    whole, marks, seen = hashlib.sha256(), array("Q"), np.zeros(0x110000, bool)
    bad = BadRows(skip, len(paths))
    for path in paths:
        try:
            file, empty, digests, own, characters, lost = _scan(path)
        except DataError as error:
            bad.take_file(error)
            continue
        for digest in digests:
            whole.update(digest)
        marks.extend(own)
        np.logical_or(seen, characters, out=seen)
        if file.documents:
            files.append(file)
        skipped += [(error.where, error.problem) for error in lost]
        if empty:
            skipped.append((shown(str(path)), "empty" if not file.documents else f"{empty} of its documents are empty"))
    bad.check(len(files))
    skipped += bad.listed()
    table = np.array(marks, np.uint64).reshape(-1, 3)
    size = sum(file.bytes for file in files)
    if not any(not chr(c).isspace() for c in np.flatnonzero(seen)):
        where = ", ".join(shown(str(path)) for path in paths[:3]) + (", …" if len(paths) > 3 else "")
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
        encoding=current_encoding(),
    )


def _scan(path: Path | GivenText) -> tuple[SourceFile, int, list[bytes], array, np.ndarray, list[DataError]]:
    """Read one file: also how many of its documents were empty, the digests and marks of the others, its characters.

    Last come the documents that cannot be read, each of which costs itself alone.
    """
    digest, characters, total, empty, lost = _Digest(), 0, 0, 0, list[DataError]()
    digests, marks, seen = list[bytes](), array("Q"), np.zeros(0x110000, bool)
    for piece in _documents(path):
        if isinstance(piece, DataError):
            lost.append(piece)
            continue
        size = digest.size
        mark = digest.take(piece)
        if piece is not None:
            characters += len(piece)
            seen[np.frombuffer(piece.encode("utf-32-le"), np.uint32)] = True
        elif mark is None:
            empty += 1
        else:
            digests.append(mark)
            marks.extend((int.from_bytes(mark[:8], "big"), characters, size))
            characters, total = 0, total + size
    return SourceFile(path, total, len(digests), digest.hex()), empty, digests, marks, seen, lost


def _documents(path: Path | GivenText, encoding: str | None = None) -> Iterator[str | DataError | None]:
    """Pieces of the documents of a file, and None at the end of each; or why one cannot be read."""
    if isinstance(path, GivenText):
        yield from (path.text, None)
    elif ending(path, ENDINGS) == ".jsonl":
        for number, data in raising(objects_on(numbered(path, encoding), path, FIX)):
            text = read_string(data, "text", where=f"{shown(path)}, line {number}", fix=FIX)
            yield from (text, None) if text else (None,)
    elif ending(path, MAILS):
        for mail in mails(path, encoding):
            yield from (mail,) if isinstance(mail, DataError) else (mail, None) if mail else (None,)
    elif is_table(path) and (ending(path, (".csv", ".tsv")) is None):
        yield from _rows(path)
    else:
        yield from read_text(path, encoding)
        yield None


def _rows(path: Path) -> Iterator[str | None]:
    """The texts in the column "text" of a table."""
    table = open_table(path, ALL)
    if "text" not in table.names:
        found = ", ".join(repr(shown(name)) for name in table.names[:8] if name) or "none"
        raise DataError(
            f'no column "text"; its columns: {found}', where=shown(path), fix='name the column of texts "text"'
        )
    for row in raising(table.rows()):
        if row.cells:
            text = table.text(row, table.names.index("text"))
            yield from (text, None) if text else (None,)


# Recognition


def _has_texts(table: Table) -> bool:
    """Whether most rows have a text in a column of that name; with fewer, it is no table of texts."""
    column = next((column for column in table.columns if column.name == "text"), None)
    return column is not None and 2 * len(column.values) > max(len(other.values) for other in table.columns)


def is_tabbed(source: Surveyed) -> bool:
    """Whether the first lines of a text all have the same number of tabs: a table without the ending of one."""
    lines = [line for _, line in source.lines[:TAB_LINES] if line.strip()]
    counts = {line.count("\t") for line in lines}
    return len(lines) >= ENOUGH and len(counts) == 1 and counts != {0}


def refusal(source: Surveyed) -> DataError | None:
    """The error for a table that has no ending of one; None for any other file."""
    if source.kind != "file" or ending(source.path, (*STRUCTURED[:2], ".npz")) or not is_tabbed(source):
        return None
    name = shown(source.path)
    quoted, stem = shlex.quote(name), shlex.quote(name.split(source.path.suffix or "?")[0])
    return DataError(TABBED, where=name, fix=f"give it the ending of such a table: cp {quoted} {stem}.tsv")


def judge(survey: Survey) -> Judgement:
    """Whether these are text. Nearly all files of other readers are text too, so that it is never more than possible.

    Only lines of JSON with a text, and nothing beside it that could be its label, are surely texts to continue.
    """
    found = survey.weakest(_judge_source)
    return replace(found, general=True) if found else found


def _judge_source(source: Surveyed) -> Judgement:
    known = ending(source.path, ENDINGS)
    if source.kind in ("folder", "pattern"):
        if sum(map(named_as_picture, source.names)) * 2 > len(source.names) > 0:
            return NO  # pictures with a text or two beside them
        if 2 * sum(by_ending(file) is not None for file in source.files) > len(source.files):
            return NO  # formats that weft does not read, which the refusal names
        some = any(ending(name, ENDINGS) for name in source.names)
        first = [
            file for file in source.files[:FEW] if ending(file, ENDINGS_OF_ONE_KIND) is None and not is_table(file)
        ]
        some = some or any(
            isinstance(start := Surveyed(file).start, str) and known_text(file, start) is None for file in first
        )
        unmatched = source.kind == "pattern" and not source.files  # which reading it says
        return Judgement("possible", "text") if some or unmatched else NO
    if source.kind == "archive" or ending(source.path, ENDINGS_OF_ONE_KIND) or ending(source.path, (".csv", ".tsv")):
        return NO
    if any(map(_has_texts, source.tables)) and not source.other_objects:
        where = "on every line" if ending(source.path, (".jsonl",)) else "in every row"
        return Judgement("sure", f'a text {where}, in the field "text"')
    if is_table(source.path) and not ending(source.path, (".jsonl",)):
        return NO
    if ending(source.path, MAILS):
        return Judgement("sure", "mails: the subject and the text of each")
    if ending(source.path, STRUCTURED) and isinstance(source.start, str):
        return Judgement("no", "JSON that is no list of objects")
    if is_tabbed(source):
        return Judgement("no", TABBED)
    if isinstance(source.start, str) and (other := known_text(source.path, source.start)) is not None:
        return Judgement("no", other.name)
    if source.tables and ending(source.path, (".jsonl",)):
        return Judgement("no", 'objects without a field "text"')
    if known is not None:
        return Judgement("possible", "text, by its ending")
    if isinstance(source.start, str):
        return Judgement("possible", "text, by what it holds")
    if foreign := by_ending(source.path):
        return Judgement("no", foreign.name)
    encoded = "it looks like" in source.start.problem  # text in another encoding, which reading it says
    return Judgement("possible" if encoded else "no", source.start.problem)
