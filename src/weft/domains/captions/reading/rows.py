"""Rows about pictures that are named, from tables and other files: gathered picture by picture, each found once.

Rows that cannot be read are counted among rows, and a picture that is missing once, however many rows name it. Knows
pictures by name; refuses to know which files say something about them.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from weft.domains.pictures.reading.lookup import Shelves
from weft.errors import DataError
from weft.files.bad_rows import Reasons, Skip, check_bad
from weft.files.decoding import shown
from weft.files.gather import Reading
from weft.files.known_roles import picture_name
from weft.files.pictures.locations import Gathered, PictureEntry, PictureLocation
from weft.files.pictures.regions import Question

LONGEST = 10_000  # characters of a text about a picture


class AboutPicture(NamedTuple):
    """A picture by its name or number, with what is said or asked about it, and where in the file this stands."""

    at: str
    picture: str | int
    captions: tuple[str, ...] = ()
    question: Question | None = None


class PictureRows:
    """The pictures that rows name, each with all that is said of it, in the order in which they are first named."""

    def __init__(self, shelves: Shelves):
        self.shelves = shelves
        self.rows, self.bad = 0, Reasons()
        self.places: dict[str, tuple[str, PictureLocation]] = {}
        self.captions: dict[str, dict[str, None]] = {}
        self.questions: dict[str, dict[tuple[str, str | None], list[str]]] = {}
        self.taken: dict[str, str] = {}
        self.missing: dict[str | int, tuple[str, str]] = {}

    def add(self, reading: Reading[AboutPicture]) -> None:
        """The rows of one more file, or what is wrong with them."""
        (file,) = reading.files
        self.taken = self.taken or dict(reading.taken)
        for row in reading.rows:
            assert not isinstance(row, str)
            self.rows += 1
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
            self.captions.setdefault(place.where, {}).update(dict.fromkeys(row.captions))
            if (asked := row.question) is not None:
                known = self.questions.setdefault(place.where, {})
                known.setdefault((asked.text, asked.kind), []).extend(asked.answers)

    def gathered(self, skip: Skip, where: str) -> Gathered:
        """All of them, unless too many rows are bad; pictures that are missing are bad ones."""
        check_bad(self.bad, self.rows, skip, where, unit="rows")
        entries = [
            PictureEntry(name, place, captions=tuple(self.captions[key]), questions=self._questions(key))
            for key, (name, place) in self.places.items()
        ]
        return Gathered(entries, [*self.bad, *self.shelves.unnamed()], list(self.missing.values()), self.taken)

    def _questions(self, place: str) -> tuple[Question, ...]:
        """What is asked about a picture; a question that several rows ask has the answers of all."""
        known = self.questions.get(place, {})
        return tuple(Question(text, tuple(answers), kind) for (text, kind), answers in known.items())


def named_picture(cell: str, where: str) -> str:
    """The name of a picture that a row gives; blank ones are refused."""
    name = picture_name(cell)
    if not name or "\0" in name:
        problem = "the picture's name has a NUL in it" if name else "no picture is named"
        raise DataError(problem, where=where, fix="name one, or delete the row")
    return name


def tidy(texts: Iterable[str]) -> tuple[str, ...]:
    """Texts with single blanks between their words; empty ones are left out."""
    return tuple(filter(None, (" ".join(text.split()) for text in texts)))


def text_fault(texts: Sequence[str], what: str) -> str | None:
    """What is wrong with the texts about a picture, if anything; `what` they are, in words."""
    if not texts:
        return f"no {what}"
    longest, article = max(map(len, texts)), "an" if what[0] in "aeiou" else "a"
    return f"{article} {what} of {longest:,} characters, more than {LONGEST:,}" if longest > LONGEST else None


def _reason(error: DataError) -> str:
    """What is wrong, and what to do about it."""
    return f"{error.problem} ({error.fix})" if error.fix else error.problem
