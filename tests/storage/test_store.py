"""The door to run folders: files are whole or absent, whatever the disk does."""

import errno
import json
import os
import signal
import stat
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers import processes

from weft.errors import DataError, StorageError, WeftError
from weft.storage import disk, store
from weft.storage.lock import is_held

SOURCE = Path(store.__file__).parents[2]


def failing(code: int):
    def fail(*args, **options):
        raise OSError(code, os.strerror(code))

    return fail


def python(code: str, *arguments: str) -> subprocess.Popen:
    command = [sys.executable, "-c", textwrap.dedent(code), *arguments]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    return processes.start(command, stdout=subprocess.PIPE, env=environment, text=True)


# Writing


def test_a_written_file_holds_the_bytes_and_returns_their_digest(tmp_path):
    whole = store.write_file(tmp_path / "a", b"one two")
    parts = store.write_file(tmp_path / "b", iter([b"one ", memoryview(b""), memoryview(b"two")]))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes() == b"one two"
    assert whole == parts == store.digest(tmp_path / "a")[1]
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


def test_short_writes_are_continued_until_all_bytes_are_there(tmp_path, monkeypatch):
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, data: write(file, bytes(data[:3])))
    data = bytes(range(256)) * 3
    store.write_file(tmp_path / "a", data)
    store.append_line(tmp_path / "lines", '{"step": 1}')
    assert (tmp_path / "a").read_bytes() == data
    assert (tmp_path / "lines").read_text() == '{"step": 1}\n'


def test_a_disk_that_takes_no_bytes_is_an_error_and_not_an_endless_loop(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "write", lambda file, data: 0)
    with pytest.raises(StorageError):
        store.write_file(tmp_path / "a", b"data")


def test_a_file_is_synced_before_it_gets_its_name_and_its_folder_after(tmp_path, monkeypatch):
    calls = []
    fsync, replace = os.fsync, os.replace

    def recorded_fsync(file):
        calls.append(("fsync", Path(os.readlink(f"/proc/self/fd/{file}"))))
        fsync(file)

    def recorded_replace(source, target):
        calls.append(("replace", Path(source)))
        replace(source, target)

    monkeypatch.setattr(os, "fsync", recorded_fsync)
    monkeypatch.setattr(os, "replace", recorded_replace)
    store.write_file(tmp_path / "a", b"data")
    temporary = calls[0][1]
    assert calls == [("fsync", temporary), ("replace", temporary), ("fsync", tmp_path)]


@pytest.mark.parametrize("call", ["open", "write", "fsync", "replace"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EROFS, errno.EACCES, errno.EDQUOT])
def test_a_failed_write_leaves_the_old_file_and_no_litter(tmp_path, monkeypatch, call, code):
    store.write_file(tmp_path / "a", b"old")
    with monkeypatch.context() as patch, pytest.raises(StorageError) as caught:
        patch.setattr(os, call, failing(code))
        store.write_file(tmp_path / "a", b"new")
    assert caught.value.exit_code == 74
    assert str(tmp_path / "a") in str(caught.value)
    assert (tmp_path / "a").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a"]


def test_a_full_disk_says_what_is_needed_and_what_there_is(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "write", failing(errno.ENOSPC))
    with pytest.raises(StorageError, match=r"no space: needs 2\.0 MB, has [\d.]+ [GMk]?B"):
        store.write_file(tmp_path / "a", b"x" * 2_000_000)
    with pytest.raises(StorageError, match=r"no space: needs 7\.5 kB, has"):
        store.write_file(tmp_path / "a", iter([b"x"]), size=7500)


def test_an_error_while_syncing_is_final(tmp_path, monkeypatch):
    calls = []

    def fail(file):
        calls.append(file)
        raise OSError(errno.EIO, "input/output error")

    monkeypatch.setattr(os, "fsync", fail)
    monkeypatch.setattr(os, "replace", lambda *names: pytest.fail("renamed a file that may have lost pages"))
    with pytest.raises(StorageError, match="input/output error"):
        store.write_file(tmp_path / "a", b"data")
    assert len(calls) == 1


def test_an_interrupted_write_leaves_the_old_file_and_no_litter(tmp_path):
    store.write_file(tmp_path / "a", b"old")

    def chunks():
        yield b"ne"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.write_file(tmp_path / "a", chunks())
    assert (tmp_path / "a").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize("mask, expected", [(0o000, 0o664), (0o022, 0o644), (0o077, 0o600)])
