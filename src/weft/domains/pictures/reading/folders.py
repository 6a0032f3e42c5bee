"""The pictures in a folder and all below it. Knows names and links; refuses to know what a folder's name means."""

import os
import stat
from pathlib import Path

from weft.errors import DataError
from weft.files.bounds import OUTSIDE, link_leads_out
from weft.files.decoding import kind, shown
from weft.files.finding import is_run
from weft.files.pictures.formats import named_as_picture
from weft.files.pictures.locations import NO_PICTURE, FilePlace, Listing, Spotted, has_picture, leftover


def in_folder(root: Path, *, most: int | None = None) -> Listing:
    """All pictures below a folder, by name; what is not a picture is listed with the reason.

    `most` is the number of files after which the walk ends. Links are followed within the folder, each once.
    """
    listing, entered, seen = Listing([], []), set[tuple[int, int]](), 0
    waiting = [root]
    while waiting and (most is None or seen < most):
        path = waiting.pop()
        name = path.relative_to(root).as_posix()
        try:
            info = path.stat()
            if path != root and (reason := leftover(path.name) or OUTSIDE * link_leads_out(path, root)):
                listing.skipped.append((shown(name), reason))
            elif stat.S_ISDIR(info.st_mode):
                waiting.extend(reversed(_entries(path, info, entered, listing, name)))
            else:
                seen += 1
                _file(path, info, listing, name)
        except OSError as error:
            if path == root:
                raise DataError(f"cannot be read: {error.strerror}", where=shown(root)) from None
            listing.skipped.append((shown(name), f"cannot be read: {error.strerror}"))
    return listing


def side_by_side(folder: Path) -> int:
    """How many folders stand side by side in a folder; a single folder without pictures beside it is entered."""
    try:
        inside = [entry for entry in folder.iterdir() if not leftover(entry.name)]
    except OSError:
        return 0
    folders = [entry for entry in inside if entry.is_dir()]
    if len(folders) == 1 and not any(named_as_picture(entry.name) for entry in inside):
        return side_by_side(folders[0])
    return len(folders)


def _entries(
    path: Path, info: os.stat_result, entered: set[tuple[int, int]], listing: Listing, name: str
) -> list[Path]:
    """What to look at in a folder: nothing where it was read before or is a run of weft's."""
    place = (info.st_dev, info.st_ino)
    if place in entered or is_run(path):
        reason = "a folder already read" if place in entered else "a run of weft's, not data"
        listing.skipped.append((shown(name), reason))
        return []
    entered.add(place)
    return [path / entry for entry in sorted(os.listdir(path))]


def _file(path: Path, info: os.stat_result, listing: Listing, name: str) -> None:
    if not stat.S_ISREG(info.st_mode):
        listing.skipped.append((shown(name), kind(info)))
        return
    file = Spotted(tuple(map(shown, Path(name).parts)), FilePlace(path))
    if has_picture(path):
        listing.pictures.append(file)
    else:
        listing.others.append(file)
        listing.skipped.append((shown(name), NO_PICTURE))
