"""Scenes by name: "scene 3" is the third held-out picture of weft's own sample, with the regions of its words."""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from weft.domains.captions.sample.album import scenes
from weft.domains.pictures.reading.album import Album
from weft.errors import ConfigError
from weft.tasks.asks import Given, Opened

HELD_OUT = 500  # scenes that have a name


@dataclass(frozen=True)
class NamedScene:
    """A scene: its pixels, and an album of it alone, which has the texts about it."""

    pixels: np.ndarray
    album: Album


def scene_of(one: Given) -> NamedScene | None:
    """The scene that an input is; None for any other input."""
    value = one.value
    return value.what if isinstance(value, Opened) and isinstance(value.what, NamedScene) else None


def named_scene(input: object) -> NamedScene | None:
    """The scene that an input names, None for any other input, and where a file has that name."""
    found = re.fullmatch(r"scene (\d{1,6})", input) if isinstance(input, str) else None
    if found is None or Path(found[0]).exists():
        return None
    number = int(found[1])
    if not 1 <= number <= HELD_OUT:
        fix = f'name one of them, as in weft look RUN "scene {HELD_OUT}"'
        raise ConfigError(f"expected a scene from 1 to {HELD_OUT}, found {number}", where="weft look", fix=fix)
    held_out = scenes(1, number).held_out
    assert held_out is not None
    album = held_out.take([number - 1])
    return NamedScene(album.read(0).pixels, album)
