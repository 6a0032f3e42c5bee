import os
import shutil
import socket
from pathlib import Path

import numpy as np
import pytest
from helpers.pictures import encoded, files, pets, reasons, scene, tarred, write, wrong, zipped
from PIL import Image

from weft.domains.pictures.reading.recognising import judge, judge_alone
from weft.domains.pictures.reading.trying import find_pictures, read_images
from weft.domains.recognising import recognise
from weft.errors import ConfigError, DataError
from weft.files.pictures.locations import is_one_picture
from weft.files.survey import Survey

# Folders


def test_the_first_folder_below_the_root_is_the_class(tmp_path: Path):
    pets(tmp_path, 2)
    write(tmp_path / "dog/puppies/small/9.jpg", encoded(scene(seed=9), "JPEG"))
    album = read_images([tmp_path]).train
    assert album.names == ("cat/0.png", "cat/1.png", "dog/0.png", "dog/1.png", "dog/puppies/small/9.jpg")
    assert album.labels == ("cat", "cat", "dog", "dog", "dog") and album.classes == ("cat", "dog")
    assert len(album) == 5 and album.scales is None and album.notes == {} and album.skipped == ()
    assert np.array_equal(album.read(0).pixels, scene(seed=0))
    assert np.array_equal(album.read(2).pixels, scene(seed=100))


def test_classes_that_are_numbers_stand_in_their_order(tmp_path: Path):
    assert read_images([pets(tmp_path, 1, ("10", "9", "2", "other"))]).train.classes == ("2", "9", "10", "other")


def test_a_picture_without_a_class_is_an_error_that_shows_a_layout(tmp_path: Path):
    write(pets(tmp_path) / "loose.png", encoded(scene()))
    error = wrong(tmp_path)
    assert "loose.png" in error.problem and "pets/cat/1.jpg" in error.fix
    assert "path and label" in wrong(tmp_path / "loose.png").fix
    album = read_images([tmp_path], labels=False).train
    assert album.labels is None and album.classes == () and len(album) == 7 and "loose.png" in album.names


@pytest.mark.parametrize("header", ["id,breed", "file,label,width"])
def test_a_table_in_a_folder_gives_its_pictures_their_classes(tmp_path: Path, header: str):
    rows = [[f"{i}.png"[: 5 if "file" in header else -4], "cat" if i % 3 else "dog", "64"] for i in range(6)]
    for i in range(8):
        write(tmp_path / f"{'train' if i < 6 else 'test'}/{i}.png", encoded(scene(seed=i)))
    lines = [",".join(row[: header.count(",") + 1]) for row in rows]
    if header == "id,breed":  # two folders could be classes: the name of the column must say that it has them
        shutil.rmtree(tmp_path / "test")
    (tmp_path / "train.csv").write_text("\n".join([header, *lines]))
    (tmp_path / "sample_submission.csv").write_text("file,label\ntest/6.png,cat\ntest/7.png,cat\n")
    card, why = recognise([str(tmp_path)])
    assert card.name == "classify-images" and "train.csv" in why
    album = read_images([tmp_path]).train
    assert album.labels == ("dog", "cat", "cat", "dog", "cat", "cat") and len(album) == 6


def test_a_table_of_other_things_leaves_the_folders_their_say(tmp_path: Path):
    pets(tmp_path, 3)
    (tmp_path / "sides.csv").write_text("path,side\n" + "".join(f"cat/{i}.png,{'lr'[i % 2]}\n" for i in range(3)))
    assert read_images([tmp_path]).train.classes == ("cat", "dog")


def test_one_class_is_an_error(tmp_path: Path):
    error = wrong(pets(tmp_path, 3, ("cat",)))
    assert "one class, 'cat'" in error.problem and error.fix


def test_folders_around_all_classes_do_not_count(tmp_path: Path):
    pets(tmp_path / "download/pets")
    assert read_images([tmp_path]).train.classes == ("cat", "dog")


@pytest.mark.parametrize("name", ["val", "valid", "Validation", "test"])
def test_folders_say_what_is_held_out(tmp_path: Path, name: str):
    pets(tmp_path / "data/train", 3)
    pets(tmp_path / "data" / name, 2)
    found = read_images([tmp_path])
    assert len(found.train) == 6 and found.train.classes == ("cat", "dog")
    assert found.held_out is not None and len(found.held_out) == 4 and found.held_out.classes == ("cat", "dog")
    assert found.train.notes == {"held out, but equal to a picture to learn from": 4}


