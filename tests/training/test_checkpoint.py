"""Checkpoints are whole or absent: faults are injected at every byte and every call, and damage at every file."""

import contextlib
import errno
import itertools
import json
import os
import random
import resource
import shutil
import signal
import sys
from pathlib import Path

import pytest
import torch

from weft.errors import StorageError, WeftError
from weft.storage import store
from weft.training import manifest as manifests
from weft.training.checkpoint import (
    NewerFormat,
    environment,
    environment_differences,
    latest,
    save_checkpoint,
    set_aside,
)

MUTATING = ("open", "write", "fsync", "rename", "replace", "mkdir", "unlink", "rmdir")


class Killed(BaseException):
    """Stands for SIGKILL: from here on no call of the process reaches the disk."""


class Faults:
    """Replaces the calls that change a disk by ones that count, record and, from the `die_at`-th on, do nothing."""

    def __init__(self, patch: pytest.MonkeyPatch, die_at: int | None = None):
        self.count, self.die_at, self.calls = 0, die_at, []
        for name in MUTATING:
            patch.setattr(os, name, self._wrap(name, getattr(os, name)))

    def _wrap(self, name, call):
        def wrapped(*args, **options):
            if name == "open" and not args[1] & os.O_CREAT:
                return call(*args, **options)
            self.count += 1
            if self.die_at is not None and self.count >= self.die_at:
                raise Killed
            target = os.readlink(f"/proc/self/fd/{args[0]}") if name in ("write", "fsync") else args[0]
            self.calls.append((name, Path(os.fsdecode(target)), *args[1:]))
            return call(*args, **options)

        return wrapped


def contents(step: int):
    generator = torch.Generator().manual_seed(step)
    model = {
        "weight": torch.randn(5, 3, generator=generator),
        "half": torch.randn(4, generator=generator).bfloat16(),
        "count": torch.tensor(step),
    }
    optimizer = {"rng": torch.randint(0, 256, (16,), dtype=torch.uint8, generator=generator)}
    return {"model": model, "optimizer": optimizer}, {"step": step, "position": step * 10, "note": "é"}


def save(folder: Path, step: int, **options) -> Path:
    tensors, state = contents(step)
    return save_checkpoint(folder, step, tensors, state, **options)


def assert_holds(checkpoint, step: int) -> None:
    tensors, state = contents(step)
    assert checkpoint.step == step
    assert checkpoint.state() == state
    for stem, group in tensors.items():
        found = checkpoint.tensors(stem)
        assert found.keys() == group.keys()
        for name, tensor in group.items():
            assert found[name].dtype == tensor.dtype and torch.equal(found[name], tensor)


def valid_steps(folder: Path) -> list[int]:
    found = []
    for path in (folder / "checkpoints").iterdir():
        if not path.name.startswith("."):
            try:
                manifests.verify(path, manifests.read_manifest(path))
                found.append(int(path.name[:8]))
            except StorageError:
                continue
    return sorted(found)


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder / "checkpoints"))


@pytest.fixture
def run(tmp_path) -> Path:
    """A run folder with the checkpoints 1 and 2."""
    folder = tmp_path / "run"
    folder.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda file: None)  # only for speed
        save(folder, 1)
        save(folder, 2)
    return folder


@pytest.fixture
def lines() -> list[str]:
    return []


def test_a_checkpoint_comes_back_as_it_was_saved(run, lines):
    path = save(run, 3)
    assert path == run / "checkpoints" / "00000003"
    assert sorted(os.listdir(path)) == ["manifest.json", "model.safetensors", "optimizer.safetensors", "state.json"]
    assert_holds(latest(run, report=lines.append), 3)
    assert lines == []
    assert names(run) == ["00000002", "00000003"]


def test_a_folder_without_checkpoints_has_no_latest(tmp_path):
    assert latest(tmp_path) is None
    (tmp_path / "checkpoints").mkdir()
    assert latest(tmp_path) is None


# Being killed


def test_a_process_killed_at_any_byte_of_a_save_leaves_the_previous_checkpoint(run):
    """A child may write files of at most `limit` bytes; the kernel kills it at the first byte beyond."""
    largest = max(path.stat().st_size for path in (run / "checkpoints" / "00000002").iterdir())
    fates = set()
    for limit in range(0, largest + 31, 31):
        child = os.fork()
        if child == 0:
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            save(run, 3)
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        fates.add(os.waitstatus_to_exitcode(status))
        survived = os.waitstatus_to_exitcode(status) == 0
        assert latest(run, report=lambda line: None).step == (3 if survived else 2)
    assert fates == {0, -signal.SIGXFSZ}
    assert valid_steps(run) == [2, 3]
    assert_holds(latest(run), 3)


