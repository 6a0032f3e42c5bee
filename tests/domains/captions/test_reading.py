"""Pictures with captions: found in tables and beside text files, every fault named, batches decided by the index."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers.pictures import encoded, scene, tarred, write, zipped

from weft.batches.samples import Samples
from weft.domains.captions.encoded.caption_ids import CaptionIds
from weft.domains.captions.encoded.captions import SeenCaptions, captioned, captioned_pictures
from weft.domains.captions.reading.captions import judge, read_captions
from weft.domains.captions.sample.album import scenes
from weft.domains.pictures.dataset import PictureData, split_album
from weft.domains.pictures.encoded.augment import Augment
from weft.domains.pictures.encoded.batches import PictureSource
from weft.domains.pictures.encoded.seen import SeenPictures, codec_for
from weft.domains.pictures.reading.album import Album
from weft.domains.texts.codec.text import TextCodec, TextMarks
from weft.errors import ConfigError, DataError
from weft.files.decoding import reading_as
from weft.files.roles import LearnedColumn
from weft.files.survey import Survey
from weft.modalities.image import Picture
from weft.modalities.tokenizer_making import train as make_tokenizer

CAPTIONS = {"a.png": ("a dog runs over grass", "a brown dog"), "b.png": ("two men on a wall",), "c.png": ("a red car",)}
MEMBERS = {name: encoded(scene(seed=seed)) for seed, name in enumerate(CAPTIONS)}


def photos(root: Path, members: dict[str, bytes] = MEMBERS) -> Path:
    for name, data in members.items():
        write(root / name, data)
    return root


def tsv(path: Path, rows: dict[str, tuple[str, ...]] = CAPTIONS) -> Path:
    return write(path, "".join("\t".join((name, *texts)) + "\n" for name, texts in rows.items()))


def found(album: Album) -> dict[str, tuple[str, ...]]:
    return dict(zip(album.names, album.captions, strict=True))


def read(*sources: Path, **options: object) -> Album:
    return read_captions(sources, **options).train


def wrong(*sources: Path, **options: object) -> str:
    with pytest.raises(DataError) as caught:
        read(*sources, **{"skip": 0, **options})
    return str(caught.value)


def looks_captioned(sources: list[Path]) -> bool:
    return judge(Survey(sources)).level == "sure"


def one_a_row(path: Path, header: str = "", separator: str = "\t") -> Path:
    rows = [f"{name}{separator}{text}\n" for name, texts in CAPTIONS.items() for text in texts]
    return write(path, header + "".join(rows))


def tables(folder: Path) -> dict[str, Path]:
    """The same captions in every form of table."""
    packed = folder / "packed.tsv.gz"
    packed.write_bytes(gzip.compress(tsv(folder / "wide.tsv").read_bytes()))
    lines = [json.dumps({"file_name": name, "text": list(texts)}) for name, texts in CAPTIONS.items()]
    numbered = "".join(f"{n}#{i}\t{t}\n" for n, texts in CAPTIONS.items() for i, t in enumerate(texts))
    return {
        "wide": folder / "wide.tsv",
        "gzip": packed,
        "one a row": one_a_row(folder / "rows.tsv"),
        "numbered": write(folder / "numbered.tsv", numbered),
        "csv": one_a_row(folder / "rows.csv", "image,caption\n", ","),
        "jsonl": write(folder / "rows.jsonl", "\n".join(lines)),
        "other columns": write(
            folder / "more.csv",
            "id,caption_1,file,caption_2\n" + "".join(f"7,{t[0]},{n},{t[-1]}\n" for n, t in CAPTIONS.items()),
        ),
    }


FORMS = ["wide", "gzip", "one a row", "numbered", "csv", "jsonl", "other columns"]
PLACES = ["folder beside", "folder", "tar", "zip"]


@pytest.mark.parametrize(("form", "where"), [(f, "beside") for f in FORMS] + [("wide", place) for place in PLACES])
def test_every_table_gives_the_same_captions_wherever_the_pictures_are(form: str, where: str, tmp_path: Path):
    table, others = tables(tmp_path)[form], list[Path]()
    if where == "beside":
        photos(tmp_path)
    elif where == "folder beside":
        photos(tmp_path / "photos")
    elif where == "folder":
        others = [photos(tmp_path / "elsewhere" / "deep")]
    else:
        members = {f"pictures/{name}": data for name, data in MEMBERS.items()}
        others = [(tarred if where == "tar" else zipped)(tmp_path / f"photos.{where}", members)]
    assert looks_captioned([table, *others])
    assert found(read(table, *others)) == CAPTIONS


@pytest.mark.parametrize("form", ["folder", "zip"])
def test_a_text_file_beside_each_picture_holds_its_captions(form: str, tmp_path: Path):
    members = dict(MEMBERS) | {n.replace(".png", ".txt"): "\n".join(t).encode() for n, t in CAPTIONS.items()}
    source = photos(tmp_path / "data", members) if form == "folder" else zipped(tmp_path / "data.zip", members)
    assert looks_captioned([source]) and found(read(source)) == CAPTIONS


def test_a_folder_may_hold_its_table(tmp_path: Path):
    photos(tmp_path / "data" / "images")
    tsv(tmp_path / "data" / "captions.tsv")
    assert looks_captioned([tmp_path / "data"]) and found(read(tmp_path / "data")) == CAPTIONS


def test_a_table_is_found_among_many_pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("weft.domains.captions.reading.captions.LOOK", 1)
    tsv(photos(tmp_path) / "z.tsv")
    assert looks_captioned([tmp_path]) and found(read(tmp_path)) == CAPTIONS


def test_tables_of_classes_and_pairs_are_not_taken_for_captions(tmp_path: Path):
    labels = write(tmp_path / "labels.csv", "path,label\n" + "".join(f"{n},cat\n" for n in CAPTIONS))
    pairs = write(tmp_path / "pairs.tsv", "a dog runs\tun chien court\n" * 5)
    assert not any(looks_captioned([path]) for path in (labels, pairs, photos(tmp_path / "photos")))


def test_a_table_without_a_column_of_pictures_lists_its_columns(tmp_path: Path):
    table = write(tmp_path / "t.tsv", "one two\tthree\nfour five\tsix\n")
    assert "no column names pictures" in wrong(table) and "picture_column" in wrong(table)
    photos(tmp_path)
    odd = write(tmp_path / "odd.csv", "what,who,note\n" + "".join(f"{n[0]},x,{t[0]}\n" for n, t in CAPTIONS.items()))
    assert found(read(odd, tmp_path / "", picture="what", caption="note"))["a"] == CAPTIONS["a.png"][:1]


def test_columns_asked_for_in_training_are_not_needed_in_another_table(tmp_path: Path):
    photos(tmp_path)
    asked = {"picture": LearnedColumn("what"), "caption": LearnedColumn("note")}
    assert found(read(tsv(tmp_path / "plain.tsv"), **asked)) == CAPTIONS
    same = write(tmp_path / "same.csv", "note,text,what\n" + "".join(f"{t[0]},x,{n}\n" for n, t in CAPTIONS.items()))
    assert found(read(same, **asked))["a.png"] == CAPTIONS["a.png"][:1]
    unclear = wrong(write(tmp_path / "t.tsv", "one two\tthree\nfour five\tsix\n"), **asked)
    assert "no column names pictures" in unclear and "--set picture_column=" in unclear


FAULTS = {
    "no caption": ({"a.png": ("",)}, "line 4: a.png: no caption"),
    "huge": ({"a.png": ("dog " * 250_000,)}, "a caption of 999,999 characters, more than 10,000"),
    "no picture": ({"d.png": ("a cat",)}, "d.png: a caption without a picture"),
    "no name": ({"": ("a cat",)}, "no picture is named"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_bad_row_is_named_and_refused_or_left_out(fault: str, tmp_path: Path):
    rows, message = FAULTS[fault]
    table = tsv(photos(tmp_path) / "t.tsv")
    table.write_text(table.read_text() + tsv(tmp_path / "bad.tsv", rows).read_text())
    assert message in wrong(table)
    album = read(table, skip=1)
    assert found(album) == CAPTIONS and any(message.split(": ")[-1] in reason for _, reason in album.skipped)


def test_other_encodings_are_refused_with_the_remedy(tmp_path: Path):
    table = photos(tmp_path) / "t.tsv"
    table.write_bytes("a.png\tein Hund läuft\n".encode("latin-1"))
    assert "is not UTF-8" in wrong(table) and "iconv" in wrong(table)


def test_a_separator_too_many_is_refused(tmp_path: Path):
    table = write(photos(tmp_path) / "t.csv", "image,caption\na.png,a dog, brown, runs\nb.png,two men\nc.png,a car\n")
    problem = wrong(table)
    assert "1 of 3 rows" in problem and "t.csv, line 2: 4 columns, expected 2" in problem and "quotes" in problem


def test_a_missing_picture_counts_once_and_bad_rows_among_rows(tmp_path: Path):
    rows = "".join(f"{name}\ta dog runs {n}\n" for name in (*CAPTIONS, "gone.png") for n in range(5))
    table = write(photos(tmp_path) / "t.tsv", rows)
    assert len(read(table)) == 3, "one may always be bad"
    assert "1 of 4 pictures cannot be used" in wrong(table)
    bad = write(tmp_path / "u.tsv", rows.replace("gone", "a") + "b.png\t\n" * 2)
    assert "2 of 22 rows cannot be used, allowed: 1" in wrong(bad, skip=None)


def test_a_name_that_several_pictures_have_is_refused(tmp_path: Path):
    members = {f"{folder}/{name}": data for folder in ("x", "y") for name, data in MEMBERS.items()}
    problem = wrong(tsv(tmp_path / "t.tsv"), photos(tmp_path / "p", members))
    assert "2 pictures have this name: " in problem and "p/x/a.png, " in problem and "p/y/a.png" in problem
    assert "2 pictures have this name: " in wrong(tsv(tmp_path / "p" / "t.tsv")), "in the table's own folders too"
    exact = {f"y/{name}": texts for name, texts in CAPTIONS.items()}
    assert len(read(tsv(tmp_path / "t.tsv", exact), tmp_path / "p")) == 3


@pytest.mark.parametrize(("asked", "there"), [
    ("a.png", "deep/a.png"), ("x/a.png", "deep/x/a.png"), ("/elsewhere/x/a.png", "x/a.png"), ("../x/a", "a.png"),
    ("val/a.png", None),
])  # fmt: skip
def test_a_path_takes_the_picture_whose_path_it_ends_or_that_ends_it(asked: str, there: str | None, tmp_path: Path):
    place = photos(tmp_path / "p", {there or "train/a.png": MEMBERS["a.png"], "other/b.png": MEMBERS["b.png"]})
    table = tsv(tmp_path / "t.tsv", {asked: ("a dog runs",), "b.png": ("two men",)})
    if there is None:
        assert f"{asked}: a caption without a picture" in wrong(table, place, picture="1")
    else:
        assert found(read(table, place, picture="1", skip=0))[asked] == ("a dog runs",)


def test_pictures_that_no_row_names_are_listed_and_no_fault(tmp_path: Path):
    album = read(tsv(tmp_path / "t.tsv", {"a.png": ("a dog",), "b.png": ("men",)}), photos(tmp_path / "p"), skip=0)
    assert len(album) == 2 and album.skipped == (("c.png", "a picture that no row names: no caption"),)


STEMS = {
    "picture without caption": ({"d.png": MEMBERS["a.png"]}, "d.png: a picture without a caption"),
    "caption without picture": ({"d.txt": b"a cat"}, "d.txt: a caption without a picture"),
    "two of one stem": ({"a.jpg": encoded(scene(), "JPEG")}, "a.jpg, a.png; whose caption it is, is not clear"),
    "blank": ({"c.txt": b" \n\n"}, "c.txt: no caption"),
    "huge": ({"c.txt": b"x" * 1_000_000}, "c.txt: a caption of 1,000,000 characters"),
    "encoding": ({"c.txt": "läuft".encode("latin-1")}, "c.txt: byte 0xE4 at byte offset 1 is not UTF-8"),
    "broken picture": ({"c.png": MEMBERS["c.png"][:50]}, "c.png: "),
}


@pytest.mark.parametrize("fault", STEMS)
def test_what_stands_alone_beside_others_is_named(fault: str, tmp_path: Path):
    extra, message = STEMS[fault]
    texts = {n.replace(".png", ".txt"): "\n".join(t).encode() for n, t in CAPTIONS.items()}
    folder = photos(tmp_path / "p", {**MEMBERS, **texts, **extra})
    assert message in wrong(folder)
    assert len(read(folder, skip=2)) >= 2


def test_a_caption_may_be_in_another_encoding_that_is_marked_or_named(tmp_path: Path):
    texts = {n.replace(".png", ".txt"): "\n".join(t).encode("utf-16") for n, t in CAPTIONS.items()}
    assert found(read(photos(tmp_path / "wide", {**MEMBERS, **texts}))) == CAPTIONS
    texts = {n.replace(".png", ".txt"): f"ein Café – {n}".encode("cp1252") for n in CAPTIONS}
    folder = photos(tmp_path / "west", {**MEMBERS, **texts})
    assert "it looks like Windows-1252 (--set encoding=cp1252 reads it so)" in wrong(folder)
    with reading_as("cp1252"):
        assert found(read(folder))["a.png"] == ("ein Café – a.png",)


def test_the_captions_are_part_of_what_the_data_is(tmp_path: Path):
    photos(tmp_path)
    first = read(tsv(tmp_path / "t.tsv")).fingerprint
    assert read(tsv(tmp_path / "u.tsv")).fingerprint == first
    other = {**CAPTIONS, "c.png": ("a blue car",)}
    assert read(tsv(tmp_path / "v.tsv", other)).fingerprint != first


def test_equal_pictures_are_held_out_together(tmp_path: Path):
    members = {f"{n}.png": encoded(scene(seed=n // 2)) for n in range(40)}
    photos(tmp_path, members)
    train, held, _ = split_album(read(tsv(tmp_path / "t.tsv", dict.fromkeys(members, ("a b",)))))
    assert len(held) and not set(train.digests) & set(held.digests) and len(held) % 2 == 0


WORDS = TextCodec(
    TextCodec.Config(role="caption", opening=(9, 8), end=7),
    read=lambda name: make_tokenizer("bytes", []).to_json().encode(),
)


def sources(visit: int = 2, seed: int = 0) -> PictureSource:
    album = scenes(20, 0).train
    ids = CaptionIds.of([[np.array([row, n]) for n in range(1 + row % 4)] for row in range(20)])
    data = PictureData(train=album, held_out=album, fingerprint="x", rule="", described="")
    seen = SeenPictures.of(data, codec_for(album, None, 32), 3)
    both = SeenCaptions(**vars(seen), text=WORDS, captions=ids, held_captions=ids, context=16, long=0)
    return captioned_pictures(both, visit, how=Augment.light(flip=False), stride=4, seed=seed)


def test_what_a_visit_reads_follows_from_its_index_alone():
    source = sources()
    whole = source.batch(np.arange(12))
    again = [source.batch(np.array([i])) for i in range(12)]
    assert torch.equal(whole.given.pixels, torch.cat([one.given.pixels for one in again]))
    lines = [row[: int(n)].tolist() for row, n in zip(whole.wanted.ids, whole.wanted.lengths, strict=True)]
    assert lines == [
        r[: int(n)].tolist() for one in again for r, n in zip(one.wanted.ids, one.wanted.lengths, strict=True)
    ]
    assert not torch.equal(sources(seed=1).batch(np.arange(12)).given.pixels, whole.given.pixels)


def test_a_visit_draws_different_captions_of_the_picture_and_no_other():
    batch, drawn = sources().batch(np.arange(40)), dict[int, set[int]]()
    for owner in range(len(batch)):
        lines = batch.wanted.ids[batch.owner == owner]
        assert len(set(map(tuple, lines.tolist()))) == len(lines) <= 2 and len(set(lines[:, 2].tolist())) == 1
        drawn.setdefault(int(lines[0, 2]), set()).update(lines[:, 3].tolist())
        assert lines[0, :2].tolist() == [9, 8] and lines[0, -1] == 7
    assert any(len(seen) > 2 for seen in drawn.values()), "not the same ones each time"


def test_a_piece_of_a_batch_keeps_its_captions():
    batch = captioned(Picture(torch.rand(3, 3, 4, 4)),
                      [[np.array([1])], [np.array([2]), np.array([3])], [np.array([4])]],
                      TextMarks((0,), (0,)))  # fmt: skip
    piece = batch[1:3]
    assert isinstance(piece, Samples) and len(piece) == 2
    assert piece.owner.tolist() == [0, 0, 1] and piece.wanted.ids[:, 1].tolist() == [2, 3, 4]


def test_no_data_and_odd_bounds_are_refused(tmp_path: Path):
    with pytest.raises(DataError, match="no data was named"):
        read_captions([])
    assert "no such file" in wrong(tmp_path / "none.tsv")
    with pytest.raises(ConfigError, match="skip"):
        read(tsv(photos(tmp_path) / "t.tsv"), skip=2.5)
