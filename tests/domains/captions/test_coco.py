"""Captions as published: COCO's JSON and the lines of Flickr8k, recognised by what they hold; faults named."""

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.pictures import encoded, scene, write

from weft.domains.captions.reading.captions import judge, read_captions
from weft.domains.captions.reading.coco import is_coco
from weft.domains.pictures.reading.album import Album
from weft.domains.recognising import recognise
from weft.errors import DataError
from weft.files import json_values as json_files
from weft.files.survey import Survey

NAMES = tuple(f"COCO_val2014_{number:012d}.jpg" for number in (9, 25, 30))
IMAGES = [{"id": number, "file_name": name} for number, name in zip((9, 25, 30), NAMES, strict=True)]
SAID = [{"image_id": n, "id": i, "caption": f"A dog runs {i}."} for i, n in enumerate((25, 9, 9, 30))]
LINES = "".join(f"{name}#{i}\t{text}\n" for name in NAMES for i, text in enumerate(('"A" dog , runs .', "Two men .")))


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    for seed, name in enumerate(NAMES):
        write(tmp_path / "photos" / name, encoded(scene(seed=seed), "JPEG"))
    return tmp_path / "photos"


def coco(path: Path, images: Any = IMAGES, said: Any = SAID) -> Path:
    return write(path, json.dumps({"info": {"year": 2014}, "images": images, "annotations": said}))


def found(*sources: Path, **options: object) -> Album:
    return read_captions(sources, **options).train


def wrong(*sources: Path) -> str:
    with pytest.raises(DataError) as caught:
        found(*sources, skip=0)
    return str(caught.value)


def test_coco_is_recognised_and_read_whichever_list_comes_first(photos: Path):
    turned = write(photos.parent / "turned.json", json.dumps({"annotations": SAID, "images": IMAGES}))
    for file in (coco(photos.parent / "captions_val2014.json"), turned):
        assert judge(Survey([file, photos])).why == "captions of pictures in COCO's form"
        album = found(file, photos)
        assert album.names == (NAMES[1], NAMES[0], NAMES[2]) and album.captions[1] == ("A dog runs 1.", "A dog runs 2.")
        assert found(file).captions == album.captions, "the pictures are in a folder beside it"


def long_coco(path: Path) -> Path:
    """A file in the order of COCO's own: what stands in its middle is more than 64 KiB from both ends."""
    images = [{"license": 5, "file_name": f"{i:09d}.jpg", "height": 640, "id": 1000 + i} for i in range(1500)]
    said = [{"image_id": 25, "id": i, "caption": f"A dog runs over the green grass {i}."} for i in range(1500)]
    licenses = [{"url": "http://example.org/by-nc-sa", "id": 1, "name": "a license"}]
    data = {"info": {"year": 2014}, "images": IMAGES + images, "licenses": licenses, "annotations": SAID + said}
    text = json.dumps(data)
    assert min(text.index('"annotations"'), len(text) - text.index('"annotations"')) > 2**16
    return write(path, text)


def test_a_long_file_in_the_order_of_coco_is_recognised(photos: Path):
    file = long_coco(photos.parent / "captions_train2014.json")
    assert recognise([str(file), str(photos)])[0].name == "caption"
    assert found(file, photos).names == (NAMES[1], NAMES[0], NAMES[2])


def test_a_file_is_not_read_again_for_keys_that_are_known(photos: Path, monkeypatch: pytest.MonkeyPatch):
    file, read = coco(photos.parent / "c.json"), []
    original = json_files.read_text
    monkeypatch.setattr(json_files, "read_text", lambda path: read.append(path) or original(path))
    assert is_coco(file) and not json_files.has_keys(file, ("images", "question_id")) and len(read) == 2
    assert is_coco(file) and not json_files.has_keys(file, ("question_id", "answers")) and len(read) == 2
    coco(file, said=[{"image_id": 9, "bbox": []}])
    assert not is_coco(file), "it was written anew"


def test_a_key_that_is_cut_in_two_by_a_piece_is_found(photos: Path, monkeypatch: pytest.MonkeyPatch):
    for size in (5, 64):
        monkeypatch.setattr("weft.files.decoding.CHUNK", size)
        assert is_coco(coco(photos.parent / f"c{size}.json"))


def test_other_json_is_no_captions(photos: Path):
    boxes = write(
        photos.parent / "boxes.json", json.dumps({"images": IMAGES, "annotations": [{"image_id": 9, "bbox": []}]})
    )
    assert not judge(Survey([boxes, photos])) and not judge(Survey([write(photos.parent / "x.json", "{}"), photos]))


