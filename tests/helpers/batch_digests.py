"""What each task learns from and is measured on, as digests: the first training batches and the held-out rows.

`python -m helpers.batch_digests` adds cases that are new to tests/fixtures/digests.json. It refuses to change one that
stands there: a run that was begun would go on with other samples.

Whole numbers, truth values and texts are digested as they are. Numbers with a fraction may differ in their last bits
from machine to machine (augmented pixels, anomalies of fields, Laplacian eigenvectors), so only their type, shape and
which of them are finite are digested; their size is kept as two means, to be compared within `TOLERANCE`.
"""

import dataclasses
import hashlib
import itertools
import json
import math
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any

import numpy as np
import torch

from helpers.trials import DATA, EVERY, TINY, TRIALS
from weft.domains.fields.reading.grid import FieldSpan
from weft.domains.pictures.reading.album import Album
from weft.domains.registry import card_named
from weft.domains.texts.dataset.documents import CorpusPart
from weft.domains.texts.reading.corpus import Corpus
from weft.files.dataset import Dataset
from weft.runs.start import Asked
from weft.runs.training import _request
from weft.tasks.planning import plan
from weft.tasks.settings.limits import with_settings
from weft.training.progress import Progress
from weft.training.schedule import Budget
from weft.training.work import Work

TABLE = DATA.parent / "digests.json"
TOLERANCE = 2e-4  # of the means of numbers with a fraction
MORE: dict[str, tuple[str, tuple[str, ...], dict[str, Any]]] = {  # other kinds of samples that a task can have
    "classify-text numbers": ("classify-text", ("prices.tsv",), {}),
    "parse gaps": ("parse", ("trees.mrg",), {"model": "gaps"}),
    "parse next-word": ("parse", ("trees.mrg",), {"model": "next-word", "tokenizer": None}),
    "translate bpe": ("translate", ("pairs.tsv",), {"tokenizer": "bpe", "vocab": 300}),
    "caption coca": ("caption", ("shapes.tsv", "shapes.zip"), {"model": "coca"}),
    "caption one-stream": ("caption", ("shapes.tsv", "shapes.zip"), {"model": "one-stream"}),
    "embed-words cbow": ("embed-words", ("book.txt",), {"contexts": "cbow"}),
    "embed-words glove": ("embed-words", ("book.txt",), {"model": "glove"}),
    "forecast atmorep": ("forecast", ("ripples.nc",), {"model": "atmorep"}),
}
CASES = {**{name: (name, trial.files, trial.drawn) for name, trial in TRIALS.items()}, **MORE}
UNDISTURBED = {f"{name} undisturbed": (name, trial.files, {}) for name, trial in EVERY.items()}  # no chance in training


def planned(case: str) -> tuple[Dataset[Any, Any], Work]:
    """The data of a case and the work that is planned on it. How to reach them is known here alone."""
    name, files, more = CASES[case] if case in CASES else UNDISTURBED[case]
    settings = {**TINY, **EVERY[name].settings, **more}
    settings = {key: value for key, value in settings.items() if value is not None}
    model, steps, card = settings.pop("model", None), settings.pop("steps"), card_named(name)
    sources = tuple(str(DATA / file) for file in files)
    asked = Asked(sources, name, model, None, Budget(steps=steps), None, None, settings)
    data = card.reader.read(sources, None, with_settings(card.training(), asked.training_settings))
    request = _request(asked, card, torch.device("cpu"), None, Progress(quiet=True))
    return data, plan(card.task, request, data, timing=False).work


