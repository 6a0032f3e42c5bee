"""How a run is doing, by its losses: a jump, a run that diverges, a state worth going back to. Knows `State` alone.

Losses are those of all processes together, so that every process comes to the same conclusion.
"""

import math
import statistics
from itertools import pairwise

from weft.training.job import State

RECENT_LOSSES = 20  # losses averaged to tell a diverging run from a noisy one
FEWEST_LOSSES = 10  # losses whose mean says something of a run: fewer are high or low by chance
SPIKE_SPREADS = 6.0  # standard deviations above the mean of recent losses, at which a loss stands out
SPIKE_SHARE = 0.5  # of the first loss: a loss that stands out is above the mean by this much, too
LOST_SHARE = 0.5  # a run does well while it gave back at most this share of its progress
NOISE_SHARE = 0.05  # a rise above the lowest mean by this share of the first mean is noise
NOISE_ERRORS = 4.0  # so are this many standard errors of the mean of recent losses


def jump(state: State, loss: float) -> str:
    """The jump of a loss that stands out from those before it, as "from 2 to 9"; "" where it does not."""
    if state.first_loss is None or len(state.recent) < FEWEST_LOSSES:
        return ""
    usual, spread = statistics.fmean(state.recent), statistics.stdev(state.recent)
    if loss - usual <= max(SPIKE_SPREADS * spread, SPIKE_SHARE * abs(state.first_loss)):
        return ""
    return f"from {usual:.3g} to {loss:.3g}"


def divergence(state: State, loss: float) -> str:
    """Note the loss of a step; returns why the run should stop where losses are well above the first one, else ""."""
    state.first_loss = loss if state.first_loss is None else state.first_loss
    state.recent = [*state.recent[-RECENT_LOSSES + 1 :], loss]
    mean = statistics.fmean(state.recent)
    if len(state.recent) >= FEWEST_LOSSES:
        state.first_mean = mean if state.first_mean is None else state.first_mean
        lowest = state.lowest_recent_mean
        state.lowest_recent_mean = mean if lowest is None else min(lowest, mean)
    if len(state.recent) == RECENT_LOSSES and mean > 2 * state.first_loss + 1:
        return f"the loss grew from {state.first_loss:.3g} to {loss:.3g}"
    return ""


def doing_well(state: State) -> bool:
    """Whether recent losses are near the lowest: at most `LOST_SHARE` of the progress is lost, but for noise."""
    first, lowest = state.first_mean, state.lowest_recent_mean
    if first is None or lowest is None or len(state.recent) < FEWEST_LOSSES:
        return True
    noise = NOISE_SHARE * abs(first) + NOISE_ERRORS * _standard_error(state.recent)
    return statistics.fmean(state.recent) <= lowest + LOST_SHARE * (first - lowest) + noise


def _standard_error(losses: list[float]) -> float:
    """The standard error of the mean of losses, by how much each differs from the one before it.

    The largest difference is left out: where the level of the losses changes at once, that is no noise.
    """
    steps = sorted(abs(b - a) for a, b in pairwise(losses))[:-1]
    return math.sqrt(statistics.fmean(step * step for step in steps) / 2 / len(losses))
