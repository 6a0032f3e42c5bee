"""Where the pictures are that a file names: in places named with it, its own folder, or an archive named as it is."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path, PurePosixPath

from weft.domains.pictures.reading.folders import in_folder
from weft.domains.pictures.reading.samples import in_shards, shards_in
from weft.errors import DataError
from weft.files.bounds import OUTSIDE, leads_out
from weft.files.decoding import shown
from weft.files.pictures.archives import in_archive
from weft.files.pictures.formats import ENDINGS, is_archive, named_as_picture
from weft.files.pictures.in_parquet import ParquetPlace, own_picture
from weft.files.pictures.locations import FilePlace, Listing, PictureLocation, Spotted

LOOK = 20  # names and folders that are tried
NUMBER = re.compile(r"[0-9]{1,18}$")  # at the end of a picture's name, without its ending


def listing_of(source: Path) -> Listing:
    """What a folder or an archive holds."""
    if source.is_dir():
        shards = shards_in(source)
        return in_shards(shards) if shards else in_folder(source)
    if source.is_file() and is_archive(source):
        return in_archive(source)
    problem = "no folder and no archive of pictures" if source.exists() else "no such file or folder"
    raise DataError(problem, where=shown(source), fix="name a folder, .zip or .tar with the pictures")


class Shelf:
    """Pictures of several folders and archives, found by their paths or parts of them."""

    def __init__(self, sources: Sequence[Path]):
        self.sources = tuple(sources)
        self.pictures = [picture for source in sources for picture in listing_of(source).pictures]
        self.names: defaultdict[str, list[Spotted]] = defaultdict(list)
        self.stems: defaultdict[str, list[Spotted]] = defaultdict(list)
        self.numbers: defaultdict[int, list[PictureLocation]] = defaultdict(list)
        for picture in self.pictures:
            name = picture.parts[-1]
            stem = PurePosixPath(name).stem
            self.names[name].append(picture)
            self.stems[stem].append(picture)
            if digits := NUMBER.search(stem):
                self.numbers[int(digits[0])].append(picture.place)

    def having(self, name: str | int) -> list[PictureLocation]:
        """Those of this path, else those with which it agrees most; the ending may be left out.

        Of a number, those whose names end in it, as in COCO_val2014_000000000042.jpg.
        """
        if isinstance(name, int):
            return self.numbers.get(name, [])
        parts = [shown(part) for part in PurePosixPath(name.replace("\\", "/")).parts if part not in ("/", "//", "..")]
        if not parts:
            return []
        *folders, last = parts
        for known in (self.names, self.stems):
            shared = [(_shared(folders, picture.parts[:-1]), picture.place) for picture in known.get(last, ())]
            best = max((agreed for agreed, _ in shared if agreed is not None), default=None)
            if best is not None:
                return [place for agreed, place in shared if agreed == best]
        return []


def _shared(asked: Sequence[str], found: Sequence[str]) -> tuple[bool, int] | None:
    """Whether two folders are the same, and in how many last parts they agree where one is the end of the other."""
    count = min(len(asked), len(found))
    agree = list(asked[len(asked) - count :]) == list(found[len(found) - count :])
    return (len(asked) == len(found), count) if agree else None


class Shelves:
    """Where the pictures of tables are: in the places named for them or, where none are, in each table's own folder.

    What is not there is looked for in the `further` places and folders, which are those of other data. `what` the rows
    have to say of a picture is named in messages.
    """

    def __init__(
        self,
        named: Sequence[Path],
        further: Sequence[Path] = (),
        folders: Sequence[Path] = (),
        *,
        what: str = "caption",
    ):
        self.named, self.further, self.what = Shelf(named), Shelf(further), what
        self.folders = tuple(dict.fromkeys(folders))
        self.inner: dict[Path, list[Path]] = {}
        self.whole: dict[Path, Shelf] = {}
        self.taken: set[str] = set()

    def find(self, name: str | int, table: Path) -> PictureLocation:
        """Where a picture is that a file names, or gives the number of."""
        if (inside := own_picture(name, table)) is not None:
            return inside
        found = self.named.having(name) if self.named.sources else self._beside(name, table.parent)
        if not found and not self.named.sources:
            found = self._own_archives(table).having(name)
        if not found:
            found = [*self.further.having(name), *(p for folder in self.folders for p in self._beside(name, folder))]
        found = _distinct(found)
        if not found:
            by = "this name" if isinstance(name, str) else "a name that ends in this number"
            raise DataError(f"a {self.what} without a picture: there is none of {by} in {self._searched(table)}")
        if len(found) > 1:
            listed = ", ".join(place.where for place in found[:4])
            fix = "write more of its path into the table, or name the one place of its pictures"
            raise DataError(f"{len(found)} pictures have this name: {listed}", fix=fix)
        self.taken.add(found[0].where)
        return found[0]

    def unnamed(self) -> Iterator[tuple[str, str]]:
        """The pictures in places named for tables that no table names, with the reason why they are left out."""
        for picture in self.named.pictures:
            if picture.place.where not in self.taken:
                yield "/".join(picture.parts), f"a picture that no row names: no {self.what}"

    def _beside(self, name: str | int, folder: Path) -> list[PictureLocation]:
        """In a folder, else in those that stand in it; of a number or a name without an ending, anywhere below it."""
        try:
            if isinstance(name, int):
                return self._below(folder).having(name)
            if (folder / name).is_file():
                if leads_out(folder / name, folder):
                    raise DataError(f"the path {OUTSIDE}")
                return [FilePlace(folder / name)]
            if folder not in self.inner:
                visible = (path for path in sorted(folder.iterdir()) if not path.name.startswith("."))
                self.inner[folder] = [path for path in visible if path.is_dir()]
            there = [inner / name for inner in self.inner[folder] if (inner / name).is_file()]
            inside = [path for path in there if not leads_out(path, folder)]
            if there and not inside:
                raise DataError(f"the path {OUTSIDE}")
            if not there and not named_as_picture(name) and not name.startswith(("/", "..")):
                return self._below(folder).having(name)
            return [FilePlace(path) for path in inside]
        except OSError as error:
            raise DataError(f"cannot be read: {error.strerror}") from None

    def _own_archives(self, table: Path) -> Shelf:
        """The pictures of archives that are named as the table beside them: val.tar or val-128.zip of val.tsv.gz."""
        if table not in self.whole:
            stem = re.sub(r"(\.\w{1,7}){1,2}$", "", table.name).lower()
            named = [file for file in sorted(table.parent.iterdir()) if file.is_file() and is_archive(file)]
            own = [file for file in named if re.fullmatch(rf"{re.escape(stem)}([-_.].*)?", file.name.lower())]
            inside = [file for file in own if not leads_out(file, table.parent)]
            self.whole[table] = Shelf(inside)
        return self.whole[table]

    def _below(self, folder: Path) -> Shelf:
        """All pictures of a folder and below it."""
        if folder not in self.whole:
            self.whole[folder] = Shelf([folder])
        return self.whole[folder]

    def _searched(self, table: Path) -> str:
        """The places that were looked through for a table, in words."""
        own = [shown(path) for path in self.named.sources] or [f"{shown(table.parent)} and its folders"]
        return ", ".join([*own, *map(shown, (*self.further.sources, *self.folders))])


def _distinct(places: list[PictureLocation]) -> list[PictureLocation]:
    """Places without those that are the same file by another path."""
    if len(places) < 2:
        return places
    known = {str(one.path.resolve()) if isinstance(one, FilePlace) else one.where: one for one in reversed(places)}
    return list(reversed(known.values()))


def picture_beside(name: str, table: Path, where: str, shelves: Shelves | None = None) -> Path:
    """The file of a picture that a row of a table names: in the table's folder, else in those that stand in it."""
    try:
        place = (shelves or Shelves(())).find(name, table)
    except DataError as error:
        fix = error.fix or "put the picture beside the table, or write its path into the row"
        raise DataError(error.problem, where=f"{where}: {shown(name)}", fix=fix) from None
    if not isinstance(place, FilePlace | ParquetPlace):
        problem, fix = "the picture stands in an archive", "unpack the archive beside the table"
        raise DataError(problem, where=f"{where}: {shown(name)}", fix=fix)
    return place.path


def are_beside(names: Sequence[str], folder: Path) -> bool:
    """Whether names without endings are those of pictures in a folder, or in one that it holds.

    Nothing is listed but the folders: a set may have millions of pictures.
    """
    plain = [name for name in names if not any(c in name for c in "*?[\0") and not name.startswith(("/", ".."))][:LOOK]
    try:
        inner = [folder, *islice((path for path in sorted(folder.iterdir()) if path.is_dir()), LOOK)]
        found = [any((one / f"{name}{end}").is_file() for one in inner for end in ENDINGS) for name in plain]
    except OSError:
        return False
    return len(found) > 1 and 10 * sum(found) >= 9 * len(found)
