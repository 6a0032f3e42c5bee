"""Tables of pictures as competitions have them, idx files, and arrays that are no pictures."""

import gzip
import struct
import tarfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from weft.domains.captions.reading.captions import read_captions
from weft.domains.pictures.dataset import LabelledPictures
from weft.domains.pictures.reading.arrays import is_picture_like
from weft.domains.pictures.reading.idx import in_idx
from weft.domains.pictures.settings import PictureLabelTraining
from weft.domains.recognising import recognise
from weft.errors import DataError
from weft.files.arrays import Header

ASKED = PictureLabelTraining()


def picture(path: Path, shade: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.random.default_rng(shade).integers(0, 255, (12, 12, 3), np.uint8)).save(path)
    return path


def labels(sources: list[Path], asked: PictureLabelTraining = ASKED) -> list[str]:
    data = LabelledPictures().read([str(source) for source in sources], None, asked)
    return sorted(f"{p.name} {p.label}" for album in (data.train, data.held_out) for p in album.pictures)


def competition(root: Path, header: str, row: str) -> Path:
    for i in range(12):
        picture(root / "train" / f"img_{i:03}.png", i)
    lines = [row.format(i=f"img_{i:03}", label=("cat", "dog")[i % 2], size=10 + i) for i in range(12)]
    (root / "train.csv").write_text("\n".join([header, *lines]))
    return root / "train.csv"


@pytest.mark.parametrize(
    ("header", "row"),
    [
        ("id,label", "{i},{label}"),
        ("image_id,label,width,height", "{i},{label},{size},{size}"),
        ("id,width,breed", "{i},{size},{label}"),
        ("filename,label", "train/{i}.png,{label}"),
        ("Image,Class", "{i}.png,{label}"),
    ],
)
def test_names_of_pictures_may_lack_their_ending_and_folder(header: str, row: str, tmp_path: Path):
    path = competition(tmp_path, header, row)
    assert recognise([str(path)])[0].name == "classify-images"
    assert [one.split()[1] for one in labels([path])].count("dog") == 6


def test_pictures_of_a_table_are_found_in_the_folder_named_with_it(tmp_path: Path):
    path = competition(tmp_path / "data", "id,label", "{i},{label}")
    table = tmp_path / "elsewhere" / "labels.csv"
    table.parent.mkdir()
    path.rename(table)
    assert recognise([str(table), str(tmp_path / "data/train")])[0].name == "classify-images"
    assert len(labels([table, tmp_path / "data/train"])) == 12


def test_the_label_is_the_column_asked_for(tmp_path: Path):
    path = competition(tmp_path, "id,kind,side", "{i},{label},{label}s")
    assert labels([path], PictureLabelTraining(label_column="side"))[0] == "img_000 cats"
    with pytest.raises(DataError, match="no column 'label'.*'kind', 'side'(.|\n)*--set label_column=kind"):
        labels([path])


def test_an_archive_named_as_its_table_holds_its_pictures(tmp_path: Path):
    for part, first in (("train", 0), ("val", 20)):
        with tarfile.open(tmp_path / f"set-{part}-128.tar", "w") as tar:
            for i in range(3):
                tar.add(picture(tmp_path / "x" / f"{part}{i}.png", first + i), f"{i}.png")
        rows = "".join(f"{i}.png\ta dog number {i}\ta {part} dog\n" for i in range(3))
        (tmp_path / f"set-{part}.tsv.gz").write_bytes(gzip.compress(f"file\tcaption_0\tcaption_1\n{rows}".encode()))
    train = [tmp_path / "set-train.tsv.gz", tmp_path / "set-train-128.tar"]
    held = read_captions([tmp_path / "set-val.tsv.gz"], further=train).train
    assert [p.place.where.split("/")[-1] for p in held.pictures] == [f"set-val-128.tar: {i}.png" for i in range(3)]
    assert held.captions[0] == ("a dog number 0", "a val dog")


def idx(path: Path, values: np.ndarray, packed: bool = False) -> Path:
    data = bytes((0, 0, 8, values.ndim)) + struct.pack(f">{values.ndim}I", *values.shape) + values.tobytes()
    path.write_bytes(gzip.compress(data) if packed else data)
    return path


@pytest.mark.parametrize("dot", ["-", "."])
@pytest.mark.parametrize("packed", [True, False])
def test_idx_files_are_labelled_pictures(dot: str, packed: bool, tmp_path: Path):
    end = ".gz" * packed
    for stem, count in (("train", 20), ("t10k", 10)):
        pixels = np.random.default_rng(count).integers(0, 255, (count, 9, 7), np.uint8)
        idx(tmp_path / f"{stem}-images{dot}idx3-ubyte{end}", pixels, packed)
        idx(tmp_path / f"{stem}-labels{dot}idx1-ubyte{end}", (np.arange(count) % 3).astype(np.uint8), packed)
    images = tmp_path / f"train-images{dot}idx3-ubyte{end}"
    for sources in ([tmp_path], [images], [images, tmp_path / f"train-labels{dot}idx1-ubyte{end}"]):
        assert recognise([str(source) for source in sources])[0].name == "classify-images"
        assert len(labels(sources)) == (30 if sources == [tmp_path] else 20)
    whole = in_idx(tmp_path, labels=True).entries
    assert [entry.held for entry in whole] == [True] * 10 + [False] * 20 and whole[4].label == "1"
    assert whole[-1].place.read().pixels.shape == (9, 7, 1)


def test_idx_files_that_claim_more_than_follows_are_refused(tmp_path: Path):
    path = idx(tmp_path / "train-images-idx3-ubyte", np.zeros((4, 5, 5), np.uint8))
    for data, message in (
        (path.read_bytes()[:-1], "claims 100 bytes, 99 follow"),
        (path.read_bytes() + b"0", "claims 100 bytes, more follow"),
        (b"\0\0\x08\x03" + struct.pack(">3I", 2**31, 4000, 4000), "claims 2147483648 x 4000 x 4000"),
        (b"\0\0\x0d\x03" + bytes(12), "not idx with bytes"),
    ):
        path.write_bytes(data)
        with pytest.raises(DataError, match=message):
            in_idx(path, labels=False)


@pytest.mark.parametrize(
    ("shape", "kind", "expected"),
    [
        ((9, 275, 1), "float32", False), ((9, 128, 9), "float64", False), ((9, 28, 28), "float32", True),
        ((9, 8, 8), "float64", True), ((9, 28, 28, 1), "uint8", True), ((9, 3, 32, 32), "uint8", True),
        ((9, 275, 1), "uint8", False), ((9, 784), "uint8", False),
    ],
)  # fmt: skip
def test_series_are_no_pictures(shape: tuple[int, ...], kind: str, expected: bool):
    assert is_picture_like(Header(shape, np.dtype(kind))) is expected


def test_series_are_refused_in_their_own_words(tmp_path: Path):
    np.savez(tmp_path / "a.npz", x=np.zeros((20, 275, 1), np.float32), y=np.arange(20) % 2)
    with pytest.raises(DataError, match="20 x 275 x 1 numbers of float32 are no pictures: series, or sets of vectors"):
        recognise([str(tmp_path / "a.npz")])
