"""What one row says about a picture, held to what texts about pictures may be. Refuses to know files."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from weft.errors import DataError
from weft.files.known_roles import picture_name
from weft.files.pictures.regions import Question

LONGEST = 10_000  # characters of a text about a picture


class AboutPicture(NamedTuple):
    """A picture by its name or number, with what is said or asked about it, and where in the file this stands."""

    at: str
    picture: str | int
    captions: tuple[str, ...] = ()
    question: Question | None = None


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
