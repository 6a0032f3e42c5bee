"""How many threads compute a small step soonest: found by trying, because it depends on who else uses the machine.

Threads of one step wait for each other some forty times. On an idle machine two are nearly twice as fast as one; where
others use the processors they are far slower. The number of threads changes no bit of a step, so it is free to choose.
"""

from collections import deque

from weft.core.threads import allowed_threads

SMALL_STEP = 500_000  # multiplications of all rows together, below which one thread computes a step
LARGE_STEP = 10_000_000  # multiplications of a row, from which all threads compute it; trials decide between
TRIALS = 3  # each number of threads is tried this often at first; the best of its latest times counts
FIRST_PAUSE, LONGEST_PAUSE = 16, 1024  # turns until the slower number of threads is tried again


class ThreadChoice:
    """How long a multiplication took by number of threads, in steps of about one size; gives the number to use next."""

    def __init__(self, *choices: int):
        self.times: dict[int, deque[float]] = {threads: deque(maxlen=TRIALS) for threads in choices}
        self.most = max(choices)
        self.pause = self.wait = FIRST_PAUSE

    def next(self) -> int:
        """The number of threads of the next turn."""
        if len(self.times) == 1:
            return self.most
        for threads, times in self.times.items():
            if len(times) < TRIALS:
                return threads
        self.wait -= 1
        return self.faster if self.wait >= 0 else self._other()

    @property
    def faster(self) -> int:
        """The number of threads that was faster of late."""
        return min(self.times, key=lambda threads: min(self.times[threads]))

    def note(self, threads: int, seconds: float) -> None:
        """Note the time of a multiplication."""
        trial = self.wait < 0 and threads != self.faster
        self.times[threads].append(seconds)
        if trial:  # the longer a number stays the slower, the more seldom it is tried
            self.pause = FIRST_PAUSE if self.faster == threads else min(2 * self.pause, LONGEST_PAUSE)
            self.wait = self.pause

    def _other(self) -> int:
        return next(threads for threads in self.times if threads != self.faster)


_choices: dict[tuple[int, int, int], ThreadChoice] = {}


def thread_choice(products: int, rows: int = 1) -> ThreadChoice:
    """The choice for steps with this number of multiplications for each row; all sessions of a process share it.

    Steps of about the same size share it too: rows of a search leave one after the other.
    """
    most = 1 if rows * products < SMALL_STEP else allowed_threads()
    choices = (1, most) if most > 1 and products < LARGE_STEP else (most,)
    return _choices.setdefault(((rows * products).bit_length(), len(choices), most), ThreadChoice(*choices))
