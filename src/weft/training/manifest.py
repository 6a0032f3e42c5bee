"""What the manifest of a checkpoint says, and whether the files still agree. Writes and deletes nothing.

    {"format": 1, "weft": "…", "step": 200, "sequence": 7, "saved": "…", "environment": {…},
     "files": {"model.safetensors": {"bytes": …, "sha256": "…", "tensors": {name: CRC-32, …}}, …}, "seal": "…"}

The seal is the SHA-256 of the manifest without it. CRC-32 sums prove nothing the digests do not; they tell which
tensor is damaged. `sequence` counts the saves in a folder.
"""

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from weft.errors import StorageError, WeftError
from weft.json_text import read_json, shown_value
from weft.storage import store
from weft.training.naming import PLAIN_NAME
from weft.training.seal import refuse_leading_out
from weft.version import VERSION

FORMAT = 1
MANIFEST = "manifest.json"
DENORMAL = 1e-40  # a number that fp32 holds with fewer digits than others
LATER = ("device", "processes", "denormals")  # facts that earlier manifests say nothing of


class NewerFormat(WeftError):
    """Written by a later weft in a way this one cannot read."""


def environment() -> dict[str, Any]:
    """The facts of machine and software on which, besides seed and data, the exact bits of a step depend."""
    import torch

    from weft.training.devices import device_name, pick_device

    together = torch.distributed.is_available() and torch.distributed.is_initialized()
    return {
        "device": device_name(pick_device()),
        "processes": torch.distributed.get_world_size() if together else 1,
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "cpu": torch.backends.cpu.get_cpu_capability(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "matmul": torch.get_float32_matmul_precision(),
        "denormals": "kept" if float(torch.tensor(DENORMAL) * 1.0) else "flushed",  # other libraries may turn them off
    }


def environment_differences(saved: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """One line for everything that is no longer as it was: a resumed run may then differ in its last bits."""
    return [
        f"{key} was {saved.get(key, 'not recorded')}, is {now.get(key, 'not recorded')}"
        for key in sorted({*saved, *now})
        if saved.get(key) != now.get(key) and (key in saved or key not in LATER)
    ]


def make_manifest(step: int, sequence: int, files: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The sealed manifest of files that have just been written."""
    manifest: dict[str, Any] = {
        "format": FORMAT,
        "weft": VERSION,
        "step": step,
        "sequence": sequence,
        "saved": datetime.now(UTC).isoformat(timespec="seconds"),
        "environment": environment(),
        "files": dict(files),
    }
    return {**manifest, "seal": _seal(manifest)}


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a checkpoint; a StorageError says why it cannot be trusted."""
    try:
        refuse_leading_out(folder / MANIFEST, folder.parent.parent)
        manifest = read_json(store.read_file(folder / MANIFEST), where=MANIFEST)
    except WeftError as error:
        raise _damage(f"{MANIFEST}: {error.problem}") from None
    if not isinstance(manifest, dict) or type(manifest.get("format")) is not int or manifest["format"] < 1:
        raise _damage(f"{MANIFEST} is not one of weft's")
    if manifest["format"] > FORMAT:
        raise NewerFormat(
            f"written by weft {manifest.get('weft')!s:.40} in format {shown_value(manifest['format'])}; "
            f"this is weft {VERSION}, which reads formats up to {FORMAT}",
            where=store.shown(folder / MANIFEST),
            fix="use a newer weft, or move this folder away to go on from an older checkpoint",
        )
    if manifest.get("seal") != _seal(manifest):
        raise _damage(f"{MANIFEST} is damaged: it does not match its seal")
    if not _well_formed(manifest) or manifest["step"] != int(folder.name.partition(".")[0]):
        raise _damage(f"{MANIFEST} does not describe this folder")
    return manifest


def verify(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Read every listed file and compare; a StorageError names the first that differs."""
    for name, entry in manifest["files"].items():
        refuse_leading_out(folder / name, folder.parent.parent)
        verify_file(folder / name, entry)


def verify_file(path: Path, entry: Mapping[str, Any]) -> None:
    """Compare a file with its length and digest; of a damaged file of tensors, name the damaged ones."""
    try:
        length, sha256 = store.digest(path)
    except StorageError as error:
        raise _damage(f"{path.name}: {error.problem}") from None
    if length != entry["bytes"]:
        raise _damage(f"{path.name} has {length} bytes instead of {entry['bytes']}")
    if sha256 != entry["sha256"]:
        raise _damage(f"{path.name} is damaged{_where_damaged(path, entry)}: its SHA-256 is not that in {MANIFEST}")


def _where_damaged(path: Path, entry: Mapping[str, Any]) -> str:
    if "tensors" not in entry:
        return ""
    from weft.storage.tensors import damaged_tensors  # loads torch, which whole files do not need

    try:
        names = damaged_tensors(path, entry["tensors"])
    except WeftError:
        return " in its header"
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f" in {', '.join(map(repr, names[:3]))}{more}" if names else " in its header"


def _well_formed(manifest: Mapping[str, Any]) -> bool:
    files = manifest.get("files")
    return (
        all(isinstance(manifest.get(key), int) for key in ("step", "sequence"))
        and isinstance(manifest.get("environment"), dict)
        and isinstance(files, dict)
        and all(PLAIN_NAME.fullmatch(name) and _is_entry(entry) for name, entry in files.items())
    )


def _is_entry(entry: Any) -> bool:
    return (
        isinstance(entry, dict)
        and isinstance(entry.get("bytes"), int)
        and isinstance(entry.get("sha256"), str)
        and isinstance(entry.get("tensors", {}), dict)
    )


def _seal(manifest: Mapping[str, Any]) -> str:
    content = {key: value for key, value in manifest.items() if key != "seal"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _damage(problem: str) -> StorageError:
    return StorageError(problem)