class Digest:
    """A digest of a tree of values, and the means of the numbers in it that have a fraction.

    The tree is walked field by field. No name of a class, a module, a field or the tests' folder is in the digest.
    Without `signs`, the means are those of absolute values: an eigenvector has no sign of its own.
    """

    def __init__(self, *, signs: bool = True) -> None:
        self.signs, self.sha, self.means = signs, hashlib.sha256(), list[list[float]]()

    def add(self, value: Any) -> "Digest":
        """Digest a value with everything in it."""
        if isinstance(value, torch.Tensor):
            value = value.detach().cpu().contiguous().numpy()
        if isinstance(value, np.ndarray | np.generic):
            self._add_array(np.asarray(value))
        elif value is None or isinstance(value, bool | int | str | bytes):
            self._mark(type(value).__name__, value)
        elif isinstance(value, float):
            self._mark("float", value.hex())  # as it was read, or a sum of a few whole numbers
        elif isinstance(value, PurePath):
            self._mark("path", value.name)
        elif isinstance(value, Album):  # its pictures are in files
            self._mark("pictures", len(value))
            for row in range(len(value)):
                self.add(value.read(row).pixels)
            self._add_items([value.captions, value.labels])
        elif isinstance(value, Corpus | CorpusPart):  # a stream
            self._add_items(["".join(piece or "\0" for piece in value.pieces())])
        elif isinstance(value, FieldSpan):  # fields in files
            fields = value.fields
            self._add_items([fields.read(value.start, value.stop), fields.grid, fields.times, fields.layers])
        elif isinstance(value, Mapping):
            self._mark("mapping", len(value))
            for key in sorted(value):
                self.add(key).add(value[key])
        elif isinstance(value, list | tuple):
            self._add_items(list(value))
        elif dataclasses.is_dataclass(value):
            self._add_items([getattr(value, field.name) for field in dataclasses.fields(value)])
        else:
            raise TypeError(f"no digest of {type(value)}")
        return self

    def _add_items(self, items: list[Any]) -> None:
        self._mark("items", len(items))
        for item in items:
            self.add(item)

    def _add_array(self, array: np.ndarray) -> None:
        self._mark(str(array.dtype) if array.dtype != object else "object", array.shape)
        if array.dtype == object or array.dtype.kind in "UM":
            for item in array.ravel().tolist():
                self._mark(type(item).__name__, item)
        elif array.dtype.kind != "f":
            self.sha.update(np.ascontiguousarray(array).tobytes())
        else:
            finite = np.isfinite(array)
            self.sha.update(np.packbits(finite).tobytes())
            known = np.where(finite, array, 0).astype(np.float64).ravel()
            known = known if self.signs else np.abs(known)
            ramp = np.linspace(-1, 1, known.size)
            pair = [known.mean(), (known * ramp).mean()] if known.size else [0.0, 0.0]
            self.means.append([float(f"{one:.7g}") for one in pair])

    def _mark(self, kind: str, value: object) -> None:
        text = value if isinstance(value, bytes) else str(value).replace(str(DATA), "").encode("utf-8")
        self.sha.update(f"{kind}:{len(text)}:".encode() + text + b",")

    def to_json(self) -> dict[str, Any]:
        """The digest with the means, as plain values."""
        return {"sha256": self.sha.hexdigest(), "means": self.means}


def digests(case: str) -> dict[str, Any]:
    """The fingerprint of a case's data, and digests of its first two batches and its held-out batches and rows."""
    data, work = planned(case)
    source, batch = work.source, work.training.batch
    steps = [np.arange(step * batch, (step + 1) * batch) for step in range(2)]
    signs = "graph" not in CASES[case][0]  # whose nodes are placed by eigenvectors

    def digest(value: Any) -> dict[str, Any]:
        return Digest(signs=signs).add(value).to_json()

    return {
        "fingerprint": data.fingerprint,
        "per_epoch": source.per_epoch,
        "batches": [digest(source.batch(indices)) for indices in steps],
        "held_out": digest(list(source.held_out())),
        "rows": digest(data.held_out),
    }


def differences(known: Any, found: Any, where: str = "") -> Iterator[str]:
    """Where two tables of digests differ, in words: numbers with a fraction by more than `TOLERANCE`, others at all."""
    if isinstance(known, dict) and isinstance(found, dict):
        for key in {**known, **found}:
            yield from differences(known.get(key), found.get(key), f"{where} {key}".strip())
    elif isinstance(known, list) and isinstance(found, list) and len(known) == len(found):
        for number, pair in enumerate(zip(known, found, strict=True)):
            yield from differences(*pair, f"{where}[{number}]")
    elif isinstance(known, float) and isinstance(found, float):
        if not math.isclose(known, found, rel_tol=TOLERANCE, abs_tol=TOLERANCE):
            yield f"{where} was {known} and is {found}"
    elif known != found:
        yield f"{where} was {known} and is {found}"


def write(path: Path = TABLE) -> None:
    """Add the cases that the table lacks; refuse where one that it has gives something else."""
    known = json.loads(path.read_text()) if path.exists() else {}
    found = {case: digests(case) for case in CASES}
    changed = itertools.chain.from_iterable(differences(known[case], found[case], case) for case in known)
    if lines := list(changed):
        sys.exit("\n".join(lines))
    lines = [f"  {json.dumps(case)}: {json.dumps(entry)}" for case, entry in {**found, **known}.items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    write()
