"""Mutants: copies of a folder with something changed by chance, sealed again or not, and then used."""

import random
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from campaigns.judging import judged, warm
from campaigns.mutating import changes_of
from campaigns.subjects import Subject, copied, seal_again
from campaigns.tally import Tally

MEASURED = ("known.safetensors", "usual_answers.json", "metrics.jsonl", "climatology.nc")  # read when a run is measured


def mutants(subjects: Sequence[Subject], count: int, place: Path, *, first: int = 0, seed: int = 0,
            measured: float = 0.1, tell: Callable[[str], None] = lambda line: None) -> Tally:  # fmt: skip
    """Try `count` mutants from the number `first` on, as many of each subject; one in three is not sealed again.

    The share `measured` is also verified, measured or gone on with.
    """
    warm((subject.use(copied(subject, place / "run"), measure=False) for subject in subjects), place)
    tally = Tally()
    for number in range(first, first + count):
        subject = subjects[number % len(subjects)]
        chance = random.Random(f"{seed} {number} {subject.name}")
        folder = copied(subject, place / "run")
        name = chance.choice([*subject.files, "config.json", "config.json"])
        said = chance.choice(changes_of(folder / name))(folder / name, chance)
        sealed = chance.random() < 2 / 3 and _sealed_again(folder, name)
        measure = Path(name).name in MEASURED or chance.random() < measured
        files = [*subject.files, *subject.data, "config.json"]  # data that no longer fits is named as well
        names = {*(Path(one).name for one in files), *([str(folder)] * subject.resumed)}
        verdict = judged(subject.use(folder, measure=measure), names, place)
        kind = f"{_kind(subject)}, {'sealed again' if sealed else 'as it is'}"
        problem = None if verdict in ("works", "refused") else f"{number} {subject.name}, {name}: {said}: {verdict}"
        tally.count(kind, problem)
        if problem is not None:
            tell(problem)
    shutil.rmtree(place / "run", ignore_errors=True)
    shutil.rmtree(place / "outside", ignore_errors=True)
    return tally


def _kind(subject: Subject) -> str:
    if subject.foreign:
        return "a folder of another library"
    return "a run that was stopped" if subject.resumed else "a finished run"


def _sealed_again(folder: Path, name: str) -> bool:
    try:
        return seal_again(folder, name)
    except (OSError, ValueError, KeyError):  # changed beyond sealing
        return False
