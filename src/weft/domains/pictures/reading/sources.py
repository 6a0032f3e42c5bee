"""Which pictures a name stands for: a file, a folder, an archive, a table, arrays, or a pattern. Decodes nothing."""

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from weft.domains.pictures.reading.arrays import in_arrays, is_arrays
from weft.domains.pictures.reading.folders import in_folder
from weft.domains.pictures.reading.idx import in_idx, is_idx, sides_in
from weft.domains.pictures.reading.label_tables import label_tables
from weft.domains.pictures.reading.layout import LAYOUT, arrange
from weft.domains.pictures.reading.tables import in_table, is_picture_table
from weft.errors import DataError
from weft.files.bad_rows import reasons
from weft.files.bounds import OUTSIDE, leads_out
from weft.files.decoding import kind, shown
from weft.files.finding import matching
from weft.files.pictures.archives import in_archive
from weft.files.pictures.formats import is_archive
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
    if not os.path.lexists(path):
        return _arranged(_matching(path), path, labels, sides)
    try:
        info = path.stat()
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", where=shown(path)) from None
    if sides_in(path) if stat.S_ISDIR(info.st_mode) else is_idx(path):
        return in_idx(path, labels=labels)
    if stat.S_ISDIR(info.st_mode) and labels and (tables := label_tables(path, label)):
        return _joined([in_table(table, labels=True, places=places, label=label) for table in tables])
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


def _arranged(found: Listing, path: Path, labels: bool, sides: bool) -> Gathered:
    if not found.pictures:
        listed = reasons(found.skipped)
        problem = f"0 pictures, {len(found.skipped)} skipped{':' if listed else ''}{listed}"
        raise DataError(problem, where=shown(path), fix="name a folder or archive with PNG, JPEG or other pictures")
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
