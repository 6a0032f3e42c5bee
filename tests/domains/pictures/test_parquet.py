"""Pictures in the rows of Parquet files: found, labelled, captioned and asked about as pictures in files are."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.pictures import decoded_here, encoded, scene

from weft.domains.captions.reading.captions import read_captions
from weft.domains.captions.reading.questions import read_questions
from weft.domains.pictures.reading.trying import find_pictures, read_images
from weft.domains.recognising import recognise
from weft.errors import DataError
from weft.files.pictures import in_parquet
from weft.storage import file_marks
from weft.storage.prepared import prepared_in

pyarrow = pytest.importorskip("pyarrow")
decoded_here()


def table(path: Path, columns: dict[str, list[Any]], names: list[str] | None = None) -> Path:
    """A Parquet file, with the names of its classes as the Hugging Face library writes them."""
    from pyarrow import parquet

    found = pyarrow.table(columns)
    if names is not None:
        said = {"info": {"features": {"label": {"names": names, "_type": "ClassLabel"}}}}
        found = found.replace_schema_metadata({b"huggingface": json.dumps(said).encode()})
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(found, path, row_group_size=7)
    return path


def pictures(count: int, kind: str = "PNG") -> list[bytes]:
    return [encoded(scene(seed=n), kind) for n in range(count)]


def structs(contents: list[bytes]) -> list[dict[str, Any]]:
    return [{"bytes": content, "path": f"{n}.png"} for n, content in enumerate(contents)]


def task_of(*sources: Path) -> str:
    return recognise([str(source) for source in sources])[0].name


@pytest.mark.parametrize("form", [list, structs])
def test_pictures_with_classes_are_read_and_recognised(tmp_path: Path, form: Any) -> None:
    contents = pictures(20)
    file = table(
        tmp_path / "pets.parquet", {"image": form(contents), "label": [n % 2 for n in range(20)]}, ["cat", "dog"]
    )
    album = read_images([file]).train
    assert album.names[16] == "pets.parquet/image/17.png" and album.classes == ("cat", "dog")
    assert np.array_equal(album.read(16).pixels, scene(seed=16))
    assert album.labels is not None and album.labels[16] == "cat"
    assert task_of(file) == "classify-images"
    assert len(read_images([file], labels=False).train) == 20


def test_pictures_alone_are_recognised(tmp_path: Path) -> None:
    file = table(tmp_path / "all.parquet", {"picture": structs(pictures(12))})
    with pytest.raises(DataError, match="--task reconstruct-images"):  # as of pictures in files: it is not clear
        task_of(file)
    assert len(read_images([file], labels=False).train) == 12


def test_a_folder_of_shards_is_one_set_whose_sides_have_their_names(tmp_path: Path) -> None:
    contents = pictures(30)
    for n in range(3):
        part = {"image": structs(contents[10 * n : 10 * n + 10]), "label": ["ab"[n % 2]] * 10}
        name = f"{'train' if n < 2 else 'test'}-0000{n}-of-00002.parquet"
        table(tmp_path / "data" / name, part)
    (tmp_path / "data" / "cover.png").write_bytes(contents[0])
    found = read_images([tmp_path / "data"])
    assert found.held_out is not None and (len(found.train), len(found.held_out)) == (20, 10)
    assert found.train.classes == ("a", "b")
    assert dict(found.train.skipped) == {"cover.png": "beside tables that hold pictures"}
    assert task_of(tmp_path / "data") == "classify-images"


def test_captions_and_questions_stand_beside_pictures(tmp_path: Path) -> None:
    contents = pictures(12)
    captions = [f"a small scene that is number {n}" for n in range(12)]
    captioned = table(tmp_path / "said.parquet", {"image": structs(contents), "caption": captions})
    found = read_captions([captioned]).train
    assert found.captions[3] == (captions[3],) and task_of(captioned) == "caption"
    columns = {"image": structs(contents), "question": ["what is it?"] * 12, "answer": [f"a {n}" for n in range(12)]}
    asked = table(tmp_path / "asked.parquet", columns)
    album = read_questions([asked]).train
    assert album.questions[3][0].answers == ("a 3",) and task_of(asked) == "answer"


def test_a_row_without_a_picture_and_a_damaged_one_are_named(tmp_path: Path) -> None:
    contents: list[Any] = [*pictures(20), None, b"\x89PNG\r\n\x1a\n no more"]
    file = table(tmp_path / "some.parquet", {"image": contents, "label": ["a", "b"] * 11})
    skipped = dict(read_images([file], skip=2).train.skipped)
    assert skipped["some.parquet/image/21.png"] == "no picture in this row"
    assert "damaged" in skipped["some.parquet/image/22.png"]


def test_pictures_that_stand_in_files_are_found_by_the_path_beside_their_bytes(tmp_path: Path) -> None:
    for n, content in enumerate(pictures(4)):
        (tmp_path / f"{n}.png").write_bytes(content)
    column = [{"bytes": None, "path": f"{n}.png"} for n in range(4)]
    kind = pyarrow.struct([("bytes", pyarrow.binary()), ("path", pyarrow.string())])
    file = table(tmp_path / "all.parquet", {"image": pyarrow.array(column, kind), "label": ["a", "b"] * 2})
    assert read_images([file]).train.names == ("0.png", "1.png", "2.png", "3.png")


def test_a_path_into_a_table_is_that_of_a_picture(tmp_path: Path) -> None:
    file = table(tmp_path / "pets.parquet", {"image": pictures(5)})
    album = find_pictures([file / "image" / "4.png"])
    assert np.array_equal(album.read(0).pixels, scene(seed=3))
    with pytest.raises(DataError, match="no picture in this row"):
        find_pictures([file / "image" / "9.png"]).read(0)


def test_another_table_is_not_reached_by_a_name(tmp_path: Path) -> None:
    table(tmp_path / "hidden.parquet", {"image": pictures(5)})
    (tmp_path / "in" / "deep").mkdir(parents=True)
    names = tmp_path / "in" / "names.csv"
    names.write_text("path,label\n" + "".join(f"../hidden.parquet/image/{n}.png,{n % 2}\n" for n in range(1, 5)))
    with pytest.raises(DataError, match="leads out"):
        read_images([names])


def test_pictures_are_taken_out_once_a_few_rows_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_marks, "SETTLED_SECONDS", 0.0)
    file = table(tmp_path / "pets.parquet", {"image": pictures(60), "label": ["a", "b"] * 30})
    read: list[int] = []

    def noted(*given: Any, was: Any = in_parquet._contents) -> Any:
        for content in was(*given):
            read.append(len(content))
            yield content

    monkeypatch.setattr(in_parquet, "_contents", noted)
    with prepared_in(str(tmp_path / "kept")):
        first = read_images([file]).train
        in_parquet._taken_out.cache_clear()
        again = read_images([file]).train
        assert np.array_equal(again.read(59).pixels, scene(seed=59))
    assert len(read) == 60 and first.fingerprint == again.fingerprint
