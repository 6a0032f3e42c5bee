import hashlib
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from helpers.pictures import encoded, pets, scene, write
from PIL import Image

from weft.domains.pictures.dataset import split_album
from weft.domains.pictures.reading.trying import read_images
from weft.errors import ConfigError, DataError


def test_a_split_follows_content_alone_within_each_class(tmp_path: Path):
    pets(tmp_path / "a", 20)
    album = read_images([tmp_path / "a"]).train
    train, held, rule = split_album(album, 0.2)
    assert Counter(held.labels) == {"cat": 4, "dog": 4} and len(train) == 32
    assert not set(train.digests) & set(held.digests) and "8 of 40" in rule
    for name in ("cat", "dog"):
        for file in sorted((tmp_path / "a" / name).iterdir()):
            write(tmp_path / "b" / name / f"{100 - int(file.stem)}.png", file.read_bytes())
    again = split_album(read_images([tmp_path / "b"]).train, 0.2)[1]
    assert set(again.digests) == set(held.digests)


def test_identical_pictures_fall_on_one_side_and_small_classes_are_on_both(tmp_path: Path):
    pets(tmp_path, 2)
    for i in range(10):
        shutil.copy(tmp_path / "cat/0.png", tmp_path / f"dog/copy{i}.png")
        shutil.copy(tmp_path / "cat/1.png", tmp_path / f"cat/copy{i}.png")
    write(tmp_path / "fox/only.png", encoded(scene(seed=55)))
    train, held, _ = split_album(read_images([tmp_path]).train)
    assert not set(train.digests) & set(held.digests)
    assert {"cat", "dog", "fox"} == set(train.classes) and "fox" not in held.classes
    assert {"cat", "dog"} <= set(held.classes) and len(train) + len(held) == 25


def test_a_picture_of_two_classes_is_dealt_out_once(tmp_path: Path):
    """Held out for the one and for the other, it would leave the first class with nothing to learn from."""
    low, mid, high = sorted((encoded(scene(seed=i)) for i in range(3)), key=lambda data: hashlib.sha256(data).digest())
    for name, data in (("a/low", low), ("a/mid", mid), ("b/mid", mid), ("b/high", high)):
        write(tmp_path / f"{name}.png", data)
    train, held, _ = split_album(read_images([tmp_path]).train)
    assert held.names == ("a/low.png",) and train.classes == ("a", "b")


def test_without_labels_all_are_one_group(tmp_path: Path):
    album = read_images([pets(tmp_path, 10)], labels=False).train
    train, held, _ = split_album(album, 0.1)
    assert sorted(held.digests) == sorted(album.digests)[:2] and len(train) == 18


def test_what_cannot_be_split_says_so(tmp_path: Path):
    album = read_images([pets(tmp_path, 1)]).train
    with pytest.raises(DataError, match="too few"):
        split_album(album)
    with pytest.raises(ConfigError, match="between 0 and 1"):
        split_album(album, 1.0)


@pytest.mark.parametrize("how", ["jpeg", "half the size", "quarter turn", "mirrored", "grey"])
def test_copies_fall_on_one_side_however_they_were_saved(how: str, tmp_path: Path):
    changes = {
        "jpeg": lambda one: one,
        "half the size": lambda one: one.resize((48, 36)),
        "quarter turn": lambda one: one.rotate(90, expand=True),
        "mirrored": lambda one: one.transpose(Image.Transpose.FLIP_LEFT_RIGHT),
        "grey": lambda one: one.convert("L"),
    }
    for i in range(40):
        pixels = np.asarray(Image.fromarray(scene(6, 8, seed=i)).resize((96, 72), Image.Resampling.BICUBIC))
        if how == "grey":
            pixels = np.repeat(pixels.mean(2, keepdims=True).astype(np.uint8), 3, 2)
        write(tmp_path / f"cat/{i}.png", encoded(pixels))
        write(tmp_path / f"cat/copy{i}.jpg", encoded(changes[how](Image.fromarray(pixels)), "JPEG", quality=80))
    train, held, _ = split_album(read_images([tmp_path], labels=False).train)
    number = [{int("".join(filter(str.isdigit, name.split("/")[-1]))) for name in side.names} for side in (train, held)]
    assert not number[0] & number[1] and len(held) == 8


def test_pictures_that_are_not_copies_are_dealt_out_by_content_alone(tmp_path: Path):
    flat = np.full((40, 40, 3), 120, np.uint8)
    noise = np.random.default_rng(0)
    for i in range(20):  # a flat ground with a little noise of its own has nothing to be compared by
        write(tmp_path / f"sea/{i}.png", encoded(flat + noise.integers(0, 9, flat.shape, dtype=np.uint8)))
    arrow = np.zeros((32, 32, 3), np.uint8)
    arrow[8:24, 4:20] = 255
    for k, name in enumerate(("up", "left", "down", "right")):  # turned, they mean something else
        write(tmp_path / name / "0.png", encoded(np.rot90(arrow, k).copy()))
        write(tmp_path / name / "1.png", encoded(np.rot90(arrow // 2, k).copy()))
    for i, name in enumerate(("red", "green", "blue")):  # one layout in other colours, equal in grey
        for level in (100, 200):
            pixels = np.full((32, 32, 3), 20, np.uint8)
            pixels[8:24, 4:20, i] = level
            write(tmp_path / name / f"{level}.png", encoded(pixels))
    album = read_images([tmp_path]).train
    train, held, _ = split_album(album)
    lowest = {min(d for d, own in zip(album.digests, album.labels) if own == name) for name in album.classes}
    assert lowest <= set(held.digests) and len(held) == 9
