"""How files are read, as the user asks before anything else is known: which may be opened, and how they are read."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from weft.files.bad_rows import current_listing
from weft.files.bounds import is_true, outside_allowed
from weft.files.decoding import current_encoding, reading_as
from weft.files.finding import endings_asked, endings_said
from weft.files.roles import current_header, header_said

WAYS = ("outside", "encoding", "header", "endings")  # settings of how files are read


def read_options(settings: dict[str, Any]) -> dict[str, Any]:
    """Take the settings of reading, which are `WAYS`, out of all settings."""
    said = {name: settings.pop(name, None) for name in WAYS}
    header, endings = said["header"], said["endings"] or ()
    return {
        "outside": is_true(said["outside"]),
        "encoding": said["encoding"],
        "header": None if header is None else is_true(header),
        "endings": tuple(endings.split(",") if isinstance(endings, str) else endings),
    }


def current_ways() -> list[Any]:
    """All that decides, besides the files and a reader's own settings, what is read from them here and now."""
    return [current_encoding(), current_header(), list(endings_asked() or ()), current_listing()]


@contextmanager
def reading(
    *,
    outside: bool | None = False,
    encoding: str | None = None,
    header: bool | None = None,
    endings: tuple[str, ...] | None = (),
) -> Iterator[None]:
    """Within this block, files are read in these ways."""
    with outside_allowed(bool(outside)), reading_as(encoding), header_said(header), endings_said(endings or ()):
        yield
