"""Native code: small C kernels for what Python is too slow for. Knows tensors by their addresses; refuses to know
modules.

`kernels/` holds the C sources. They are built when weft is installed, or at their first use where there is a compiler;
without one everything works as before, in torch.

    layout    the structures that Python and C share
    build     the library, built from its sources; imports nothing heavy
    loading   the library, found or built once a process
"""

from weft.native.layout import Batch, Draw, Kind, Leaders, Op, Register, TrainingKind, TrainingOp, Writing
from weft.native.loading import Library, library, state

__all__ = [
    "Batch", "Draw", "Kind", "Leaders", "Library", "Op", "Register", "TrainingKind", "TrainingOp", "Writing", "library",
    "state",
]  # fmt: skip
