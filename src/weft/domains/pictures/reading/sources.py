"""Which pictures a name stands for: a file, a folder, an archive, a table, arrays, or a pattern. Decodes nothing."""

import os
import stat
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from weft.domains.pictures.reading.arrays import in_arrays, is_arrays
from weft.domains.pictures.reading.folders import in_folder
from weft.domains.pictures.reading.idx import in_idx, is_idx, sides_in
from weft.domains.pictures.reading.label_tables import label_tables, picture_tables
from weft.domains.pictures.reading.layout import HELD, LAYOUT, TRAIN, arrange
from weft.domains.pictures.reading.samples import in_shards, labelled, shards_in
from weft.domains.pictures.reading.tables import in_table, is_picture_table
from weft.errors import DataError
from weft.files.bad_rows import reasons
from weft.files.bounds import OUTSIDE, leads_out
from weft.files.decoding import kind, shown
from weft.files.finding import matching
from weft.files.pictures.archives import in_archive
from weft.files.pictures.formats import is_archive
from weft.files.pictures.in_parquet import picture_at
from weft.files.pictures.locations import (
    NO_PICTURE,
    FilePlace,
    Gathered,
    Listing,
    PictureEntry,
    Spotted,
    has_picture,
    leftover,
)


def gather(
    source: str | Path, *, labels: bool, sides: bool = True, places: Sequence[Path] = (), label: str | None = None
) -> Gathered:
    """The pictures that a source stands for; with `labels`, every one has a class.

    Without `sides`, all are taken as they come, wherever they stand. The pictures of a table are looked for in the
    `places`; `label` is the column of its labels.
    """
    path = Path(source)
    if (inside := picture_at(path)) is not None:
        return Gathered([PictureEntry(shown(path), inside)])
    if not os.path.lexists(path):
        return _arranged(_matching(path), path, labels, sides)
    try:
        info = path.stat()
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", where=shown(path)) from None
    if sides_in(path) if stat.S_ISDIR(info.st_mode) else is_idx(path):
        return in_idx(path, labels=labels)
    if stat.S_ISDIR(info.st_mode) and (tables := picture_tables(path)):
        return _in_tables(path, tables, labels=labels, label=label)
    if stat.S_ISDIR(info.st_mode) and labels and (tables := label_tables(path, label)):
        return _joined([in_table(table, labels=True, places=places, label=label) for table in tables])
    shards = shards_in(path) if stat.S_ISDIR(info.st_mode) else []
    if shards and labels and labelled(in_archive(shards[0])) is None:
        return _joined([gather(one, labels=True, sides=sides, places=places, label=label) for one in shards])
    if shards:
        return _arranged(in_shards(shards), path, labels, sides)
    if stat.S_ISDIR(info.st_mode):
        return _arranged(in_folder(path), path, labels, sides)
    if not stat.S_ISREG(info.st_mode):
        fix = "save what it holds as a file first"
        raise DataError(f"expected a file or folder, found {kind(info)}", where=shown(path), fix=fix)
    if is_archive(path):
        return _arranged(in_archive(path), path, labels, sides)
    if is_picture_table(path):
        return in_table(path, labels=labels, places=places, label=label)
    if is_arrays(path):
        return in_arrays(path, labels=labels)
    if labels:
        raise DataError("a file by itself has no folder that would name its class", where=shown(path), fix=LAYOUT)
    return Gathered([PictureEntry(shown(path), FilePlace(path))])


def _joined(found: Sequence[Gathered]) -> Gathered:
    """What several tables name, as one."""
    whole = Gathered([])
    for one in found:
        whole.entries.extend(one.entries)
        whole.skipped.extend(one.skipped)
        whole.bad.extend(one.bad)
    return whole


def _in_tables(folder: Path, tables: Sequence[Path], *, labels: bool, label: str | None) -> Gathered:
    """The pictures in the rows of tables, those named train-… and test-… as sides; pictures beside them are not."""
    sides = {table: table.name.split("-")[0].split(".")[0].lower() for table in tables}
    apart = any(side in TRAIN for side in sides.values())
    held = next((name for name in HELD if apart and name in sides.values()), None)
    used = [table for table in tables if not apart or sides[table] in (*TRAIN, held)]
    found = _joined([in_table(table, labels=labels, label=label) for table in used])
    found.entries[:] = [
        replace(entry, held=held is not None and entry.name.split("/")[0].lower().startswith(held))
        for entry in found.entries
    ]
    found.skipped.extend((shown(one.name), f"neither of train nor of {held}") for one in tables if one not in used)
    others = in_folder(folder)
    found.skipped.extend(("/".join(one.parts), "beside tables that hold pictures") for one in others.pictures)
    return found


def _arranged(found: Listing, path: Path, labels: bool, sides: bool) -> Gathered:
    if not found.pictures:
        listed = reasons(found.skipped)
        problem = f"0 pictures, {len(found.skipped)} skipped{':' if listed else ''}{listed}"
        raise DataError(problem, where=shown(path), fix="name a folder or archive with PNG, JPEG or other pictures")
    if labels and (found_labels := labelled(found)) is not None:
        return found_labels
    if not sides:
        return Gathered([PictureEntry("/".join(p.parts), p.place) for p in found.pictures], found.skipped)
    arranged = arrange(found.pictures, labels=labels, where=shown(path))
    return Gathered(arranged.entries, found.skipped + arranged.skipped)


def _matching(pattern: Path) -> Listing:
    """What a glob pattern matches."""
    (root, matches), listing = matching(pattern), Listing([], [])
    for match in matches:
        parts = tuple(map(shown, match.relative_to(root).parts))
        if reason := next(filter(None, map(leftover, parts)), OUTSIDE * leads_out(match, root)):
            listing.skipped.append(("/".join(parts), reason))
        elif match.is_dir():
            below = in_folder(match)
            listing.pictures.extend(Spotted((*parts, *one.parts), one.place) for one in below.pictures)
            listing.skipped.extend(("/".join((*parts, name)), reason) for name, reason in below.skipped)
        elif match.is_file() and has_picture(match):
            listing.pictures.append(Spotted(parts, FilePlace(match)))
        else:
            listing.skipped.append(("/".join(parts), NO_PICTURE))
    return listing