def test_a_write_torn_at_any_byte_leaves_the_previous_checkpoint(run, monkeypatch):
    """Of all the bytes a save writes only the first `limit` reach the disk."""
    real_write = os.write
    monkeypatch.setattr(os, "fsync", lambda file: None)  # only for speed
    for limit in itertools.count(0, 13):
        left = limit

        def write(file, data):
            nonlocal left
            if len(data) > left:
                real_write(file, bytes(data[:left]))
                left = -1
            if left < 0:
                raise Killed
            left -= len(data)
            return real_write(file, data)

        monkeypatch.setattr(os, "write", write)
        try:
            save(run, 3)
        except Killed:
            assert_holds(latest(run, report=lambda line: None), 2)
        else:
            break
    assert limit > 1000
    assert_holds(latest(run), 3)


@pytest.mark.parametrize("case", ["another step", "the same step", "with litter and damage to clear away"])
def test_a_process_killed_at_any_call_leaves_two_checkpoints_and_the_next_save_clears_up(
    run, tmp_path, monkeypatch, case
):
    monkeypatch.setattr(os, "fsync", lambda file: None)  # only for speed
    step = 2 if case == "the same step" else 3
    if case.startswith("with litter"):
        shutil.copytree(run / "checkpoints" / "00000001", run / "checkpoints" / ".tmp-step-9-0123456789ab")
        shutil.copytree(run / "checkpoints" / "00000001", run / "checkpoints" / "00000000")
    for die_at in itertools.count(1):
        folder = tmp_path / f"run-{die_at}"
        shutil.copytree(run, folder)
        with pytest.MonkeyPatch.context() as patch:
            faults = Faults(patch, die_at)
            with contextlib.suppress(Killed):
                save(folder, step)
            survived = faults.count < die_at
        found = latest(folder, report=lambda line: None)
        assert_holds(found, found.step)
        assert found.step in {2, step}
        assert len(valid_steps(folder)) >= 2
        save(folder, step)
        assert names(folder) == (["00000001", "00000002"] if step == 2 else ["00000002", "00000003"])
        assert_holds(latest(folder), step)
        shutil.rmtree(folder)
        if survived:
            break
    assert die_at > 30


def test_all_is_synced_before_the_commit_and_nothing_is_deleted_before_it_is_durable(run):
    with pytest.MonkeyPatch.context() as patch:
        faults = Faults(patch)
        save(run, 3)
    calls, home = faults.calls, run / "checkpoints"
    commit = next(i for i, call in enumerate(calls) if call[0] == "rename" and call[2] == home / "00000003")
    staged = calls[commit][1]
    final_names = [call[2].name for call in calls[:commit] if call[0] == "replace"]
    assert final_names == ["model.safetensors", "optimizer.safetensors", "state.json", "manifest.json"]
    for i, call in enumerate(calls[:commit]):
        if call[0] == "replace":
            assert ("fsync", call[1]) in calls[:i]
            assert not any(c[0] == "write" and c[1] == call[1] for c in calls[calls.index(("fsync", call[1])) : i])
            assert calls[i + 1] == ("fsync", staged)
    assert calls[commit + 1] == ("fsync", home)
    deletions = [i for i, call in enumerate(calls) if call[0] in ("unlink", "rmdir")]
    assert deletions and min(deletions) > commit + 1
    assert calls[commit + 2][:2] == ("rename", home / "00000001")
    assert calls[commit + 3][:2] == ("unlink", calls[commit + 2][2] / "manifest.json")


# Failing disks


@pytest.mark.parametrize("call", ["open", "write", "fsync", "rename", "replace", "mkdir"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_a_failing_call_is_a_storage_error_and_changes_nothing(run, call, code):
    before, real = names(run), getattr(os, call)
    for fail_at in itertools.count(1):
        count = 0

        def fail(*args, fail_at=fail_at, **options):
            nonlocal count
            if call != "open" or args[1] & os.O_CREAT:
                count += 1
                if count == fail_at:
                    raise OSError(code, os.strerror(code))
            return real(*args, **options)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, call, fail)
            try:
                save(run, 3, report=lambda line: None)
            except StorageError as error:
                assert error.exit_code == 74
                assert "no space: needs" in str(error) or code != errno.ENOSPC
            else:
                break
        if names(run) != before:
            assert call == "fsync" and latest(run).step == 3  # only its durability is in doubt
            break
        assert_holds(latest(run), 2)
    assert fail_at > 1
    assert len(valid_steps(run)) >= 2


def test_a_failed_sync_is_not_tried_again_and_nothing_is_renamed_after_it(run, monkeypatch):
    synced = []

    def fail(file):
        synced.append(file)
        raise OSError(errno.EIO, "input/output error")

    monkeypatch.setattr(os, "fsync", fail)
    monkeypatch.setattr(os, "rename", lambda *args: pytest.fail("renamed"))
    monkeypatch.setattr(os, "replace", lambda *args: pytest.fail("renamed"))
    with pytest.raises(StorageError, match="input/output error"):
        save(run, 3)
    assert len(synced) == 1
    assert names(run) == ["00000001", "00000002"]


def test_short_writes_give_a_whole_checkpoint(run, monkeypatch):
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, data: write(file, bytes(data[:3])))
    save(run, 3)
    assert_holds(latest(run), 3)


