"""What people should know of their pictures before they train: number, sizes, classes, kinds; a contact sheet."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

from weft.domains.pictures.reading.album import Album

ON_SHEET = 40  # pictures on a contact sheet
SHEET_SIDE = 128  # pixels of the shorter side of a picture on a sheet


def pictures_in_numbers(album: Album) -> dict[str, Any]:
    """How many pictures there are, of which sizes and kinds."""
    sizes = []
    for picture in album.pictures:
        if picture.kept is not None:
            height, width = (round(side * picture.kept.span) for side in picture.kept.pixels.shape[:2])
            sizes.append((height * width, width, height))
    grey = sum(p.kept is not None and p.kept.pixels.shape[2] == 1 for p in album.pictures)
    classes = Counter(album.labels or ())
    found: dict[str, Any] = {
        "count": len(album),
        "kinds": dict(Counter(Path(n).suffix.lower() or "no ending" for n in album.names)),
    }
    if sizes:
        sizes.sort()
        pick: Mapping[str, tuple[int, int, int]] = {
            "smallest": sizes[0], "typical": sizes[len(sizes) // 2], "largest": sizes[-1]
        }  # fmt: skip
        found["sizes"] = {name: f"{width} x {height}" for name, (_, width, height) in pick.items()}
        found["grey"] = grey
    if 0 < len(classes) <= len(album) / 2:
        found["classes"] = dict(classes.most_common())
        found["typical_class"] = round(median(classes.values()))
    return found


def contact_sheet_of(album: Album, title: str, format: str) -> bytes:
    """A sheet of pictures spread evenly over an album, each with its name and its class."""
    from weft.inspect.sheets import contact_sheet

    some = [len(album) * k // min(ON_SHEET, len(album)) for k in range(min(ON_SHEET, len(album)))]
    pixels = [album.read(k, SHEET_SIDE).pixels for k in some]
    names = [" ".join(filter(None, [Path(album.names[k]).name, album.pictures[k].label])) for k in some]
    return contact_sheet(pixels, names, title=f"{title}: {len(some)} of {len(album):,} pictures", format=format)  # type: ignore[arg-type]
