"""Users' pictures, every one of them tried before it is relied on.

A picture that cannot be decoded is left out and listed, up to a bound; beyond it the data is refused. Nothing stands in
for a broken picture. Files are tried in processes of their own, as a picture may crash its decoder. Small versions stay
in memory or in prepared data (`kept`), so that nothing has to be decoded twice.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path

from weft.domains.pictures.reading.album import Album, FoundPictures, Listed
from weft.domains.pictures.reading.kept import tried_once
from weft.domains.pictures.reading.layout import LAYOUT
from weft.domains.pictures.reading.sources import gather
from weft.domains.pictures.reading.tables import is_picture_table
from weft.errors import DataError
from weft.files.bad_rows import Reasons, Skip, check_bad, check_skip, reasons
from weft.files.decoding import shown
from weft.files.pictures.decode_workers import Children, Crash
from weft.files.pictures.formats import is_archive
from weft.files.pictures.locations import Gathered, PictureEntry

KEEP = 2**30  # bytes of small pictures that stay in memory
OF_CLASSES = ("equal to a picture of another class", "held out, of a class that is not learnt")  # notes on labels


def read_images(
    sources: str | Path | Sequence[str | Path],
    *,
    labels: bool = True,
    skip: Skip = None,
    progress: Callable[[int, int], None] | None = None,
    keep: int = KEEP,
    label: str | None = None,
) -> FoundPictures:
    """Find pictures, decode every one once, and say what is wrong with those that are left out.

    `skip` is how many bad pictures are left out before the data is refused, or, if it is not a whole number, which
    share of all; None allows one in a hundred, and always one. `label` is the column of the labels in tables.
    """
    check_skip(skip, "pictures")
    found = _gathered(sources, labels=labels, label=label)
    return try_all(found, labels=labels, where=names_of(sources), skip=skip, progress=progress, keep=keep)


def try_all(
    found: Gathered,
    *,
    labels: bool,
    where: str,
    skip: Skip = None,
    progress: Callable[[int, int], None] | None = None,
    keep: int = KEEP,
) -> FoundPictures:
    """The pictures that were gathered, each decoded once; `read_images` says what `skip` means."""
    check_skip(skip, "pictures")
    total, children = len(found.entries) + len(found.bad), Children()
    faults, done = list(found.bad), count(1)

    def watch(entry: PictureEntry, fault: DataError | None) -> None:
        if fault is not None:
            faults.append((entry.name, fault.problem))
        if isinstance(fault, Crash):  # too slow to go on with, where it is in vain
            check_bad(faults, total, skip, where, so_far=True)
        if progress is not None:
            progress(next(done), len(found.entries))

    sides: tuple[list[Listed], list[Listed]] = ([], [])
    bad: tuple[Reasons, Reasons] = (list(found.bad), [])
    for entry, one in zip(found.entries, tried_once(found.entries, children, keep, watch), strict=True):
        if isinstance(one, DataError):
            bad[entry.held].append((entry.name, one.problem))
        else:
            known = (entry.name, entry.place, entry.label, entry.scale, one.digest, one.notes, one.kept)
            sides[entry.held].append(Listed(*known, entry.captions, entry.questions, thumbnail=one.thumbnail))
    check_bad(bad[0] + bad[1], total, skip, where)
    held = Album(tuple(sides[1]), tuple(bad[1])) if sides[1] else None
    train = Album(tuple(sides[0]), tuple(found.skipped + bad[0] + ([] if held else bad[1])))
    _enough(train, labels, where)
    alone = f"decoded in weft's own process, because no worker process could be started: {children.why}"
    more = _repeated(train, held) | ({alone: children.alone} if children.alone else {})
    return FoundPictures(replace(train, more=more), held, found.taken)


def find_pictures(sources: str | Path | Sequence[str | Path]) -> Album:
    """The pictures that sources stand for, in the order named, none of them read yet; classes are not asked for."""
    found = _gathered(sources, labels=False, sides=False)
    return Album(tuple(Listed(e.name, e.place, scale=e.scale) for e in found.entries), tuple(found.skipped + found.bad))


def _gathered(
    sources: str | Path | Sequence[str | Path], *, labels: bool, sides: bool = True, label: str | None = None
) -> Gathered:
    """What all sources give; of several, each one's name stands before those of its pictures.

    Where labels are asked for and tables are named with folders or archives, these are where the tables' pictures are.
    """
    named = [sources] if isinstance(sources, str | Path) else list(sources)
    if not named:
        raise DataError("no data was named", fix="name pictures, a folder or an archive of them, a table or arrays")
    total, tables = Gathered([]), [s for s in named if labels and is_picture_table(Path(s)) and Path(s).is_file()]
    places = [Path(s) for s in named if tables and (Path(s).is_dir() or is_archive(Path(s)))]
    for source in [s for s in named if Path(s) not in places]:
        found = gather(source, labels=labels, sides=sides, places=places, label=label)
        alone = len(named) == 1 or (len(found.entries) == 1 and found.entries[0].name == shown(source))
        front = "" if alone else f"{shown(source)}/".replace("//", "/")
        total.entries.extend(replace(entry, name=front + entry.name) for entry in found.entries)
        total.skipped.extend((front + name, reason) for name, reason in found.skipped)
        total.bad.extend((front + name, reason) for name, reason in found.bad)
        total.taken.update({**found.taken, **total.taken})
    return total


def _enough(train: Album, labels: bool, where: str) -> None:
    if not len(train):
        raise DataError(f"0 pictures to learn from{reasons(train.skipped)}", where=where, fix="name other data")
    if labels and len(train.classes) < 2:
        problem = f"all {len(train)} pictures are of one class, {train.classes[0]!r}: there is nothing to tell apart"
        raise DataError(problem, where=where, fix=LAYOUT)


def _repeated(train: Album, held: Album | None) -> dict[str, int]:
    """How many pictures are there more than once, under several labels, or on both sides; by content."""
    labels: dict[bytes, set[str | None]] = {}
    for picture in train.pictures:
        labels.setdefault(picture.digest or b"", set()).add(picture.label)
    counts = {
        "equal to an earlier picture": len(train) - len(labels),
        OF_CLASSES[0]: sum(len(labels[one.digest or b""]) > 1 for one in train.pictures),
        "held out, but equal to a picture to learn from": sum(d in labels for d in held.digests) if held else 0,
    }
    unknown = set(held.classes) - set(train.classes) if held else set()
    counts[OF_CLASSES[1]] = sum(p.label in unknown for p in held.pictures) if held else 0
    return {note: count for note, count in counts.items() if count}


def names_of(sources: str | Path | Sequence[str | Path]) -> str:
    """The first few sources, for messages."""
    named = [sources] if isinstance(sources, str | Path) else list(sources)
    return ", ".join(map(shown, named[:3])) + (", …" if len(named) > 3 else "")
