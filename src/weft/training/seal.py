"""The seal of a run, in config.json: by it a change of any file is noticed, and of config.json itself. Loads no torch.

    "seal": {"files": {"model.safetensors": {"bytes": …, "sha256": "…"}, …}, "parts": {"model": "…", …}, "config": "…"}

`config` is the SHA-256 of config.json with 64 zeros in its place: not a byte of the file may change. `parts` are
digests of what config.json says under each name, and tell which of them changed. Runs of format 1 and 2 have no seal.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weft.errors import StorageError, listed
from weft.files.bounds import leads_out
from weft.json_text import write_json
from weft.storage import store

CONFIG, KEY = "config.json", "seal"
EVALUATION = "evaluation-"  # begins the name of a folder with the pictures of measures on other data
BLANK = "0" * 64  # stands for the digest of config.json while it is computed
TAKEN = "predict, evaluate, look, embed and export take it as it is with --broken, weft.load with broken=True"
AS_IT_IS = f"put the run's own file back; {TAKEN}"


@dataclass(frozen=True)
class FileSeal:
    """Length and SHA-256 of a file."""

    bytes: int
    sha256: str

    @staticmethod
    def of(data: bytes) -> "FileSeal":
        """The seal of a content."""
        return FileSeal(len(data), hashlib.sha256(data).hexdigest())

    @staticmethod
    def of_file(path: Path) -> "FileSeal":
        """The seal of a file as it is now."""
        return FileSeal(*store.digest(path))

    @staticmethod
    def from_json(entry: Any) -> "FileSeal":
        """What config.json has of one file; a TypeError or KeyError where that is no seal."""
        seal = FileSeal(entry["bytes"], entry["sha256"])
        if type(seal.bytes) is not int or not isinstance(seal.sha256, str):
            raise TypeError
        return seal

    def difference(self, found: "FileSeal") -> str:
        """What is not as it was, in words; nothing where all is."""
        if found.bytes != self.bytes:
            return f"it has {found.bytes:,} bytes instead of {self.bytes:,}"
        return "" if found.sha256 == self.sha256 else "its SHA-256 is not that in config.json"


FileSeals = Mapping[str, FileSeal]


def sealed_config(config: Mapping[str, Any], files: FileSeals) -> bytes:
    """The content of config.json with its seal. A file name that is not UTF-8 is held as JSON can hold it."""
    seal = {"files": {name: vars(files[name]) for name in sorted(files)}, "parts": _parts(config), "config": BLANK}
    text = write_json({**config, KEY: seal}).encode("utf-8", "backslashreplace")
    before, mark, after = text.rpartition(BLANK.encode())
    assert mark
    return before + hashlib.sha256(text).hexdigest().encode() + after


def check_config(content: bytes, config: Mapping[str, Any], path: Path) -> FileSeals:
    """The seals of the other files, from a config.json of which no byte has changed; a StorageError says what has."""
    seal: Any = config.get(KEY)
    try:
        found, parts = seal["config"], dict(seal["parts"].items())
        files = {name: FileSeal.from_json(entry) for name, entry in seal["files"].items()}
        whole = re.fullmatch("[0-9a-f]{64}", found) and content.count(found.encode()) == 1
    except (TypeError, KeyError, AttributeError):
        raise StorageError("its seal is damaged or missing", where=store.shown(path), fix=AS_IT_IS) from None
    if not whole or hashlib.sha256(content.replace(found.encode(), BLANK.encode())).hexdigest() != found:
        now = _parts(config)
        names = sorted(name for name in {*now, *parts} if now.get(name) != parts.get(name))
        what = f"{listed(names)} {'is' if len(names) == 1 else 'are'} not what weft wrote" if names else "damaged"
        raise StorageError(f"changed since the run was written: {what}", where=store.shown(path), fix=AS_IT_IS)
    return files


def refuse_leading_out(path: Path, folder: Path) -> None:
    """Refuse a file of a run that is a link to somewhere outside the run's folder, or lies beyond such a link."""
    if leads_out(path, folder):
        problem = "a link that leads out of the run's folder"
        raise StorageError(problem, where=store.shown(path), fix=f"put the file itself there; {TAKEN}")


def check_file(path: Path, sealed: FileSeal | None, sha256: str) -> None:
    """Refuse a file of a sealed run that is not the one that was sealed, or that the seal does not name."""
    if sealed is None:
        problem = "not a file that this run wrote: config.json does not name it"
        raise StorageError(problem, where=store.shown(path), fix=f"remove it, or {AS_IT_IS}")
    if sealed.sha256 != sha256:
        problem = "changed since the run was written: its SHA-256 is not that in config.json"
        raise StorageError(problem, where=store.shown(path), fix=AS_IT_IS)


def seals_in(folder: Path, *, but: Iterable[str]) -> dict[str, FileSeal]:
    """The seals of the plain files in a folder and its evaluations; hidden ones and those in `but` have none."""
    drawn = (path for place in folder.glob(f"{EVALUATION}*") if not place.is_symlink() for path in place.glob("*"))
    found = sorted(path for path in (*folder.iterdir(), *drawn) if path.is_file() and not path.name.startswith("."))
    names = {path.relative_to(folder).as_posix(): path for path in found}
    return {name: FileSeal.of_file(path) for name, path in names.items() if name not in but}


def _parts(config: Mapping[str, Any]) -> dict[str, str]:
    """A short digest of what stands under each name."""
    plain = {name: json.dumps(value, sort_keys=True).encode() for name, value in config.items() if name != KEY}
    return {name: hashlib.sha256(text).hexdigest()[:16] for name, text in plain.items()}
