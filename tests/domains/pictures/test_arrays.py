import io
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
from helpers.pictures import scene, write, wrong

from weft.domains.pictures.reading.trying import read_images

GREY = np.stack([scene(9, 7, seed=i)[..., 0] for i in range(6)])
COLOUR = np.stack([scene(9, 7, seed=i) for i in range(6)])
LABELS = np.array([0, 1, 2, 10, 1, 0])


def saved(path: Path, **arrays: np.ndarray) -> Path:
    np.savez_compressed(path, **arrays)
    return path


@pytest.mark.parametrize(
    "pictures, wanted",
    [
        (GREY, GREY[..., None]),
        (GREY[..., None], GREY[..., None]),
        (GREY[:, None], GREY[..., None]),
        (COLOUR, COLOUR),
        (COLOUR.transpose(0, 3, 1, 2), COLOUR),
        (COLOUR.astype(np.int64), COLOUR),
        (COLOUR.astype(np.float32), COLOUR),
        (COLOUR / 255, COLOUR),
        (COLOUR.astype(np.uint16) * 257, COLOUR),
        (COLOUR.astype(">u2"), COLOUR),
        (np.asfortranarray(COLOUR), COLOUR),
        (GREY > 100, (GREY > 100)[..., None] * 255),
    ],
)
def test_shapes_and_numbers_of_all_kinds_are_the_same_pictures(
    tmp_path: Path, pictures: np.ndarray, wanted: np.ndarray
):
    album = read_images([saved(tmp_path / "a.npz", X=pictures, Y=LABELS)]).train
    assert np.array_equal(np.stack([album.read(i).pixels for i in range(6)]), wanted)
    assert album.labels == ("0", "1", "2", "10", "1", "0") and album.classes == ("0", "1", "2", "10")
    assert album.names[3] == "X[3]" and album.read(0).missing is None and len(album.fingerprint) == 64


def test_numbers_of_any_range_are_stretched_over_it_and_nan_is_missing(tmp_path: Path):
    values = np.random.default_rng(0).normal(size=(4, 8, 8, 1)) * 50 - 3000
    values[1, 2, 3], values[2, 0, 0] = np.nan, -np.inf
    album = read_images([saved(tmp_path / "a.npz", images=values, labels=np.array(list("abab")))]).train
    low, high = values[np.isfinite(values)].min(), values[np.isfinite(values)].max()
    wanted = (values - low) / (high - low) * 255
    assert np.abs(album.read(0).pixels - wanted[0]).max() <= 0.5001
    missing = album.read(1).missing
    assert missing is not None and missing.sum() == 1 and missing[2, 3] and album.read(1).pixels[2, 3] == 127
    assert album.read(2).missing is not None and album.read(0).missing is None
    assert list(album.notes.values()) == [4] and "stretched" in next(iter(album.notes))


def test_what_is_held_out_is_scaled_as_what_is_learnt_from(tmp_path: Path):
    train, held = np.linspace(-1, 1, 256).reshape(4, 8, 8), np.full((1, 8, 8), 0.5)
    path = saved(tmp_path / "a.npz", x_train=train, y_train=np.arange(4), x_val=held, y_val=np.array([1]))
    found = read_images([path])
    assert found.held_out is not None and np.unique(found.held_out.read(0).pixels).tolist() == [191]


