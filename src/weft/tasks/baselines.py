"""What plain methods reach on the same held-out examples as a run, and whether the run is better.

A task gives its plain methods (`Task.baselines`), each fitted on the rows to train on; which of them won is decided
here, by the interval of the difference over resamples of the examples. Knows tallies; refuses to know methods.
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from weft.amounts import counted
from weft.objectives.measures.tallies import Tally, interval, middle, resampled

MOST_ROWS = 20_000  # to fit plain methods on
ROWS_A_SECOND = 4_000  # by which fewer are taken where a run by minutes has little time left
LEAST_ROWS = 500
FEW_ROWS = 20_000  # with fewer, plain methods often beat a transformer that starts from nothing
LEAST_EXAMPLES = 20  # held out, for a verdict
INSTALL = "pip install 'weft[baselines]'"
COMPARED = ("baselines", "baseline_intervals", "comparison", "baseline_remarks")  # keys of a report
Verdict = Literal["ahead", "level", "behind"]


@dataclass(frozen=True)
class Baseline:
    """A plain method on the held-out examples; its tally has a row for each, as that of the run."""

    name: str  # in JSON
    words: str  # in sentences
    tally: Tally
    metrics: Mapping[str, float] = field(default_factory=dict)  # further measures


def most_rows(seconds: float | None) -> int:
    """How many rows plain methods are fitted on; `seconds` are what a run by minutes has for them."""
    return MOST_ROWS if seconds is None else int(np.clip(ROWS_A_SECOND * seconds, LEAST_ROWS, MOST_ROWS))


def compared(tally: Tally | None, found: Sequence[Baseline], advice: str, remarks: Sequence[str]) -> dict[str, Any]:
    """Baselines with their intervals, and which won, as reports have it."""
    if tally is None or not found or not len(tally.rows):
        return {"baseline_remarks": list(remarks)} if remarks else {}
    (own, *others) = resampled([tally, *(one.tally for one in found)])
    metrics = {one.name: {one.tally.measure: _short(one.tally.value), **_finite(one.metrics)} for one in found}
    intervals = {
        one.name: {one.tally.measure: interval(one.tally, values)} for one, values in zip(found, others, strict=True)
    }
    sign = -1 if tally.lower else 1
    best = max(range(len(found)), key=lambda i: sign * found[i].tally.value)
    gain, ends = sign * (tally.value - found[best].tally.value), middle(sign * (own - others[best]))
    verdict = _verdict(ends, len(tally.rows))
    sentence = _sentence(verdict, found[best], gain, ends, len(tally.rows), advice)
    comparison = {
        "measure": tally.measure, "baseline": found[best].name, "gain": _short(gain), "interval": ends,
        "verdict": verdict, "sentence": sentence, "examples": len(tally.rows), "counted": tally.counted,
    }  # fmt: skip
    more = {"baseline_remarks": list(remarks)} if remarks else {}
    return {"baselines": metrics, "baseline_intervals": intervals, "comparison": comparison, **more}


def _verdict(ends: Sequence[float], examples: int) -> Verdict:
    if examples < LEAST_EXAMPLES or ends[0] <= 0 <= ends[1]:
        return "level"
    return "ahead" if ends[0] > 0 else "behind"


def _sentence(verdict: Verdict, best: Baseline, gain: float, ends: Sequence[float], examples: int, advice: str) -> str:
    """Which won, by how much, and what would help. Verbs agree with the model: names of methods may be plural."""
    measure, plain = best.tally.measure, best.words
    if verdict == "ahead":
        return f"the model is better than {plain}: {measure} by {gain:.3g} [{ends[0]:.3g}, {ends[1]:.3g}]"
    if verdict == "behind":
        return f"the model is worse than {plain}: {measure} by {-gain:.3g} [{-ends[1]:.3g}, {-ends[0]:.3g}]: {advice}"
    if examples < LEAST_EXAMPLES:
        few = counted(examples, f"held-out {best.tally.counted}")
        return f"{few} {'is' if examples == 1 else 'are'} too few to compare the model with {plain}"
    sign = -1 if best.tally.lower else 1
    low, high = sorted(sign * end for end in ends)
    between = f"in 95 % of resamples from {_apart(low)} to {_apart(high)}"
    known = f"its {measure} is {_apart(sign * gain)}, {between}"
    return f"the model is neither clearly better nor clearly worse than {plain}: {known}: {advice}"


def _apart(difference: float) -> str:
    """How far the model's measure is from another one."""
    side = "higher" if difference > 0 else "lower"
    return f"{abs(difference):.3g} {side}" if difference else "equal"


def advice(rows: float | None, *, begun: bool, starts_from: bool) -> str:
    """What would help a run that is not better than a plain method; `begun` says that it began with another run."""
    if rows is None or rows >= FEW_ROWS:
        return "longer training or a larger --preset helps"
    few = f"{int(rows):,} examples to train on are few"
    if starts_from and not begun:
        return f"{few}; more data, or a start from a pre-trained run (--from RUN), helps"
    return f"{few}; more data helps"


@contextmanager
def missing_noted(remarks: list[str]) -> Iterator[None]:
    """While plain methods are fitted: what they lack, or cannot do, becomes a remark. They never end a run."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("sklearn", "scipy"):
            raise
        remarks.append(f"more plain methods are compared where scikit-learn is installed: {INSTALL}")
    except (ValueError, ArithmeticError, np.linalg.LinAlgError, MemoryError) as error:
        remarks.append(f"a plain method could not be fitted: {error}")


def _short(value: float) -> float:
    return float(f"{value:.6g}")


def _finite(metrics: Mapping[str, float]) -> dict[str, float]:
    return {name: _short(value) for name, value in metrics.items() if value == value}
