"""Pictures with a text file of the same name each: dog.jpg and dog.txt, one caption a line. In folders and archives."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath

from weft.domains.captions.reading.rows import text_fault, tidy
from weft.domains.pictures.reading.layout import arrange
from weft.domains.pictures.reading.lookup import listing_of
from weft.errors import DataError
from weft.files.decoding import decoded, shown
from weft.files.pictures.locations import NO_PICTURE, Gathered, Spotted

ENDING = ".txt"
LAYOUT = (
    "put a text file of the same name beside each picture, as in dog.jpg and dog.txt, one caption a line; or name a "
    "table of pictures and captions, as in captions.tsv photos/"
)


def in_place(source: Path) -> Gathered:
    """The pictures of a folder or archive with captions; those without, and captions without a picture, are bad."""
    listing = listing_of(source)
    texts = {stem_of(one.parts): one for one in listing.others if is_text(one.parts[-1])}
    if not listing.pictures or not texts:
        problem = f"{len(listing.pictures):,} pictures and {len(texts):,} text files with captions"
        raise DataError(problem, where=shown(source), fix=LAYOUT)
    arranged = arrange(listing.pictures, labels=False, where=shown(source))
    stems: defaultdict[str, list[str]] = defaultdict(list)
    for entry in arranged.entries:
        stems[_stem(entry.name)].append(entry.name)
    others = [(name, why) for name, why in listing.skipped if why != NO_PICTURE or not is_text(name)]
    found = Gathered([], others + arranged.skipped)
    for entry in arranged.entries:
        stem = _stem(entry.name)
        captions = _captions(stems[stem], texts.get(stem))
        if isinstance(captions, str):
            found.bad.append((entry.name, captions))
        else:
            found.entries.append(replace(entry, captions=captions))
    found.bad.extend(_orphans(texts, stems))
    return found


def stem_of(parts: tuple[str, ...]) -> str:
    """A file's path without its ending."""
    return _stem("/".join(parts))


def is_text(name: str) -> bool:
    """Whether a file may hold captions, by its name."""
    return name.lower().endswith(ENDING)


def _stem(name: str) -> str:
    return str(PurePosixPath(name).with_suffix(""))


def _captions(pictures: list[str], text: Spotted | None) -> tuple[str, ...] | str:
    """What is said of a picture, or why that is not known."""
    if len(pictures) > 1:
        return f"several pictures share one name: {', '.join(pictures)}; whose caption it is, is not clear"
    if text is None:
        return f"a picture without a caption: there is no {ENDING} file of the same name"
    try:
        lines = decoded(text.place.content()).splitlines()
    except DataError as error:
        return f"its caption {'/'.join(text.parts)}: {error.problem}"
    captions = tuple(dict.fromkeys(tidy(lines)))
    fault = text_fault(captions, "caption")
    return captions if fault is None else f"{'/'.join(text.parts)}: {fault}"


def _orphans(texts: Mapping[str, Spotted], stems: Mapping[str, list[str]]) -> list[tuple[str, str]]:
    return [("/".join(text.parts), "a caption without a picture") for stem, text in texts.items() if stem not in stems]
