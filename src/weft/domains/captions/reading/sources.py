"""Sources of rows about pictures: files that hold the rows, and places of pictures. Refuses to know what rows say."""

from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from weft.errors import DataError
from weft.files.bounds import OUTSIDE, link_leads_out
from weft.files.decoding import shown
from weft.files.finding import ending, missing
from weft.files.survey import NO, Judgement, Survey, Surveyed, weakest

LOOK = 400  # files of a place that are looked at to recognise it


class Files(NamedTuple):
    """Files of rows, and those that are left out: (name, reason)."""

    taken: list[Path]
    skipped: list[tuple[str, str]]


class Sources(NamedTuple):
    """The files of rows, the folders and archives of pictures, and the files that are left out: (name, reason)."""

    files: list[Path]
    places: list[Path]
    skipped: list[tuple[str, str]]


def sorted_out(
    sources: Sequence[str | Path], endings: tuple[str, ...], within: Callable[[Path], Files], *, fix: str
) -> Sources:
    """Files of rows, known by their endings, and places of pictures; without files, those `within` folders."""
    if not sources:
        raise DataError("no data was named", fix=fix)
    found = Sources([], [], [])
    for path in map(Path, sources):
        if not path.exists():
            raise missing(path)
        (found.files if path.is_file() and ending(path, endings) else found.places).append(path)
    for place in found.places if not found.files else ():
        inner = within(place) if place.is_dir() else Files([], [])
        found.files.extend(inner.taken)
        found.skipped.extend(inner.skipped)
    return found


def judged(
    survey: Survey, judge_file: Callable[[Surveyed], Judgement], judge_place: Callable[[Surveyed], Judgement]
) -> Judgement:
    """Whether these are files of rows, alone or with the places of their pictures, or places that hold both."""
    files = [source for source in survey.sources if source.kind == "file"]
    others = [source for source in survey.sources if source not in files]
    if any(source.kind not in ("folder", "archive") for source in others):
        return NO
    return weakest(map(judge_file, files)) if files else weakest(map(judge_place, others))


def files_in(
    folder: Path, endings: tuple[str, ...], holds_rows: Callable[[Path], bool], most: int | None = None
) -> Files:
    """The files of rows that stand in a folder, not below it; `most` is how many are opened to tell.

    A link that leads out of the folder is not opened, and is left out.
    """
    named = sorted(path for path in folder.iterdir() if ending(path, endings) and not path.name.startswith("."))
    found = Files([], [])
    for path in islice((path for path in named if path.is_file()), most):
        if link_leads_out(path, folder):
            found.skipped.append((shown(path.name), OUTSIDE))
        elif holds_rows(path):
            found.taken.append(path)
    return found
