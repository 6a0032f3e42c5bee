"""A picture that crashes its decoder, or holds it up, is one more bad picture. The crashes here are real."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from helpers import processes
from helpers.pictures import encoded, pets, reasons, scene, write, wrong

from weft.domains.pictures.reading import trying as reading
from weft.domains.pictures.reading.trying import read_images
from weft.files.pictures import decode_workers
from weft.files.pictures.decode_workers import Children, Crash
from weft.files.pictures.decoding import SMALL, Decoded, decode

# A child whose decoder does to some contents what a faulty library might do to any.
DECODER = """
import os, signal, sys, time
from pathlib import Path
from weft.files.pictures.decode_worker import serve, small

def decoder(content, where):
    name = Path(where).name
    if name.startswith("segv") or "every" in sys.argv:
        os.kill(os.getpid(), signal.SIGSEGV)
    if name.startswith("abort"):
        os.abort()
    if name.startswith("exit"):
        os._exit(3)
    if name.startswith("noise"):
        os.write(1, b"a library that prints to standard output")
    if name.startswith("odd"):
        raise RuntimeError("quite unexpected")
    if name.startswith("hang"):
        Path(sys.argv[1]).touch()
        while True:
            signal.sigwait({signal.SIGUSR1})
    if name.startswith("once") and not Path(sys.argv[1]).exists():
        Path(sys.argv[1]).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return small(content, where)

serve(decoder, float(sys.argv[-1]))
"""


@pytest.fixture(autouse=True)
def sheltered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures are decoded by processes of their own, as for users."""
    monkeypatch.setattr(reading, "Children", Children)


Rig = Callable[..., list[Children]]


