"""Runs: trained, loaded, used, exchanged. Knows no task by name.

    start, training           from the user's words to data, without torch; runs planned, trained and measured
    checking, check_facts     `weft check`: what data is and what is wrong with it; its facts
    scaling                   `weft plan`: memory, network and minutes of one device or of many
    run, finding              Run, load; a run found by its name
    asking                    from inputs to answers: the one place that opens what a user names
    conversation              a talk with a run that continues texts
    many, shards              many inputs in batches, by shard; shards joined
    answered, answer_table    answers as they come, written to a file that grows; as a table, beside their inputs' rows
    predictor                 a run as a function of columns, which can be pickled
    embedding                 vectors of inputs, and the nearest of them
    listing, comparing, ranking   runs in a folder; side by side; which of two is better
    cleaning, verifying       what a run no longer needs; whether it is still what it was
    sweep, soup               a grid of settings; averaged weights of several runs
    importing, exporting, export_card              models from and for other tools; the README of an export
    demo                      English to French, from nothing to a picture

A model from elsewhere becomes a run: its task gives it codecs (`Task.adopted`), `importing` writes them into
config.json (`imported` there names the origin). `exporting` is the way back (`Task.outgoing`, `Task.proof`): it writes,
lets the other tool prove the folder, and removes it where the numbers differ. Only `weft import` uses the network.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from weft.runs.checking import check as check
    from weft.runs.predictor import Predictor as Predictor
    from weft.runs.run import Run as Run
    from weft.runs.run import load as load
    from weft.runs.start import train as train
    from weft.runs.training import fit as fit

_homes = {
    "Predictor": "predictor",
    "Run": "run",
    "check": "checking",
    "load": "run",
    "fit": "training",
    "train": "start",
}
__all__ = ["Predictor", "Run", "check", "fit", "load", "train"]


def __getattr__(name: str) -> Any:
    if name not in _homes:
        raise AttributeError(f"module 'weft.runs' has no attribute {name!r}")
    return getattr(importlib.import_module(f"weft.runs.{_homes[name]}"), name)
