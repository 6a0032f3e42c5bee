"""What is written for a user: links are followed, devices and pipes written into, inputs and runs left whole."""

import io
import os
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import pytest
from helpers import processes

from weft.errors import StorageError, WeftError
from weft.files.writing import refuse_output, write_made


def test_a_device_stays_a_device(tmp_path: Path) -> None:
    """A name with the numbers of /dev/null stands for it where devices can be made: then nothing is risked."""
    device = tmp_path / "null"
    try:
        os.mknod(device, 0o666 | 0o020000, os.makedev(1, 3))
        open(device, "wb").close()
    except OSError:
        device.unlink(missing_ok=True)
        device.symlink_to(os.devnull)
    write_made(device, b"answers")
    assert device.is_char_device()
    assert Path(os.devnull).is_char_device()


def test_a_pipe_is_written_into(tmp_path: Path) -> None:
    pipe, heard = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: heard.append(pipe.read_bytes()))
    reader.start()
    write_made(pipe, b"answers")
    reader.join()
    assert heard == [b"answers"] and pipe.is_fifo()


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "link"])
@pytest.mark.parametrize("into", ["file", "pipe"])
def test_the_stream_of_a_command_is_written_where_it_stands(tmp_path: Path, name: str, into: str) -> None:
    if name == "/dev/stdout" and os.access("/dev", os.W_OK):
        pytest.skip("a mistake here would cost this machine its /dev/stdout")
    if name == "link":
        (tmp_path / "link").symlink_to("/proc/self/fd/1")
    code = (
        "import sys; from pathlib import Path; from weft.files.writing import write_made\n"
        f"print('before'); write_made(Path({name!r}), b'answers\\n'); print('behind')"
    )
    with open(tmp_path / "out", "wb") as file:
        done = processes.run(
            [sys.executable, "-c", code],
            stdout=file if into == "file" else subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
        )
    found = (tmp_path / "out").read_bytes() if into == "file" else done.stdout
    assert (found, done.stderr) == (b"before\nanswers\nbehind\n", b"")


@pytest.mark.parametrize("there", [True, False], ids=["there", "dangling"])
def test_a_link_is_followed_and_stays(tmp_path: Path, there: bool) -> None:
    (tmp_path / "away").mkdir()
    if there:
        (tmp_path / "away/file.txt").write_bytes(b"old")
    (tmp_path / "second").symlink_to("away/file.txt")
    (tmp_path / "first").symlink_to("second")
    write_made(tmp_path / "first", b"new")
    assert os.readlink(tmp_path / "first") == "second" and os.readlink(tmp_path / "second") == "away/file.txt"
    assert (tmp_path / "away/file.txt").read_bytes() == b"new" and len(list((tmp_path / "away").iterdir())) == 1


def test_links_that_lead_to_one_another_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(StorageError, match="links that lead to one another"):
        write_made(tmp_path / "a", b"new")
    assert os.readlink(tmp_path / "a") == "b"


def test_a_store_is_written_through_a_link_and_the_earlier_one_is_gone(tmp_path: Path) -> None:
    store, packed = tmp_path / "away.zarr", io.BytesIO()
    store.mkdir()
    (store / "zarr.json").write_text("{}")
    (store / "old").write_text("old")
    (tmp_path / "made.zarr").symlink_to(store)
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("zarr.json", "{}")
    write_made(tmp_path / "made.zarr", packed.getvalue())
    assert (tmp_path / "made.zarr").is_symlink() and [one.name for one in store.iterdir()] == ["zarr.json"]
    assert sorted(one.name for one in tmp_path.iterdir()) == ["away.zarr", "made.zarr"]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A photograph with other names, in a folder that has another name, and a run."""
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos/p.png").write_bytes(b"photograph")
    (tmp_path / "linked.png").symlink_to("photos/p.png")
    os.link(tmp_path / "photos/p.png", tmp_path / "hard.png")
    (tmp_path / "album").symlink_to("photos")
    (tmp_path / "run/checkpoints").mkdir(parents=True)
    (tmp_path / "run/model.safetensors").write_bytes(b"weights")
    (tmp_path / "weights").symlink_to("run/model.safetensors")
    (tmp_path / "place").symlink_to("run")
    return tmp_path


@pytest.mark.parametrize(
    "output", ["photos/p.png", "photos/../photos/p.png", "linked.png", "hard.png", "album/p.png", "photos/./p.png"]
)
@pytest.mark.parametrize("named", ["photos/p.png", "linked.png", "album/p.png", "photos/*.png", "photos", "album"])
def test_an_output_that_is_an_input_is_refused_by_whatever_name(home: Path, output: str, named: str) -> None:
    if output == "hard.png" and Path(named).suffix == "":
        return  # another name, outside the folder, of what is in it
    with pytest.raises(WeftError, match="is an input, which would be lost"):
        refuse_output(home / output, ["a text", "\0", None, "x" * 5000, str(home / named)], endings=(".png",))


@pytest.mark.parametrize(
    "output", ["run/model.safetensors", "weights", "place/new.txt", "run/checkpoints/new", "run/../run/look.png", "run"]
)
@pytest.mark.parametrize("run", ["run", "place"])
def test_an_output_in_the_run_is_refused_by_whatever_name(home: Path, output: str, run: str) -> None:
    with pytest.raises(WeftError, match="lies in the run"):
        refuse_output(home / output, [], [home / run])


@pytest.mark.parametrize("output", ["photos/answers.jsonl", "new.png", "photos/new.png", "/dev/null", "/dev/stdout"])
def test_other_outputs_may_be_written(home: Path, output: str) -> None:
    (home / "photos/answers.jsonl").write_text("of an earlier time")
    refuse_output(home / output, [home / "photos", "/dev/null"], [home / "run"], endings=(".png",))
    refuse_output(None, [home / "photos"], [home / "run"])
