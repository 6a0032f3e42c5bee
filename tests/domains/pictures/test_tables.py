from pathlib import Path

import numpy as np
from helpers.pictures import pets, reasons, scene, write, wrong

from weft.domains.pictures.reading.trying import read_images
from weft.files.bounds import outside_allowed


def table(tmp_path: Path, text: str, name: str = "pets.csv") -> Path:
    pets(tmp_path / "pics", 2)
    return write(tmp_path / name, text)


def test_a_table_names_pictures_classes_and_scales(tmp_path: Path):
    text = "id,filename,Category,gsd\n1,pics/cat/0.png,cat,0.5\n2,pics/dog/0.png,a dog,\n3,pics/dog/1.png,a dog,1e-3\n"
    album = read_images([table(tmp_path, text)]).train
    assert album.names == ("pics/cat/0.png", "pics/dog/0.png", "pics/dog/1.png")
    assert album.labels == ("cat", "a dog", "a dog")
    assert album.scales is not None and np.array_equal(album.scales, [0.5, np.nan, 0.001], equal_nan=True)
    assert np.array_equal(album.read(1).pixels, scene(seed=100))


@outside_allowed(True)
def test_tables_have_tabs_or_semicolons_and_paths_may_lead_out_where_that_is_allowed(tmp_path: Path):
    rows = [("path", "label"), ("../pics/cat/0.png", "cat"), (f"{tmp_path}/pics/dog/0.png", "dog")]
    for name, mark in (("t/a.tsv", "\t"), ("t/b.csv", ";")):
        text = "".join(mark.join(row) + "\n" for row in rows)
        assert read_images([table(tmp_path, text, name)]).train.labels == ("cat", "dog")


@outside_allowed(True)
def test_rows_that_cannot_be_used_are_bad_pictures(tmp_path: Path):
    rows = ["pics/cat/0.png,cat,1", "pics/dog/0.png,dog,1", "pics/dog/1.png,,1", "pics/none.png,dog,1", ",dog,1"]
    rows += [
        "pics/cat/1.png,cat,-3",
        "pics/cat/1.png,cat",
        "/dev/zero,cat,1",
        "pics,cat,1",
        "a\0b.png,cat,1" + " " * 2000,
    ]
    path = table(tmp_path, "path,label,scale\n" + "\n".join(rows) + "\n")
    assert "8 of 10 pictures" in wrong(path).problem
    album = read_images([path], skip=8).train
    assert len(album) == 2
    assert sorted(reasons(album).values()) == [
        "2 columns, expected 3 as in the header",
        "cannot be read: No such file or directory",
        "expected a file, found a device",
        "expected a file, found a folder",
        "expected metres per pixel, found '-3'",
        "the label is blank",
        "the path has a NUL in it",
        "the path is blank",
    ]
    assert reasons(album)["pets.csv, line 4: pics/dog/1.png"] == "the label is blank"


def test_a_table_without_its_columns_says_what_a_header_is(tmp_path: Path):
    error = wrong(table(tmp_path, "path,lable,by\npics/cat/0.png,cat,me\n"))
    assert "no column 'label'" in error.problem and "did you mean 'label'" in error.fix
    error = wrong(table(tmp_path, "pics/cat/0.png,cat\n"))
    assert "no column 'path'" in error.problem and "path,label" in error.fix
    assert read_images([table(tmp_path, "path\npics/cat/0.png\n")], labels=False).train.labels is None
    found = read_images([table(tmp_path, "filename,brightness\npics/cat/0.png,0.5\npics/dog/1.png,0.7\n")])
    assert found.train.labels == ("0.5", "0.7"), "of two columns, the one that names no picture is the label"
    assert "empty" in wrong(table(tmp_path, "\n")).problem
