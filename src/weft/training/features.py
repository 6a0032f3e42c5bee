"""Features of a frozen encoder: computed once, before the first step, and kept in the run folder.

features/5f0c….safetensors    of a few samples; the name is the digest of the encoder's weights and of what it was given

A file is written whole or not at all, so that a run that was stopped goes on with those that are there.
"""

import hashlib
import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from weft.batches.features import Features, InputSource, KeptInputs
from weft.errors import WeftError
from weft.models.outline import own_tensors
from weft.models.stream import Model, Stream
from weft.storage import store
from weft.storage.lock import is_leftover
from weft.storage.soundness import broken_tensors
from weft.storage.tensors import bytes_of, read_tensors, write_tensors
from weft.training.retention import entries

FEATURES = "features"  # the folder inside a run's
AT_ONCE = 32  # samples that are encoded together and kept in one file
ENDING = ".safetensors"

Count = Callable[[int, int], None]


def features_in(run: Path) -> Path:
    """Where a run has its features; a link in the folder's place is refused."""
    return store.inside(run, FEATURES)


def kept_files(run: Path) -> list[Path]:
    """The files of a run's features, and what a killed process left beside them."""
    return [path for path in entries(features_in(run)) if path.suffix == ENDING or is_leftover(path)]


def remove_features(run: Path) -> None:
    """Remove the features of a run; a file of another kind, and then the folder, stay."""
    for path in kept_files(run):
        path.unlink(missing_ok=True)
    if not entries(features_in(run)):
        features_in(run).rmdir()


def sweep_features(run: Path) -> None:
    """Remove what a killed process left in a folder that is locked by this process."""
    for path in filter(is_leftover, entries(features_in(run))):
        path.unlink(missing_ok=True)


def frozen_reader(model: Model) -> Stream | None:
    """The stream that reads what a model is given, where none of its weights are trained."""
    reader = model.reader()
    parts = () if reader is None else (reader.embed, reader.trunk)
    return None if any(p.requires_grad for part in parts for p in part.parameters()) else reader


class FeatureStore:
    """Encodes samples in a precision, or finds what was computed of them before. Only one process may write."""

    def __init__(self, encoder: Stream, run: Path, device: torch.device, dtype: torch.dtype, *, writes: bool):
        self.encoder, self.device, self.dtype, self.writes = encoder.eval().to(device), device, dtype, writes
        self.folder = features_in(run)
        words = {"config": encoder.config.to_json(), "precision": str(dtype)}
        self.weights = _digest(words, _encoding_tensors(encoder))
        if writes:
            store.make_folder(self.folder)

    @torch.no_grad()
    def __call__(self, given: Any) -> Features:
        """The features of samples as an encoder takes them."""
        tensors = {name: value for name, value in vars(given).items() if isinstance(value, Tensor)}
        path = self.folder / f"{_digest({'weights': self.weights}, tensors)}{ENDING}"
        if (found := self._found(path, len(given))) is not None:
            return found
        with torch.autocast(self.device.type, self.dtype, enabled=self.dtype is not torch.float32):
            made = Features.of(self.encoder.encode(given.to(self.device).raw()))
        if self.writes:
            write_tensors(path, made.tensors())
        return made

    def _found(self, path: Path, rows: int) -> Features | None:
        """What a file holds; None where it is not there, or not what was written."""
        if not path.exists():
            return None
        try:
            tensors = read_tensors(path)
            found = None if broken_tensors(tensors) else Features.from_tensors(tensors)
        except (WeftError, KeyError, IndexError):
            return None
        return found if found is not None and found.x.ndim == 3 and len(found) == rows else None


def kept_inputs(source: InputSource, versions: int, features: FeatureStore, count: Count) -> KeptInputs:
    """The features of all samples: of those to train on in some versions, and of those held out.

    `count` hears how many of how many are there.
    """
    inputs = source.inputs
    rows, held_rows = inputs.sizes
    done, total = 0, versions * rows + held_rows
    train: list[Features] = []
    for version, start in itertools.product(range(versions), range(0, rows, AT_ONCE)):
        some = np.arange(start, min(rows, start + AT_ONCE))
        train.append(features(inputs.version(some, version)))
        count(done := done + len(some), total)
    held: list[tuple[np.ndarray, Features]] = []
    for some, given in inputs.held_out(None):
        held.append((some, Features.joined([features(part) for part in _pieces(given)])))
        count(done := done + len(some), total)
    return KeptInputs(inputs.key, Features.joined(train), versions, held, inputs.probed)


def _pieces(given: Any) -> Iterator[Any]:
    for start in range(0, len(given), AT_ONCE):
        yield given[start : start + AT_ONCE]


def _encoding_tensors(encoder: Stream) -> dict[str, Tensor]:
    """The weights of an encoder without those of a head."""
    return {name: t for name, t in own_tensors(encoder).items() if not name.startswith("head.")}


def _digest(words: dict[str, Any], tensors: dict[str, Tensor]) -> str:
    """SHA-256 of some words and of tensors, by name."""
    found = hashlib.sha256(json.dumps(words, sort_keys=True, default=str).encode())
    for name, tensor in sorted(tensors.items()):
        found.update(f"{name} {tensor.dtype} {list(tensor.shape)} ".encode())
        found.update(bytes_of(tensor))
    return found.hexdigest()
