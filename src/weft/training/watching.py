"""How a run is doing, by its losses: a jump, a run that diverges, a state worth going back to. Knows nothing but `State`.

Losses are those of all processes together, so that every process comes to the same conclusion.
"""

import statistics

from weft.training.job import State

RECENT_LOSSES = 20  # losses averaged to tell a diverging run from a noisy one
SPIKE_SPREADS = 6.0  # standard deviations above the mean of recent losses, at which a loss stands out
SPIKE_SHARE = 0.5  # of the first loss, by which it must be above that mean as well
LOST_SHARE = 0.5  # of what was learned, that a run which does well may have lost again
NOISE_SHARE = 0.05  # of the first loss, above the lowest mean, that counts as noise


def jump(state: State, loss: float) -> str:
    """In words, from where to where the loss of a step stands out from those before it; nothing where it does not."""
    if state.first_loss is None or len(state.recent) < RECENT_LOSSES // 2:
        return ""
    usual, spread = statistics.fmean(state.recent), statistics.stdev(state.recent)
    if loss - usual <= max(SPIKE_SPREADS * spread, SPIKE_SHARE * abs(state.first_loss)):
        return ""
    return f"from {usual:.3g} to {loss:.3g}"


def divergence(state: State, loss: float) -> str:
    """Take the loss of a step into the state; why the run should stop, where it has grown well past where it began."""
    state.first_loss = loss if state.first_loss is None else state.first_loss
    state.recent = [*state.recent[-RECENT_LOSSES + 1 :], loss]
    mean = statistics.fmean(state.recent)
    state.calmest = mean if state.calmest is None else min(state.calmest, mean)
    if len(state.recent) == RECENT_LOSSES and mean > 2 * state.first_loss + 1:
        return f"the loss grew from {state.first_loss:.3g} to {loss:.3g}"
    return ""


def doing_well(state: State) -> bool:
    """Whether recent losses are near the lowest: at most half of what was learned is lost, but for noise."""
    if state.first_loss is None or state.calmest is None or not state.recent:
        return True
    most = state.calmest + LOST_SHARE * (state.first_loss - state.calmest) + NOISE_SHARE * abs(state.first_loss)
    return statistics.fmean(state.recent) <= most