def test_of_val_and_test_the_first_is_held_out_and_the_other_listed(tmp_path: Path):
    for name in ("train", "val", "test"):
        pets(tmp_path / name, 1)
    found = read_images([tmp_path])
    assert found.held_out is not None and found.held_out.names == ("val/cat/0.png", "val/dog/0.png")
    assert reasons(found.train) == dict.fromkeys(("test/cat/0.png", "test/dog/0.png"), "neither in train nor in val")


def test_what_is_no_picture_is_listed_with_the_reason(tmp_path: Path):
    pets(tmp_path)
    for name in (".DS_Store", "cat/Thumbs.db", "__MACOSX/cat/._0.png", "README.txt", "cat/.hidden.png"):
        write(tmp_path / name, "text")
    write(tmp_path / "cat/nameless", encoded(scene(seed=5)))
    os.mkfifo(tmp_path / "cat/pipe.png")
    (tmp_path / "dog/loop").symlink_to(tmp_path)
    (tmp_path / "dog/gone.png").symlink_to(tmp_path / "nowhere")
    write(tmp_path / "run/config.json", "{}")
    write(tmp_path / "run/metrics.jsonl", "")
    write(tmp_path / "run/loss.png", encoded(scene()))
    album = read_images([tmp_path], skip=0).train
    assert "cat/nameless" in album.names and len(album) == 7
    assert reasons(album) == {
        ".DS_Store": "hidden",
        "__MACOSX": "left by the system",
        "README.txt": "not a picture",
        "cat/.hidden.png": "hidden",
        "cat/Thumbs.db": "left by the system",
        "cat/pipe.png": "a named pipe",
        "dog/gone.png": "cannot be read: No such file or directory",
        "dog/loop": "a folder already read",
        "run": "a run of weft's, not data",
    }


def test_a_missing_or_empty_source_says_so(tmp_path: Path):
    pets(tmp_path / "pets")
    assert "did you mean 'pets'" in wrong(tmp_path / "pest").fix
    write(tmp_path / "empty/notes.txt", "text")
    error = wrong(tmp_path / "empty")
    assert "0 pictures" in error.problem and "notes.txt: not a picture" in error.problem
    assert "no data was named" in wrong().problem
    os.mkfifo(tmp_path / "pipe")
    assert "a named pipe" in wrong(tmp_path / "pipe").problem


def test_several_sources_are_one_album_and_names_tell_them_apart(tmp_path: Path):
    pets(tmp_path / "a", 1)
    pets(tmp_path / "b", 1, ("cat", "fox"))
    album = read_images([tmp_path / "a", tmp_path / "b"]).train
    assert album.classes == ("cat", "dog", "fox") and len(set(album.names)) == 4
    assert album.names[2] == f"{tmp_path}/b/cat/0.png"


def test_a_pattern_gives_classes_too(tmp_path: Path):
    pets(tmp_path, 2)
    album = read_images([tmp_path / "*" / "1.png"]).train
    assert album.names == ("cat/1.png", "dog/1.png") and album.labels == ("cat", "dog")


# What is bad


def spoil(root: Path, count: int) -> None:
    for i in range(count):
        write(root / f"cat/bad{i:02}.jpg", b"<html>not found</html>")


def test_a_few_bad_pictures_are_left_out_and_listed(tmp_path: Path):
    pets(tmp_path)
    spoil(tmp_path, 1)
    album = read_images([tmp_path]).train
    assert len(album) == 6 and list(reasons(album)) == ["cat/bad00.jpg"]
    assert "a web page" in reasons(album)["cat/bad00.jpg"]


def test_more_are_refused_with_a_list(tmp_path: Path):
    pets(tmp_path)
    spoil(tmp_path, 12)
    error = wrong(tmp_path)
    assert error.exit_code == 2 and "12 of 18 pictures" in error.problem and "allowed: 1" in error.problem
    assert "cat/bad09.jpg: not a picture" in error.problem and "bad10" not in error.problem
    assert "and 2 more" in error.problem


@pytest.mark.parametrize("skip, fine", [(0, False), (1, False), (2, True), (0.1, False), (0.25, True), (1.0, True)])
def test_skip_is_a_number_or_a_share(tmp_path: Path, skip: float, fine: bool):
    pets(tmp_path)
    spoil(tmp_path, 2)  # of 8
    if fine:
        assert len(read_images([tmp_path], skip=skip).train) == 6
    else:
        wrong(tmp_path, skip=skip)


@pytest.mark.parametrize("skip", [-1, 1.5, True, float("nan")])
def test_a_skip_that_means_nothing_is_refused(tmp_path: Path, skip: float):
    with pytest.raises(ConfigError, match="share"):
        read_images([tmp_path], skip=skip)


