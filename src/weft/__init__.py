"""weft trains transformers on people's own files, uses them, and opens them up.

    run = weft.train("book.txt", minutes=5)
    run = weft.load("runs/book-1")
    run.predict("Once upon a")

Importing weft is light: torch is loaded when a name that needs it is first used. The folders, each of which imports
only those above it (`__init__` of each is its map):

    errors, version, amounts, machine, requirements   words, numbers and faults that everybody needs
    json_text     JSON as text: read strictly, written for people
    config        frozen config trees: build parts, travel as JSON, take dotted settings
    native        C kernels
    storage       files written whole or not at all, read without trust
    sending       tensors on their way to a device
    relations     relations between tokens: a matrix, or a list of edges
    tokens        Tokens, and the shape legend of the package
    position      coordinates as vectors, turns and biases
    core          the trunk and its parts
    modalities    what a token is in each domain, and its embedding
    models        wirings of embedder, trunk and head; the zoo
    batches       the batches that losses take, and the order of samples
    files         how people's files are opened
    generate      decoding: sampling, search, sessions
    objectives    losses and measures
    training      the loop, the run folder, checkpoints
    inspect       pictures and pages of what a model does
    interop       models of the Hugging Face library; ONNX
    tasks         what a task is
    domains       texts, pairs, trees, words, pictures, captions, fields, places, graphs
    runs          what is done with runs
    lab           the lectures' claims as experiments
    web           runs over HTTP
    cli           the command line
"""

from weft.cli.safe_path import is_command, use_safe_path

if is_command():  # before anything else is imported
    use_safe_path()

import importlib
from typing import TYPE_CHECKING, Any

from weft.errors import WeftError
from weft.machine import avoid_broken_amx, do_without_home
from weft.version import VERSION as __version__

if TYPE_CHECKING:
    from weft.core import Added as Added
    from weft.core import Hidden as Hidden
    from weft.core import Pinned as Pinned
    from weft.core import Replaced as Replaced
    from weft.core import Scaled as Scaled
    from weft.core import Unread as Unread
    from weft.core import Without as Without
    from weft.core import changed as changed
    from weft.core import record as record
    from weft.runs import Predictor as Predictor
    from weft.runs import Run as Run
    from weft.runs import check as check
    from weft.runs import fit as fit
    from weft.runs import load as load
    from weft.runs import train as train
    from weft.tokens import Tokens as Tokens

avoid_broken_amx()
do_without_home()

_homes = {
    "Added": "weft.core",
    "Hidden": "weft.core",
    "Pinned": "weft.core",
    "Predictor": "weft.runs",
    "Replaced": "weft.core",
    "Run": "weft.runs",
    "Scaled": "weft.core",
    "Tokens": "weft.tokens",
    "Unread": "weft.core",
    "Without": "weft.core",
    "changed": "weft.core",
    "check": "weft.runs",
    "fit": "weft.runs",
    "load": "weft.runs",
    "record": "weft.core",
    "train": "weft.runs",
}

__all__ = [
    "Added", "Hidden", "Pinned", "Predictor", "Replaced", "Run", "Scaled", "Tokens", "Unread", "WeftError", "Without",
    "__version__", "changed", "check", "fit", "load", "record", "train",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _homes:
        raise AttributeError(f"module 'weft' has no attribute {name!r}")
    value = getattr(importlib.import_module(_homes[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
