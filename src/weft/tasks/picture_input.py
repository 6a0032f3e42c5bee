"""What a user hands over to a run on pictures: files, arrays, and the settings of a look inside."""

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from weft.config import Config
from weft.data.images.album import Album
from weft.data.images.decoding import Decoded
from weft.data.images.frames import Frames, frames_of, in_channels, picture_of, whole_shape
from weft.data.images.reading import find_pictures
from weft.errors import ConfigError, WeftError
from weft.inspect.vision import Glance
from weft.modalities.image import Picture, PictureEmbed
from weft.tasks.task import Loaded

WHAT = ("filters", "positions")


class Ground(Config):
    """What a user may say of the pictures that are handed over."""

    metres: float | None = None

    about: ClassVar[Mapping[str, str]] = {
        "metres": "the size of a pixel of the pictures on the ground, for models with places in metres"
    }

    def check(self) -> None:
        if self.metres is not None and not 0 < self.metres < math.inf:
            raise ConfigError(f"must be above 0, found {self.metres}", where="metres")


class Seeing(Ground):
    """Settings of a look inside."""

    layer: int | None = None
    head: int | None = None
    every: bool = False
    patch: str | None = None
    what: str | None = None

    about = {
        "layer": "show one layer, counted from 1",
        "head": "show one head, counted from 1",
        "every": "show every layer and head in a panel of its own",
        "patch": "row,column: what this patch reads, instead of the class token or all",
        "what": "filters, positions or both: what the embedder learned; needs no picture",
        **Ground.about,
    }

    def check(self) -> None:
        super().check()
        if self.what is not None and not set(self.wanted) <= set(WHAT):
            raise ConfigError(f"expected {' or '.join(WHAT)}, found {self.what!r}", where="what")
        if self.patch is not None and not re.fullmatch(r"\d{1,6},\d{1,6}", self.patch):
            raise ConfigError(f"expected row,column, found {self.patch!r}", where="patch")

    @property
    def wanted(self) -> tuple[str, ...]:
        """The names in `what`."""
        return tuple(part.strip() for part in (self.what or "").split(","))

    @property
    def glance(self) -> Glance:
        """The same as the view takes it."""
        row, column = (self.patch or "0,0").split(",")
        return Glance(self.layer, self.head, self.every, None if self.patch is None else (int(row), int(column)))


def frames_for(run: Loaded, album: Album) -> Frames:
    """Pictures as the run's model reads them."""
    return frames_of(album, run.config["data"]["size"], run.config["data"]["channels"])


def given_pictures(run: Loaded, inputs: Sequence[Any]) -> tuple[list[str], list[Decoded]]:
    """What a user hands over to be looked at: names of files, folders and patterns, or arrays, in the model's channels."""
    names: list[str] = []
    pictures: list[Decoded] = []
    size, channels = run.config["data"]["size"], run.config["data"]["channels"]
    for one in inputs:
        if isinstance(one, str | Path):
            album = find_pictures([one])
            names += album.names
            pictures += frames_of(album, size, channels).pictures
        else:
            names.append(f"picture {len(names) + 1}")
            pictures.append(in_channels(_array(one), channels))
    return names, pictures


def _array(given: Any) -> Decoded:
    pixels = np.array(given)  # a copy: what others share may not be written to
    if pixels.ndim == 2:
        pixels = pixels[..., None]
    if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] not in (1, 3):
        problem = (
            f"expected the name of a picture, or an array of bytes (height, width, 3), found {type(given).__name__}"
        )
        raise WeftError(f"{problem} of shape {pixels.shape}" if pixels.ndim else problem)
    return Decoded(pixels, None, ())


def as_read(run: Loaded, picture: Decoded, embed: PictureEmbed.Config, given: Ground) -> Picture:
    """A picture as the run's model reads it."""
    if given.metres is not None and "south" not in getattr(embed.place and embed.place.code, "axes", ()):
        problem, fix = "the places of this model are not in metres", "train one with --model scale-mae"
        raise ConfigError(problem, where="--set metres", fix=fix)
    metres = None if given.metres is None else np.array([given.metres])
    return picture_of([picture], read_shape(run, picture, embed.stride), metres)


def read_shape(run: Loaded, picture: Decoded, stride: int) -> tuple[int, int]:
    """The height and width at which the run's model reads a picture."""
    record = run.config["data"]
    shape = picture.pixels.shape[:2]
    if record["shape"] is not None and max(shape) <= max(record["shape"]):
        return shape
    return whole_shape(shape, record["size"], stride)
