"""Runs experiments: seed after seed, within a time or a number, kept in a folder so that a stopped report goes on."""

import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

from weft.config import Config
from weft.errors import WeftError
from weft.json_text import read_json, write_json
from weft.lab.experiment import Claim, Experiment, SeedOutcome
from weft.lab.verdict import Verdict, Word, judged
from weft.storage.store import write_file
from weft.training.progress import Progress


@dataclass(frozen=True)
class Result:
    """What an experiment gave: its settings, the outcome of each seed, and the verdict."""

    experiment: Experiment
    settings: Config
    outcomes: tuple[SeedOutcome, ...]
    first: int = 0

    @property
    def seconds(self) -> float:
        """Processor time of all outcomes, of those that were kept from an earlier call too."""
        return sum(one.seconds for one in self.outcomes)

    @property
    def verdict(self) -> Verdict:
        """By the rule of the claim; nothing is decided where one set of seeds says the opposite of another."""
        found = judged(self.experiment.claim, [one.effect for one in self.outcomes])
        return replace(found, word="not decided") if {"holds", "does not hold"} <= set(self.sets) else found

    @property
    def sets(self) -> tuple[Word, ...]:
        """The verdict of each disjoint set of as many seeds as are usual, where there are two sets or more."""
        each = self.experiment.claim.seeds
        effects = [one.effect for one in self.outcomes]
        some = [effects[n : n + each] for n in range(0, len(effects) - each + 1, each)]
        return tuple(judged(self.experiment.claim, one).word for one in some) if len(some) > 1 else ()

    @property
    def command(self) -> str:
        """The command that repeats it."""
        usual = self.experiment.Settings()
        changed = [name for name in usual.to_json() if getattr(self.settings, name, None) != getattr(usual, name, None)]
        words = [f"--set {name}={_word(getattr(self.settings, name))}" for name in changed if name != "type"]
        claim = self.experiment.claim
        first = [f"--first {self.first}"] if self.first != claim.first else []
        return " ".join(["weft lab", claim.name, f"--seeds {len(self.outcomes)}", *first, *words])


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
    settings: Config | None = None,
    *,
    seeds: int | None = None,
    minutes: float | None = None,
    first: int | None = None,
    kept: Path | None = None,
    progress: Progress | None = None,
) -> Result:
    """Measure seed after seed: `seeds` of them, or as many as `minutes` allow, two at least.

    `first` is the number of the first seed, by default that of the claim. Outcomes in the file `kept` are not measured
    again where settings and measure are the same; where neither number nor time is given, all of them that follow each
    other are used.
    """
    settings = settings or experiment.Settings()
    claim, say = experiment.claim, (progress or Progress(quiet=True)).say
    first = claim.first if first is None else first
    known = _read(kept, claim, settings)
    there = next(n for n in count() if first + n not in known)
    wanted = seeds or (None if minutes else max(claim.seeds, there))
    outcomes: list[SeedOutcome] = []
    began = time.monotonic()
    while len(outcomes) < (wanted or 2) or (wanted is None and _has_time(began, minutes, len(outcomes))):
        seed = first + len(outcomes)
        if seed not in known:
            started = time.process_time()
            known[seed] = replace(experiment.measure(settings, seed), seconds=time.process_time() - started)
            _write(kept, claim, settings, known)
        outcomes.append(known[seed])
        say(f"  {claim.id} {claim.name}: seed {seed}, effect {known[seed].effect:.4g}")
    return Result(experiment, settings, tuple(outcomes), first)


def _has_time(began: float, minutes: float | None, done: int) -> bool:
    """Whether one more seed is likely to end within the minutes."""
    taken = time.monotonic() - began
    return minutes is not None and done < 1000 and taken * (done + 1) / max(1, done) <= 60 * minutes


def _read(kept: Path | None, claim: Claim, settings: Config) -> dict[int, SeedOutcome]:
    """The outcomes that a file has for this measure and these settings, by seed."""
    if kept is None or not kept.exists():
        return {}
    found = read_json(kept.read_bytes(), where=str(kept))
    if (found.get("measured"), found.get("settings")) != (claim.effect, settings.to_json()):
        return {}
    return {int(seed): _outcome(one) for seed, one in found["outcomes"].items()}


def _write(kept: Path | None, claim: Claim, settings: Config, known: dict[int, SeedOutcome]) -> None:
    if kept is not None:
        outcomes = {seed: asdict(one) for seed, one in sorted(known.items())}
        told = {"measured": claim.effect, "settings": settings.to_json(), "outcomes": outcomes}
        write_file(kept, write_json(told).encode())


def _outcome(found: dict[str, Any]) -> SeedOutcome:
    lines = {name: [(x, y) for x, y in points] for name, points in found["lines"].items()}
    return SeedOutcome(effect=found["effect"], lines=lines, facts=found["facts"], seconds=found["seconds"])


def _word(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, Iterable) and not isinstance(value, str) else str(value)