def test_too_little_space_is_refused_before_anything_is_written(run, monkeypatch):
    usage = shutil.disk_usage(run)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=50))
    monkeypatch.setattr(os, "mkdir", lambda *args: pytest.fail("written"))
    with pytest.raises(StorageError, match="no space: needs 92 bytes, has 50 bytes"):
        save(run, 3)


def test_a_run_folder_that_is_gone_is_a_storage_error(run):
    shutil.rmtree(run)
    with pytest.raises(StorageError, match="missing"):
        save(run, 3)
    assert not run.exists()


def test_an_interrupted_save_cleans_up(run, monkeypatch):
    def interrupt(*args):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(os, "rename", interrupt)
        save(run, 3)
    assert names(run) == ["00000001", "00000002"]


def test_old_checkpoints_that_cannot_be_deleted_are_reported_and_the_save_succeeds(run, monkeypatch, lines):
    monkeypatch.setattr(
        store, "remove_folder", lambda *a, **k: (_ for _ in ()).throw(StorageError("permission denied"))
    )
    save(run, 3, report=lines.append)
    assert lines == ["checkpoints/00000001: could not be deleted (permission denied)"]
    assert latest(run, report=lambda line: None).step == 3


# Damage


def test_any_flipped_bit_is_found_and_the_checkpoint_before_is_taken(run):
    newest, chance = run / "checkpoints" / "00000002", random.Random(0)
    files = sorted(newest.iterdir())
    for _ in range(150):
        path = chance.choice(files)
        good = path.read_bytes()
        bad = bytearray(good)
        bad[chance.randrange(len(bad))] ^= 1 << chance.randrange(8)
        path.write_bytes(bad)
        lines = []
        try:
            assert latest(run, report=lines.append).step == 1
            assert len(lines) == 1 and lines[0].startswith(f"checkpoints/00000002: {path.name}")
        except NewerFormat:
            assert path.name == "manifest.json" and b'"format": 1,' not in bad
        path.write_bytes(good)
    assert latest(run).step == 2


def test_damage_names_the_file_and_the_tensor(run, lines):
    path = run / "checkpoints" / "00000002" / "model.safetensors"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1  # the narrowest type stands last
    path.write_bytes(data)
    assert latest(run, report=lines.append).step == 1
    assert lines[0].startswith("checkpoints/00000002: model.safetensors is damaged in 'half'")


@pytest.mark.parametrize("name", ["manifest.json", "model.safetensors", "optimizer.safetensors", "state.json"])
@pytest.mark.parametrize("damage", ["missing", "empty", "truncated", "longer", "a pipe", "a folder"])
def test_a_missing_or_truncated_file_is_passed_over_in_one_line(run, lines, name, damage):
    path = run / "checkpoints" / "00000002" / name
    data = path.read_bytes()
    path.unlink()
    if damage == "a pipe":
        os.mkfifo(path)
    elif damage == "a folder":
        path.mkdir()
    elif damage != "missing":
        path.write_bytes({"empty": b"", "truncated": data[:-1], "longer": data + b"\0"}[damage])
    if (name, damage) == ("manifest.json", "truncated"):
        assert latest(run, report=lines.append).step == 2  # the last byte is only a newline
        return
    assert_holds(latest(run, report=lines.append), 1)
    assert len(lines) == 1
    assert lines[0].startswith(f"checkpoints/00000002: {name}") and lines[0].endswith("skipped")
    assert "\n" not in lines[0]


def test_a_checkpoint_that_cannot_be_read_is_passed_over(run, lines, monkeypatch):
    digest = store.digest

    def unreadable(path):
        if path.parent.name == "00000002":
            raise store.storage_error(OSError(errno.EIO, "input/output error"), path)
        return digest(path)

    monkeypatch.setattr(store, "digest", unreadable)
    assert latest(run, report=lines.append).step == 1
    assert "input/output error" in lines[0]


