"""Many inputs in batches: which of them are asked for (a shard), how far the work is, and by what it is known again.

A batch is computed at once, and never depends on where the work was stopped: a file that is gone on with has the bytes
of one that was never stopped. Opens what `asking.given` opens, and writes nothing.
"""

import hashlib
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.errors import StorageError, WeftError
from weft.files.finding import ending, is_pattern, matching
from weft.files.names import LONGEST_NAME
from weft.files.tables import ENDINGS as TABLES
from weft.files.tables import rows_about
from weft.runs.asking import given
from weft.storage.store import digest
from weft.tasks.asks import Given, Use, Ways
from weft.training.progress import Progress

if TYPE_CHECKING:
    from weft.runs.run import Run

BATCH = 200  # inputs that are computed at once
SHARD = re.compile(r"([1-9]\d{0,5})/([1-9]\d{0,5})")


@dataclass(frozen=True)
class Shard:
    """One of several equal parts of all inputs, which follow one another: the second of eight is 2/8."""

    number: int = 1
    of: int = 1

    @staticmethod
    def read(text: str) -> "Shard":
        """A shard as people write it."""
        found = SHARD.fullmatch(text)
        if not found or int(found[1]) > int(found[2]):
            raise WeftError(f"expected I/N with I from 1 to N, found {text!r:.40}", where="--shard", fix="--shard 1/4")
        return Shard(int(found[1]), int(found[2]))

    def bounds(self, total: int) -> tuple[int, int]:
        """The numbers of its first input, and of the first behind it, from 0."""
        return total * (self.number - 1) // self.of, total * self.number // self.of


class ManyInputs:
    """The inputs that words stand for, once, in batches; `begun` inputs of the shard are done already."""

    def __init__(self, run: "Run", words: Sequence[object], ways: Ways, shard: Shard = Shard()):
        self.run, self.words, self.ways, self.shard = run, list(words), ways, shard
        self.total: int | None = None  # inputs of the shard, exactly where there are several shards
        self.start, self.begun = 0, 0
        self.at_once: int | None = BATCH  # None: all
        self._inputs = given(run, self.words, ways=ways)
        self.first = next(self._inputs, None)  # of all inputs: it says what columns there are
        if shard.of > 1:
            count = (self.first is not None) + sum(1 for _ in self._inputs)
            self.start, stop = shard.bounds(count)
            self.total = stop - self.start
            self._inputs = given(run, self.words, ways=ways)
            next(self._inputs, None)

    def batches(self) -> Iterator[list[Given]]:
        """The inputs that are still to be done; who watches sees how many are, once there are more than a batch."""
        inputs, begun = self._left(), self.begun
        done, progress, show = begun, Progress(), None
        try:
            while some := list(islice(inputs, self.at_once)):
                yield some
                done += len(some)
                if show is None and len(some) == self.at_once and (self.total is None or self.total > done):
                    show = _counter(progress, begun, self._size(done))
                if show is not None:
                    show(done)
        finally:
            progress.stop()

    def _left(self) -> Iterator[Given]:
        """The inputs of the shard that are not done yet."""
        stop = None if self.total is None else self.start + self.total
        if self.first is None:
            return iter(())
        rest = self._inputs
        whole = (one for part in (iter([self.first]), rest) for one in part)
        return islice(whole, self.start + self.begun, stop)

    def _size(self, least: int) -> int:
        """About how many inputs there are: exactly, but for lines of files, which are counted and not read."""
        if self.total is None:
            files = [word for word in self.words if isinstance(word, Path) and _names_lines(word)]
            if len(files) == len(self.words):
                self.total = sum(map(rows_about, files))
            elif all(isinstance(word, str) for word in self.words):
                self.total = len(self.words)
            else:
                self.total = sum(1 for _ in given(self.run, self.words, ways=self.ways))
        return max(self.total, least + 1)

    def about(self, use: Use, said: Sequence[str], output: Path) -> dict[str, Any]:
        """By what a file of answers is known again: the run, the inputs by their content, settings, shard."""
        return {
            "format": 1,
            "use": use,
            "run": weights_digest(self.run),
            "settings": sorted(said),
            "inputs": [_identity(word) for word in self.words],
            "ending": output.suffix.lower(),
            "shard": [self.shard.number, self.shard.of],
            **({} if self.shard.of == 1 else {"from": self.start + 1, "to": self.start + (self.total or 0)}),
        }


def weights_digest(run: "Run") -> str:
    """What tells a run's weights from others."""
    folder = run.loaded.folder
    place, files = folder.weights_place(), dict(run.config.get("seal", {}).get("files", {}))
    if place.name in files:
        return str(files[place.name]["sha256"])
    try:
        return digest(place)[1] if place.is_file() else _listing(place)
    except (OSError, StorageError):
        return str(place)


def _identity(word: object) -> list[Any]:
    """An input as it is known again: a file by its name and content, a folder by names and sizes, a text as it is."""
    if isinstance(word, str | Path) and len(str(word)) < LONGEST_NAME:
        path = Path(word)
        try:
            if path.is_file():
                return [path.name, *digest(path)]
            if path.is_dir():
                return [path.absolute().name, _listing(path)]
            if isinstance(word, str) and is_pattern(word) and (found := matching(path)[1]):
                return [word, [_identity(one) for one in found]]
        except (OSError, ValueError, WeftError):  # a text, which is no name
            pass
    text = word if isinstance(word, str) else repr(word)
    return [hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()]


def _listing(folder: Path) -> str:
    """A digest of the names and sizes of all files below a folder."""
    found = hashlib.sha256()
    for root, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(root, name)
            if not (path.is_symlink() and not path.exists()):
                found.update(f"{path.relative_to(folder)}\0{path.stat().st_size}\0".encode("utf-8", "surrogatepass"))
    return found.hexdigest()


def _names_lines(path: Path) -> bool:
    """Whether a path is a file of lines or rows."""
    return path.is_file() and ending(path, (*TABLES, ".txt", ".json")) is not None


def _counter(progress: Progress, begun: int, total: int) -> Callable[[int], None]:
    """Shows how many inputs are done, and how long the others will take."""
    began = time.monotonic()
    progress.start(begun / total)

    def done(number: int) -> None:
        most = max(total, number)
        left = (time.monotonic() - began) / max(1, number - begun) * (most - number)
        progress.step(number / most, {"inputs": f"{number:,}/{most:,}"}, left)

    return done


def shards_differ(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """What two parts of one work do not have in common, by name."""
    own = ("shard", "from", "to")
    return [name for name in {**one, **other} if name not in own and one.get(name) != other.get(name)]
