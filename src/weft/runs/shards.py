"""Shards of one work joined into one file: all of them, each once, of the same work, each as it was written.

Beside each shard's file stands a record (`answers-2.csv.shard.json`): by what it was made, its length and checksum.
"""

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from weft.errors import ConfigError, DataError, WeftError, listed
from weft.files.table_writing import TableWriter, whole_lines
from weft.files.writing import write_made
from weft.json_text import read_json
from weft.runs.many import shards_differ
from weft.storage.growing import PART, beside
from weft.storage.store import read_file, shown, write_file

RECORD = ".shard.json"
JOINS = (".csv", ".tsv", ".jsonl", ".npy")  # files whose shards can be put behind one another
READ = 8 * 2**20


@dataclass(frozen=True)
class ShardRecord:
    """What is known of a shard's file: its making; its bytes behind the `reserved` ones, of which `head` are names."""

    about: Mapping[str, Any]
    bytes: int
    crc32: int
    head: int
    reserved: int
    count: int  # rows or vectors
    failed: int  # inputs that could not be used
    more: Mapping[str, Any]

    @property
    def shard(self) -> tuple[int, int]:
        """Which it is, of how many."""
        number, of = self.about["shard"]
        return int(number), int(of)


def check_joins(path: Path) -> None:
    """Refuse, before anything is computed, a shard that could not be joined."""
    if path.suffix.lower() not in JOINS:
        problem = f"shards are written as {', '.join(JOINS)}, not {path.suffix or 'without an ending'}"
        raise WeftError(problem, where=f"--output {shown(path)}", fix="shards in .jsonl can be joined to any table")


def write_record(path: Path, record: ShardRecord) -> None:
    """Write the record of a shard's file."""
    write_file(beside(path, RECORD), json.dumps(asdict(record)).encode() + b"\n")


def read_record(path: Path) -> ShardRecord:
    """The record of a shard's file."""
    place = beside(path, RECORD)
    if beside(path, PART).exists():
        raise DataError("a shard that is not finished", where=shown(path), fix="finish it first, with --resume")
    if not path.is_file() or not place.is_file():
        what = "no such file" if not path.is_file() else f"no {place.name} beside it: it was not written by --shard"
        raise DataError(what, where=shown(path), fix="name the files that --shard wrote, with their .shard.json")
    try:
        return ShardRecord(**read_json(read_file(place), where=shown(place)))
    except (ConfigError, TypeError):
        raise DataError("not the record of a shard", where=shown(place), fix="write the shard again") from None


def checked_records(paths: Sequence[Path], weights: str, use: str) -> dict[Path, ShardRecord]:
    """The records of all shards of one work, in their order; missing, doubled and foreign ones are refused."""
    found = {path: read_record(path) for path in paths}
    if not found:
        raise WeftError("no shards were named", where="--join", fix="name the files that --shard wrote")
    first, record = next(iter(found.items()))
    if record.about["use"] != use or record.about["run"] != weights:
        problem = "was written by another command" if record.about["use"] != use else "was written by another run"
        raise DataError(problem, where=shown(first), fix="name the run whose shards these are")
    by_number: dict[int, Path] = {}
    for path, one in found.items():
        if (differ := shards_differ(record.about, one.about)) or one.shard[1] != record.shard[1]:
            problem = f"belongs to another work than {shown(first)}: {', '.join(differ) or 'number of shards'} differ"
            raise DataError(problem, where=shown(path), fix="name the shards of one work")
        number = one.shard[0]
        if number in by_number:
            other = shown(by_number[number])
            raise DataError(f"is shard {number} of {record.shard[1]}, as {other} is", where=shown(path),
                            fix="name each shard once")  # fmt: skip
        by_number[number] = path
    missing = [f"{n}/{record.shard[1]}" for n in range(1, record.shard[1] + 1) if n not in by_number]
    if missing or len(paths) != len(found):
        problem = f"shards are missing: {listed(missing)}" if missing else "a shard is named twice"
        raise DataError(problem, where="--join", fix="name all shards, each once")
    return {by_number[n]: found[by_number[n]] for n in sorted(by_number)}


def join(records: Mapping[Path, ShardRecord], out: Path, first: bytes = b"") -> int:
    """Write all shards as one file, which has its name once all are checked; how many rows or vectors it has.

    `first` stands before them in place of what each has reserved. Shards in .jsonl become any table.
    """
    kind, wanted = next(iter(records)).suffix.lower(), out.suffix.lower()
    if kind != wanted and kind != ".jsonl":
        fix = f"name it with {kind}, or write the shards as .jsonl"
        raise WeftError(f"shards in {kind} are joined to {kind}", where=f"--output {shown(out)}", fix=fix)
    contents = (_checked(path, one, head=not number) for number, (path, one) in enumerate(records.items()))
    joined: Iterator[bytes] = chain.from_iterable(contents)
    if kind != wanted:
        joined = _as_table(joined, TableWriter(out), list(next(iter(records.values())).more["names"]))
    write_made(out, chain([first], joined) if first else joined)
    return sum(one.count for one in records.values())


def _as_table(lines: Iterator[bytes], writer: TableWriter, names: Sequence[str]) -> Iterator[bytes]:
    """Rows of JSON as another table."""
    rows = ([one.get(name) for name in names] for one in map(json.loads, whole_lines(lines)))
    return writer.chunks(names, rows)


def _checked(path: Path, record: ShardRecord, *, head: bool) -> Iterator[bytes]:
    """The bytes of a shard, the names of its columns only with `head`; refused at its end where it has changed."""
    crc, size, skip = 0, 0, 0 if head else record.head
    with path.open("rb") as file:
        file.seek(record.reserved)
        while piece := file.read(READ):
            crc, size = zlib.crc32(piece, crc), size + len(piece)
            yield piece[skip:]
            skip = max(0, skip - len(piece))
    if (size, crc) != (record.bytes, record.crc32):
        raise DataError("has changed since it was written", where=shown(path), fix="write the shard again")
