"""The trial of pictures, kept for the next time: of many files each is decoded once, until one of them changes.

What is kept of a picture: the digest of its content, what was noted, its thumbnail and, up to a number of bytes, its
small version; or what is wrong with its content. What could not be read, and what a child crashed at, is tried again.
Refuses to know labels, and how many pictures may be bad.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import numpy as np

from weft.domains.pictures.reading.copies import thumbnail
from weft.errors import DataError
from weft.files.pictures.decode_all import Outcome, tried
from weft.files.pictures.decode_workers import Children
from weft.files.pictures.decoding import Decoded, Passing
from weft.files.pictures.locations import PictureEntry
from weft.storage.file_marks import FileMarks
from weft.storage.prepared import ROOM_TIMES, PreparedEntry, StagedEntry, key_of, lasting_store

LISTED_FILES = 20  # that are named where prepared data is listed
Watch = Callable[[PictureEntry, DataError | None], None]  # asked of each picture as soon as it was tried


@dataclass(frozen=True)
class TriedPicture:
    """What the trial of a picture found; `kept` is its small version, where there is room for it."""

    digest: bytes
    notes: tuple[str, ...]
    thumbnail: bytes
    kept: Decoded | None


Found = TriedPicture | DataError


def tried_once(entries: Sequence[PictureEntry], children: Children, keep: int, watch: Watch) -> list[Found]:
    """What the trial of each picture finds, now or at an earlier time; small versions take `keep` bytes at most."""
    files = [entry.place.file for entry in entries]
    paths = list(dict.fromkeys(file[0] for file in files if file is not None))
    marks = FileMarks.of(paths, absent=True) if paths and None not in files else None
    store = None if marks is None else lasting_store(marks.bytes)
    if marks is None or store is None:
        room = _Room(keep)
        return [room.picture(entry, outcome) for entry, outcome in _watched(entries, children, watch)]
    room = _Room(min(keep, (ROOM_TIMES - 1) * marks.bytes))
    again: dict[int, Found] = {}

    def make(staged: StagedEntry) -> None:
        trial = _GrowingTrial(staged)
        for i, (entry, outcome) in enumerate(_watched(entries, children, watch)):
            found = room.picture(entry, outcome)
            if isinstance(found, Passing):
                again[i] = found
            trial.append(found)
        trial.finish()

    names = [str(path) for path in paths]
    parts = [file[1] for file in files if file is not None and file[1]]
    key = key_of("pictures", marks.files, names, parts, room.left, _decoders())
    source = {"kind": "pictures", "files": names[:LISTED_FILES]}
    found = _trial(store.entry(key, make, source, keep=lambda: marks.trusted(paths)))
    missing = [i for i, one in enumerate(found) if isinstance(one, Passing) and i not in again]
    if missing:
        retried = _watched([entries[i] for i in missing], children, watch)
        again = {i: room.picture(*one) for i, one in zip(missing, retried, strict=True)}
    return [again.get(i, one) for i, one in enumerate(found)]


def _decoders() -> list[Any]:
    """What decides what is made of a file."""
    import PIL

    return [PIL.__version__, find_spec("pillow_heif") is not None]


def _watched(
    entries: Sequence[PictureEntry], children: Children, watch: Watch
) -> Iterator[tuple[PictureEntry, Outcome]]:
    with closing(tried(entries, children)) as trial:
        for entry, outcome in trial:
            watch(entry, outcome if isinstance(outcome, DataError) else None)
            yield entry, outcome


@dataclass
class _Room:
    """The bytes that small versions may still take."""

    left: int

    def picture(self, entry: PictureEntry, outcome: Outcome) -> Found:
        """What is kept of an outcome."""
        if isinstance(outcome, DataError):
            return outcome
        digest, decoded = outcome
        room = not entry.place.in_memory and decoded.nbytes <= self.left
        self.left -= decoded.nbytes if room else 0
        return TriedPicture(digest, decoded.notes, thumbnail(decoded), decoded if room else None)


@dataclass
class _GrowingTrial:
    """A trial while it is made: digests and thumbnails, shapes and spans, small versions one behind the other."""

    staged: StagedEntry
    notes: dict[tuple[str, ...], int] = field(default_factory=dict)
    faults: list[tuple[int, str, str, str, bool]] = field(default_factory=list)
    count: int = 0

    def __post_init__(self) -> None:
        array = self.staged.array
        self.marks, self.thumbnails = array("digests", np.uint8), array("thumbnails", np.uint8)
        self.shapes, self.spans = array("shapes", np.int32, width=5), array("spans", np.float64)
        self.pixels = array("pixels", np.uint8)

    def append(self, found: Found) -> None:
        """Add what was found of the next picture."""
        if isinstance(found, DataError):
            passing = isinstance(found, Passing)
            self.faults.append((self.count, found.problem, found.where or "", found.fix or "", passing))
        else:
            note = self.notes.setdefault(found.notes, len(self.notes))
            self.marks.append(np.frombuffer(found.digest, np.uint8))
            self.thumbnails.append(np.frombuffer(found.thumbnail, np.uint8))
            shape: tuple[int, ...] = (0, 0, 0)
            known = True
            if found.kept is not None:
                shape, known = found.kept.pixels.shape, found.kept.missing is None
                self.pixels.append(found.kept.pixels.ravel())
                if found.kept.missing is not None:
                    self.pixels.append(found.kept.missing.ravel().view(np.uint8))
            self.shapes.append(np.array([[*shape, known, note]], np.int32))
            self.spans.append(np.array([0.0 if found.kept is None else found.kept.span]))
        self.count += 1

    def finish(self) -> None:
        """Keep what is known beside the arrays."""
        self.staged.values.update(notes=list(self.notes), faults=self.faults, count=self.count)


def _trial(entry: PreparedEntry) -> list[Found]:
    """What the trial found of each picture; small versions stay in the file, mapped."""
    values, arrays = entry.values, entry.arrays
    found: list[Found | None] = [None] * values["count"]
    for i, problem, where, fix, passing in values["faults"]:
        found[i] = (Passing if passing else DataError)(problem, where=where, fix=fix)
    good = [i for i, one in enumerate(found) if one is None]
    notes, end = [tuple(words) for words in values["notes"]], 0
    marks, thumbnails = (arrays[name].reshape(len(good), -1) for name in ("digests", "thumbnails"))
    for row, i in enumerate(good):
        height, width, channels, known, note = arrays["shapes"][row].tolist()
        kept: Decoded | None = None
        if height:
            missing: np.ndarray | None = None
            start, end = end, end + height * width * channels
            pixels = arrays["pixels"][start:end].reshape(height, width, channels)
            if not known:
                missing = arrays["pixels"][end : end + height * width].view(np.bool_).reshape(height, width)
                end += height * width
            kept = Decoded(pixels, missing, notes[note], float(arrays["spans"][row]))
        found[i] = TriedPicture(marks[row].tobytes(), notes[note], thumbnails[row].tobytes(), kept)
    return [one for one in found if one is not None]