def test_extra_files_are_accepted_and_reported(run, lines):
    (run / "checkpoints" / "00000002" / "notes.txt").write_text("mine")
    (run / "checkpoints" / "best").mkdir()
    assert_holds(latest(run, report=lines.append), 2)
    assert lines == ["checkpoints/00000002: not in its manifest: notes.txt; ignored"]
    save(run, 3)
    save(run, 4)
    assert names(run) == ["00000003", "00000004", "best"]


def test_an_unfinished_save_is_never_loaded_however_complete_it_is(run, lines):
    (run / "checkpoints" / "00000002").rename(run / "checkpoints" / ".tmp-step-2-0123456789ab")
    assert latest(run, report=lines.append).step == 1
    assert lines == ["checkpoints/.tmp-step-2-0123456789ab: left by an interrupted save; ignored"]


def test_if_all_are_damaged_each_is_listed_with_the_reason(run):
    (run / "checkpoints" / "00000001" / "manifest.json").unlink()
    (run / "checkpoints" / "00000002" / "optimizer.safetensors").write_bytes(b"")
    with pytest.raises(StorageError) as caught:
        latest(run)
    message = str(caught.value)
    assert "00000001: manifest.json: missing" in message
    assert "00000002: optimizer.safetensors has 0 bytes instead of" in message
    assert f"the weights in {run}/checkpoints/00000002/model.safetensors are undamaged" in message
    (run / "checkpoints" / "00000002" / "model.safetensors").write_bytes(b"")
    with pytest.raises(StorageError, match="restore the folder from a copy"):
        latest(run)


def test_a_file_changed_after_it_was_verified_is_not_used(run):
    found = latest(run)
    for path in (found.path / "model.safetensors", found.path / "state.json"):
        data = path.read_bytes()
        path.write_bytes(data[:-9])
        with pytest.raises(StorageError, match="changed after it was verified"):
            found.state() if path.name == "state.json" else found.tensors("model")
        path.write_bytes(data[:-2] + bytes([data[-2] ^ 1, data[-1]]))
        with pytest.raises(StorageError, match="changed after it was verified"):
            found.state() if path.name == "state.json" else found.tensors("model")
        path.write_bytes(data)
    assert_holds(found, 2)


def test_a_manifest_cannot_lead_out_of_its_folder(run):
    path = run / "checkpoints" / "00000002" / "manifest.json"
    manifest = json.loads(path.read_text())
    outside = run / "outside"
    outside.write_text("a file that verifies")
    length, sha256 = store.digest(outside)
    for name in ("../../outside", str(outside)):
        changed = {**manifest, "files": {name: {"bytes": length, "sha256": sha256}}}
        path.write_text(json.dumps({**changed, "seal": manifests._seal(changed)}))
        assert latest(run, report=lambda line: None).step == 1


def test_a_checkpoint_of_a_later_format_is_refused_and_kept(run):
    path = run / "checkpoints" / "00000002" / "manifest.json"
    manifest = {**json.loads(path.read_text()), "format": 7, "weft": "9.1"}
    path.write_text(json.dumps({**manifest, "seal": manifests._seal(manifest)}))
    with pytest.raises(WeftError, match=r"weft 9\.1 in format 7; this is weft .*, which reads formats up to 1"):
        latest(run)
    for step in (3, 4, 5):
        save(run, step)
    assert names(run) == ["00000002", "00000004", "00000005"]


def test_going_back_sets_aside_what_was_saved_later_and_leaves_what_it_cannot_read_or_rename(run, monkeypatch):
    save(run, 3, good=1)
    path = run / "checkpoints" / "00000002" / "manifest.json"
    manifest = {**json.loads(path.read_text()), "format": 7}
    path.write_text(json.dumps({**manifest, "seal": manifests._seal(manifest)}))
    assert set_aside(run, 9) is None
    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", lambda *args: (_ for _ in ()).throw(PermissionError()))
        assert set_aside(run, 1) == []
    (renamed,) = set_aside(run, 1)
    assert renamed.startswith("00000003.diverged-") and names(run) == ["00000001", "00000002", renamed]


# Keeping and pruning


def test_as_many_are_kept_as_asked_and_never_fewer_than_two(tmp_path):
    for step in range(1, 6):
        save(tmp_path, step, keep=3)
    assert names(tmp_path) == ["00000003", "00000004", "00000005"]
    save(tmp_path, 6, keep=0)
    assert names(tmp_path) == ["00000005", "00000006"]


