"""Samples as WebDataset packs them: a picture and small files of its name, in one archive or several."""

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.pictures import decoded_here, encoded, scene, tarred, write

from weft.domains.captions.reading.captions import read_captions
from weft.domains.captions.reading.questions import read_questions
from weft.domains.pictures.reading.trying import read_images
from weft.domains.recognising import recognise

decoded_here()


def members(count: int, start: int = 0, **beside: Any) -> dict[str, bytes]:
    """Pictures, and beside each what a function of its number gives."""
    found = {}
    for n in range(start, start + count):
        found[f"{n:06}.png"] = encoded(scene(seed=n))
        for ending, said in beside.items():
            found[f"{n:06}.{ending}"] = said(n).encode()
    return found


def shards(folder: Path, each: int = 8, **beside: Any) -> Path:
    folder.mkdir()
    for n in range(2):
        tarred(folder / f"shard-{n:06}.tar", members(each, n * each, **beside))
    return folder


def task_of(place: Path) -> str:
    return recognise([str(place)])[0].name


def fields(n: int, **more: Any) -> str:
    return json.dumps({"number": n, **more})


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("ending", ["cls", "json"])
def test_a_class_stands_beside_each_picture(tmp_path: Path, packed: bool, ending: str) -> None:
    said = {"cls": lambda n: "cat\n" if n % 2 else "dog", "json": lambda n: fields(n, label="cat" if n % 2 else "dog")}
    if packed:
        place = tarred(tmp_path / "all.tar", members(16, **{ending: said[ending]}))
    else:
        place = shards(tmp_path / "data", **{ending: said[ending]})
    album = read_images([place]).train
    assert len(album) == 16 and album.classes == ("cat", "dog") and not album.skipped
    assert album.names[9].endswith("000009.png") and album.labels is not None and album.labels[9] == "cat"
    assert task_of(place) == "classify-images"


def test_what_has_no_class_is_named(tmp_path: Path) -> None:
    some = members(20, cls=lambda n: str(n % 3))
    del some["000004.cls"]
    album = read_images([tarred(tmp_path / "all.tar", some)]).train
    assert len(album) == 19 and album.classes == ("0", "1", "2")
    assert "no .cls file" in dict(album.skipped)["000004.png"]


def test_classes_by_folders_stay_so_in_each_archive_of_a_set(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    for n in range(2):
        some = {f"{'ab'[k % 2]}/{n}{k}.png": encoded(scene(seed=10 * n + k)) for k in range(8)}
        tarred(tmp_path / "data" / f"{n}.tar", some)
    assert read_images([tmp_path / "data"]).train.classes == ("a", "b")
    assert len(read_images([tmp_path / "data"], labels=False).train) == 16


def test_captions_stand_beside_pictures_as_texts_or_in_fields(tmp_path: Path) -> None:
    texts = shards(tmp_path / "texts", txt=lambda n: f"a scene that is number {n}")
    both = shards(tmp_path / "both", txt=lambda n: f"a scene that is number {n}", json=lambda n: fields(n, width=40))
    said = shards(tmp_path / "said", json=lambda n: fields(n, caption=f"a scene that is number {n}"))
    for place in (texts, both, said):
        found = read_captions([place]).train
        assert found.captions[11] == ("a scene that is number 11",) and len(found) == 16
        assert task_of(place) == "caption"


def test_questions_stand_beside_pictures_in_fields(tmp_path: Path) -> None:
    place = shards(tmp_path / "asked", json=lambda n: fields(n, question="How many?", answers=[str(n), "some"]))
    found = read_questions([place]).train
    assert found.questions[5][0].text == "How many?" and found.questions[5][0].answers == ("5", "some")
    assert task_of(place) == "answer"


def test_a_folder_with_pictures_of_its_own_is_no_set_of_archives(tmp_path: Path) -> None:
    place = shards(tmp_path / "data", cls=lambda n: str(n % 2))
    for n in range(4):
        write(place / "ab"[n % 2] / f"{n}.png", encoded(scene(seed=50 + n)))
    assert len(read_images([place]).train) == 4
