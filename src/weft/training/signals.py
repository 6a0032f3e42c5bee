"""Being asked to stop: the first request lets the step finish and the run save, the second leaves at once."""

import os
import signal
from types import FrameType, TracebackType
from typing import Self

from weft.errors import Interrupted

STOP_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")


class StopRequest:
    """Listens for Ctrl-C, SIGTERM and SIGHUP while active; what was ignored before (nohup) stays ignored.

    Until `hold()` a request ends the work right where it is, since nothing was trained; after it, the request is noted
    in `asked` and the loop leaves when it is safe; after `release()` it ends the work again, since all is saved.
    """

    def __init__(self, stage: str = "before training began: nothing to save") -> None:
        """`stage` says where the work stands while a request ends it."""
        self.asked: str | None = None
        self.holding = False
        self.stage = stage
        self._before: dict[int, object] = {}

    def hold(self) -> None:
        """From now on only note a request."""
        self.holding = True

    def release(self) -> None:
        """From now on a request ends the work where it is."""
        self.holding, self.stage = False, "after the last step, and saved"

    def __enter__(self) -> Self:
        for name in STOP_SIGNALS:
            number = getattr(signal, name, None)
            if number is None or signal.getsignal(number) is signal.SIG_IGN:
                continue
            try:
                self._before[number] = signal.signal(number, self._heard)
            except ValueError:  # not the main thread: the caller listens
                break
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def _heard(self, number: int, frame: FrameType | None) -> None:
        if self.asked is not None:
            if os.isatty(2):
                os.write(2, b"\x1b[?25h\n")  # a bar hides the cursor, and will not bring it back
            os._exit(128 + number)
        self.asked = signal.Signals(number).name
        if not self.holding:
            raise Interrupted(f"stopped by {self.asked} {self.stage}")