def test_files_honour_the_umask_and_are_never_writable_by_everyone(tmp_path, mask, expected):
    before = os.umask(mask)
    try:
        store.make_folder(tmp_path / "run" / "inner")
        store.write_file(tmp_path / "run" / "a", b"data")
        store.append_line(tmp_path / "run" / "b", "{}")
    finally:
        os.umask(before)
    for path in (tmp_path / "run").rglob("*"):
        assert not path.stat().st_mode & stat.S_IWOTH
    assert stat.S_IMODE((tmp_path / "run" / "a").stat().st_mode) == expected
    assert stat.S_IMODE((tmp_path / "run" / "b").stat().st_mode) == expected


def test_a_link_is_replaced_and_not_followed(tmp_path):
    (tmp_path / "elsewhere").write_bytes(b"old")
    (tmp_path / "a").symlink_to(tmp_path / "elsewhere")
    store.write_file(tmp_path / "a", b"new")
    assert (tmp_path / "elsewhere").read_bytes() == b"old"
    assert not (tmp_path / "a").is_symlink()


def test_a_pipe_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StorageError, match="not a plain file"):
        store.read_file(tmp_path / "pipe")


# Lines


def test_lines_come_back_as_they_were_appended(tmp_path):
    path = tmp_path / "metrics.jsonl"
    assert store.read_lines(path) == []
    store.append_line(path, '{"step": 1, "text": "é"}')
    store.append_line(path, '{"step": 2}\n{"step": 3}\n')
    assert store.read_lines(path) == [{"step": 1, "text": "é"}, {"step": 2}, {"step": 3}]


def test_a_line_torn_at_any_byte_is_ignored_and_the_next_one_is_not_harmed(tmp_path):
    path = tmp_path / "metrics.jsonl"
    first, second = b'{"step": 1}\n', '{"step": 2, "loss": 0.5, "text": "é"}\n'.encode()
    for cut in range(len(second)):
        path.write_bytes(first + second[:cut])
        whole = [{"step": 1}] + ([{"step": 2, "loss": 0.5, "text": "é"}] if cut == len(second) - 1 else [])
        assert store.read_lines(path) == whole
        store.append_line(path, '{"step": 3}')
        assert store.read_lines(path) == [*whole, {"step": 3}]


def test_zeros_left_by_a_power_loss_are_a_torn_line(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b'{"step": 1}\n' + bytes(3_000_000))
    assert store.read_lines(path) == [{"step": 1}]
    store.append_line(path, '{"step": 2}')
    assert path.read_bytes() == b'{"step": 1}\n{"step": 2}\n'


