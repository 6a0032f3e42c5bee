"""When a run ends and how its learning rate moves. Pure functions of the step and a few recorded numbers."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Horizon:
    """The line from a known point (step, progress) to the end of the run.

    A run by steps has one horizon from start to end. A run by minutes is fitted anew as its speed is learned; each fit
    starts where the last one stands, so progress never jumps, and the three numbers are all that a checkpoint needs.
    """

    end: int
    since: int = 0
    done: float = 0.0

    def progress(self, step: int) -> float:
        """The share of the run that is done at a step, from 0 to 1."""
        if step >= self.end:
            return 1.0
        return self.done + (1 - self.done) * (step - self.since) / (self.end - self.since)

    def refit(self, step: int, end: int) -> "Horizon":
        """The same progress now, another end."""
        return Horizon(end=max(end, step + 1), since=step, done=self.progress(step))


def rate(step: int, progress: float, warmup: int, falls: str = "linear", left: float = 1.0) -> float:
    """The factor on the learning rates: up in a line over `warmup` steps, then down.

    `linear` falls in a line to zero at the end; `inverse-sqrt` falls with the root of the step and knows no end
    (Vaswani et al., 2017), unless a run is to end early, with the share `left` of its last stretch to come.
    """
    up = min(1.0, (step + 1) / max(1, warmup))
    return up * (1 - progress) if falls == "linear" else left * min(up, (max(1, warmup) / (step + 1)) ** 0.5)
