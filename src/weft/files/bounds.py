"""How far data may lead: links and paths out of the folder that a user named are followed only where allowed.

Whoever sends a folder or a table may put a link or a path into it that leads to other files of the reader's.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

OUTSIDE = "leads out of the data's folder (--set outside=true reads it)"

_allowed: ContextVar[bool] = ContextVar("outside", default=False)


def is_true(said: bool | str | None) -> bool:
    """Whether a setting is on, given in Python or in words; asked before the task's settings are known."""
    return said is True or said == "true"


@contextmanager
def outside_allowed(allowed: bool) -> Iterator[None]:
    """Within this block, links and paths may lead out of the folders that are read, or not."""
    token = _allowed.set(allowed)
    try:
        yield
    finally:
        _allowed.reset(token)


def leads_out(path: Path, folder: Path) -> bool:
    """Whether a path ends outside of a folder once all links are followed, and that is not allowed."""
    if _allowed.get():
        return False
    home = os.path.realpath(folder)
    return os.path.commonpath([home, os.path.realpath(path)]) != home


def link_leads_out(path: Path, folder: Path) -> bool:
    """The same of an entry met on a walk through a folder, where only an entry that is itself a link can leave it."""
    return path.is_symlink() and leads_out(path, folder)
