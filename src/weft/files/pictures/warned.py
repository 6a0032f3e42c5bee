"""What Pillow warns of while a picture is read: heard thread by thread, never printed. Refuses to know pictures."""

import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_lock, _mine = threading.Lock(), threading.local()
_inside = 0
_caught: warnings.catch_warnings | None = None
_before: Callable[..., None] = warnings.showwarning


@contextmanager
def listening() -> Iterator[list[str]]:
    """The words of all warnings raised inside the block by Pillow for this thread.

    Filters belong to the whole process, so the first thread in changes them and the last one out puts them back.
    """
    heard: list[str] = []
    outer, _mine.heard = getattr(_mine, "heard", None), heard
    _enter()
    try:
        yield heard
    finally:
        _leave()
        _mine.heard = outer


def _enter() -> None:
    global _inside, _caught, _before
    with _lock:
        if _inside == 0:
            _caught = warnings.catch_warnings()
            _caught.__enter__()
            _before, warnings.showwarning = warnings.showwarning, _show
            warnings.filterwarnings("always", module=r"PIL\.")
        _inside += 1


def _leave() -> None:
    global _inside, _caught
    with _lock:
        _inside -= 1
        if _inside == 0 and _caught is not None:
            _caught.__exit__(None, None, None)
            _caught = None


def _show(message: Warning | str, category: type[Warning], filename: str, *more: Any, **named: Any) -> None:
    heard = getattr(_mine, "heard", None)
    if heard is None:
        _before(message, category, filename, *more, **named)  # another thread's, of something else
    else:
        heard.append(str(message))
