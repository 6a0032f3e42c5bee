"""Sweeps: a grid of settings trained within one budget. Each round trains longer and keeps the better half.

runs/book-sweep-1/
    sweep.json                    what was asked for
    1-lr=0.001-dropout=0/         a run of the first round
    3-lr=0.001-dropout=0/         the winner, trained again for the whole of the last round

On a disk that several machines share, each that goes on with the sweep takes runs that nobody holds.

Every round trains from the beginning: learning rates fall to zero over a run's own time, and models are sized by it, so
that a short run is no first part of a long one. Loads no torch itself.
"""

import contextlib
import itertools
import math
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, get_args, get_origin

from weft.config import field_types
from weft.errors import ConfigError, WeftError
from weft.json_text import read_json, write_json
from weft.runs.finding import require_run
from weft.runs.ranking import deciding, score
from weft.runs.start import Asked, choose, train
from weft.storage import store
from weft.storage.lock import InUse
from weft.training.folder import RunFolder, check_place
from weft.training.launched import launched
from weft.training.naming import fresh_folder
from weft.training.schedule import Budget

REQUEST = "sweep.json"
LOOK_EVERY = 5.0  # seconds between looks at runs that other processes train
STALE = 3600.0  # seconds after which what a killed process left is removed
MOST = 64  # runs in the first round
UNUSUAL = re.compile(r"[^\w.=+-]+")  # what a folder's name does without
Words = Mapping[str, Any]


@dataclass(frozen=True)
class Swept:
    """How one of the runs of a sweep did."""

    round: int
    run: str
    words: Mapping[str, str]
    metrics: Mapping[str, float]


@dataclass(frozen=True)
class Sweep:
    """All runs, in the order in which they were trained; `best` is that of the last round."""

    folder: str
    measure: str
    runs: tuple[Swept, ...]

    @property
    def best(self) -> Swept:
        """The run of the last round."""
        return self.runs[-1]

    def to_json(self) -> dict[str, Any]:
        """The sweep as `weft train --json` gives it."""
        return {"sweep": self.folder, "run": self.best.run, "measure": self.measure, "metrics": self.best.metrics,
                "runs": [asdict(one) for one in self.runs]}  # fmt: skip


def several(words: Words, settings: Words) -> dict[str, list[str]]:
    """The words with several values: `lr=1e-3,3e-3`, `--model gpt,swift`. Settings that are lists have one value."""
    named = {**({"model": words["model"]} if words.get("model") else {}), **settings}
    listed = {name: value.split(",") for name, value in named.items() if isinstance(value, str) and "," in value}
    kinds = field_types(_card(words, settings).training) if listed else {}
    found = {
        name: [value.strip() for value in values] for name, values in listed.items() if not _is_list(kinds.get(name))
    }
    for name, values in found.items():
        if not all(values) or len(set(values)) < len(values):
            raise ConfigError(f"expected different values, found {named[name]!r}", where=f"--set {name}")
    return found


def _card(words: Words, settings: Words) -> Any:
    """The task that the words of a training mean."""
    origin = words.get("from_")
    was = RunFolder(require_run(origin)).config().get("task") if origin else None
    sources = tuple(words.get("data") or ())
    return choose(Asked(sources, words.get("task"), None, None, Budget(), origin, None, settings), was)[0]


def rounds(count: int) -> list[int]:
    """How many runs each round has: half of those before, rounded up, until one is left."""
    return [count] if count <= 1 else [count, *rounds(math.ceil(count / 2))]


def sweep(
    words: Words,
    settings: Words,
    grid: Mapping[str, Sequence[str]],
    *,
    out: str | Path | None,
    say: Callable[[str], None],
) -> Sweep:
    """Train the grid. `words` and `settings` are those of `train`; a word of the grid takes their place."""
    _refuse_several_processes()
    if not words.get("minutes"):
        raise WeftError("a sweep needs a time", where="weft train", fix="add --minutes, the time for all runs together")
    trials = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
    if len(trials) > MOST:
        raise WeftError(f"{len(trials)} runs in a sweep are too many, {MOST} are allowed", fix="name fewer values")
    if out is not None:
        check_place(RunFolder(out), resume=False)
    folder = Path(out) if out is not None else fresh_folder(f"{_stem(words)}-sweep")
    store.make_folder(folder)
    request = {"words": dict(words), "settings": dict(settings), "grid": {name: list(v) for name, v in grid.items()}}
    store.write_file(folder / REQUEST, write_json(request).encode())
    return _train(folder, words, settings, trials, say)


