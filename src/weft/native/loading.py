"""The native library, found or built once a process, and loaded by ctypes."""

import ctypes
import os
import tempfile
from collections.abc import Callable
from ctypes import POINTER, byref, c_char_p, c_int, c_int64, c_void_p
from functools import cache, partial
from pathlib import Path
from typing import Any

from weft.native.build import build, cache_folder, digest, is_private, kept
from weft.native.layout import STRUCTURE_SIZES, Batch, Draw, Leaders, Op, TrainingOp, Writing

INSTRUCTION_SETS = ("plain C", "AVX2", "AVX-512", "AVX-512 with VNNI", "AVX-512 with VNNI and AMX")
BAD_PLACE, BAD_ID, NOT_NUMBERS = (
    1,
    2,
    3,
)  # `enum failure`: no row of a table for a place or an id; logits are not numbers
OFF = "WEFT_NATIVE"  # an environment variable: 0 leaves native code out


_forked = (
    False  # the threads of a process stay behind when it forks, and a child that asks for them would wait for ever
)


def _note_fork() -> None:
    global _forked
    _forked = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)


def _with_own_threads(asked: Any) -> Any:
    """A batch, operation or search that asks for threads: for one alone in a process that was forked."""
    if _forked:
        asked.threads = 1
    return byref(asked)


class Library:
    """The loaded library; `widest` is the largest instruction set of this processor, `INSTRUCTION_SETS[widest]`."""

    def __init__(self, path: Path):
        loaded = ctypes.CDLL(str(path))
        loaded.weft_sources.restype = c_char_p
        self.path, self.sources = path, loaded.weft_sources().decode()
        self.widest: int = loaded.weft_widest()
        loaded.weft_bytes.restype = c_int64
        self.structure_sizes: int = loaded.weft_bytes()
        self._run = loaded.weft_run
        self._run.argtypes = [c_int, POINTER(Op), c_int64, POINTER(Batch), POINTER(Writing)]
        self._run.restype = c_int
        self._best = loaded.weft_best
        self._best.argtypes = [c_int, c_void_p, c_void_p, POINTER(Leaders)]
        self._best.restype = c_int
        self._draw = loaded.weft_draw
        self._draw.argtypes = [c_void_p, c_int64, c_int64, POINTER(Draw), c_void_p, c_void_p, c_void_p]
        self._draw.restype = c_int
        self._train = loaded.weft_train
        self._train.argtypes = [c_int, POINTER(TrainingOp)]
        self._train.restype = None

    def run(self, ops: "ctypes.Array[Op]", at: Batch, writing: Writing | None = None) -> int:
        """Run a step program once, or for all tokens of a writing; returns 0, or a `failure`."""
        return self._run(self.widest, ops, len(ops), _with_own_threads(at), None if writing is None else byref(writing))

    def best(self, allowed: int, logits: int, leaders: Leaders) -> bool:
        """Find the likeliest tokens of each row among those `allowed`; returns whether the logits are numbers."""
        return self._best(self.widest, allowed, logits, _with_own_threads(leaders)) == 0

    def draw(self, logits: int, shape: tuple[int, int], how: Draw, chances: int, work: int, tokens: int) -> bool:
        """Draw the next token of each row by a number from 0 to 1; returns whether the logits are numbers.

        All are addresses: `logits` (rows x values) and `work` (4 x values) floats, `chances` doubles, `tokens` int64.
        """
        return self._draw(logits, *shape, byref(how), chances, work, tokens) == 0

    def train(self, op: TrainingOp) -> None:
        """Compute one operation of training."""
        self._train(self.widest, _with_own_threads(op))


@cache
def _found() -> tuple[Library | None, str]:
    if os.environ.get(OFF) == "0":
        return None, f"left out by {OFF}=0"
    wanted, problem = digest(), "no library was found"
    beside = [file for end in ("so", "dylib") for file in Path(__file__).parent.glob(f"_kernels*.{end}")]
    ways: list[Callable[[], Library | str]] = [*(partial(_loaded, file) for file in beside), _kept]
    for way in ways:  # the last may build one, which takes long
        found = way()
        if isinstance(found, Library) and found.sources == wanted:
            assert found.structure_sizes == STRUCTURE_SIZES, "C and Python lay out their structures differently"
            return found, ""
        problem = found if isinstance(found, str) else f"{found.path.name} was built from other sources"
    return None, problem


def _kept() -> Library | str:
    """The library in the cache, built there first if need be.

    Only what nobody else could have put there is loaded. Where others may write to the folder, it is built for this
    process alone.
    """
    folder = cache_folder()
    if folder.exists() and not is_private(folder):
        with tempfile.TemporaryDirectory() as alone:
            found = build(Path(alone))
            return found if isinstance(found, str) else _loaded(found)
    found = kept(folder) or build(folder)
    return found if isinstance(found, str) else _loaded(found)


def _loaded(path: Path) -> Library | str:
    try:
        return Library(path)
    except (OSError, AttributeError) as error:
        return f"{path.name} cannot be loaded: {error}"


def library() -> Library | None:
    """The native library, or None where there is none on this machine."""
    return _found()[0]


def state() -> str:
    """Which native code is used, or why none is, in a few words."""
    found, problem = _found()
    return f"not used: {problem}" if found is None else INSTRUCTION_SETS[found.widest]
