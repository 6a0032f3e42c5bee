"""Where the pictures are that a table names: in folders and archives named beside it, or in the table's own folder."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from weft.data.decoding import shown
from weft.data.images.archives import in_archive, is_archive
from weft.data.images.folders import in_folder
from weft.data.images.places import FilePlace, Listing, Place, Spotted
from weft.errors import DataError


def listing_of(source: Path) -> Listing:
    """What a folder or an archive holds."""
    if source.is_dir():
        return in_folder(source)
    if source.is_file() and is_archive(source):
        return in_archive(source)
    problem = "no folder and no archive of pictures" if source.exists() else "no such file or folder"
    raise DataError(problem, where=shown(source), fix="name a folder, .zip or .tar with the pictures")


class Shelves:
    """Pictures of several folders and archives, found by the names that tables have for them."""

    def __init__(self, sources: Sequence[Path]):
        self.sources = tuple(sources)
        self.pictures = [picture for source in sources for picture in listing_of(source).pictures]
        self.taken: set[str] = set()
        self.by_name: defaultdict[str, list[Spotted]] = defaultdict(list)
        for picture in self.pictures:
            name = picture.parts[-1]
            for key in {name, PurePosixPath(name).stem}:
                self.by_name[key].append(picture)

    def find(self, name: str, table: Path) -> Place:
        """Where a picture is that a table names."""
        place = self._shelved(name) if self.sources else _beside(name, table)
        self.taken.add(place.where)
        return place

    def unnamed(self) -> Iterator[tuple[str, str]]:
        """The pictures that no table named, with the reason why they are left out."""
        for picture in self.pictures:
            if picture.place.where not in self.taken:
                yield "/".join(picture.parts), "a picture that no row names: no caption"

    def _shelved(self, name: str) -> Place:
        """By its path or, where only one picture has it, by the end of it or without the ending."""
        parts = tuple(shown(part) for part in PurePosixPath(name.replace("\\", "/")).parts)
        found = self.by_name.get(parts[-1] if parts else "", [])
        exact = [picture for picture in found if picture.parts == parts]
        ending = [picture for picture in found if picture.parts[-len(parts) :] == parts]
        chosen = exact or ending or found
        if len(chosen) == 1:
            return chosen[0].place
        places = ", ".join(map(shown, self.sources))
        if not chosen:
            raise DataError(f"a caption without a picture: there is none of this name in {places}")
        listed = ", ".join("/".join(picture.parts) for picture in chosen[:4])
        raise DataError(f"{len(chosen)} pictures have this name: {listed}")


def _beside(name: str, table: Path) -> Place:
    """In the table's folder, or in one of the folders there."""
    folder = table.parent
    try:
        if (folder / name).is_file():
            return FilePlace(folder / name)
        for inner in sorted(folder.iterdir()):
            if inner.is_dir() and not inner.name.startswith(".") and (inner / name).is_file():
                return FilePlace(inner / name)
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}") from None
    raise DataError(f"a caption without a picture: there is none of this name in {shown(folder)} and its folders")