def _refuse_several_processes() -> None:
    """The runs of a sweep are trained one after another, each in one process."""
    if launched() > 1:
        raise WeftError(
            f"a sweep trains in one process, and torchrun has started {launched()}",
            where="weft train",
            fix="start the sweep without torchrun, or each of its runs with it",
        )


def is_sweep(folder: str | Path | None) -> bool:
    """Whether a folder holds a sweep."""
    return folder is not None and (Path(folder) / REQUEST).exists()


def resume_sweep(folder: str | Path, say: Callable[[str], None]) -> Sweep:
    """Go on with a sweep that was stopped: finished runs are not trained again."""
    _refuse_several_processes()
    where = store.shown(Path(folder) / REQUEST)
    request = read_json(store.read_file(Path(folder) / REQUEST), where=where)
    try:
        words, settings, grid = (dict(request[key]) for key in ("words", "settings", "grid"))
    except (TypeError, KeyError, ValueError):
        raise ConfigError("not the request of a sweep", where=where) from None
    trials = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
    return _train(Path(folder), words, settings, trials, say)


def _train(
    folder: Path, words: Words, settings: Words, trials: list[dict[str, str]], say: Callable[[str], None]
) -> Sweep:
    counts, done = rounds(len(trials)), list[Swept]()
    left, measure = trials, "loss"
    for number, count in enumerate(counts, 1):
        minutes = float(words["minutes"]) / len(counts) / count
        say(f"round {number} of {len(counts)}: {count} {'run' if count == 1 else 'runs'} of {minutes:.3g} minutes")
        here = _round(folder, number, left, {**words, "minutes": minutes}, settings, say)
        done += here
        measure = deciding(here[0].metrics)
        best = sorted(here, key=lambda one: score(one.metrics, measure), reverse=True)
        left = [dict(one.words) for one in best[: math.ceil(count / 2)]]
    return Sweep(store.shown(folder), measure, tuple(done))


def _round(
    folder: Path,
    number: int,
    trials: Sequence[Mapping[str, str]],
    words: Words,
    settings: Words,
    say: Callable[[str], None],
) -> list[Swept]:
    """The runs of a round; each is trained by the process, of this or another machine, that finds it held by nobody."""
    found: dict[int, Swept] = {}
    waits = False
    while len(found) < len(trials):
        before = len(found)
        for i, trial in enumerate(trials):
            if i in found:
                continue
            path = _path(folder, number, trial)
            lock = store.RunLock(folder, name=f".{path.name}.lock", stale=STALE)
            with contextlib.suppress(InUse), contextlib.nullcontext() if _measured(path) else lock:
                found[i] = _one(path, number, trial, words, settings, say)
        if len(found) == before:
            if not waits:
                say("waiting for the runs of this round that others train")
            waits = True
            time.sleep(LOOK_EVERY)
    return [found[i] for i in range(len(trials))]


def _measured(path: Path) -> bool:
    """Whether a run is trained and its measures are known."""
    return RunFolder(path).exists and RunFolder(path).finished and "result" in RunFolder(path).config()


def _path(folder: Path, number: int, trial: Mapping[str, str]) -> Path:
    """Where a run of a round lies."""
    return store.inside(folder, f"{number}-{UNUSUAL.sub('-', _label(trial))[:120]}")


def _label(trial: Mapping[str, str]) -> str:
    return " ".join(f"{name}={value}" for name, value in trial.items())


def _one(
    path: Path, number: int, trial: Mapping[str, str], words: Words, settings: Words, say: Callable[[str], None]
) -> Swept:
    """Train one run of a round, or go on with it, or take its result where it is finished."""
    place = RunFolder(path)
    say(f"\n{_label(trial)}")
    chosen = {**settings, **{name: value for name, value in trial.items() if name != "model"}}
    named = {**words, **{name: value for name, value in trial.items() if name == "model"}}
    if not place.exists:
        train(out=path, **named, **chosen)
    elif not _measured(path):
        train(out=path, resume=True)
    return Swept(number, store.shown(path), dict(trial), place.config()["result"]["metrics"])


def _is_list(kind: Any) -> bool:
    """Whether a setting is a list, or a text that may hold commas."""
    choices = [choice for choice in (get_args(kind) or (kind,)) if choice is not type(None)]
    return kind is str or get_origin(kind) is tuple or any(c is str or get_origin(c) is tuple for c in choices)


def _stem(words: Words) -> str:
    data = words.get("data") or ()
    return Path(str(data[0])).stem if data else str(words.get("task"))
