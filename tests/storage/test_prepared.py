"""Prepared data: whole or absent, made once, and made anew where a file has changed."""

import os
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from helpers import processes

from weft.errors import StorageError
from weft.runs.cleaning import clean_prepared
from weft.storage import file_marks, prepared
from weft.storage.file_marks import FileMarks
from weft.storage.prepared import ABOUT, PreparedStore, StagedEntry, key_of, lasting_store, prepared_in, store_for

KEY = key_of("test", 1)
KILLED = """
import os, signal, sys
from pathlib import Path
import numpy as np
from weft.storage.prepared import PreparedStore

def make(staged):
    staged.array("ids", np.uint16).append(np.arange(2**20, dtype=np.uint16))
    os.kill(os.getpid(), signal.SIGKILL)

PreparedStore(Path(sys.argv[1])).entry(sys.argv[2], make)
"""


def counting(staged: StagedEntry) -> None:
    ids = staged.array("ids", np.uint16)
    for start in range(0, 3000, 1000):
        ids.append(np.arange(start, start + 1000, dtype=np.uint16))
    staged.array("table", np.uint64, width=2).append(np.arange(6, dtype=np.uint64).reshape(3, 2))
    staged.array("nothing", np.int64)
    staged.values["words"] = ["a", "b"]


def test_what_is_made_is_found_again_and_made_once(tmp_path: Path) -> None:
    calls = []

    def make(staged: StagedEntry) -> None:
        calls.append(1)
        counting(staged)

    store = PreparedStore(tmp_path / "new" / "place")
    for _ in range(2):
        entry = store.entry(KEY, make)
        assert np.array_equal(entry.arrays["ids"], np.arange(3000, dtype=np.uint16))
        assert entry.arrays["table"].tolist() == [[0, 1], [2, 3], [4, 5]]
        assert len(entry.arrays["nothing"]) == 0 and entry.values == {"words": ["a", "b"]}
        assert isinstance(entry.arrays["ids"], np.memmap) and not entry.arrays["ids"].flags.writeable
    assert calls == [1]
    assert [one.folder.name for one in store.entries()] == [KEY]


def test_rows_can_be_taken_back(tmp_path: Path) -> None:
    def make(staged: StagedEntry) -> None:
        table = staged.array("table", np.uint16, width=2)
        table.append(np.arange(8, dtype=np.uint16).reshape(4, 2))
        table.shorten(1)
        table.append(np.array([[7, 7]], np.uint16))

    assert PreparedStore(tmp_path).entry(KEY, make).arrays["table"].tolist() == [[0, 1], [7, 7]]


def test_a_kill_leaves_nothing_that_is_taken_for_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = processes.run([sys.executable, "-c", KILLED, str(tmp_path), KEY], capture_output=True)
    assert done.returncode < 0, done.stderr
    store = PreparedStore(tmp_path)
    assert store.find(KEY) is None and len(list(tmp_path.iterdir())) == 1
    monkeypatch.setattr(prepared, "STAGED_SECONDS", 0.0)
    store.entry(KEY, counting)
    assert [path.name for path in tmp_path.iterdir()] == [KEY]  # what the killed one left is gone


def test_an_error_leaves_nothing(tmp_path: Path) -> None:
    def make(staged: StagedEntry) -> None:
        counting(staged)
        raise ValueError

    with pytest.raises(ValueError):
        PreparedStore(tmp_path).entry(KEY, make)
    assert list(tmp_path.iterdir()) == []


def test_two_that_make_the_same_both_get_it(tmp_path: Path) -> None:
    both, found = threading.Barrier(2), list[np.ndarray]()

    def make(staged: StagedEntry) -> None:
        both.wait(timeout=60)
        counting(staged)
        both.wait(timeout=60)

    def work() -> None:
        found.append(PreparedStore(tmp_path).entry(KEY, make).arrays["ids"])

    threads = [threading.Thread(target=work) for _ in range(2)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert len(found) == 2 and all(np.array_equal(one, np.arange(3000)) for one in found)
    assert [path.name for path in tmp_path.iterdir()] == [KEY]


@pytest.mark.parametrize("damage", ["short", "missing", "version", "about"])
def test_what_is_damaged_is_made_anew(tmp_path: Path, damage: str) -> None:
    store = PreparedStore(tmp_path)
    folder = store.entry(KEY, counting).folder
    if damage == "short":
        os.truncate(folder / "ids.npy", 200)
    elif damage == "missing":
        (folder / "ids.npy").unlink()
    elif damage == "version":
        (folder / ABOUT).write_text((folder / ABOUT).read_text().replace('"version": "', '"version": "9'))
    else:
        (folder / ABOUT).write_text("{")
    assert store.find(KEY) is None
    assert len(store.entry(KEY, counting).arrays["ids"]) == 3000


def test_without_a_place_arrays_are_mapped_and_leave_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with prepared_in("none"):
        assert lasting_store(2**40) is None and store_for(10) is None
        store = store_for(prepared.WORTH_BYTES)
    assert store is not None
    entry = store.entry(KEY, counting)
    assert np.array_equal(entry.arrays["ids"], np.arange(3000)) and isinstance(entry.arrays["ids"], np.memmap)
    assert list(tmp_path.iterdir()) == []


def test_little_data_is_kept_only_where_the_user_names_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert lasting_store(1000) is None and list(tmp_path.iterdir()) == []
    large = lasting_store(prepared.WORTH_BYTES)
    assert large is not None and large.folder == tmp_path / "weft" / "prepared"
    with prepared_in(str(tmp_path / "mine")):
        named = lasting_store(1000)
        assert named is not None and named.folder == tmp_path / "mine"
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert lasting_store(prepared.WORTH_BYTES) is None  # no place is no error unless the user named it
    with prepared_in(str(tmp_path / "file")), pytest.raises(StorageError):
        lasting_store(1000).entry(KEY, counting)  # type: ignore[union-attr]


def test_a_file_that_changes_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.txt"
    path.write_text("abc")
    fresh = FileMarks.of([path])
    assert fresh is not None and not fresh.trusted([path])  # changed a moment ago: the next change may not show
    monkeypatch.setattr(file_marks, "SETTLED_SECONDS", 0.0)
    before = FileMarks.of([path])
    assert before is not None and before.trusted([path]) and before.bytes == 3
    times = path.stat().st_atime_ns, path.stat().st_mtime_ns
    path.write_text("abd")
    os.utime(path, ns=times)  # as before, but for the time that nobody can set
    assert not before.trusted([path])
    assert FileMarks.of([tmp_path / "none"]) is None and FileMarks.of([tmp_path]) is None


def test_clean_says_what_there_is_and_removes_it_when_asked(tmp_path: Path) -> None:
    store = PreparedStore(tmp_path)
    entry = store.entry(KEY, counting)
    ids = entry.arrays["ids"]
    found = clean_prepared(tmp_path, dry=True)
    assert found.entries == 1 and found.bytes == entry.bytes > 6000 and store.find(KEY) is not None
    assert clean_prepared(tmp_path) == found and list(tmp_path.iterdir()) == []
    assert int(ids[-1]) == 2999  # who reads it goes on reading
    assert clean_prepared(tmp_path / "none").entries == 0
