"""How files are read, as the user asks before anything else is known: what may be opened, and how text is decoded."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from weft.files.bounds import is_true, outside_allowed
from weft.files.decoding import reading_as


def read_options(settings: dict[str, Any]) -> dict[str, Any]:
    """Take the settings of reading out of all settings: `outside` and `encoding`."""
    return {"outside": is_true(settings.pop("outside", False)), "encoding": settings.pop("encoding", None)}


@contextmanager
def reading(*, outside: bool | None = False, encoding: str | None = None) -> Iterator[None]:
    """Within this block, files are read in these ways."""
    with outside_allowed(bool(outside)), reading_as(encoding):
        yield
