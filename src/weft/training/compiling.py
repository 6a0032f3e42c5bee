"""Compiling a model's blocks, where a run is long enough to win the time back."""

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import nn

from weft.core.block import Block
from weft.core.norms import LayerNorm
from weft.native import library
from weft.training.job import Job
from weft.training.precision import pick_precision
from weft.training.progress import Progress

MIN_COMPILED_SECONDS = 30 * 60.0  # of a run: compiling takes a minute and makes steps a tenth faster


def compiles(job: Job) -> bool:
    """Whether to compile: when the user asks for it, or when a run by minutes is long enough to win the time back.

    Native operators of training are faster than compiled blocks, which cannot hold them (docs/choices.md). Blocks whose
    weights are gathered by several processes are not compiled.
    """
    if job.world.size > 1:
        return False
    if job.training.compile == "auto":
        return job.seconds is not None and job.seconds >= MIN_COMPILED_SECONDS and not _native(job)
    return job.training.compile == "always"


def _native(job: Job) -> bool:
    """Whether blocks are computed by native operators: models made for them have norms without gains."""
    plain = any(isinstance(part, LayerNorm) and part.plain for block in blocks(job.model) for part in block.children())
    there = job.device.type == "cpu" and library() is not None
    return plain and there and pick_precision(job.training.precision, job.device) is torch.float32


def eagerly(job: Job) -> AbstractContextManager[None]:
    """A context without compiling, for held-out batches: their shapes differ, and compiling them would not pay."""
    return torch.compiler.set_stance("force_eager") if compiles(job) else nullcontext()


def blocks(model: nn.Module) -> list[Block]:
    """The blocks, which are compiled one by one: equal ones share the work."""
    return [module for module in model.modules() if isinstance(module, Block)]


def compile_blocks(model: nn.Module, progress: Progress) -> None:
    """Have torch compile the blocks at their first call; where it cannot, they run as they are."""
    from torch import _dynamo

    _dynamo.config.suppress_errors = True
    progress.say("compiling the model: the first steps take up to a minute")
    for block in blocks(model):
        block.compile(dynamic=False)


def uncompile(model: nn.Module) -> None:
    """Put back the blocks as they were before compiling."""
    for block in blocks(model):
        block._compiled_call_impl = None
