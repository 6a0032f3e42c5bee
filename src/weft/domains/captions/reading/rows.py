"""Rows about pictures that are named, from tables and other files: gathered picture by picture, each found once.

Rows that cannot be read are counted among rows, and a picture that is missing once, however many rows name it. Knows
pictures by name; refuses to know which files say something about them.
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence

from weft.domains.captions.reading.about import AboutPicture
from weft.domains.captions.reading.kept import KeptRows, KeptSaid
from weft.domains.pictures.reading.lookup import Shelves
from weft.errors import DataError
from weft.files.bad_rows import Reasons, Skip, check_bad
from weft.files.decoding import shown
from weft.files.gather import Reading
from weft.files.pictures.locations import Gathered, PictureEntry, PictureLocation
from weft.files.pictures.regions import Question


class PictureRows:
    """The pictures that rows name, each with all that is said of it, in the order in which they are first named."""

    def __init__(self, shelves: Shelves):
        self.shelves = shelves
        self.count, self.bad = 0, Reasons()
        self.places: dict[str, tuple[str, PictureLocation]] = {}
        self.rows: dict[str, list[AboutPicture]] = {}
        self.numbers: dict[str, array[int]] = {}  # of rows in a mapped file
        self.kept: KeptRows | None = None
        self.taken: dict[str, str] = {}
        self.missing: dict[str | int, tuple[str, str]] = {}

    def add(self, reading: Reading[AboutPicture]) -> None:
        """The rows of one more file, or what is wrong with them."""
        (file,) = reading.files
        self.taken = self.taken or dict(reading.taken)
        for number, row in _numbered(reading.rows):
            assert not isinstance(row, str)
            self.count += 1
            if isinstance(row, DataError):
                self.bad.append((row.where, _reason(row)))
                continue
            name = shown(str(row.picture))
            try:
                place = self.shelves.find(row.picture, file)
            except DataError as error:
                self.missing.setdefault(row.picture, (f"{shown(file.name)}, {row.at}: {name}", _reason(error)))
                continue
            self.places.setdefault(place.where, (name, place))
            if isinstance(reading.rows, KeptRows):
                self.kept = reading.rows
                self.numbers.setdefault(place.where, array("Q")).append(number)
            else:
                self.rows.setdefault(place.where, []).append(row)

    def gathered(self, skip: Skip, where: str) -> Gathered:
        """All of them, unless too many rows are bad; pictures that are missing are bad ones."""
        check_bad(self.bad, self.count, skip, where, unit="rows")
        entries = [
            PictureEntry(name, place, captions=self._captions(key), questions=self._questions(key))
            for key, (name, place) in self.places.items()
        ]
        return Gathered(entries, [*self.bad, *self.shelves.unnamed()], list(self.missing.values()), self.taken)

    def _captions(self, place: str) -> Sequence[str]:
        if self.kept is None:
            return captions_of(self.rows[place])
        return KeptSaid(self.kept.rows, self.numbers[place], captions_of)

    def _questions(self, place: str) -> Sequence[Question]:
        if self.kept is None:
            return questions_of(self.rows[place])
        return KeptSaid(self.kept.rows, self.numbers[place], questions_of)


def _numbered(rows: Iterable[AboutPicture | DataError | str]) -> Iterator[tuple[int, AboutPicture | DataError | str]]:
    return enumerate(rows, rows.start if isinstance(rows, KeptRows) else 0)


def captions_of(rows: Iterable[AboutPicture]) -> tuple[str, ...]:
    """What rows say about a picture, none twice."""
    return tuple(dict.fromkeys(caption for row in rows for caption in row.captions))


def questions_of(rows: Iterable[AboutPicture]) -> tuple[Question, ...]:
    """What rows ask about a picture; a question that several ask has the answers of all."""
    known: dict[tuple[str, str | None], list[str]] = {}
    for row in rows:
        if (asked := row.question) is not None:
            known.setdefault((asked.text, asked.kind), []).extend(asked.answers)
    return tuple(Question(text, tuple(answers), kind) for (text, kind), answers in known.items())


def _reason(error: DataError) -> str:
    """What is wrong, and what to do about it."""
    return f"{error.problem} ({error.fix})" if error.fix else error.problem
