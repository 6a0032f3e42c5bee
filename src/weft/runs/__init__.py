"""Runs: trained, loaded, used, exchanged. Knows no task by name."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from weft.runs.checking import check as check
    from weft.runs.run import Run as Run
    from weft.runs.run import load as load
    from weft.runs.start import train as train
    from weft.runs.training import fit as fit

_homes = {"Run": "run", "check": "checking", "load": "run", "fit": "training", "train": "start"}
__all__ = ["Run", "check", "fit", "load", "train"]


def __getattr__(name: str) -> Any:
    if name not in _homes:
        raise AttributeError(f"module 'weft.runs' has no attribute {name!r}")
    return getattr(importlib.import_module(f"weft.runs.{_homes[name]}"), name)
