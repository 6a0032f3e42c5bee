"""Compiling a model's blocks, where a run is long enough to win the time back."""

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import nn

from weft.core.block import Block
from weft.training.progress import Progress
from weft.training.settings import Training

MIN_COMPILED_SECONDS = 30 * 60.0  # of a run: compiling takes a minute and makes steps a tenth faster


def compiles(training: Training, seconds: float | None) -> bool:
    """Whether to compile: when the user asks for it, or when a run by minutes is long enough to win the time back."""
    if training.compile == "auto":
        return seconds is not None and seconds >= MIN_COMPILED_SECONDS
    return training.compile == "always"


def eagerly(training: Training, seconds: float | None) -> AbstractContextManager[None]:
    """Without compiling: held-out batches have other shapes, for which it would not pay."""
    return torch.compiler.set_stance("force_eager") if compiles(training, seconds) else nullcontext()


def blocks(model: nn.Module) -> list[Block]:
    """The parts that are compiled, each for itself: alike ones share the work."""
    return [module for module in model.modules() if isinstance(module, Block)]


def compile_blocks(model: nn.Module, progress: Progress) -> None:
    """Have torch compile the blocks at their first call; where it cannot, they run as they are."""
    from torch import _dynamo

    _dynamo.config.suppress_errors = True
    progress.say("compiling the model: the first steps take up to a minute")
    for block in blocks(model):
        block.compile(dynamic=False)


def uncompile(model: nn.Module) -> None:
    """The blocks as they were."""
    for block in blocks(model):
        block._compiled_call_impl = None
