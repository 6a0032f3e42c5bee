"""Scenes with captions as users' files, and what tests of captioners leave out."""

from pathlib import Path

import pytest

from helpers.pictures import encoded, write
from weft.domains.pictures.reading.album import Album


def brief(patch: pytest.MonkeyPatch, resamples: int = 20) -> None:
    """What takes long and has tests of its own is left out."""
    patch.setattr("weft.domains.pairs.measures.RESAMPLES", resamples)


def captioned_table(folder: Path, album: Album) -> Path:
    """A table of pictures with their captions, the pictures in a folder beside it."""
    rows = []
    for i in range(len(album)):
        write(folder / "photos" / f"{i}.png", encoded(album.read(i).pixels))
        rows.append("\t".join((f"{i}.png", *album.captions[i])))
    return write(folder / "captions.tsv", "\n".join(rows) + "\n")