@pytest.fixture
def rig(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Rig:
    """Let pictures be read by children with the decoder above; what was used is in the list that comes back."""
    folder = tmp_path_factory.mktemp("rig")

    def use(*options: str, seconds: float = 30.0) -> list[Children]:
        used: list[Children] = []
        command = (sys.executable, str(write(folder / "decoder.py", DECODER)), str(folder / "mark"), *options)

        def made() -> Children:
            used.append(Children(command, seconds))
            return used[-1]

        monkeypatch.setattr(reading, "Children", made)
        return used

    return use


def spoil(root: Path, *names: str) -> Path:
    for number, name in enumerate(names):
        write(root / name, encoded(scene(seed=500 + number)))
    return root


def running(parent: int) -> list[int]:
    """The children that a process has, dead ones that nobody has looked at among them."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            stat = (folder / "stat").read_text()
        except OSError:
            continue
        if int(stat.rpartition(")")[2].split()[1]) == parent:
            found.append(int(folder.name))
    return found


def gone(process: int, seconds: float = 10.0) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            if (Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]) == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.02)
    return False


def same(a: Decoded, b: Decoded) -> bool:
    masks = a.missing is b.missing if a.missing is None else np.array_equal(a.missing, b.missing)
    return bool(
        np.array_equal(a.pixels, b.pixels) and a.pixels.dtype == b.pixels.dtype and masks and a.notes == b.notes
    )


@pytest.mark.parametrize(
    "name, why",
    [
        ("segv.png", "decoding it failed: it was ended by SIGSEGV"),
        ("abort.png", "decoding it failed: it was ended by SIGABRT"),
        ("exit.png", "decoding it failed: it ended with exit code 3"),
        ("odd.png", "decoding it failed: RuntimeError: quite unexpected"),
    ],
)
def test_a_picture_that_ends_its_decoder_is_left_out_by_name(tmp_path: Path, rig: Rig, name: str, why: str):
    rig()
    album = read_images(spoil(pets(tmp_path), f"cat/{name}")).train
    assert reasons(album) == {f"cat/{name}": why} and len(album) == 6 and album.notes == {}


def test_a_picture_that_crashes_is_refused_where_none_may_be_bad(tmp_path: Path, rig: Rig):
    rig()
    error = wrong(spoil(pets(tmp_path), "cat/segv.png"), skip=0)
    assert "at least 1 of 7 pictures" in error.problem and "cat/segv.png" in error.problem


def test_a_picture_that_takes_too_long_is_left_out_by_name(tmp_path: Path, rig: Rig):
    rig(seconds=0.3)
    album = read_images(spoil(pets(tmp_path), "dog/hang.png")).train
    assert reasons(album) == {"dog/hang.png": "decoding it failed: it took longer than 0.3 seconds"} and len(album) == 6


def test_bad_pictures_of_every_kind_are_listed_in_their_order(tmp_path: Path, rig: Rig):
    rig(seconds=0.3)
    spoil(pets(tmp_path, 20), "cat/10fine.png", "cat/segv.png", "dog/abort.png", "dog/hang.png")
    write(tmp_path / "cat/9.png", b"")
    album = read_images(tmp_path, skip=9).train
    assert list(reasons(album)) == ["cat/9.png", "cat/segv.png", "dog/abort.png", "dog/hang.png"]
    assert len(album) == 40 and list(album.names) == sorted(album.names)


def test_where_every_picture_kills_its_child_the_data_is_refused_soon(tmp_path: Path, rig: Rig):
    rig("every")
    before = running(os.getpid())  # of other tests
    error = wrong(pets(tmp_path, 30), skip=1)
    assert "at least 2 of 60 pictures" in error.problem and "cat/0.png: decoding it failed" in error.problem
    assert set(running(os.getpid())) <= set(before)


def test_where_every_picture_kills_its_child_and_all_may_be_bad_it_ends(tmp_path: Path, rig: Rig):
    rig("every")
    assert "0 pictures to learn from" in wrong(pets(tmp_path, 2), skip=1.0).problem


def test_a_child_that_is_killed_for_other_reasons_costs_no_picture(tmp_path: Path, rig: Rig):
    rig()
    album = read_images(spoil(pets(tmp_path), "cat/once.png"), skip=0).train
    assert len(album) == 7 and album.skipped == ()


def test_what_a_library_prints_is_no_answer(tmp_path: Path, rig: Rig):
    rig()
    assert len(read_images(spoil(pets(tmp_path), "cat/noise.png"), skip=0).train) == 7


def test_children_give_what_decoding_here_gives(tmp_path: Path):
    clear = np.dstack([scene(200, 300), scene(200, 300)[..., 0] // 200 * 255])
    contents = {
        "large.jpg": encoded(scene(300, 500), "JPEG"),
        "small.png": encoded(scene(5, 7)),
        "grey.png": encoded(scene()[..., 0]),
        "clear.png": encoded(clear),
        "wide.tif": encoded(scene()[..., 0].astype(np.float32) * 3, "TIFF"),
        "png.jpg": encoded(scene()),
        "broken.jpg": encoded(scene(), "JPEG")[:400],
        "nothing.png": b"",
        "\x1b odd.gif": b"<html>",
    }
    with Children() as pool:
        answers = dict(zip(contents, pool.decode(list(contents.items())), strict=True))
    for name, data in contents.items():
        answer = answers[name]
        try:
            here = decode(data, where=name, side=SMALL)
        except Exception as error:
            assert (type(answer), str(answer)) == (type(error), str(error))
        else:
            assert isinstance(answer, Decoded) and same(answer, here) and answer.pixels.flags.writeable
    assert pool.alone == 0


def test_where_no_child_starts_pictures_are_read_here_and_that_is_noted(tmp_path: Path, monkeypatch):
    write(pets(tmp_path) / "cat/bad.png", b"")
    sheltered = read_images(tmp_path).train
    for command, why in [((str(tmp_path / "none"),), "No such file"), ((sys.executable, "-c", "1/0"), "exit code 1")]:
        monkeypatch.setattr(reading, "Children", lambda command=command: Children(command))
        album = read_images(tmp_path).train
        ((note, count),) = album.notes.items()
        assert why in note and count == 7 and album.skipped == sheltered.skipped
        assert album.fingerprint == sheltered.fingerprint
        assert all(same(a.kept, b.kept) for a, b in zip(album.pictures, sheltered.pictures, strict=True))


def test_a_program_that_python_is_frozen_into_is_not_started_again(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(decode_workers, "Child", lambda *_: pytest.fail("started"))
    with Children() as pool:
        assert isinstance(pool.decode([("a.png", encoded(scene()))])[0], Decoded)
    assert pool.alone == 1 and pool.why


def test_a_suspect_is_never_decoded_here(rig: Rig, monkeypatch: pytest.MonkeyPatch):
    used = rig()
    reading.Children()
    with used[0] as pool:
        start, starts = decode_workers.Child, iter([True])

        def once(*given):
            if next(starts, False):
                return start(*given)
            raise decode_workers.NoChild("no more processes")

        monkeypatch.setattr(decode_workers, "Child", once)
        answers = pool.decode([("segv.png", encoded(scene())), ("fine.png", encoded(scene()))])
        assert all(isinstance(answer, Crash) for answer in answers) and pool.alone == 0


def test_arrays_need_no_child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(decode_workers, "Child", lambda *_: pytest.fail("started"))
    np.savez(tmp_path / "a.npz", x=np.zeros((4, 5, 5), np.uint8), y=np.arange(4))
    assert len(read_images(tmp_path / "a.npz").train) == 4


def test_a_child_loads_no_more_than_it_needs():
    code = "import sys, weft.files.pictures.decode_worker; print(*sys.modules)"
    done = processes.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert not {"torch", "matplotlib", "tokenizers", "weft.domains.pictures.reading.trying", "weft.config"} & loaded


def test_nothing_in_the_current_folder_stands_in_for_a_library_of_a_child(tmp_path: Path, monkeypatch):
    pets(tmp_path / "pets")
    write(tmp_path / "PIL.py", "raise SystemExit('a stranger')")
    write(tmp_path / "weft.py", "raise SystemExit('a stranger')")
    monkeypatch.chdir(tmp_path)
    assert read_images("pets").train.notes == {}


# No child outlives its parent

READER = """
import sys, time
from pathlib import Path
from weft.domains.pictures.reading import trying as reading
from weft.files.pictures.decode_workers import Children

def pause(done, total):
    Path(sys.argv[3]).touch()
    time.sleep(60)

reading.Children = lambda: Children((sys.executable, *sys.argv[2:4]), float(sys.argv[4]))
reading.read_images(sys.argv[1], progress=pause)
"""


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda s: s.name)
@pytest.mark.parametrize("busy", [True, False], ids=["busy", "idle"])
def test_no_child_outlives_its_parent(tmp_path: Path, sent: signal.Signals, busy: bool):
    data, mark = pets(tmp_path / "pets", 1), tmp_path / "mark"
    spoil(data, *(["cat/hang.png"] if busy else []))
    files = write(tmp_path / "reader.py", READER), data, write(tmp_path / "decoder.py", DECODER), mark
    seconds = 60 if sent == signal.SIGINT else 2  # one that hangs and has lost its parent ends when its time is over
    command = [sys.executable, *map(str, files), str(seconds)]
    with processes.start(command, stderr=subprocess.DEVNULL) as parent:
        until = time.monotonic() + 60
        while not mark.exists() and time.monotonic() < until:
            time.sleep(0.02)
        mine = running(parent.pid)
        parent.send_signal(sent)
        try:
            parent.wait(10)
        finally:
            parent.kill()
    assert len(mine) == 1 and all(map(gone, mine))
