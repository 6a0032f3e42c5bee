"""Data at an address: fetched once where the user names it, whole or not at all, without what is secret."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import weft
from weft.cli.app import app
from weft.errors import DataError, WeftError
from weft.files import remote
from weft.files.remote import fetched, is_address, without_secrets
from weft.storage.prepared import PreparedStore, prepared_in

fsspec = pytest.importorskip("fsspec")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Any]:
    """A store in memory, with some data; what is fetched is kept in `kept`."""
    system = fsspec.filesystem("memory")
    system.pipe({
        "/bucket/reviews.csv": table(40),
        "/bucket/photos/a/1.txt": b"one",
        "/bucket/photos/2.txt": b"two",
    })  # fmt: skip
    with prepared_in(str(tmp_path / "kept")):
        yield system
    system.rm("/bucket", recursive=True)


def table(rows: int) -> bytes:
    lines = [f"it was {'good' if n % 2 else 'bad'} for reason {n},{'pos' if n % 2 else 'neg'}" for n in range(rows)]
    return "\n".join(["text,label", *lines, ""]).encode()


def entries(tmp_path: Path) -> int:
    return len(PreparedStore(tmp_path / "kept").entries())


def test_a_file_is_fetched_once_and_again_when_it_has_changed(store: Any, tmp_path: Path) -> None:
    (first,) = fetched(["memory://bucket/reviews.csv"])
    assert Path(first).name == "reviews.csv" and Path(first).read_bytes() == table(40)
    reads: list[str] = []
    was = type(store).open
    store_open = lambda self, path, *more, **how: (reads.append(path), was(self, path, *more, **how))[1]  # noqa: E731
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(type(store), "open", store_open)
        assert fetched(["memory://bucket/reviews.csv"]) == (first,) and reads == []
        store.pipe("/bucket/reviews.csv", table(50))
        reads.clear()
        (second,) = fetched(["memory://bucket/reviews.csv"])
    assert reads and Path(second).read_bytes() == table(50) and Path(first).read_bytes() == table(40)
    assert entries(tmp_path) == 2


def test_a_folder_and_a_pattern_keep_their_names(store: Any) -> None:
    (folder,) = fetched(["memory://bucket/photos"])
    found = {path.relative_to(folder).as_posix(): path.read_text() for path in Path(folder).rglob("*.txt")}
    assert found == {"a/1.txt": "one", "2.txt": "two"} and Path(folder).name == "photos"
    (matched,) = fetched(["memory://bucket/photos/*.txt"])
    assert [path.name for path in Path(matched).iterdir()] == ["2.txt"]


def test_what_is_no_address_stays_as_it_is() -> None:
    words = ("data.csv", "C:\\data\\a.csv", "s3:/a", "two words://are none", "")
    assert fetched(words) == words and not any(map(is_address, words))


def test_a_fetch_that_ends_early_leaves_nothing_under_its_name(store: Any, tmp_path: Path, monkeypatch) -> None:
    def stopped(copy: Any, chunk: bytes, file: Path) -> None:
        copy.write(chunk[:10])
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(remote, "_write", stopped)
        with pytest.raises(KeyboardInterrupt):
            fetched(["memory://bucket/reviews.csv"])
    assert list((tmp_path / "kept").iterdir()) == []
    assert Path(fetched(["memory://bucket/reviews.csv"])[0]).read_bytes() == table(40)


def test_fewer_bytes_than_were_announced_are_refused(store: Any, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(remote, "_write", lambda copy, chunk, file: copy.write(chunk))
    was = type(store).info
    monkeypatch.setattr(type(store), "info", lambda self, *given, **how: {**was(self, *given, **how), "size": 9999})
    with pytest.raises(DataError, match="bytes came of"):
        fetched(["memory://bucket/reviews.csv"])
    assert entries(tmp_path) == 0


def test_what_is_secret_in_an_address_is_neither_said_nor_kept(tmp_path: Path) -> None:
    address = "https://me:hidden@host.invalid/a/data.csv?token=hidden#hidden"
    assert without_secrets(address) == "https://host.invalid/a/data.csv"
    path = tmp_path / "data.csv"
    path.write_bytes(table(4))
    with prepared_in(str(tmp_path / "kept")):
        (found,) = fetched([f"file://{path}"])
        about = json.loads((Path(found).parents[1] / "about.json").read_text())
        assert about["files"] == [f"file://{path}"] and Path(found).read_bytes() == table(4)
        with pytest.raises(WeftError) as caught:
            fetched(["memory://me:hidden@nothing/here.csv?token=hidden"])
    assert "hidden" not in str(caught.value) and "nothing at this address" in str(caught.value)


def test_other_kinds_of_addresses_are_refused_by_name() -> None:
    with pytest.raises(DataError, match=r"ftp:// are not read"):
        fetched(["ftp://host/data.csv"])


def test_without_the_library_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "fsspec.core", None)
    with pytest.raises(WeftError, match=r"weft\[remote\]"):
        fetched(["s3://bucket/data.csv"])


def test_where_nothing_is_kept_nothing_is_fetched(store: Any) -> None:
    with prepared_in("none"), pytest.raises(DataError, match="no place to keep"):
        fetched(["memory://bucket/reviews.csv"])


def test_a_run_is_made_and_used_from_an_address(store: Any, tmp_path: Path) -> None:
    kept, address = str(tmp_path / "kept"), "memory://bucket/reviews.csv"
    assert weft.check(address, plan=False, prepared=kept).task == "classify-text"
    run = weft.train(address, preset="tiny", steps=2, quiet=True, out=tmp_path / "run", baselines=False, prepared=kept)
    assert run.evaluate(address, baselines=False)["examples"] == 40
    out = tmp_path / "answers.csv"
    done = CliRunner().invoke(app, ["predict", str(tmp_path / "run"), address, "--output", str(out)])
    assert done.exit_code == 0 and len(out.read_text().splitlines()) == 41
    assert entries(tmp_path) > 0