def test_a_broken_line_in_the_middle_is_named(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step": 1}\n{"step": \n{"step": 3}\n')
    with pytest.raises(DataError, match="line 2"):
        store.read_lines(path)


def test_a_failed_append_takes_back_what_it_wrote(tmp_path, monkeypatch):
    path = tmp_path / "metrics.jsonl"
    store.append_line(path, '{"step": 1}')
    write, room = os.write, [4]

    def write_four_bytes(file, data):
        if not room:
            raise OSError(errno.ENOSPC, "no space")
        return write(file, bytes(data[: room.pop()]))

    monkeypatch.setattr(os, "write", write_four_bytes)
    with pytest.raises(StorageError, match="no space: needs 12 bytes"):
        store.append_line(path, '{"step": 2}')
    assert path.read_text() == '{"step": 1}\n'


def test_truncating_keeps_the_lines_asked_for_byte_for_byte(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step":1}\n{ "step": 2 }\n{"step": 3}\n{"st')
    store.truncate_lines(path, lambda row: row["step"] <= 2)
    assert path.read_text() == '{"step":1}\n{ "step": 2 }\n'
    store.truncate_lines(tmp_path / "absent", lambda row: True)
    assert not (tmp_path / "absent").exists()


# Space and the probe


def test_space_is_asked_for_before_the_folder_exists(tmp_path):
    assert store.free_bytes(tmp_path / "not" / "yet") > 0
    store.require_space(tmp_path / "not" / "yet", 1)
    with pytest.raises(StorageError, match=r"no space: needs 1000000000\.0 GB, has"):
        store.require_space(tmp_path / "not" / "yet", 10**18)


def test_the_probe_leaves_nothing_behind(tmp_path):
    store.probe(tmp_path / "new" / "run")
    assert os.listdir(tmp_path / "new" / "run") == []


@pytest.mark.parametrize(
    "call, code, said",
    [
        ("mkdir", errno.EROFS, "read-only"),
        ("mkdir", errno.EACCES, "permission denied"),
        ("write", errno.ENOSPC, "no space"),
        ("rename", errno.EEXIST, "folders cannot be renamed"),
        ("rename", errno.ENOTEMPTY, "folders cannot be renamed"),
    ],
)
def test_the_probe_finds_folders_no_run_can_be_kept_in(tmp_path, monkeypatch, call, code, said):
    with monkeypatch.context() as patch, pytest.raises(StorageError, match=said):
        patch.setattr(os, call, failing(code))
        store.probe(tmp_path)
    assert os.listdir(tmp_path) == []


def test_the_probe_refuses_a_file_in_place_of_the_folder(tmp_path):
    (tmp_path / "run").write_text("a file")
    with pytest.raises(StorageError, match="a file stands where a folder is needed"):
        store.probe(tmp_path / "run")


def test_a_path_is_shown_on_one_line():
    assert disk.shown(Path("a\nb é\udcff")) == "a\\nb é\\udcff"


def test_the_store_is_imported_without_torch():
    code = "import sys, weft.storage.store; print('torch' in sys.modules)"
    assert python(code).communicate(timeout=20)[0].strip() == "False"


# The lock

HOLDER = """
    import sys, time
    from pathlib import Path
    from weft.storage.store import RunLock
    with RunLock(Path(sys.argv[1])):
        print("held", flush=True)
        time.sleep(60)
"""


def test_a_second_process_is_told_who_holds_the_folder_and_a_killed_holder_lets_go(tmp_path):
    holder = python(HOLDER, str(tmp_path))
    try:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(WeftError, match=rf"in use by pid {holder.pid} on \S+ since \d{{4}}-") as caught:
            store.RunLock(tmp_path).__enter__()
        assert caught.value.exit_code == 2
    finally:
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        holder.stdout.close()
    with store.RunLock(tmp_path):
        assert json.loads((tmp_path / ".lock").read_text())["pid"] == os.getpid()
    assert os.listdir(tmp_path) == []


def test_a_folder_is_locked_once_in_one_process_too(tmp_path):
    with store.RunLock(tmp_path):
        with pytest.raises(WeftError, match="in use"), store.RunLock(tmp_path):
            pass
        with pytest.raises(WeftError, match="in use"), store.RunLock(tmp_path):
            pass
    with store.RunLock(tmp_path):
        pass


def test_a_forked_child_does_not_keep_the_lock(tmp_path):
    code = """
        import os, sys, time
        from pathlib import Path
        from weft.storage.store import RunLock
        RunLock(Path(sys.argv[1])).__enter__()
        child = os.fork()
        if child == 0:
            time.sleep(60)
        time.sleep(0.2)
        print(child, flush=True)
        os.kill(os.getpid(), 9)
    """
    holder = python(code, str(tmp_path))
    child = int(holder.stdout.readline())
    holder.wait()
    try:
        with store.RunLock(tmp_path):
            pass
    finally:
        os.kill(child, signal.SIGKILL)
        holder.stdout.close()


def test_taking_the_lock_clears_away_what_killed_writers_left(tmp_path):
    (tmp_path / ".tmp-0123456789ab").write_bytes(b"half")
    (tmp_path / ".tmp-ba9876543210").mkdir()
    (tmp_path / ".tmp-ba9876543210" / "probe").write_bytes(b"weft")
    (tmp_path / ".tmp-mine").write_bytes(b"not one of weft's")
    with store.RunLock(tmp_path):
        assert sorted(os.listdir(tmp_path)) == [".lock", ".tmp-mine"]


def test_what_others_write_without_the_lock_may_be_left_to_them(tmp_path, monkeypatch):
    fresh, old, gone = (tmp_path / f".tmp-{digit * 12}" for digit in "abc")
    for path in (fresh, old, gone):
        path.write_bytes(b"half")
    for path in (old, gone):
        os.utime(path, (0, 0))
    unlink = os.unlink

    def finished(path, **more):
        unlink(path, **more)
        if str(path) == str(gone):
            raise FileNotFoundError(path)

    monkeypatch.setattr(os, "unlink", finished)
    with store.RunLock(tmp_path, stale=3600.0):
        assert sorted(os.listdir(tmp_path)) == [".lock", fresh.name]


def test_a_lock_on_a_deleted_file_does_not_count(tmp_path, monkeypatch):
    import fcntl

    flock, deleted = fcntl.flock, []

    def delete_first(file, operation):
        if not deleted:
            deleted.append((tmp_path / ".lock").unlink())
        flock(file, operation)

    monkeypatch.setattr(fcntl, "flock", delete_first)
    with store.RunLock(tmp_path), pytest.raises(WeftError, match="in use"), store.RunLock(tmp_path):
        pass


@pytest.mark.parametrize(
    "record, free",
    [
        ("", True),
        ("torn {", True),
        ('{"pid": 4194999, "host": "HERE", "since": "2026-01-01"}', True),
        ('{"pid": 1, "host": "HERE", "since": "2026-01-01"}', False),
        ('{"pid": 4194999, "host": "another", "since": "2026-01-01"}', False),
    ],
)
def test_without_locks_in_the_file_system_the_record_decides(tmp_path, monkeypatch, record, free):
    import fcntl
    import socket

    monkeypatch.setattr(fcntl, "flock", failing(errno.ENOSYS))
    (tmp_path / ".lock").write_text(record.replace("HERE", socket.gethostname()))
    if free:
        with store.RunLock(tmp_path):
            pass
        assert os.listdir(tmp_path) == []
    else:
        with pytest.raises(WeftError, match="in use by pid"), store.RunLock(tmp_path):
            pass


def test_a_folder_that_cannot_be_locked_is_a_storage_error(tmp_path):
    with pytest.raises(StorageError, match="missing"), store.RunLock(tmp_path / "absent"):
        pass


# Links that somebody planted


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    """A folder `run` beside a folder `outside` with a file; the latter must stay as it is."""
    (tmp_path / "run").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/file").write_bytes(b'{"step": 1}\n')
    return tmp_path / "run"


def untouched(run: Path) -> bool:
    outside = run.parent / "outside"
    return [one.name for one in outside.iterdir()] == ["file"] and (outside / "file").read_bytes() == b'{"step": 1}\n'


@pytest.mark.parametrize("target", ["../outside/file", "../outside", "../outside/absent"])
@pytest.mark.parametrize(
    "write",
    [
        lambda run: store.append_line(run / "name", "{}"),
        lambda run: store.sync_file(run / "name"),
        lambda run: store.truncate_lines(run / "name", lambda row: False),
        lambda run: store.inside(run, "name"),
    ],
    ids=["append", "sync", "truncate", "inside"],
)
def test_a_link_in_a_runs_place_is_refused_by_name(planted: Path, target: str, write: Callable[[Path], None]) -> None:
    (planted / "name").symlink_to(target)
    with pytest.raises(StorageError, match=r"name: a link, where weft keeps a file or folder of its own"):
        write(planted)
    assert untouched(planted) and (planted / "name").is_symlink()


@pytest.mark.parametrize("target", ["../outside/file", "../outside", "../outside/absent"])
def test_a_link_in_place_of_the_lock_is_refused_and_nothing_is_held(planted: Path, target: str) -> None:
    (planted / ".lock").symlink_to(target)
    with pytest.raises(StorageError, match=r"\.lock: a link"), store.RunLock(planted):
        pass
    assert untouched(planted) and not is_held(planted)


@pytest.mark.parametrize("target", ["../outside/file", "../outside", "../outside/absent"])
def test_of_a_link_only_the_link_is_replaced_or_deleted(planted: Path, target: str) -> None:
    for name in ("written", "removed", ".tmp-0123456789ab"):
        (planted / name).symlink_to(target)
    store.write_file(planted / "written", b"new")
    store.remove_folder(planted / "removed", first="file")
    with store.RunLock(planted):
        pass
    assert untouched(planted) and [one.name for one in planted.iterdir()] == ["written"]
    assert not (planted / "written").is_symlink()
