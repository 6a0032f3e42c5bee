"""A file that grows: killed at any byte and gone on with, it ends as if it had never been stopped."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from weft.errors import StorageError, WeftError
from weft.storage.growing import GrowingFile

PIECES = [f"row {number}, {'x' * number}\n".encode() for number in range(6)]
ABOUT = {"of": "a test"}


def grow(path: Path, **more: Any) -> None:
    with GrowingFile(path, ABOUT, resume=True, **more) as file:
        done = 0 if file.state is None else file.state["done"]
        for number in range(done, len(PIECES)):
            file.add(PIECES[number])
            file.keep({"done": number + 1})
        file.finish(first=b"H" * file.reserved)


def killed_at(byte: int, act: Callable[[], None]) -> bool:
    """Do something in a process that ends, as by kill -9, once this many bytes are written; whether it came to that."""
    child = os.fork()
    if child == 0:
        write, left = os.write, [byte]

        def until(file: int, data: Any) -> int:
            if len(data) > left[0]:
                write(file, bytes(data)[: left[0]])
                os._exit(9)
            left[0] -= len(data)
            return write(file, data)

        os.write = until
        act()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


@pytest.mark.parametrize("reserved", [0, 5])
def test_a_file_killed_at_any_byte_goes_on_without_a_lost_or_doubled_piece(tmp_path: Path, reserved: int) -> None:
    path, byte = tmp_path / "out.csv", 0
    with mock.patch("os.fsync", lambda file: None):
        while killed_at(byte, lambda: grow(path, reserved=reserved)):
            assert not path.exists()
            grow(path, reserved=reserved)
            assert path.read_bytes() == b"H" * reserved + b"".join(PIECES) and list(tmp_path.iterdir()) == [path]
            path.unlink()
            byte += 3
    assert byte > 300


def test_what_is_unfinished_is_not_written_over_and_not_gone_on_with_by_another_command(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    assert killed_at(300, lambda: grow(path))
    with pytest.raises(WeftError, match="earlier command"), GrowingFile(path, ABOUT, resume=False):
        pass
    with pytest.raises(WeftError, match="begun otherwise .of."), GrowingFile(path, {"of": "others"}, resume=True):
        pass
    part = path.with_name("out.csv.part")
    part.write_bytes(b"R" + part.read_bytes()[1:])
    with pytest.raises(StorageError, match="not as it was written"):
        grow(path)


def test_one_process_writes_at_a_time_and_an_error_leaves_what_was_kept(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    with pytest.raises(ZeroDivisionError), GrowingFile(path, ABOUT, resume=False) as file:
        with pytest.raises(WeftError, match="another process"), GrowingFile(path, ABOUT, resume=True):
            pass
        file.add(PIECES[0])
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ZeroDivisionError), GrowingFile(path, ABOUT, resume=False) as file:
        file.add(PIECES[0])
        file.keep({"done": 1})
        raise ZeroDivisionError
    grow(path)
    assert path.read_bytes() == b"".join(PIECES)


def test_a_file_with_its_name_is_whole_though_its_log_was_left(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    with (
        mock.patch("weft.storage.growing.sync_folder", side_effect=KeyboardInterrupt),
        pytest.raises(KeyboardInterrupt),
    ):
        grow(path)
    assert path.exists() and path.with_name("out.csv.part.log").exists()
    grow(path)
    assert path.read_bytes() == b"".join(PIECES) and list(tmp_path.iterdir()) == [path]
