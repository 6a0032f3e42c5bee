"""Pictures at a model's size, in the order of samples, and read ahead: functions of the index alone."""

import threading
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers.pictures import encoded, pets

from weft.batches.ahead import Ahead
from weft.batches.epochs import Epochs
from weft.batches.samples import Classes
from weft.domains.pictures.codec import PictureCodec, whole_shape
from weft.domains.pictures.dataset import PictureData
from weft.domains.pictures.encoded.augment import Augment, partner_indices
from weft.domains.pictures.encoded.batches import augment_key, labelled_pictures, plain_pictures
from weft.domains.pictures.encoded.frames import Frames, FromFiles, by_shape, frames_of, in_channels, part
from weft.domains.pictures.encoded.seen import SeenPictures, sight_of
from weft.domains.pictures.encoded.views import picture_views
from weft.domains.pictures.reading.album import Album
from weft.domains.pictures.reading.trying import read_images
from weft.files.pictures.decoding import Decoded


def frames(*shapes: tuple[int, int], size: int = 16, missing: bool = False) -> Frames:
    draw = np.random.default_rng(0)
    found = []
    for height, width in shapes:
        mask = np.broadcast_to(np.arange(width) < width // 2, (height, width)) if missing else None
        found.append(Decoded(draw.integers(0, 256, (height, width, 3), np.uint8), mask, ()))
    return Frames(found, size, 3)


def codec_of(some: Frames) -> PictureCodec:
    return PictureCodec(PictureCodec.Config(size=some.size, shape=some.shape))


def seen(some: Frames) -> SeenPictures:
    """The same pictures to train on and held out."""
    nothing = Album(())
    data = PictureData(train=nothing, held_out=nothing, fingerprint="f", rule="", described="")
    return SeenPictures(data, codec_of(some), some, some, sight_of(some, some.size, some.channels))


def numbered(some: Frames) -> Classes:
    return Classes(torch.arange(len(some)))


SOURCES = {
    "labelled": lambda f: labelled_pictures(
        seen(f), numbered(f), numbered(f), how=Augment.heavy(True), stride=4, seed=1
    ),
    "plain": lambda f: plain_pictures(seen(f), Augment.medium(True), 4, 1),
    "views": lambda f: picture_views(seen(f), 2, how=Augment.medium(True), stride=4, seed=1),
}


def tensors(batch: object) -> list[torch.Tensor]:
    if isinstance(batch, torch.Tensor):
        return [batch]
    if isinstance(batch, tuple):
        return [t for one in batch for t in tensors(one)]
    return [t for value in vars(batch).values() if value is not None for t in tensors(value)]


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("shapes", [[(16, 16)] * 6, [(20, 30), (40, 18), (16, 16), (50, 50), (22, 17), (19, 64)]])
def test_a_sample_depends_on_its_index_alone(name: str, shapes: list[tuple[int, int]]):
    source = SOURCES[name](frames(*shapes))
    indices = np.array([3, 8, 14, 20, 25])
    together = tensors(source.batch(indices))
    apart = [tensors(source.batch(indices[i : i + 1])) for i in range(5)]
    for k, whole in enumerate(together):
        assert torch.equal(whole, torch.cat([one[k] for one in apart]))


@pytest.mark.parametrize("name", SOURCES)
def test_batches_can_be_cut_into_pieces(name: str):
    batch = SOURCES[name](frames(*[(16, 16)] * 6)).batch(np.arange(6))
    pieces = [batch[0:4], batch[4:6]]
    assert [len(piece) for piece in pieces] == [4, 2]
    for k, whole in enumerate(tensors(batch)):
        assert torch.equal(whole, torch.cat([tensors(piece)[k] for piece in pieces]))


def test_every_epoch_has_every_picture_once_in_another_order():
    epochs = Epochs(10, "f", 0)
    rounds = epochs.rows(np.arange(40)).reshape(4, 10)
    assert all(sorted(row) == list(range(10)) for row in rounds.tolist())
    assert len({tuple(row) for row in rounds.tolist()}) == 4
    assert not np.array_equal(Epochs(10, "g", 0).rows(np.arange(10)), rounds[0])


def test_held_out_pictures_are_whole_and_each_comes_once():
    some = frames((20, 30), (16, 16), (40, 18), (20, 30), (16, 16))
    found = {}
    for rows, picture in by_shape(some, codec_of(some), 4, 2):
        assert picture.pixels.shape[2] % 4 == picture.pixels.shape[3] % 4 == 0
        for row, pixels in zip(rows, picture.pixels, strict=True):
            found[int(row)] = pixels
    assert sorted(found) == [0, 1, 2, 3, 4]
    for row, pixels in found.items():
        height, width = some.pictures[row].pixels.shape[:2]
        assert pixels.shape[2] / pixels.shape[1] == pytest.approx(width / height, rel=0.25)
        assert float(pixels.mean()) == pytest.approx(some.pictures[row].pixels.mean() / 255, abs=0.02)


def test_how_a_picture_is_read_does_not_depend_on_the_others():
    small, wide = frames((12, 10)), frames((20, 30), (12, 10), (20, 30))
    codec = codec_of(frames(*[(12, 10)] * 3))
    ((_, alone),) = by_shape(small, codec, 4, 8)
    among = {int(row): p.pixels[i] for rows, p in by_shape(wide, codec, 4, 8) for i, row in enumerate(rows)}
    assert alone.pixels.shape[2:] == among[1].shape[1:] == (12, 10)
    assert among[0].shape == among[2].shape != among[1].shape


def test_small_pictures_of_one_shape_are_used_as_they_are():
    some = frames(*[(12, 10)] * 3)
    assert some.shape == (12, 10)
    ((rows, picture),) = by_shape(some, codec_of(some), 4, 8)
    assert torch.equal(picture.pixels, some.stacked.float() / 255) and rows.tolist() == [0, 1, 2]
    assert frames(*[(40, 40)] * 3).shape is None  # larger than the size asked for
    assert frames((12, 10), (10, 12)).shape is None


def test_a_whole_picture_has_the_model_s_area_and_its_own_aspect():
    for height, width in ((375, 500), (500, 375), (100, 1000), (64, 64)):
        high, wide = whole_shape((height, width), 64, 8)
        assert high % 8 == wide % 8 == 0 and 0.6 < high * wide / 64**2 < 1.6
    assert whole_shape((1, 1000), 32, 8)[0] == 8


def test_missing_pixels_move_with_the_picture():
    for shapes in ([(16, 16)] * 4, [(20, 30), (18, 40), (25, 25), (31, 17)]):
        some = frames(*shapes, missing=True)
        for picture in some.pictures:
            picture.pixels[picture.missing] = 255
            picture.pixels[~picture.missing] = 0
        batch = some.changed(np.arange(4), np.arange(4), Augment(flip=True, shift=0.2), key="k")
        assert batch.missing is not None and batch.missing.any() and not batch.missing.all()
        assert batch.pixels.mean(1, keepdim=True)[batch.missing].mean() > 0.9
        assert batch.pixels.mean(1, keepdim=True)[~batch.missing].mean() < 0.1


def test_parts_keep_between_all_and_little_of_a_picture():
    y, x = np.mgrid[:100, :100]
    picture = Decoded(np.stack([x, y, x], -1).astype(np.uint8), None, ())
    whole, _, span = part(picture, 100, 0.0, np.array([0.5, 0.5, 0.5, 0.5]))
    assert torch.equal(whole.permute(1, 2, 0), torch.from_numpy(picture.pixels)) and span == 1
    corner, _, span = part(picture, 50, 0.75, np.array([1.0 - 1e-9, 0.5, 0.0, 0.0]))
    assert int(corner[0].max()) in range(48, 51) and int(corner[0].min()) <= 1  # a quarter of the area, at the top left
    assert span == pytest.approx(1)  # 50 pixels of the picture are 50 of the part


def on_the_ground(*shapes: tuple[int, int], metres: float = 2.0) -> Frames:
    found = frames(*shapes)
    return Frames(found.pictures, found.size, 3, np.full(len(shapes), metres))


def test_what_is_scaled_down_covers_more_ground():
    given = on_the_ground((40, 40), (64, 16))
    found = {p.pixels.shape[2:]: p.metres for _, p in by_shape(given, codec_of(given), 4, 8)}
    assert found[16, 16].tolist() == [5.0] and found[32, 8].tolist() == [4.0]


def test_what_is_zoomed_into_covers_less_ground():
    rows = np.arange(2)
    for shapes in (((16, 16), (16, 16)), ((40, 40), (64, 64))):
        given = on_the_ground(*shapes)
        full = 2.0 * np.array([side for side, _ in shapes]) / 16
        near = given.changed(rows, rows, Augment(zoom=0.9), key="k").metres.numpy()
        assert (near < full).all() and (near > full * 0.3).all() and near[0] != near[1]
        plain = given.changed(rows, rows, Augment(), key="k").metres.numpy()
        assert np.allclose(plain, full, rtol=1e-6 if given.shape else 0.15)  # a square part is nearly the whole


def test_a_picture_that_was_decoded_small_says_how_many_pixels_of_its_file_one_stands_for(tmp_path: Path):
    place = tmp_path / "large.jpg"
    place.write_bytes(encoded(np.zeros((600, 900, 3), np.uint8), "JPEG"))
    album = read_images(str(place.parent), labels=False).train
    assert album.read(0).span == 1 and album.read(0, side=50).span == pytest.approx(12)


def test_what_is_mixed_of_two_pictures_is_known_where_both_are():
    half, whole = frames((16, 16), (16, 16), missing=True), frames((16, 16), (16, 16))
    given = Frames([half.pictures[0], whole.pictures[1]], 16, 3)
    labels = numbered(given)
    source = labelled_pictures(seen(given), labels, labels, how=Augment(mixup=1.0), stride=4, seed=1)
    indices = np.arange(64)
    partners = partner_indices(indices, key=augment_key(source.order))
    rows = source.order.rows(indices), source.order.rows(partners)
    touched = (rows[0] == 0) | (rows[1] == 0)
    found = source.batch(indices).given.missing
    assert found is not None and np.array_equal(found[:, 0, 0, 0].numpy(), touched) and 0 < touched.sum() < 64


def test_colour_becomes_grey_by_luminance_and_grey_is_repeated():
    colour = Decoded(np.array([[[255, 0, 0], [0, 255, 0], [0, 0, 255]]], np.uint8), None, ())
    assert in_channels(colour, 1).pixels[0, :, 0].tolist() == [76, 150, 29]
    grey = Decoded(np.array([[[7], [9]]], np.uint8), None, ())
    assert in_channels(grey, 3).pixels.tolist() == [[[7, 7, 7], [9, 9, 9]]]
    assert in_channels(colour, 3) is colour


def test_pictures_from_files_are_those_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    album = read_images(pets(tmp_path / "pets", 4)).train
    kept = frames_of(album, 16, 3)
    monkeypatch.setattr("weft.domains.pictures.encoded.frames.KEPT", 0)
    files = frames_of(album, 16, 3)
    assert kept.kept and not files.kept and isinstance(files.pictures, FromFiles)
    rows = np.arange(8)
    one, other = (f.changed(rows, rows, Augment.medium(True), key="k").pixels for f in (kept, files))
    assert torch.equal(one, other)


# Reading ahead


class Counting:
    """Samples that say in which thread they were made."""

    fingerprint, per_epoch = "counting", 100

    def __init__(self) -> None:
        self.made: list[tuple[list[int], str]] = []

    def batch(self, indices: np.ndarray) -> list[int]:
        self.made.append((indices.tolist(), threading.current_thread().name))
        return (10 * indices).tolist()

    def held_out(self, *, most: int | None = None):
        yield [most]


def test_reading_ahead_gives_the_same_batches_and_makes_them_early():
    inner = Counting()
    source = Ahead(inner)
    steps = [np.arange(4) + 4 * i for i in range(6)]
    assert [source.batch(step) for step in steps] == [(10 * step).tolist() for step in steps]
    early = [made for made, thread in inner.made if thread.startswith("weft-ahead")]
    assert [s.tolist() for s in steps[2:]] == early[:4]
    assert source.batch(np.array([50, 51])) == [500, 510]  # another turn than was guessed
    assert next(source.held_out(most=3)) == [3] and source.per_epoch == 100


def test_an_error_in_reading_ahead_reaches_the_one_who_asks():
    class Failing(Counting):
        def batch(self, indices: np.ndarray) -> list[int]:
            if indices[0] >= 8:
                raise OSError("gone")
            return super().batch(indices)

    source = Ahead(Failing())
    source.batch(np.arange(4))
    source.batch(np.arange(4) + 4)
    with pytest.raises(OSError, match="gone"):
        source.batch(np.arange(4) + 8)
