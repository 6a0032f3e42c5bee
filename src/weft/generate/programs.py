"""Step programs kept with their models: made once, and made anew where a model is no longer as it was.

A program holds addresses of weights, so it must never be used after one of them has moved. Before each use everything
in the modules is compared with what stood there, by identity: weights and their addresses, buffers, parts, attributes,
classes and hooks. Weights that change in place (training, `load_state_dict`) need no new program.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import is_
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from weft.core.attention import Attention
from weft.core.mixers import Mixer
from weft.generate.compiling import NOTHING_ADDED, Added, program_of
from weft.generate.program import Program, Unknown
from weft.models.stream import Stream
from weft.native import library

Whereabouts = list[tuple[int, torch.dtype, torch.Size, bool]]


@dataclass(frozen=True)
class StepMethod:
    """How a model is stepped: its program (None: by its modules), whether it attends, whether rows share a memory."""

    program: Program | None
    attends: bool
    memory_shareable: bool


class _Kept:
    """The steps of a model, and the model as it was when they were found."""

    def __init__(self, model: Stream, steps: StepMethod, program: Program):
        self.steps, self.tensors = steps, program.tensors
        self.modules = list(model.modules())[1:]  # all but the model, which lives no longer for being known here
        self.contents, self.whereabouts = _contents(model, self.modules), _whereabouts(self.tensors)

    def fits(self, model: Stream) -> bool:
        """Whether the model is still as it was."""
        contents = _contents(model, self.modules)
        same = len(contents) == len(self.contents) and all(map(is_, contents, self.contents))
        return same and _whereabouts(self.tensors) == self.whereabouts


_kept: "WeakKeyDictionary[Stream, _Kept]" = WeakKeyDictionary()


def steps_of(model: Stream) -> StepMethod:
    """How the model is stepped; what was found before is used again where the model is as it was."""
    kept = _kept.get(model)
    if kept is not None and library() is not None and kept.fits(model):
        return kept.steps
    _kept.pop(model, None)
    mixers = [module for module in model.modules() if isinstance(module, Mixer)]
    program = step_program(model)
    steps = StepMethod(
        program,
        attends=any(isinstance(mixer, Attention) and not mixer.cross for mixer in mixers),
        memory_shareable=all(mixer.memory_shareable for mixer in mixers if mixer.cross),
    )
    if program is not None:
        _kept[model] = _Kept(model, steps, program)
    return steps


def step_program(model: Stream, added: Added = NOTHING_ADDED) -> Program | None:
    """The model's step as a program for native code; None without a library, or where it does not know a part.

    `added` are vectors that steer the stream, by layer.
    """
    if library() is None:
        return None
    try:
        return program_of(model, added)
    except Unknown:
        return None


def unknown_part(model: Stream) -> str:
    """The part of a model that keeps it from native code; nothing where there is none."""
    try:
        program_of(model)
    except Unknown as part:
        return str(part)
    return ""


def _contents(model: nn.Module, modules: Sequence[nn.Module]) -> list[object]:
    """Everything that stands in the modules."""
    found: list[object] = []
    for module in (model, *modules):
        inner = vars(module)
        found.append(type(module))
        found += inner.values()
        for name in ("_parameters", "_buffers", "_modules", "_forward_hooks", "_forward_pre_hooks"):
            if table := inner[name]:
                found += table.values()
    return found


def _whereabouts(tensors: Sequence[Tensor]) -> Whereabouts:
    """Where tensors are, and how their numbers lie there."""
    return [(one.data_ptr(), one.dtype, one.shape, one.is_contiguous()) for one in tensors]
