"""An album: pictures that have been found and can be read in any order. Refuses to know how they were found."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from weft.errors import DataError
from weft.files.gather import fingerprint
from weft.files.pictures.colour import Backing
from weft.files.pictures.decoding import SMALL, Decoded, shrunk
from weft.files.pictures.locations import PictureLocation, digest
from weft.files.pictures.regions import Question, Region


@dataclass(frozen=True, slots=True)
class Listed:
    """What is known of one picture: `digest` is the SHA-256 of its content, None before it is read.

    `kept` is the picture itself, its shorter side at most `SMALL`; `captions` are sentences about it. `regions` says
    for each caption what its words are about, where that is known. `thumbnail` shows which are `copies`.
    """

    name: str
    place: PictureLocation = field(repr=False)
    label: str | None = None
    scale: float = math.nan
    digest: bytes | None = field(default=None, repr=False)
    notes: tuple[str, ...] = ()
    kept: Decoded | None = field(default=None, repr=False, compare=False)
    captions: Sequence[str] = ()
    questions: Sequence[Question] = ()
    regions: tuple[tuple[Region, ...], ...] = ()
    thumbnail: bytes | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class Album:
    """Pictures in order.

    `skipped` lists what was left out, with the reason; `more` are notes that concern the album as a whole. A part of an
    album has neither.
    """

    pictures: tuple[Listed, ...] = field(repr=False)
    skipped: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    more: Mapping[str, int] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.pictures)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """A name for each picture, fit to be shown."""
        return tuple(picture.name for picture in self.pictures)

    @cached_property
    def labels(self) -> tuple[str, ...] | None:
        """A class for each picture, or None."""
        labels = tuple(picture.label for picture in self.pictures if picture.label is not None)
        return labels if labels and len(labels) == len(self.pictures) else None

    @property
    def classes(self) -> tuple[str, ...]:
        """The different labels in order, numbers by their value."""
        return tuple(sorted(set(self.labels or ()), key=_order))

    @cached_property
    def captions(self) -> tuple[Sequence[str], ...]:
        """The sentences about each picture."""
        return tuple(picture.captions for picture in self.pictures)

    @cached_property
    def regions(self) -> tuple[tuple[tuple[Region, ...], ...], ...]:
        """For each caption of each picture, what its words are about; empty for a picture of which it is not known."""
        return tuple(picture.regions for picture in self.pictures)

    @cached_property
    def questions(self) -> tuple[Sequence[Question], ...]:
        """The questions about each picture."""
        return tuple(picture.questions for picture in self.pictures)

    @cached_property
    def scales(self) -> np.ndarray | None:
        """Metres per pixel, NaN where a picture does not say; None where none does."""
        scales = np.array([picture.scale for picture in self.pictures], np.float64)
        return scales if np.isfinite(scales).any() else None

    @property
    def notes(self) -> Mapping[str, int]:
        """What people should know of the pictures, and of how many it is true."""
        counts = Counter(note for picture in self.pictures for note in picture.notes)
        return {**counts, **self.more}

    @cached_property
    def digests(self) -> tuple[bytes, ...]:
        """The SHA-256 of each picture's content."""
        return tuple(picture.digest or digest(picture.place.content()) for picture in self.pictures)

    @cached_property
    def fingerprint(self) -> str:
        """The SHA-256 over names, labels, scales, captions, questions and contents, in order."""
        pieces = list[str | bytes]()
        for picture, content in zip(self.pictures, self.digests, strict=True):
            pieces += [picture.name, picture.label or "", f"{picture.scale!r}", *picture.captions]
            for question in picture.questions:
                pieces += ["a question", question.text, question.kind or "", "its answers", *question.answers]
            pieces.append(content)
        return fingerprint(pieces)

    def read(self, index: int, side: int | None = None, backing: Backing = "grey") -> Decoded:
        """One picture, its shorter side at most `side`. From memory where it is kept, with the same result."""
        picture = self.pictures[index]
        if picture.kept is not None and backing == "grey":
            whole = min(picture.kept.pixels.shape[:2]) < SMALL
            if side is not None and (side <= SMALL or whole):
                return _own(shrunk(picture.kept, side))
            if whole:
                return _own(picture.kept)
        content = picture.place.content()
        if picture.digest is not None and digest(content) != picture.digest:
            fix = "leave the data as it is while it is in use, and begin again"
            raise DataError("it has changed since it was first read", where=picture.place.where, fix=fix)
        return picture.place.decode(content, side, backing)

    def across_classes(self, few: int, most: int) -> list[int]:
        """Pictures of every class, in turn: about `few`, one of each where there are more classes, at most `most`.

        Without classes, pictures spread evenly over the album.
        """
        by_class: dict[str, list[int]] = {name: [] for name in self.classes}
        for row, label in enumerate(self.labels or ()):
            by_class[label].append(row)
        count = min(len(self), most, max(few, len(by_class)))
        if not by_class:
            return [len(self) * k // count for k in range(count)]
        in_turn = sorted((n, place) for place, rows in enumerate(by_class.values()) for n in range(len(rows)))
        classes = list(by_class.values())
        if len(classes) > count:  # more classes than places
            in_turn = [(0, len(classes) * k // count) for k in range(count)]
        return [classes[place][n] for n, place in in_turn[:count]]

    def take(self, indices: Iterable[int]) -> Album:
        """Some of the pictures, in the order asked for."""
        return Album(tuple(self.pictures[int(index)] for index in indices))


@dataclass(frozen=True)
class FoundPictures:
    """Pictures to learn from, and those that the data itself holds out, if it does.

    `taken` are the columns of tables by the settings that name them.
    """

    train: Album
    held_out: Album | None
    taken: Mapping[str, str] = field(default_factory=dict)


def _own(picture: Decoded) -> Decoded:
    """The picture in memory that may be written to; of a mapped file a copy."""
    return (
        picture
        if picture.pixels.flags.writeable
        else replace(
            picture,
            pixels=picture.pixels.copy(),
            missing=None if picture.missing is None else picture.missing.copy(),
        )
    )


def _order(label: str) -> tuple[float, str]:
    try:
        value = float(label)
    except ValueError:
        value = math.inf
    return (value, label) if math.isfinite(value) else (math.inf, label)