def test_a_fresh_checkpoint_outlives_older_ones_with_larger_steps(tmp_path):
    save(tmp_path, 1000)
    save(tmp_path, 2000)
    save(tmp_path, 10)
    assert_holds(latest(tmp_path), 10)
    assert names(tmp_path) == ["00000010", "00002000"]
    save(tmp_path, 11)
    assert names(tmp_path) == ["00000010", "00000011"]


def test_damaged_checkpoints_do_not_count_and_go_only_when_two_valid_ones_remain(run):
    (run / "checkpoints" / "00000002" / "model.safetensors").write_bytes(b"")
    save(run, 3)
    assert valid_steps(run) == [1, 3]
    (run / "checkpoints" / "00000001" / "state.json").write_bytes(b"")
    (run / "checkpoints" / "00000003" / "state.json").write_bytes(b"")
    save(run, 4)
    assert names(run) == ["00000001", "00000003", "00000004"]
    save(run, 5)
    assert names(run) == ["00000004", "00000005"]


def test_a_damaged_checkpoint_of_the_same_step_makes_way(run):
    (run / "checkpoints" / "00000002" / "model.safetensors").write_bytes(b"")
    save(run, 2)
    assert_holds(latest(run), 2)
    assert names(run) == ["00000001", "00000002"]


def test_a_checkpoint_that_a_crash_left_aside_still_counts(run):
    (run / "checkpoints" / "00000002").rename(run / "checkpoints" / "00000002.old-0123456789ab")
    assert_holds(latest(run), 2)
    save(run, 3)
    assert names(run) == ["00000002.old-0123456789ab", "00000003"]
    save(run, 4)
    assert names(run) == ["00000003", "00000004"]


def test_the_checkpoint_that_stepped_aside_comes_back_if_the_new_one_cannot_take_its_name(run, monkeypatch):
    rename = os.rename

    def fail(source, target):
        if ".tmp-step" in str(source):
            raise OSError(errno.EIO, "input/output error")
        rename(source, target)

    monkeypatch.setattr(os, "rename", fail)
    with pytest.raises(StorageError):
        save(run, 2)
    assert names(run) == ["00000001", "00000002"]
    assert_holds(latest(run), 2)


# Surroundings


@pytest.mark.parametrize("name", ["with space", "naïve-日本-🧵", "new\nline", "x" * 255, "per%cent'quote\"", "link"])
def test_odd_folder_names_work(tmp_path, name):
    folder = tmp_path / name
    if name == "link":
        (tmp_path / "target").mkdir()
        folder.symlink_to(tmp_path / "target")
    store.probe(folder)
    with store.RunLock(folder):
        save(folder, 1)
        save(folder, 2)
        (folder / "checkpoints" / "00000002" / "state.json").unlink()
        assert_holds(latest(folder, report=lambda line: None), 1)
    (folder / "checkpoints" / "00000001" / "state.json").unlink()
    with pytest.raises(StorageError) as caught:
        latest(folder)
    assert len(str(caught.value).splitlines()) == 4  # the problem, two checkpoints, the advice


def test_saved_folders_are_never_writable_by_everyone(tmp_path):
    before = os.umask(0)
    try:
        save(tmp_path, 1)
    finally:
        os.umask(before)
    assert not any(path.stat().st_mode & 0o002 for path in tmp_path.rglob("*"))


def test_loading_unpickles_nothing(run, monkeypatch):
    events = []
    sys.addaudithook(lambda event, args: events.append(event) if event.startswith("pickle") else None)
    monkeypatch.setattr(torch, "load", lambda *a, **k: pytest.fail("torch.load"))
    assert_holds(latest(run), 2)
    assert events == []


def test_what_cannot_be_read_back_is_not_saved(run):
    for state in ({"loss": float("nan")}, {"deep": json.loads("[" * 70 + "]" * 70)}, {"object": object()}):
        with pytest.raises((ValueError, TypeError, WeftError)):
            save_checkpoint(run, 3, {}, state)
    with pytest.raises(ValueError):
        save_checkpoint(run, 3, {"../model": {}}, {})
    assert names(run) == ["00000001", "00000002"]


def test_a_group_that_is_not_there_is_named(run):
    with pytest.raises(StorageError, match="no modle.safetensors"):
        latest(run).tensors("modle")


def test_the_environment_is_recorded_and_differences_are_told(run):
    saved = latest(run).manifest["environment"]
    assert saved == environment()
    assert environment_differences(saved, environment()) == []
    changed = {**environment(), "torch": "1.0", "threads": 99}
    assert environment_differences(changed, {**saved, "gpu": "none"}) == [
        "gpu was not recorded, is none",
        f"threads was 99, is {torch.get_num_threads()}",
        f"torch was 1.0, is {torch.__version__}",
    ]