@pytest.mark.parametrize(("text", "form"), [
    (LINES, "in the form of Flickr8k"),
    ("image,caption\n" + "".join(f'{name},"Two, men"\n' for name in NAMES), "in the form of Flickr8k"),
])  # fmt: skip
def test_lines_of_flickr8k_are_recognised_and_read(text: str, form: str, photos: Path):
    file = write(photos.parent / "Flickr8k.token.txt", text)
    assert form in judge(Survey([file, photos])).why
    expected = ('"A" dog , runs .', "Two men .") if "#" in text else ("Two, men",)
    assert found(file, photos).captions == (expected,) * 3
    assert not judge(Survey([write(photos.parent / "prose.txt", "A dog runs.\nTwo men sit.\n"), photos]))


@pytest.mark.parametrize("text", [LINES, "image,caption\n" + "".join(f"{name},Two men\n" for name in NAMES)])
def test_a_folder_with_the_captions_of_flickr8k_beside_its_pictures_is_recognised(text: str, photos: Path):
    write(photos.parent / "captions.txt", text)
    write(photos.parent / "readme.txt", "Two men wrote this.\n")
    assert recognise([str(photos.parent)])[0].name == "caption"
    assert sorted(found(photos.parent).names) == sorted(NAMES)


def test_where_a_folder_has_many_texts_none_is_opened_as_a_table(photos: Path, monkeypatch: pytest.MonkeyPatch):
    for number in range(30):
        write(photos.parent / f"{number}.txt", LINES)
    monkeypatch.setattr("weft.domains.captions.reading.captions.is_counted", lambda path: pytest.fail("opened"))
    assert not judge(Survey([photos.parent]))


COCO_FAULTS: dict[str, tuple[Any, Any, str]] = {
    "unknown image": (IMAGES, [*SAID, {"image_id": 7, "caption": "a cat"}],
                      "annotations[4]: a caption for the image 7"),
    "empty caption": (IMAGES, [*SAID, {"image_id": 9, "caption": " "}],
                      "annotations[4]: COCO_val2014_000000000009.jpg: no caption"),
    "caption of 1 MB": (IMAGES, [*SAID, {"image_id": 9, "caption": "x" * 2**20}], "a caption of 1,048,576 characters"),
    "no caption": (IMAGES, [*SAID, {"image_id": 9}], 'annotations[4]: no field "caption"'),
    "a number": (IMAGES, [*SAID, {"image_id": 9, "caption": 3}], 'the field "caption" is a number'),
    "no id": (IMAGES, [*SAID, {"image_id": None, "caption": "a cat"}],
              'expected a whole number or a text in "image_id", found null'),
    "half an id": (IMAGES, [*SAID, {"image_id": 1.0, "caption": "a cat"}],
                   'expected a whole number or a text in "image_id", found 1.0'),
    "no object": (IMAGES, [*SAID, "a cat"], "annotations[4]: expected an object, found a string"),
    "two of one id": ([*IMAGES, {"id": 9, "file_name": "other.jpg"}], SAID,
                      "images[3]: a second picture with the id 9"),
    "no file": ([*IMAGES, {"id": 7}], SAID, 'images[3]: no field "file_name"'),
}  # fmt: skip


@pytest.mark.parametrize("fault", COCO_FAULTS)
def test_a_fault_in_coco_is_named_with_its_place_and_refused_or_left_out(fault: str, photos: Path):
    images, said, message = COCO_FAULTS[fault]
    file = coco(photos.parent / "c.json", images, said)
    assert message in wrong(file, photos)
    album = found(file, photos, skip=1)
    assert len(album) == 3 and any(message.split(": ")[-1] in reason for _, reason in album.skipped)


def test_a_picture_that_is_missing_is_named(photos: Path):
    gone = [*IMAGES, {"id": 7, "file_name": "gone.jpg"}]
    file = coco(photos.parent / "c.json", gone, [*SAID, {"image_id": 7, "caption": "a cat"}])
    assert "c.json, annotations[4]: gone.jpg: a caption without a picture" in wrong(file, photos)


def test_damaged_json_is_refused_with_its_place(photos: Path):
    whole = coco(photos.parent / "c.json").read_text()
    cut = write(photos.parent / "cut.json", whole.replace('"images"', '\n"images"')[:-2] + ',, "caption": 1}')
    assert "cut.json, line 2: not valid JSON at column" in wrong(cut, photos)
    twice = write(photos.parent / "twice.json", whole.replace('"info"', '"images": 1, "info"'))
    assert "the key 'images' stands twice" in wrong(twice, photos)
    flat = write(photos.parent / "flat.json", whole.replace('"images": [', '"images": 1, "x": ['))
    assert 'no list "images" in it' in wrong(flat, photos)


def test_a_line_without_a_tab_is_named(photos: Path):
    file = write(photos.parent / "token.txt", LINES * 4 + "a line of another kind\n")
    assert "token.txt, line 25: no tab in it" in wrong(file, photos)
