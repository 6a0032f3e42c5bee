"""Slowness: a process that takes much longer for its part of a step than the others is named. They wait for it."""

import statistics

from weft.training.world import World

WATCHED_STEPS = 20  # steps after which the processes compare their computing time
SLOW_FACTOR = 3.0  # a process is named when a step takes it this many times the others' median
LEAST_SECONDS = 0.05  # a process with shorter steps is never called slow


class Slowness:
    """How long this process computed in recent steps, compared with the others now and then."""

    def __init__(self, world: World):
        self.world, self.told = world, False
        self.seconds: list[float] = []

    def note(self, seconds: float) -> str:
        """Take the seconds that this process computed in a step; a sentence that names a slow process, once."""
        if self.world.size == 1:
            return ""
        self.seconds.append(seconds)
        if len(self.seconds) < WATCHED_STEPS:
            return ""
        own = [0.0] * self.world.size
        own[self.world.rank] = statistics.median(self.seconds)
        self.seconds = []
        return self._sentence(self.world.add(*own))

    def _sentence(self, typical: list[float]) -> str:
        """What is said of the typical seconds of each process, by rank."""
        slowest = max(range(len(typical)), key=typical.__getitem__)
        others = statistics.median(seconds for rank, seconds in enumerate(typical) if rank != slowest)
        if self.told or typical[slowest] < max(LEAST_SECONDS, SLOW_FACTOR * others):
            return ""
        self.told = True
        times = f"it computes {typical[slowest]:.2g} s in a step, the others {others:.2g} s"
        who = f"process {slowest} of {len(typical)} is slow, and the others wait for it"
        return f"{who}: {times}; see what else runs on its machine"
