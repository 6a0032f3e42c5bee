"""What is damaged: a finished run of every task, half-finished ones, one with adapters, and foreign folders."""

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

from helpers import trials

import weft
from weft.runs.verifying import verify_run
from weft.training.seal import CONFIG, FileSeal, sealed_config

FIXTURES = Path(__file__).parents[1] / "fixtures"
SETTINGS = {"steps": 2, "evaluate_every": 2}
BRIEF = {"language-model": {"max_tokens": 5}}  # settings of what is predicted
UNTOUCHED = (".png", ".lock", "README.md")


@dataclass(frozen=True)
class Subject:
    """A folder to be damaged, and what is then asked of it."""

    name: str
    folder: Path
    input: Any = None
    data: tuple[Path, ...] = field(default=())
    resumed: bool = False  # a run that was stopped, and goes on
    foreign: bool = False  # a folder of another library

    @property
    def files(self) -> list[str]:
        """The files that decide something, by their paths in the folder."""
        found = (path for path in sorted(self.folder.rglob("*")) if path.is_file())
        return [str(path.relative_to(self.folder)) for path in found if not path.name.endswith(UNTOUCHED)]

    def use(self, folder: Path, *, measure: bool) -> Callable[[], None]:
        """What is asked of a damaged copy: load it and answer; measured, verified and gone on with as well."""
        return partial(_use, self, folder, measure)


def _use(subject: Subject, folder: Path, measure: bool) -> None:
    if subject.resumed and measure:
        if subject.data:
            weft.train(subject.data, out=folder, resume=True, quiet=True)
        return
    if measure and not subject.foreign:
        verify_run(folder)
    run = weft.load(folder)
    assert run.report is not None and repr(run)
    if run.config.get("task") is None:
        return
    if not subject.foreign:
        run.metrics  # noqa: B018 (read from the folder)
    if subject.input is not None:
        run.predict(subject.input, **BRIEF.get(run.config["task"], {}))
    if measure and subject.data:
        run.evaluate(list(subject.data))


def fixtures() -> Iterator[Subject]:
    """The runs that stand beside the tests: nothing is trained for them. Those without a seal are read without one."""
    for kind in ("finished", "begun"):
        for folder in sorted((FIXTURES / kind).iterdir()):
            task = folder.name.removesuffix("-sealed").removesuffix("-numbers")
            trial = trials.TRIALS[task]
            data = (FIXTURES / "data" / "prices.tsv",) if folder.name.endswith("-numbers") else tuple(trial.data)
            yield Subject(f"{kind} {folder.name}", folder, trial.input, data, resumed=kind == "begun")


def trained(home: Path) -> Iterator[Subject]:
    """A tiny finished run of every task."""
    for name, trial in trials.TRIALS.items():
        folder = home / "trained" / name
        if not (folder / CONFIG).exists():
            trials.train(name, trial.data, out=folder, **SETTINGS)
        yield Subject(name, folder, trial.input, tuple(trial.data))


def adapted(home: Path) -> Subject:
    """A run with adapters, beside its base."""
    trial, folder = trials.TRIALS["classify-text"], home / "adapted"
    if not (folder / CONFIG).exists():
        base = home / "trained" / "classify-text"
        trials.train("classify-text", trial.data, out=folder, from_=base, lora=2, dim=None, depth=None, heads=None,
                     **{"model.embed.grams.buckets": None, "tokenizer": None}, **SETTINGS)  # fmt: skip
    return Subject("with adapters", folder, trial.input, tuple(trial.data))


def foreign(home: Path) -> Iterator[Subject]:
    """Folders as the Hugging Face library has them, of one model of each task that it has too."""
    for name, trial in trials.TRIALS.items():
        folder, run = home / "foreign" / name, home / "to write" / name
        if trial.hf is None:
            continue
        if not (folder / CONFIG).exists():
            made = trials.train(name, trial.data, out=run, **{**trial.hf, **SETTINGS})
            with mock.patch("weft.runs.exporting.prove", lambda *args: 0.0):  # which takes a process of its own
                made.export(folder)
        yield Subject(f"another library's {name}", folder, trial.input, foreign=True)


def every(home: Path) -> list[Subject]:
    """All of them; what has to be trained is trained in `home`, once."""
    made = list(trained(home))
    return [*made, adapted(home), *fixtures(), *foreign(home)]


def seal_again(folder: Path, changed: str) -> bool:
    """Make the seal fit a changed folder, so that what lies behind it is tried; False where there is none to make."""
    path = folder / CONFIG
    if changed.startswith("checkpoints/"):
        return _seal_checkpoint((folder / changed).parent)
    if changed == CONFIG:
        return _seal_text(path)
    config = json.loads(path.read_text(encoding="utf-8"))
    if "seal" not in config:
        return False
    for codec in config["codecs"].values():
        if codec.get("file") == changed and "digest" in codec:
            codec["digest"] = None  # so that what is in the file is looked at
    files = {p.name: FileSeal.of_file(p) for p in folder.iterdir() if p.is_file() and p.name in config["seal"]["files"]}
    path.write_bytes(sealed_config({k: v for k, v in config.items() if k != "seal"}, files))
    return True


def _seal_text(path: Path) -> bool:
    """Put the digest of config.json right, whatever its text has become."""
    import hashlib
    import re

    from weft.training.seal import BLANK

    if not path.is_file():
        return False
    text = path.read_bytes()
    found = re.findall(rb'"config": "([0-9a-f]{64})"', text)
    if len(found) != 1 or text.count(found[0]) != 1:
        return False
    blank = text.replace(found[0], BLANK.encode())
    path.write_bytes(blank.replace(BLANK.encode(), hashlib.sha256(blank).hexdigest().encode()))
    return True


def _seal_checkpoint(folder: Path) -> bool:
    """Make the manifest of a checkpoint fit its files."""
    from weft.training.manifest import MANIFEST, _seal

    path = folder / MANIFEST
    if not path.is_file():
        return False
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        for name, entry in manifest["files"].items():
            seal = FileSeal.of_file(folder / name)
            entry.update(bytes=seal.bytes, sha256=seal.sha256)
        path.write_text(json.dumps({**manifest, "seal": _seal(manifest)}))
    except Exception:  # the manifest itself was changed beyond sealing, or a file is gone
        return False
    return True


def copied(subject: Subject, place: Path) -> Path:
    """A copy of a subject to damage."""
    shutil.rmtree(place, ignore_errors=True)
    return Path(shutil.copytree(subject.folder, place))