@pytest.mark.parametrize("held", ["val", "valid", "test"])
@pytest.mark.parametrize("form", ["x_{}", "{}_images"])
def test_names_say_what_is_held_out(tmp_path: Path, held: str, form: str):
    other = form.replace("x", "y").replace("images", "labels")
    arrays = {form.format("train"): COLOUR, other.format("train"): LABELS, "unused": LABELS}
    arrays |= {form.format(held): COLOUR[:2] // 2, other.format(held): LABELS[:2]}
    found = read_images([saved(tmp_path / "a.npz", **arrays)])
    assert len(found.train) == 6 and found.held_out is not None and found.held_out.labels == ("0", "1")
    assert found.train.skipped == (("a.npz: unused", "an array of no use here"),)


def test_alpha_and_scales_are_known_in_arrays_too(tmp_path: Path):
    alpha = np.full((6, 9, 7, 1), 255, np.uint8)
    alpha[2, 1, 1], alpha[2, 5, 5] = 0, 128
    path = saved(tmp_path / "a.npz", x=np.concatenate([COLOUR, alpha], 3), y=LABELS, gsd=np.arange(6) * 0.5)
    album = read_images([path]).train
    picture = album.read(2)
    assert picture.missing is not None and picture.missing.sum() == 1 and (picture.pixels[1, 1] == 127).all()
    assert np.abs(picture.pixels[5, 5] - (COLOUR[2, 5, 5] * (128 / 255) + 127 * 127 / 255)).max() <= 1
    assert np.array_equal(album.read(1).pixels, COLOUR[1]) and album.scales is not None and album.scales[3] == 1.5


def test_an_array_by_itself_has_no_labels(tmp_path: Path):
    np.save(tmp_path / "a.npy", COLOUR)
    assert "no array of labels" in wrong(tmp_path / "a.npy").problem
    album = read_images([tmp_path / "a.npy"], labels=False).train
    assert len(album) == 6 and album.labels is None and np.array_equal(album.read(4).pixels, COLOUR[4])
    assert album.read(4, 3).pixels.shape == (4, 3, 3)


def test_labels_are_whole_numbers_or_texts_one_for_each_picture(tmp_path: Path):
    texts = np.array([b"cat", b"dog"] * 3)
    assert read_images([saved(tmp_path / "a.npz", x=COLOUR, y=texts)]).train.classes == ("cat", "dog")
    for labels in (LABELS.astype(np.float32), LABELS[:, None]):
        assert read_images([saved(tmp_path / "a.npz", x=COLOUR, y=labels)]).train.labels[3] == "10"
    for labels, words in ((LABELS[:4], "shape"), (np.eye(6), "shape"), (LABELS + 0.5, "whole numbers")):
        assert words in wrong(saved(tmp_path / "a.npz", x=COLOUR, y=labels)).problem


class Trap:
    def __reduce__(self):
        return (write, (Path("trapped"), "caught"))


def test_objects_are_refused_and_nothing_is_unpickled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    trap = np.array([Trap()] * 6, dtype=object)
    for arrays in ({"x": COLOUR, "y": trap}, {"x": trap, "y": LABELS}):
        error = wrong(saved(tmp_path / "a.npz", **arrays))
        assert "Python objects" in error.problem and "astype" in error.fix
    write(tmp_path / "b.npy", pickle.dumps(Trap()))
    wrong(tmp_path / "b.npy", labels=False)
    assert not Path("trapped").exists()


@pytest.mark.parametrize(
    "shape, words",
    [
        ((6, 784), "reshape(-1, 28, 28)"),
        ((9, 7, 3), "x[None]"),
        ((6, 9, 7, 13), "1, 3 or 4 channels"),
        ((6,), "(N, H, W)"),
        ((), "(N, H, W)"),
        ((0, 9, 7, 3), "save pictures as x"),
        ((6, 2, 9, 7, 3), "(N, H, W)"),
    ],
)
def test_other_shapes_are_refused_with_advice(tmp_path: Path, shape: tuple[int, ...], words: str):
    assert words in wrong(saved(tmp_path / "a.npz", x=np.zeros(shape, np.uint8), y=LABELS)).fix


def test_other_names_and_kinds_are_refused(tmp_path: Path):
    assert "'pix', 'y'" in wrong(saved(tmp_path / "a.npz", pix=COLOUR, y=LABELS)).problem
    assert "complex" in wrong(saved(tmp_path / "a.npz", x=COLOUR * 1j, y=LABELS)).problem
    assert "numpy.savez" in wrong(write(tmp_path / "b.npz", "no arrays")).fix


def test_a_header_that_claims_more_than_the_file_has_is_refused(tmp_path: Path):
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": "|u1", "fortran_order": False, "shape": (10**6, 10**4, 10**4)})
    write(tmp_path / "a.npy", file.getvalue() + bytes(1000))
    assert "claims 100,000,000,000,000 bytes" in wrong(tmp_path / "a.npy", labels=False).problem
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("x.npy", file.getvalue() + bytes(1000))
    assert "claims" in wrong(tmp_path / "a.npz", labels=False).problem
    data = saved(tmp_path / "c.npz", x=COLOUR, y=LABELS).read_bytes()
    for k in range(1, 10):
        assert wrong(write(tmp_path / "d.npz", data[: len(data) * k // 10])).where