def test_a_bad_picture_that_is_held_out_is_listed_there(tmp_path: Path):
    pets(tmp_path / "train")
    write(pets(tmp_path / "val") / "cat/bad.png", b"")
    found = read_images([tmp_path])
    assert found.train.skipped == () and found.held_out is not None
    assert found.held_out.skipped == (("val/cat/bad.png", "0 bytes, not a picture"),)


def test_if_all_are_bad_nothing_is_left_to_learn_from(tmp_path: Path):
    write(tmp_path / "cat/0.png", b"")
    assert "0 pictures to learn from" in wrong(tmp_path).problem


def test_progress_is_told(tmp_path: Path):
    told: list[tuple[int, int]] = []
    read_images([pets(tmp_path)], progress=lambda done, total: told.append((done, total)))
    assert told == [(i, 6) for i in range(1, 7)]


def test_notes_count_pictures_and_repetitions(tmp_path: Path):
    pets(tmp_path, 2)
    write(tmp_path / "cat/x.jpg", encoded(scene(seed=7)))
    write(tmp_path / "dog/y.jpg", encoded(scene(seed=8)))
    shutil.copy(tmp_path / "cat/0.png", tmp_path / "dog/same.png")
    shutil.copy(tmp_path / "dog/1.png", tmp_path / "dog/twice.png")
    assert read_images([tmp_path]).train.notes == {
        "a PNG named .jpg": 2,
        "equal to an earlier picture": 2,
        "equal to a picture of another class": 2,
    }


# Reading


