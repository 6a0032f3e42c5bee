"""Samples: a picture and small files of the same name beside it, as WebDataset packs them. In folders and archives.

    000017.jpg  000017.cls  000017.json     the picture, its class, and fields that say something of it

Several archives in a folder (shard-000000.tar, …) are one set. Refuses to know which texts are captions.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

from weft.domains.pictures.reading.folders import in_folder
from weft.errors import DataError
from weft.files.columns import plain
from weft.files.decoding import decoded, shown
from weft.files.json_lines import read_object
from weft.files.known_roles import CLASS_NAMES
from weft.files.pictures.archives import in_archive
from weft.files.pictures.formats import is_archive, named_as_picture
from weft.files.pictures.locations import NO_PICTURE, Gathered, Listing, PictureEntry, Spotted, leftover

CLASS, FIELDS, TEXT = ".cls", ".json", ".txt"
CLASS_FIELDS = (*CLASS_NAMES, "cls")
LOOK = 20  # pictures that are looked at to recognise samples
FIX = 'write one object, as in {"label": "cat"} or {"caption": "a cat on a mat"}'
Beside = Mapping[str, Mapping[str, Spotted]]  # by the stem of a picture, what stands beside it by its ending


def stem_of(parts: Sequence[str]) -> str:
    """A file's path without its ending."""
    return str(PurePosixPath("/".join(parts)).with_suffix(""))


def shards_in(folder: Path) -> list[Path]:
    """The archives of a folder that holds nothing else: parts of one set."""
    try:
        inside = sorted(path for path in folder.iterdir() if not leftover(path.name))
    except OSError:
        return []
    shards = [path for path in inside if is_archive(path) and path.is_file() and not path.is_symlink()]
    others = [path for path in inside if path.is_dir() or named_as_picture(path.name)]
    return [] if others else shards


def in_shards(shards: Sequence[Path]) -> Listing:
    """The pictures of several archives, behind the name of each; what is no picture is listed with the reason."""
    whole = Listing([], [])
    for shard in shards:
        found, name = in_archive(shard), shown(shard.name)
        whole.pictures.extend(Spotted((name, *one.parts), one.place) for one in found.pictures)
        whole.others.extend(Spotted((name, *one.parts), one.place) for one in found.others)
        whole.skipped.extend((f"{name}/{what}", why) for what, why in found.skipped)
    return whole


def first_listing(place: Path) -> Listing:
    """The first files of a folder, or what an archive or the first of several holds."""
    shards = shards_in(place) if place.is_dir() else [place]
    return in_archive(shards[0]) if shards else in_folder(place, most=10 * LOOK)


def beside(listing: Listing, endings: Sequence[str]) -> Beside:
    """The small files of some endings, by their stems."""
    found: defaultdict[str, dict[str, Spotted]] = defaultdict(dict)
    for one in listing.others:
        if (ending := PurePosixPath(one.parts[-1]).suffix.lower()) in endings:
            found[stem_of(one.parts)][ending] = one
    return found


def fields_in(note: Spotted) -> dict[str, Any]:
    """What a file of fields says."""
    return read_object(decoded(note.place.content()), where="/".join(note.parts), fix=FIX)


def without_notes(names: Iterable[str]) -> list[str]:
    """Names of files without those of classes and fields that stand beside pictures."""
    listed = list(names)
    stems = {stem_of((name,)) for name in listed if named_as_picture(name)}
    notes = (CLASS, FIELDS)
    return [name for name in listed if not (name.lower().endswith(notes) and stem_of((name,)) in stems)]


def labelled(listing: Listing) -> Gathered | None:
    """Pictures with the classes that files beside them name; None where not even half of the first ones have one."""
    notes = beside(listing, (CLASS, FIELDS))
    first = [notes.get(stem_of(one.parts), {}) for one in islice(listing.pictures, LOOK)]
    if 2 * sum(isinstance(_label(one), str) for one in first) <= len(first):
        return None
    taken = {"/".join(note.parts) for one in notes.values() for note in one.values()}
    skipped = [(name, why) for name, why in listing.skipped if why != NO_PICTURE or name not in taken]
    found = Gathered([], skipped)
    for picture in listing.pictures:
        name, label = "/".join(picture.parts), _label(notes.get(stem_of(picture.parts), {}))
        if isinstance(label, str):
            found.entries.append(PictureEntry(name, picture.place, label))
        else:
            found.bad.append((name, label.problem))
    return found


def _label(notes: Mapping[str, Spotted]) -> str | DataError:
    """The class that files beside a picture name, or why that is not known."""
    missing = f"a picture without a class: no {CLASS} file, and no {FIELDS} file with a label, has its name"
    try:
        if CLASS in notes:
            text = decoded(notes[CLASS].place.content()).strip()
            return shown(text) if text else DataError(f"{'/'.join(notes[CLASS].parts)} is empty")
        fields = fields_in(notes[FIELDS]) if FIELDS in notes else {}
    except DataError as error:
        return error
    said = (value for name, value in fields.items() if plain(name) in CLASS_FIELDS)
    label = next((value for value in said if isinstance(value, str | int) and not isinstance(value, bool)), None)
    return DataError(missing) if label is None or not str(label).strip() else shown(str(label).strip())
