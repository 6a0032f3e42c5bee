"""The trial of pictures that was kept: a second start decodes nothing, and the album is the same to the bit."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.pictures import decoded_here, files, pets, tarred
from PIL import Image

from weft.domains.pictures.dataset import split_album
from weft.domains.pictures.reading import kept
from weft.domains.pictures.reading.album import Album
from weft.domains.pictures.reading.trying import read_images
from weft.files.pictures import locations
from weft.files.pictures.decoding import Passing
from weft.storage import file_marks
from weft.storage.prepared import prepared_in

decoded_here()


@pytest.fixture
def tries(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the pictures that are decoded for the trial."""
    monkeypatch.setattr(file_marks, "SETTLED_SECONDS", 0.0)
    found: list[str] = []

    def noted(entries: Any, children: Any, was: Callable[..., Any] = kept.tried) -> Any:
        found.extend(entry.name for entry in entries)
        return was(entries, children)

    monkeypatch.setattr(kept, "tried", noted)
    return found


def album_in(folder: Path) -> Path:
    """Pictures of two classes: large and small, grey, see-through, and one that is damaged."""
    pets(folder, 12)
    values = np.arange(200 * 160 * 4, dtype=np.uint32).reshape(160, 200, 4) * 2654435761 >> 13
    Image.fromarray(values.astype(np.uint8), "RGBA").save(folder / "cat" / "clear.png")
    Image.fromarray(values.astype(np.uint8)[..., 0]).save(folder / "dog" / "grey.png")
    (folder / "dog" / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n and then nothing")
    return folder


def same(a: Album, b: Album) -> bool:
    assert (a.fingerprint, a.names, a.labels, a.skipped, a.notes) == (
        b.fingerprint,
        b.names,
        b.labels,
        b.skipped,
        b.notes,
    )
    assert [one.thumbnail for one in a.pictures] == [one.thumbnail for one in b.pictures]
    assert split_album(a)[1].names == split_album(b)[1].names
    for row in range(len(a)):
        for side in (None, 128, 40):
            first, second = a.read(row, side), b.read(row, side)
            assert np.array_equal(first.pixels, second.pixels) and second.pixels.flags.writeable
            assert (first.missing is None) == (second.missing is None) and first.span == second.span
            assert first.missing is None or np.array_equal(first.missing, second.missing)
    return True


@pytest.mark.parametrize("packed", [False, True])
def test_a_second_start_decodes_nothing_and_finds_the_same(tmp_path: Path, tries: list[str], packed: bool) -> None:
    source = album_in(tmp_path / "data")
    if packed:
        source = tarred(tmp_path / "data.tar", files(source))
    with prepared_in("none"):
        plain = read_images([source], skip=1).train
    with prepared_in(str(tmp_path / "kept")):
        first = read_images([source], skip=1).train
        tries.clear()
        again = read_images([source], skip=1).train
    assert tries == [] and [name for name, _ in again.skipped] == ["dog/broken.png"]
    assert same(plain, first) and same(plain, again)
    assert isinstance(again.pictures[0].kept.pixels.base, np.memmap)  # type: ignore[union-attr]


def test_what_changes_or_is_added_is_tried_again(tmp_path: Path, tries: list[str]) -> None:
    source = album_in(tmp_path / "data")
    with prepared_in(str(tmp_path / "kept")):
        before = read_images([source], skip=1).train
        shutil.copyfile(source / "dog" / "grey.png", source / "dog" / "broken.png")
        os.utime(source / "dog" / "broken.png", ns=(1, 1))
        tries.clear()
        after = read_images([source], skip=1).train
    assert len(tries) == len(after) == len(before) + 1
    assert before.fingerprint != after.fingerprint


def test_a_fault_of_the_moment_is_tried_again(
    tmp_path: Path, tries: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = album_in(tmp_path / "data")

    def failing(self: locations.FilePlace, was: Any = locations.FilePlace.content) -> bytes:
        if self.path.name == "grey.png":
            raise Passing("the disk did not answer", where=self.where)
        return was(self)

    with prepared_in("none"):
        plain = read_images([source], skip=2).train
    with prepared_in(str(tmp_path / "kept")):
        with monkeypatch.context() as patched:
            patched.setattr(locations.FilePlace, "content", failing)
            first = read_images([source], skip=2).train
        tries.clear()
        again = read_images([source], skip=2).train
    assert len(first) == len(plain) - 1
    assert tries == ["dog/grey.png"] and same(plain, again)


def test_pictures_that_have_no_room_are_read_from_their_files(tmp_path: Path, tries: list[str]) -> None:
    source = album_in(tmp_path / "data")
    with prepared_in("none"):
        plain = read_images([source], skip=1).train
    with prepared_in(str(tmp_path / "kept")):
        read_images([source], skip=1, keep=5000)
        again = read_images([source], skip=1, keep=5000).train
    assert {one.kept is None for one in again.pictures} == {True, False}
    assert same(plain, again)
