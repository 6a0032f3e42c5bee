import gzip
import os
import pickle
import stat
import tarfile
import threading
import zipfile
from pathlib import Path

import numpy as np
import pytest
from helpers.pictures import encoded, files, pets, reasons, scene, tarred, write, wrong, zipped

from weft.domains.pictures.reading.album import Album
from weft.domains.pictures.reading.trying import read_images
from weft.errors import DataError
from weft.files.pictures import archives


def archive(tmp_path: Path, kind: str, members: dict[str, bytes]) -> Path:
    path = tmp_path / f"pets.{kind}"
    return (
        zipped(path, members)
        if kind == "zip"
        else tarred(path, members, {"tar": "w", "tar.gz": "w:gz", "txz": "w:xz"}[kind])
    )


@pytest.mark.parametrize("kind", ["zip", "tar", "tar.gz", "txz"])
def test_an_archive_is_read_as_its_folder_is(tmp_path: Path, kind: str):
    members = files(pets(tmp_path / "pets"))
    path = archive(tmp_path, kind, dict(reversed(members.items())))
    before = sorted(tmp_path.iterdir())
    packed, plain = read_images([path], keep=0).train, read_images([tmp_path / "pets"]).train
    assert packed.names == plain.names and packed.labels == plain.labels
    assert packed.fingerprint == plain.fingerprint
    for index in (5, 0, 3):
        assert np.array_equal(packed.read(index).pixels, plain.read(index).pixels)
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("kind", ["zip", "tar", "tar.gz"])
def test_threads_and_other_processes_read_an_archive(tmp_path: Path, kind: str):
    album = read_images([archive(tmp_path, kind, files(pets(tmp_path / "pets", 20)))], keep=0).train
    wanted, wrong_ones = [album.read(i).pixels for i in range(40)], []

    def check(album: Album, seed: int) -> None:
        for i in np.random.default_rng(seed).permutation(40):
            if not np.array_equal(album.read(i).pixels, wanted[i]):
                wrong_ones.append(i)

    threads = [threading.Thread(target=check, args=(album, seed)) for seed in range(4)]
    for thread in threads:
        thread.start()
    child = os.fork()
    if child == 0:
        try:
            check(album, 9)
        finally:
            os._exit(len(wrong_ones) + 1)
    for thread in threads:
        thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1 and not wrong_ones
    check(pickle.loads(pickle.dumps(album)), 5)
    assert not wrong_ones


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_unsafe_members_are_listed_and_left_alone(tmp_path: Path, kind: str):
    members = files(pets(tmp_path / "pets"))
    picture = encoded(scene(seed=3))
    bad = {"../out.png": picture, "/abs.png": picture, "cat/../../up.png": picture, "C:\\x\\y.png": picture}
    path = archive(tmp_path, kind, {**members, **bad, "__MACOSX/cat/._1.png": b"x", "notes.md": b"x"})
    if kind == "zip":
        with zipfile.ZipFile(path, "a") as more:
            link = zipfile.ZipInfo("cat/link.png")
            link.external_attr = (stat.S_IFLNK | 0o777) << 16
            more.writestr(link, "/etc/passwd")
    else:
        with tarfile.open(path, "a") as more:
            for name, form in (("cat/link.png", tarfile.SYMTYPE), ("cat/dev.png", tarfile.CHRTYPE)):
                info = tarfile.TarInfo(name)
                info.type, info.linkname = form, "/etc/passwd"
                more.addfile(info)
    album = read_images([path], skip=0).train
    assert set(album.names) == set(members)
    why = reasons(album)
    assert all(why[name] == "a name that leads out of the archive" for name in bad)
    assert why["cat/link.png"] == "a link" and why["notes.md"] == "not a picture"
    assert why["__MACOSX/cat/._1.png"] == "left by the system"
    assert kind == "zip" or why["cat/dev.png"] == "a device"


def test_backslashes_part_folders_and_twice_is_once(tmp_path: Path):
    path = tmp_path / "made-elsewhere.zip"
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(path, "w") as file:
        for name in ("cat\\0.png", "dog\\0.png", "dog\\0.png"):
            info = zipfile.ZipInfo("x")
            info.filename = name
            file.writestr(info, encoded(scene(seed=len(name))))
    album = read_images([path]).train
    assert album.names == ("cat/0.png", "dog/0.png")
    assert list(reasons(album).values()) == ["a name that stands in the archive twice"]


@pytest.mark.parametrize("kind", ["zip", "tar", "tar.gz"])
def test_a_damaged_archive_is_one_error_or_bad_pictures(tmp_path: Path, kind: str):
    data = archive(tmp_path, kind, files(pets(tmp_path / "pets"))).read_bytes()
    for k in range(1, 10):
        path = write(tmp_path / f"cut{k}.{kind}", data[: len(data.rstrip(b"\0")) * k // 10])
        assert wrong(path, skip=0).where
    flipped = bytearray(data)
    for place in range(600, len(data) - 600, 97):
        flipped[place] ^= 255
    try:
        read_images([write(tmp_path / f"flipped.{kind}", bytes(flipped))], skip=1.0)
    except DataError as error:
        assert error.where


def test_a_forked_process_opens_a_zip_file_of_its_own(tmp_path: Path):
    album = read_images([zipped(tmp_path / "a.zip", files(pets(tmp_path / "pets")))], keep=0).train
    archive = album.pictures[0].place.archive
    handle = archive._open()
    assert archive._open() is handle
    child = os.fork()
    if child == 0:
        os._exit(0 if archive._open() is not handle else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_tar_file_that_ends_between_members_is_cut_short(tmp_path: Path):
    path = tarred(tmp_path / "pets.tar", files(pets(tmp_path / "pets")))
    with tarfile.open(path) as archive:
        place = archive.getmembers()[4].offset
    data = bytearray(path.read_bytes())
    assert "cut short" in wrong(write(tmp_path / "cut.tar", bytes(data[:place]))).problem
    data[place : place + 20] = b"\xff" * 20
    assert f"no header at byte {place}" in wrong(write(tmp_path / "damaged.tar", bytes(data))).problem


def test_members_and_archives_have_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    members = files(pets(tmp_path / "pets"))
    path = zipped(tmp_path / "bomb.zip", {**members, "cat/bomb.png": bytes(300 * 2**20)})
    album = read_images([path]).train
    assert len(album) == 6 and "more than" in reasons(album)["cat/bomb.png"]
    monkeypatch.setattr(archives, "TOTAL", 2**20)
    assert "unpacked" in wrong(path).problem
    packed = write(tmp_path / "bomb.tar.gz", gzip.compress(bytes(2**21)))
    assert "unpacked" in wrong(packed).problem
