"""What the folders that pictures stand in mean: a class each, or training and held-out data. Knows paths alone."""

from collections.abc import Sequence

from weft.errors import DataError
from weft.files.pictures.locations import Gathered, PictureEntry, Spotted

TRAIN = ("train", "training")
HELD = ("val", "valid", "validation", "dev", "test")  # the first that is there is held out
LAYOUT = (
    "put the pictures of each class into a folder of its name, as in pets/cat/1.jpg and pets/dog/1.jpg, and name the "
    "folder above them; or name a .csv file with the columns path and label"
)


def arrange(pictures: Sequence[Spotted], *, labels: bool, where: str) -> Gathered:
    """Every picture with its class and side. What is on neither side is left out."""
    depth = _wrapping(pictures)
    tops = {picture.parts[depth].lower() for picture in pictures if len(picture.parts) > depth + 1}
    if not any(name in tops for name in TRAIN):
        return Gathered([_entry(picture, depth, labels, where) for picture in pictures])
    held, found = next((name for name in HELD if name in tops), None), Gathered([])
    for picture in pictures:
        top = picture.parts[depth].lower() if len(picture.parts) > depth + 1 else ""
        if top in TRAIN or top == held:
            found.entries.append(_entry(picture, depth + 1, labels, where, held=top == held))
        else:
            found.skipped.append(("/".join(picture.parts), f"neither in train nor in {held or 'a held-out folder'}"))
    return found


def _entry(picture: Spotted, depth: int, labels: bool, where: str, *, held: bool = False) -> PictureEntry:
    name = "/".join(picture.parts)
    if not labels:
        return PictureEntry(name, picture.place, held=held)
    if len(picture.parts) <= depth + 1:
        raise DataError(f"the picture {name} is in no folder that would name its class", where=where, fix=LAYOUT)
    return PictureEntry(name, picture.place, picture.parts[depth], held=held)


def _wrapping(pictures: Sequence[Spotted]) -> int:
    """How many folders stand around everything else, as the one that most archives begin with.

    A folder that holds all pictures directly is the class of them all and stays.
    """
    depth = 0
    while pictures and all(len(p.parts) > depth + 2 for p in pictures):
        names = {p.parts[depth] for p in pictures}
        if len(names) > 1 or next(iter(names)).lower() in TRAIN:
            break
        depth += 1
    return depth
