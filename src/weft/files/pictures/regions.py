"""What texts say of parts of pictures: regions, and questions with answers. Plain values; refuses to know pixels."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Region:
    """The part of a picture that a part of a text is about.

    `start` and `stop` are characters of the text; `box` is top, left, bottom and right, in shares of the picture's
    height and width.
    """

    start: int
    stop: int
    box: tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a picture: `answers` are one, or those of several people; `kind` where the data says so."""

    text: str
    answers: tuple[str, ...]
    kind: str | None = None
    regions: tuple[Region, ...] = ()
