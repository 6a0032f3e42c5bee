"""Answers: predict and embed are killed (SIGKILL) at random bytes of what they write, and go on: no row lost or twice.

Each goes on by itself as often as it is killed, and must end with the bytes of a run that was never stopped. Formats
that are made at the end (.gz, .xlsx, .parquet, .txt) are among them. So are shards: each is killed, and joined they
must be what shards are that were never stopped.
"""

import os
import random
import shutil
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import weft
from campaigns.judging import warm
from campaigns.links import FIXTURES
from campaigns.tally import Tally
from weft.files.table_writing import TableWriter
from weft.runs.answered import Answered
from weft.runs.embedding import embed_inputs
from weft.runs.many import Shard, weights_digest
from weft.runs.shards import checked_records, join

OUTPUTS = ("out.csv", "out.tsv", "out.jsonl", "out.csv.gz", "out.txt", "out.parquet", "out.npy")
SHARDS = 3  # of one work
ROWS, BATCH = 45, 4  # of the table, and inputs that are computed at once
BAD = 17  # a row that cannot be used


def table(path: Path) -> Path:
    """A table of texts, of which one is blank and some are of several lines."""
    rows = [(number, "" if number == BAD else f"the dog\nnumber {number}" * (1 + number % 3)) for number in range(ROWS)]
    path.write_bytes(b"".join(TableWriter(path).chunks(["id", "text"], rows)))
    return path


def answer(run: "weft.Run", given: Path, out: Path, shard: Shard = Shard()) -> None:
    """Write the answers, or the vectors, to the rows of a table; go on where that was begun."""
    if out.suffix == ".npy":
        embed_inputs(run, [given], out, (), 5, {}, resume=True)
    else:
        found = Answered(run, [given], {"text_column": "text"}, shard=shard)
        found.write(out, lambda one: None, table=out.suffix != ".txt", resume=True)


def killed_at(byte: int, act: Callable[[], None]) -> int:
    """The exit code of a process that does something and is killed in the write that comes to this byte."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    write, left = os.write, [byte]

    def until(file: int, data: Any) -> int:
        if len(data) > left[0]:
            write(file, bytes(data)[: left[0]])
            os.kill(os.getpid(), signal.SIGKILL)
        left[0] -= len(data)
        return write(file, data)

    try:
        with mock.patch.object(os, "write", until):
            act()
        os._exit(0)
    except BaseException:
        os._exit(1)


def answers(
    count: int, place: Path, *, outputs: tuple[str, ...] = OUTPUTS, seed: int = 0, shards: bool = True
) -> Tally:
    """Kill `count` times in all, in turn for each kind of output, and shards of one work."""
    shutil.rmtree(place, ignore_errors=True)
    (place / "straight").mkdir(parents=True)
    (place / "killed").mkdir()
    tally, chance = Tally(), random.Random(seed)
    run, given = weft.load(FIXTURES / "finished" / "classify-text"), table(place / "in.csv")
    with mock.patch("weft.storage.growing.KEEP_EVERY", 0.0), mock.patch("weft.runs.many.BATCH", BATCH):
        warm([lambda: answer(run, given, place / name) for name in outputs], place)
        sizes = {name: _bytes_written(partial(answer, run, given, place / "straight" / name)) for name in outputs}
        while tally.total < count:
            for name, size in sizes.items():
                _one(run, given, place, name, size, chance, tally)
            if shards:
                _shards(run, given, place, chance, tally)
    shutil.rmtree(place)
    return tally


def _bytes_written(act: Callable[[], None]) -> int:
    """Do something that is not killed; how many bytes it writes."""
    write, sizes = os.write, list[int]()

    def counted(file: int, data: Any) -> int:
        sizes.append(write(file, data))
        return sizes[-1]

    with mock.patch.object(os, "write", counted):
        act()
    return sum(sizes)


def _one(run: "weft.Run", given: Path, place: Path, name: str, size: int, chance: random.Random, tally: Tally) -> None:
    """Kill one output, again and again, until it is whole."""
    out, straight = place / "killed" / name, (place / "straight" / name).read_bytes()
    kind = f"killed while {name.removeprefix('out')} is written"
    while (code := killed_at(chance.randrange(size), lambda: answer(run, given, out))) == -signal.SIGKILL:
        problem = "it had its name before it was whole" if out.exists() and out.read_bytes() != straight else None
        tally.count(kind, problem)
    if code:
        tally.count(kind, f"it did not go on: exit code {code}")
        answer(run, given, out)
    elif out.read_bytes() != straight:
        tally.count(kind, "rows are lost or doubled")
    left = sorted(path.name for path in out.parent.iterdir())
    if left != [name] and not all(one.startswith(".tmp-") or one == name for one in left):
        tally.count(kind, f"left behind: {left}")
    shutil.rmtree(out.parent)
    out.parent.mkdir()


def _shards(run: "weft.Run", given: Path, place: Path, chance: random.Random, tally: Tally) -> None:
    """Kill each of the shards of one work, again and again, until it is whole; then join them."""
    kind, joined = f"killed while one of {SHARDS} shards is written", dict[str, bytes]()
    sizes = list[int]()
    for folder in ("shards", "killed"):
        (place / folder).mkdir(exist_ok=True)
        paths = [place / folder / f"{number}.csv" for number in range(1, SHARDS + 1)]
        for number, path in enumerate(paths, 1):
            act = partial(answer, run, given, path, Shard(number, SHARDS))
            if folder == "shards":
                sizes.append(_bytes_written(act))
                continue
            while (code := killed_at(chance.randrange(sizes[number - 1]), act)) == -signal.SIGKILL:
                tally.count(kind, None)
            if code:
                tally.count(kind, f"it did not go on: exit code {code}")
                act()
        out = place / folder / "all.csv"
        join(checked_records(paths, weights_digest(run), "predict"), out)
        joined[folder] = out.read_bytes()
        shutil.rmtree(place / folder)
    if joined["killed"] != joined["shards"]:
        tally.count(kind, "rows are lost or doubled")
    (place / "killed").mkdir()
