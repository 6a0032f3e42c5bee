"""Links and paths that lead out of the data: left out and listed, or refused, unless the user allows them."""

import os
from pathlib import Path

import pytest
from helpers.pictures import encoded, pets, scene, write

from weft.domains.captions.reading import captions, questions
from weft.domains.captions.reading.captions import read_captions
from weft.domains.captions.reading.questions import read_questions
from weft.domains.fields.reading.opening import find_stores
from weft.domains.pictures.reading.trying import read_images
from weft.errors import DataError
from weft.files.bounds import OUTSIDE, outside_allowed
from weft.files.finding import find
from weft.files.survey import Survey


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A folder beside the data, with a text and a picture."""
    write(tmp_path / "private/cat/secret.png", encoded(scene(seed=99)))
    (tmp_path / "private/letter.txt").write_text("nobody should read this")
    return tmp_path / "private"


def test_links_within_the_data_are_followed_and_those_that_leave_it_are_listed(tmp_path: Path, secret: Path):
    data = tmp_path / "data"
    (data / "inner").mkdir(parents=True)
    (data / "inner/a.txt").write_text("a")
    (data / "b.txt").symlink_to(data / "inner/a.txt")
    (data / "up").symlink_to("..")
    (data / "letter.txt").symlink_to(secret / "letter.txt")
    for source in (data, data / "*"):
        found = find([source], (".txt",))
        assert [path.name for path in found.paths] == ["b.txt"]
        assert {Path(name).name for name, reason in found.skipped if reason == OUTSIDE} == {"letter.txt", "up"}
    with outside_allowed(True):
        assert [path.name for path in find([data], (".txt",)).paths] == ["b.txt", "letter.txt"]


def test_a_folder_that_is_itself_a_link_is_what_the_user_named(tmp_path: Path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real/a.txt").write_text("a")
    (tmp_path / "named").symlink_to(tmp_path / "real")
    assert len(find([tmp_path / "named"], (".txt",)).paths) == 1


def test_pictures_behind_links_that_leave_the_folder_are_listed(tmp_path: Path, secret: Path):
    data = pets(tmp_path / "data", 3)
    (data / "cat/stolen.png").symlink_to(secret / "cat/secret.png")
    (data / "all").symlink_to("..")
    found = read_images([data]).train
    assert len(found) == 6 and {name for name, reason in found.skipped if reason == OUTSIDE} == {
        "cat/stolen.png",
        "all",
    }
    assert len(read_images([data / "*"]).train) == 6
    with outside_allowed(True):
        assert "cat/stolen.png" in read_images([data], labels=False).train.names


@pytest.mark.parametrize("absolute", [True, False])
def test_paths_of_a_table_stay_in_its_folder(absolute: bool, tmp_path: Path, secret: Path):
    data = pets(tmp_path / "data", 3)
    away = str(secret / "cat/secret.png") if absolute else "../private/cat/secret.png"
    rows = [f"{name}/{i}.png,{name}" for name in ("cat", "dog") for i in range(3)] + [f"{away},cat"]
    (data / "table.csv").write_text("\n".join(["path,label", *rows]))
    found = read_images([data / "table.csv"], skip=1).train
    assert len(found) == 6 and found.skipped[0][1] == f"the path {OUTSIDE}"
    with outside_allowed(True):
        assert len(read_images([data / "table.csv"]).train) == 7


def test_captions_are_about_pictures_beside_them(tmp_path: Path, secret: Path):
    data = pets(tmp_path / "data", 3)
    rows = [f"{name}/{i}.png\ta {name} at rest" for name in ("cat", "dog") for i in range(3)]
    (data / "table.tsv").write_text("\n".join(["image\tcaption", *rows, f"{secret}/cat/secret.png\ta secret"]))
    found = read_captions([data / "table.tsv"], skip=1).train
    assert len(found) == 6 and any(OUTSIDE in reason for _, reason in found.skipped)
    with pytest.raises(DataError, match="leads out of the data's folder"):
        read_captions([data / "table.tsv"], skip=0)


def test_a_table_in_a_folder_that_is_a_link_out_of_it_is_not_read(tmp_path: Path, secret: Path):
    (secret / "c.tsv").write_text("image\tcaption\ncat/0.png\ta cat at rest\n")
    (secret / "q.tsv").write_text("image\tquestion\tanswer\ncat/0.png\tWhat is it?\ta cat\n")
    data = pets(tmp_path / "data", 3)
    for name in ("c.tsv", "q.tsv"):
        (data / name).symlink_to(secret / name)
    survey = Survey([data])
    assert not captions.judge(survey) and not questions.judge(survey)
    with pytest.raises(
        DataError, match=r"no questions about pictures in it; c.tsv, q.tsv leads out of the data's folder"
    ):
        read_questions([data])
    with outside_allowed(True):
        assert captions.judge(survey) and questions.judge(survey) and len(read_questions([data]).train) == 1
    (data / "own.tsv").write_text("image\tcaption\ncat/1.png\ta dog at rest\n")
    found = read_captions([data]).train
    assert found.captions == (("a dog at rest",),) and ("c.tsv", OUTSIDE) in found.skipped


def test_a_pipe_among_files_of_fields_is_left_out_and_never_waited_for(tmp_path: Path):
    write(tmp_path / "data/a.nc", b"")
    os.mkfifo(tmp_path / "data/pipe.nc")
    (tmp_path / "data/null.nc").symlink_to("/dev/null")
    with outside_allowed(True):
        found = find_stores([tmp_path / "data"])
    assert [path.name for path in found.paths] == ["a.nc"]
    assert found.notes == [f"{tmp_path}/data/null.nc is a device", f"{tmp_path}/data/pipe.nc is a named pipe"]
    assert find_stores([tmp_path / "data/[ap]*.nc"]).paths == found.paths
    with pytest.raises(DataError, match="expected a file or folder, found a named pipe"):
        find_stores([tmp_path / "data/pipe.nc"])


def test_links_among_files_of_fields_are_measured_from_the_folder_that_was_named(tmp_path: Path):
    write(tmp_path / "private/secret.nc", b"")
    data = tmp_path / "data"
    write(data / "b.nc", b"")
    (data / "sub").mkdir()
    (data / "sub/a.nc").symlink_to("../b.nc")
    (data / "sub/c.nc").symlink_to(tmp_path / "private/secret.nc")
    found = find_stores([data])
    assert [path.name for path in found.paths] == ["a.nc"] and found.notes == [f"{data}/sub/c.nc {OUTSIDE}"]
    with pytest.raises(DataError, match="no file of fields is there; .*a.nc leads out of the data's folder"):
        find_stores([data / "sub"])
    with outside_allowed(True):
        assert [path.name for path in find_stores([data]).paths] == ["a.nc", "c.nc"]


def test_a_picture_behind_a_link_out_of_a_folder_beside_the_table_is_said_to_lead_out(tmp_path: Path, secret: Path):
    data = tmp_path / "data"
    write(data / "photos/a.png", encoded(scene()))
    (data / "photos/b.png").symlink_to(secret / "cat/secret.png")
    (data / "table.tsv").write_text("image\tcaption\na.png\ta cat at rest\nb.png\ta secret\n")
    with pytest.raises(DataError, match="b.png: the path leads out of the data's folder"):
        read_captions([data / "table.tsv"], skip=0)
