"""Tables that are made for a user: .csv, .tsv and .jsonl, each also .gz, .xlsx and .parquet. Refuses to know meanings.

Rows are taken one by one and bytes come out as they are made, so that a table may be larger than memory; only the file
of a workbook is held, packed. What a format cannot hold is written as near as it can be, and counted in `remarks`.
"""

import csv
import io
import json
import math
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

from weft.errors import DataError, WeftError
from weft.files.finding import ending
from weft.files.parquet_columns import PARQUET
from weft.files.workbooks import WORKBOOK

ENDINGS = (".csv", ".tsv", ".jsonl", WORKBOOK, PARQUET)
ROWS = 1000  # of a Parquet file that are written together, and by which the types of its columns are known
LONGEST_CELL, MOST_ROWS = 32_767, 2**20  # of a workbook
UNWRITABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")  # in a workbook
BREAKS = re.compile(r"[\t\r\n]+")  # what parts rows and columns of a .tsv file
Rows = Iterable[Sequence[Any]]


def is_written_as_table(path: Path) -> bool:
    """Whether a file to be written is a table, by its ending."""
    return ending(path, ENDINGS) is not None


class TableWriter:
    """A table as the bytes of a file; `remarks` say what could not be written as it was, once all are made."""

    def __init__(self, path: Path):
        self.path, self.kind = path, ending(path, ENDINGS)
        self.counts: Counter[str] = Counter()
        if self.kind is None:
            fix = f"name it with one of {', '.join(ENDINGS)}"
            raise WeftError("the ending of a table is not known", where=str(path), fix=fix)
        _required(self.kind, path)

    @property
    def remarks(self) -> list[str]:
        """What was changed to fit the format, in words."""
        return [f"{self.path}: {what}: {count:,}" for what, count in self.counts.items()]

    @property
    def appends(self) -> bool:
        """Whether rows can be written behind those that are there; a workbook and Parquet are made at the end."""
        return self.kind in (".csv", ".tsv", ".jsonl")

    @property
    def packs(self) -> bool:
        """Whether the file is packed by gzip."""
        return self.path.name.lower().endswith(".gz")

    def chunks(self, names: Sequence[str], rows: Rows) -> Iterator[bytes]:
        """The bytes of the file."""
        if self.appends:
            found: Iterator[bytes] = chain([self.head(names)], self.lines(names, rows))
        else:
            found = (self._xlsx if self.kind == WORKBOOK else self._parquet)(names, rows)
        return packed(found) if self.packs else found

    def head(self, names: Sequence[str]) -> bytes:
        """What stands above the rows of a file that rows are appended to."""
        return b"" if self.kind == ".jsonl" else b"".join(self.lines(names, [names]))

    def lines(self, names: Sequence[str], rows: Rows) -> Iterator[bytes]:
        """The bytes of rows, of a file that rows are appended to."""
        if self.kind == ".jsonl":
            return self._jsonl(names, rows)
        return self._csv(rows) if self.kind == ".csv" else self._tsv(rows)

    def staged(self, rows: Rows) -> Iterator[bytes]:
        """Rows as lines, of which a file that is made at the end is made."""
        for cells in rows:
            yield json.dumps(list(cells), ensure_ascii=True, default=str).encode() + b"\n"

    def made(self, names: Sequence[str], staged: Iterable[bytes]) -> Iterator[bytes] | None:
        """The bytes of the file, of what was staged (lines or `staged`); None where these are the file already."""
        if not self.appends:
            return self.chunks(names, map(json.loads, whole_lines(staged)))
        return packed(staged) if self.packs else None

    def _csv(self, rows: Rows) -> Iterator[bytes]:
        buffer = io.StringIO(newline="")
        writer = csv.writer(buffer, lineterminator="\n")
        for cells in rows:
            writer.writerow([as_text(cell) for cell in cells])
            yield _taken(buffer)

    def _tsv(self, rows: Rows) -> Iterator[bytes]:
        for cells in rows:
            texts = [as_text(cell) for cell in cells]
            self.counts["cells with tabs or newlines, which .tsv cannot hold and are spaces now"] += sum(
                BREAKS.search(text) is not None for text in texts
            )
            yield ("\t".join(BREAKS.sub(" ", text) for text in texts) + "\n").encode("utf-8", "replace")
        self.counts = +self.counts

    def _jsonl(self, names: Sequence[str], rows: Rows) -> Iterator[bytes]:
        for cells in rows:
            data = {name: plain(cell) for name, cell in zip(names, cells, strict=True)}
            yield (json.dumps(data, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8", "replace")

    def _xlsx(self, names: Sequence[str], rows: Rows) -> Iterator[bytes]:
        from openpyxl import Workbook
        from openpyxl.cell import WriteOnlyCell

        book = Workbook(write_only=True)
        sheet = book.create_sheet("answers")

        def cell(value: Any) -> Any:
            if value is None or isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
                return value
            text = UNWRITABLE.sub("\ufffd", as_text(value))
            if len(text) > LONGEST_CELL:
                self.counts[f"cells cut, as they are longer than the {LONGEST_CELL:,} characters of Excel"] += 1
            made = WriteOnlyCell(sheet, text[:LONGEST_CELL])
            made.data_type = "s"  # a text that begins with = is no formula
            return made

        for number, cells in enumerate(chain([names], rows), 1):
            if number > MOST_ROWS:
                raise DataError(f"more than {MOST_ROWS:,} rows, the most of Excel", where=str(self.path),
                                fix="write it as .csv or .parquet")  # fmt: skip
            sheet.append([cell(value) for value in cells])
        buffer = io.BytesIO()
        book.save(buffer)
        yield buffer.getvalue()

    def _parquet(self, names: Sequence[str], rows: Rows) -> Iterator[bytes]:
        import pyarrow as arrow
        from pyarrow.parquet import ParquetWriter

        waiting = iter(rows)
        first = list(islice(waiting, ROWS))
        types = [arrow_type(arrow, [cells[place] for cells in first]) for place in range(len(names))]
        schema = arrow.schema(list(zip(names, types, strict=True)))
        pieces = _Pieces()
        with ParquetWriter(pieces, schema) as writer:
            for some in chain([first], iter(lambda: list(islice(waiting, ROWS)), [])):
                columns = [_column(arrow, [cells[place] for cells in some], kind) for place, kind in enumerate(types)]
                writer.write_table(arrow.Table.from_arrays(columns, schema=schema))
                yield pieces.take()
        yield pieces.take()


class _Pieces(io.RawIOBase):
    """A file that gives away what was written to it."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.size = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        part = bytes(data)
        self.parts.append(part)
        self.size += len(part)
        return len(part)

    def tell(self) -> int:
        return self.size

    def take(self) -> bytes:
        """All that was written since it was last asked for."""
        parts, self.parts = self.parts, []
        return b"".join(parts)


def plain(value: Any) -> Any:
    """A cell as a value of JSON; what is no number is null."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value if isinstance(value, str | bool | int | float | None) else str(value)


def as_text(value: Any) -> str:
    """A cell as text: nothing for null, lists and objects as JSON."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple | dict):
        return json.dumps(plain(value), ensure_ascii=False)
    return str(value)


def arrow_type(arrow: Any, values: Sequence[Any]) -> Any:
    """The type of a column of Parquet by its first values: text where they differ or are none."""
    known = [value for value in map(plain, values) if value is not None]
    try:
        found = arrow.infer_type(known)
    except (arrow.ArrowInvalid, arrow.ArrowTypeError):
        return arrow.string()
    found = arrow.float64() if arrow.types.is_integer(found) and any(isinstance(v, float) for v in known) else found
    return arrow.string() if arrow.types.is_null(found) else found


def _column(arrow: Any, values: Sequence[Any], kind: Any) -> Any:
    """Some values of a column; what is of another type than the first ones is refused with a way out."""
    if arrow.types.is_string(kind):
        return arrow.array([None if value is None else as_text(value) for value in values], kind)
    try:
        return arrow.array(list(map(plain, values)), kind)
    except (arrow.ArrowInvalid, arrow.ArrowTypeError) as error:
        problem = f"a column holds values of several types, which Parquet does not: {str(error).splitlines()[0]}"
        raise DataError(problem, fix="write it as .csv or .jsonl") from None


def _taken(buffer: io.StringIO) -> bytes:
    """What was written to a buffer, which is empty then."""
    text = buffer.getvalue()
    buffer.seek(0)
    buffer.truncate()
    return text.encode("utf-8", "replace")


def whole_lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Lines of bytes that come in pieces of any size; the last ends with a newline too."""
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        yield from lines


def packed(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Bytes packed by gzip, without the time."""
    pack = zlib.compressobj(wbits=31)
    for chunk in chunks:
        if made := pack.compress(chunk):
            yield made
    yield pack.flush()


def _required(kind: str, path: Path) -> None:
    """Refuse to begin where the library that writes such a file is not installed."""
    packages = {WORKBOOK: ("openpyxl", "excel", "Excel workbooks"), PARQUET: ("pyarrow", "parquet", "Parquet files")}
    if kind in packages:
        package, extra, words = packages[kind]
        try:
            __import__(package)
        except ImportError:
            problem = f"{words} are written by {package}, which is not installed"
            raise WeftError(problem, where=str(path), fix=f"pip install 'weft[{extra}]', or write .csv") from None
