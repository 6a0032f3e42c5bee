"""Work that may be ended between two of its steps: whoever asks says when, and long loops ask. Knows no model."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Stop = Callable[[], bool]


def never() -> bool:
    """The answer of work that goes on to its end: False."""
    return False


_stop: ContextVar[Stop] = ContextVar("stop", default=never)


class Stopped(Exception):
    """Work was ended before it was done. No error of a user, so nothing that handles those keeps it."""


@contextmanager
def stopped_by(stop: Stop) -> Iterator[None]:
    """Within this block, `check_stop` ends the work once `stop()` is true."""
    token = _stop.set(stop)
    try:
        yield
    finally:
        _stop.reset(token)


def check_stop() -> None:
    """End the work here, by raising `Stopped`, if that was asked for."""
    if _stop.get()():
        raise Stopped