def test_what_is_kept_and_what_is_decoded_anew_are_the_same(tmp_path: Path):
    exif = Image.Exif()
    exif[0x0112] = 6
    write(tmp_path / "a/large.jpg", encoded(scene(300, 500), "JPEG", exif=exif.tobytes()))
    write(tmp_path / "a/small.png", encoded(scene(60, 50)))
    write(tmp_path / "b/clear.png", encoded(np.dstack([scene(200, 200), scene(200, 200)[..., 0] // 200 * 255])))
    write(tmp_path / "b/wide.tif", encoded((scene(128, 140)[..., 0].astype(np.uint16) * 250), "TIFF"))
    kept, anew = read_images([tmp_path]).train, read_images([tmp_path], keep=0).train
    assert all(p.kept is not None for p in kept.pictures) and all(p.kept is None for p in anew.pictures)
    for index in range(4):
        for side in (None, 8, 50, 127, 128, 129, 1000):
            first, second = kept.read(index, side), anew.read(index, side)
            assert np.array_equal(first.pixels, second.pixels), (kept.names[index], side)
            assert (first.missing is None) == (second.missing is None)
            assert first.missing is None or np.array_equal(first.missing, second.missing)
            assert first.pixels.flags.writeable and first.notes == second.notes
    assert kept.read(0).pixels.shape == (500, 300, 3)


def test_no_more_is_kept_than_there_is_room_for(tmp_path: Path):
    album = read_images([pets(tmp_path)], keep=2 * scene().nbytes + 1).train
    assert [p.kept is not None for p in album.pictures] == [True] * 2 + [False] * 4


def test_nothing_is_read_again_that_is_kept(tmp_path: Path):
    album = read_images([pets(tmp_path)]).train
    shutil.rmtree(tmp_path)
    assert album.read(5, 16).pixels.shape == (16, 21, 3)


def test_a_picture_that_changes_under_way_is_refused(tmp_path: Path):
    album = read_images([pets(tmp_path)], keep=0).train
    write(tmp_path / "cat/0.png", encoded(scene(seed=77)))
    with pytest.raises(DataError, match="changed"):
        album.read(0)


def test_the_fingerprint_follows_names_labels_and_contents(tmp_path: Path):
    pets(tmp_path / "a")
    before = read_images([tmp_path / "a"]).train.fingerprint
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    assert read_images([tmp_path / "b"]).train.fingerprint == before
    assert read_images([tmp_path / "b"], labels=False).train.fingerprint != before
    (tmp_path / "b/cat/0.png").rename(tmp_path / "b/cat/z.png")
    renamed = read_images([tmp_path / "b"]).train.fingerprint
    write(tmp_path / "a/cat/0.png", encoded(scene(seed=50)))
    changed = read_images([tmp_path / "a"]).train.fingerprint
    assert len({before, renamed, changed}) == 3


def test_a_part_of_an_album_has_its_own_names_and_fingerprint(tmp_path: Path):
    album = read_images([pets(tmp_path)]).train
    part = album.take(np.array([4, 0]))
    assert part.names == ("dog/1.png", "cat/0.png") and part.labels == ("dog", "cat")
    assert part.fingerprint not in (album.fingerprint, album.take([0, 4]).fingerprint)
    assert np.array_equal(part.read(0).pixels, album.read(4).pixels)


# Recognition and prediction


def looks_like_images(source: Path) -> bool:
    return judge(Survey([source])).level == "sure"


def test_pictures_without_classes_are_nothing_to_classify(tmp_path: Path):
    root = pets(tmp_path / "pets")
    assert judge(Survey([root / "cat"])).level == "no" and judge_alone(Survey([root / "cat"])).level == "possible"
    assert judge_alone(Survey([root])).level == "no"
    for one in (root / "cat/0.png", write(tmp_path / "nameless", encoded(scene()))):
        assert is_one_picture(Survey([one])) and judge_alone(Survey([one])).level == judge(Survey([one])).level == "no"
    assert recognise([str(root / "cat/0.png")])[0].name == "fit-field"
    with pytest.raises(DataError, match="without classes") as caught:
        recognise([str(root / "cat")])
    assert "--task reconstruct-images" in caught.value.fix and "--task distill-images" in caught.value.fix


def test_what_holds_pictures_is_recognised(tmp_path: Path):
    root = pets(tmp_path / "pets")
    np.savez(tmp_path / "x.npz", X=np.zeros((2, 4, 4)), y=np.zeros(2))
    yes = [root, zipped(tmp_path / "a.zip", files(root)), tarred(tmp_path / "a.tgz", files(root), "w:gz")]
    yes += [tmp_path / "x.npz", write(tmp_path / "t.csv", "path,label\npics/cat/0.png,cat\n")]
    assert all(looks_like_images(source) for source in yes)
    np.savez(tmp_path / "other.npz", weights=np.zeros((2, 4, 4)))
    np.savez(tmp_path / "flat.npz", x=np.zeros((2, 4)))
    write(tmp_path / "docs/a.txt", "text")
    write(tmp_path / "docs/b.txt", "text")
    write(tmp_path / "docs/c.png", encoded(scene()))
    no = [tmp_path / name for name in ("other.npz", "flat.npz", "docs", "docs/a.txt", "none")]
    no += [write(tmp_path / "p.tsv", "en\tfr\nhello\tsalut\n"), write(tmp_path / "q.csv", "path,text\na.txt,b\n")]
    no += [write(tmp_path / "b.zip", b"PK no zip"), zipped(tmp_path / "c.zip", {"a.txt": b"x"})]
    no += [write(tmp_path / "empty.csv", ""), write(tmp_path / "header.csv", "path,label\n")]
    os.mkfifo(tmp_path / "pipe")
    assert not any(looks_like_images(source) for source in [*no, tmp_path / "pipe"])


def test_pictures_to_predict_come_in_the_order_named_and_are_not_read_yet(tmp_path: Path):
    root = pets(tmp_path / "pets", 2)
    bad = write(tmp_path / "bad.png", b"")
    packed = zipped(tmp_path / "a.zip", {"val/1.png": encoded(scene()), "train/0.png": encoded(scene())})
    album = find_pictures([root / "dog/1.png", bad, str(root / "cat/*.png"), packed])
    front = [str(root / "dog/1.png"), str(bad)]
    assert album.names[:2] == tuple(front) and len(album) == 6 and album.labels is None
    assert [Path(name).name for name in album.names[2:]] == ["0.png", "1.png", "0.png", "1.png"]
    assert np.array_equal(album.read(0).pixels, scene(seed=101))
    with pytest.raises(DataError, match="0 bytes"):
        album.read(1)
    assert len(album.take([0, 2]).fingerprint) == 64
    assert find_pictures(root / "dog/1.png").names == (str(root / "dog/1.png"),)


def test_names_are_fit_to_be_shown(tmp_path: Path):
    write(pets(tmp_path) / "cat/\x1b[31mred\n.png", encoded(scene(seed=40)))
    album = read_images([tmp_path]).train
    assert all(name.isprintable() for name in album.names) and len(album) == 7


def test_a_socket_in_a_folder_never_makes_weft_wait(tmp_path: Path):
    pets(tmp_path)
    with socket.socket(socket.AF_UNIX) as plug:
        plug.bind(str(tmp_path / "cat/s.png"))
        assert reasons(read_images([tmp_path]).train) == {"cat/s.png": "a socket"}


def test_a_file_larger_than_any_picture_is_not_read(tmp_path: Path):
    with (pets(tmp_path) / "cat/huge.png").open("wb") as file:
        file.truncate(2**40)
    assert "1,099,511,627,776 bytes, more than" in reasons(read_images([tmp_path]).train)["cat/huge.png"]
