"""Scenes by name: "scene 3" is the third held-out picture of weft's own sample, of which it is known what words are about."""

import re
from pathlib import Path

from weft.data.images.album import Album
from weft.data.samples.captions import scenes
from weft.errors import ConfigError

HELD_OUT = 500  # scenes that have a name


def named_scene(input: object) -> Album | None:
    """The scene that an input names, as an album of one picture; None for any other input, and where a file has that name."""
    found = re.fullmatch(r"scene (\d{1,6})", input) if isinstance(input, str) else None
    if found is None or Path(found[0]).exists():
        return None
    number = int(found[1])
    if not 1 <= number <= HELD_OUT:
        fix = f'name one of them, as in weft look RUN "scene {HELD_OUT}"'
        raise ConfigError(f"expected a scene from 1 to {HELD_OUT}, found {number}", where="weft look", fix=fix)
    held_out = scenes(1, number).held_out
    assert held_out is not None
    return held_out.take([number - 1])
