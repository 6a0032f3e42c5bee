"""Keeps a run by minutes to its time: where it ends, and how much of it goes into looks at held-out data.

Decides from numbers that all processes agree on and that stand in `State`, so that a resumed run goes on as it began.
Of a run by steps or epochs it decides nothing.
"""

import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace

from weft.training.job import State

REFIT_EVERY = 3.0  # seconds of training between two fits of the end; a tenth of the run where that is less
MARKS = 6  # fits over which the pace is measured: a slow moment does not move the end by much
EVALUATIONS = 10  # looks in a run, unless the user gives steps
LOOK_SHARE = 0.1  # looks take at most this share of a run by minutes
PROBE = 64  # held-out samples that a look scores; the end scores all
LEAST_PROBE = 8  # fewer would say too little: looks that take long with these become rarer


FINAL_SHARE = 0.1  # the last evaluation adds at most this share to a run by minutes


def scored_within(
    seconds: float | None, samples: int, score: Callable[[int], object], clock: Callable[[], float] = time.monotonic
) -> int | None:
    """How many of the samples can be scored in some seconds, by the time that a few take; None: all of them."""
    if seconds is None or samples <= LEAST_PROBE:
        return None
    began = clock()
    score(LEAST_PROBE)
    each = max(clock() - began, 1e-9) / LEAST_PROBE
    fit = max(PROBE, int(seconds / each))
    return None if fit >= samples else fit


class Pace:
    """The time of a run: `seconds` is its budget, None in a run by steps or epochs; it ends after `most` steps."""

    def __init__(self, seconds: float | None, state: State, most: float = math.inf):
        self.seconds, self.state, self.most = seconds, state, most
        self.marks: deque[tuple[float, int]] = deque([(self.trained, state.step)], maxlen=MARKS)

    @property
    def trained(self) -> float:
        """Seconds so far without those of looks."""
        return self.state.seconds - self.state.look_seconds

    def fit_end(self) -> None:
        """In a run by minutes, refit the last step to the clock; once the rate is landing, never to a later step.

        The first step that ends past the budget is the last one, whatever was expected.
        """
        state = self.state
        if self.seconds is None or state.step >= self.most:
            return
        if state.seconds >= self.seconds:
            state.horizon = replace(state.horizon, end=min(state.step, state.horizon.end))
            return
        before, step = self.marks[0]
        if self.trained - self.marks[-1][0] < min(REFIT_EVERY, self.seconds / 10):
            return
        pace = (self.trained - before) / max(1, state.step - step)
        left = self.seconds - state.seconds
        left = max(0.0, left - self._looks_within(left / pace))
        end = int(min(state.step + max(1, int(left / pace)), self.most))
        state.horizon = state.horizon.refit(state.step, end if state.landing is None else min(end, state.horizon.end))
        self.marks.append((self.trained, state.step))

    def _looks_within(self, steps: float) -> float:
        """Seconds that the looks within the next steps will take."""
        state = self.state
        if not state.look_cost:
            return 0.0
        due = int(state.step + steps) // state.evaluate_every - state.step // state.evaluate_every
        if self.seconds is None:
            return due * state.look_cost
        afforded = int((LOOK_SHARE * self._budget - state.look_seconds) / state.look_cost)
        return max(0, min(due, afforded)) * state.look_cost

    def left(self, step_seconds: float) -> float:
        """Seconds until the last step, evaluations included: those cost what the last one did."""
        steps = self.state.horizon.end - self.state.step
        return steps * step_seconds + self._looks_within(max(0, steps - 1))  # after the last step there is none

    @property
    def _budget(self) -> float:
        assert self.seconds is not None
        return self.seconds

    def look_is_due(self) -> bool:
        """Whether it is time for a look, whatever it costs."""
        return self.state.step % self.state.evaluate_every == 0 and self.state.step < self.state.horizon.end

    def affords_look(self) -> bool:
        """Whether a look that costs what the last one did keeps all of them within their share of the time so far."""
        state = self.state
        return self.seconds is None or state.look_seconds + state.look_cost <= LOOK_SHARE * state.seconds

    @property
    def gauged(self) -> bool:
        """Whether it is decided how many samples a look scores."""
        return self.seconds is None or self.state.probe is not None

    def gauge(self, took: float) -> None:
        """Decide, from the seconds that `LEAST_PROBE` samples took, how many samples each look scores."""
        each = max(took, 1e-9) / LEAST_PROBE
        fit = int(LOOK_SHARE * self._budget / EVALUATIONS / each)
        self.state.probe = max(LEAST_PROBE, min(PROBE, fit))
        self.state.look_seconds += took
        self.state.look_cost = self.state.probe * each

    def looked(self, took: float) -> None:
        """Note the seconds of a look."""
        self.state.look_seconds += took
        self.state.look_cost = took

    @property
    def probe(self) -> int:
        """Held-out samples that a look scores; those at the end score the same ones, to be comparable."""
        return PROBE if self.state.probe is None else self.state.probe
