"""weft trains transformers on people's own files, uses them, and opens them up.

    run = weft.train("book.txt", minutes=5)
    run = weft.load("runs/book-1")
    run.predict("Once upon a")

Importing weft is light: torch is loaded when a name that needs it is first used.
"""

from weft.cli.safe_path import is_command, use_safe_path

if is_command():  # before anything else is imported
    use_safe_path()

import importlib
from typing import TYPE_CHECKING, Any

from weft.errors import WeftError
from weft.machine import avoid_broken_amx
from weft.version import VERSION as __version__

if TYPE_CHECKING:
    from weft.core import record as record
    from weft.runs import Run as Run
    from weft.runs import check as check
    from weft.runs import fit as fit
    from weft.runs import load as load
    from weft.runs import train as train
    from weft.tokens import Tokens as Tokens

avoid_broken_amx()

_homes = {
    "Run": "weft.runs",
    "Tokens": "weft.tokens",
    "check": "weft.runs",
    "fit": "weft.runs",
    "load": "weft.runs",
    "record": "weft.core",
    "train": "weft.runs",
}

__all__ = ["Run", "Tokens", "WeftError", "__version__", "check", "fit", "load", "record", "train"]


def __getattr__(name: str) -> Any:
    if name not in _homes:
        raise AttributeError(f"module 'weft' has no attribute {name!r}")
    value = getattr(importlib.import_module(_homes[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
