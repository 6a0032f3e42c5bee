"""Runs experiments: seed after seed, within a time or a number, kept in a folder so that a stopped report goes on."""

import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from weft.config import Config
from weft.errors import WeftError
from weft.json_text import read_json, write_json
from weft.lab.experiment import Experiment, SeedOutcome
from weft.lab.verdict import Verdict, judged
from weft.storage.store import write_file
from weft.training.progress import Progress


@dataclass(frozen=True)
class Result:
    """What an experiment gave: its settings, the outcome of each seed, the verdict, and the seconds of this machine."""

    experiment: Experiment
    settings: Config
    outcomes: tuple[SeedOutcome, ...]
    seconds: float

    @property
    def verdict(self) -> Verdict:
        """By the rule of the claim."""
        return judged(self.experiment.claim, [one.effect for one in self.outcomes])

    @property
    def command(self) -> str:
        """The command that repeats it."""
        usual = self.experiment.Settings()
        changed = [name for name in usual.to_json() if getattr(self.settings, name, None) != getattr(usual, name, None)]
        words = [f"--set {name}={_word(getattr(self.settings, name))}" for name in changed if name != "type"]
        return " ".join(["weft lab", self.experiment.claim.name, f"--seeds {len(self.outcomes)}", *words])


def settings_for(experiment: Experiment, words: dict[str, str], data: str | None) -> Config:
    """The settings of an experiment with what the user says."""
    found = experiment.Settings()
    if data is not None:
        if not experiment.takes_data:
            problem = "this experiment makes its own data"
            raise WeftError(problem, where=f"weft lab {experiment.claim.name} --data", fix="leave it out")
        found = found.replace(data=data)
    for name, value in words.items():
        found = found.set(name, value)
    return found


def run(
    experiment: Experiment,
    settings: Config,
    *,
    seeds: int | None = None,
    minutes: float | None = None,
    first: int = 0,
    kept: Path | None = None,
    progress: Progress | None = None,
) -> Result:
    """Measure seed after seed: `seeds` of them, or as many as `minutes` allow, two at least.

    `first` is the number of the first seed. Outcomes in the file `kept`, of the same settings, are not measured again.
    """
    claim, say = experiment.claim, (progress or Progress(quiet=True)).say
    wanted = seeds or (None if minutes else claim.seeds)
    known = _read(kept, settings)
    outcomes: list[SeedOutcome] = []
    began, spent = time.monotonic(), 0.0
    while len(outcomes) < (wanted or 2) or (wanted is None and _has_time(began, minutes, len(outcomes))):
        seed = first + len(outcomes)
        if seed not in known:
            started = time.monotonic()
            known[seed] = experiment.measure(settings, seed)
            spent += time.monotonic() - started
            _write(kept, settings, known)
        outcomes.append(known[seed])
        say(f"  {claim.id} {claim.name}: seed {seed}, effect {known[seed].effect:.4g}")
    return Result(experiment, settings, tuple(outcomes), spent)


def _has_time(began: float, minutes: float | None, done: int) -> bool:
    """Whether one more seed is likely to end within the minutes."""
    taken = time.monotonic() - began
    return minutes is not None and done < 1000 and taken * (done + 1) / max(1, done) <= 60 * minutes


def _read(kept: Path | None, settings: Config) -> dict[int, SeedOutcome]:
    """The outcomes that a file has for these settings, by seed."""
    if kept is None or not kept.exists():
        return {}
    found = read_json(kept.read_bytes(), where=str(kept))
    if found.get("settings") != settings.to_json():
        return {}
    return {int(seed): _outcome(one) for seed, one in found["outcomes"].items()}


def _write(kept: Path | None, settings: Config, known: dict[int, SeedOutcome]) -> None:
    if kept is not None:
        told = {"settings": settings.to_json(), "outcomes": {seed: asdict(one) for seed, one in sorted(known.items())}}
        write_file(kept, write_json(told).encode())


def _outcome(found: dict[str, Any]) -> SeedOutcome:
    lines = {name: [(x, y) for x, y in points] for name, points in found["lines"].items()}
    return SeedOutcome(effect=found["effect"], lines=lines, facts=found["facts"])


def _word(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, Iterable) and not isinstance(value, str) else str(value)
