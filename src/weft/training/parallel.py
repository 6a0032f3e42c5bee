"""Parallel: a model and its loss as one module that several processes compute together (torch's FSDP2).

    replicate     each process holds all weights; gradients are added up, block by block, while the others are made;
                  those of small models at once
    shard         each holds a part of every weight, its gradient and its optimizer; blocks are gathered as they compute
    shard, and    processes in `replicas` groups: weights are shared within a group, gradients added up between groups
      replicas

All three are `fully_shard` on a mesh of (replicas, processes that share): one process that shares with itself alone
holds everything. What processes send and wait for goes through `World.together`, so that a wait hears signals.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from weft.core.block import Block
from weft.core.trunk import compute_in
from weft.errors import ConfigError
from weft.objectives.objective import Loss, Objective
from weft.training.precision import exact_parameters
from weft.training.settings import Training
from weft.training.shares import Share, add_and_scatter, gather_all
from weft.training.world import World

ONE_MESSAGE_BYTES = 25 * 2**20  # of weights, up to which all gradients travel together: each message costs time


class Step(nn.Module):
    """A model and its objective: what is called in a step, and in an evaluation."""

    def __init__(self, model: nn.Module, objective: Objective):
        super().__init__()
        self.model, self.objective = model, objective
        self.share: Share | None = None  # which part of the weights this process holds; None: it computes alone
        self.outer: tuple[Any, ...] = ()  # what is gathered for a whole step: all that stands outside of blocks

    def forward(self, batch: Any) -> Loss:
        for part in self.outer[:-1]:  # the last one is this module, gathered when it is called
            part.unshard()
        return self.objective(self.model, batch)

    def synchronize(self, on: bool) -> None:
        """Whether the next way back ends with gradients added up: only that of the last piece of a step does."""
        for part in self._parts():
            part.set_requires_gradient_sync(on, recurse=False)

    def let_go(self) -> None:
        """Forget weights that were gathered and not used on a way back: they change with the next step."""
        for part in self._parts():
            part.reshard()

    @contextmanager
    def gathered(self) -> Iterator[None]:
        """The model can be called by any of its methods, in all processes that share weights."""
        for part in self.outer:
            part.unshard()
        try:
            yield
        finally:
            self.let_go()

    def _parts(self) -> Iterator[Any]:
        """The modules whose weights are gathered together."""
        if self.share is None:
            return
        from torch.distributed.fsdp import FSDPModule

        yield from (part for part in self.modules() if isinstance(part, FSDPModule))


def share_of(world: World, training: Training) -> Share | None:
    """Which part of the weights a process of this world holds; None in a world of one."""
    replicas = training.replicas if training.parallel == "shard" else world.size
    if world.size == 1:
        return None
    if world.size % replicas:
        problem = f"{world.size} processes do not divide into {replicas} replicas"
        raise ConfigError(problem, where="replicas", fix="take a number that divides the processes")
    return Share(world, parts=world.size // replicas)


def distribute(step: Step, world: World, training: Training, device: torch.device, dtype: torch.dtype) -> None:
    """Have the processes of a world hold and compute the weights of a step together; from here on on the device.

    Weights stay in fp32, and are rounded to `dtype` while they are gathered; embedders and tables of rows are not.
    """
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    share = share_of(world, training)
    if share is None:
        step.to(device)
        return
    for buffer in step.buffers():
        buffer.data = buffer.data.to(device)
    for p in step.parameters():  # filters may lie in memory as pictures do, and are shared row by row
        p.data = p.data.contiguous()
    with world.together():
        mesh = share.meet(device)
    fast = None if dtype is torch.float32 else dtype
    exact = torch.float32 if fast else None
    how = MixedPrecisionPolicy(param_dtype=fast, reduce_dtype=exact, cast_forward_inputs=False)
    plain = MixedPrecisionPolicy(cast_forward_inputs=False)
    again = share.parts > 1  # whether blocks are gathered once more on the way back
    model = step.model
    small = sum(p.nbytes for p in step.parameters()) <= ONE_MESSAGE_BYTES
    for block in () if small else _apart(model):
        fully_shard(block, mesh=mesh, mp_policy=how, reshard_after_forward=again)
    never_rounded = exact_parameters(model) if fast is not None else set()
    if never_rounded:
        step.exact = _Exact(model)
        others = {p for p in model.parameters() if p not in never_rounded}
        fully_shard(step.exact, mesh=mesh, mp_policy=plain, reshard_after_forward=False, ignored_params=others)
        step.outer = (step.exact,)
    held = exact_parameters(model) if never_rounded else None  # once more: sharding has replaced the parameters
    fully_shard(step, mesh=mesh, mp_policy=how, reshard_after_forward=False, ignored_params=held)
    step.outer, step.share = (*step.outer, step), share
    compute_in(model, dtype)
    for part in step._parts():
        _add_up(part, share, small)


class _Exact(nn.Module):
    """The weights of a model that are never rounded, gathered together; it is never called."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self) -> None: ...


def _apart(model: nn.Module) -> list[Block]:
    """The blocks that can be gathered by themselves: no weight of theirs is also a weight of something else."""
    owners = Counter(id(p) for m in model.modules() for p in m.parameters(recurse=False))
    blocks = [part for part in model.modules() if isinstance(part, Block)]
    inner = {id(part) for block in blocks for part in block.modules() if part is not block}
    alone = [block for block in blocks if id(block) not in inner and next(block.parameters(), None) is not None]
    return [block for block in alone if _own(block, owners)]


def _own(block: Block, owners: Counter[int]) -> bool:
    within = Counter(id(p) for m in block.modules() for p in m.parameters(recurse=False))
    return all(owners[p] == count for p, count in within.items())


def _add_up(part: Any, share: Share, small: bool) -> None:
    """Have gradients be sums over all processes, never means, and waits for them be heard."""
    if share.divided:
        part.set_gradient_divide_factor(1.0)
        part.set_force_sum_reduction_for_comms(True)
    part.set_reduce_scatter_unused_params(True, recurse=False)
    part.set_custom_all_gather(_Gather(share.world))
    part.set_custom_reduce_scatter(_Scatter(share.world, kept=small))
    if share.replicas > 1:
        part.set_all_reduce_hook(share.add_up)


class _Sent:
    """What FSDP2 has processes exchange, in a wait that hears signals."""

    def __init__(self, world: World):
        self.world = world

    def allocate(self, size: Sequence[int], *, dtype: torch.dtype, device: torch.device) -> Tensor:
        """Memory for what is exchanged."""
        return torch.empty(*size, dtype=dtype, device=device)


class _Gather(_Sent):
    def __call__(self, output_tensor: Tensor, input_tensor: Tensor, group: Any, async_op: bool = False) -> Any:
        with self.world.together():
            return gather_all(output_tensor, input_tensor, group=group, async_op=async_op)


class _Scatter(_Sent):
    """On a CPU memory may be `kept` from step to step: the system would clear its pages anew each time.

    Gradients of a step are in it until the next way back that ends with gradients added up, of which a step has one.
    """

    def __init__(self, world: World, *, kept: bool):
        super().__init__(world)
        self.kept = kept
        self._turns: list[Tensor] = []  # what is added up, and what becomes of it

    def allocate(self, size: Sequence[int], *, dtype: torch.dtype, device: torch.device) -> Tensor:
        """Memory for what is exchanged."""
        found = self._turns.pop(0) if len(self._turns) == 2 else None
        if found is None or found.shape != torch.Size(size) or found.dtype != dtype:
            found = super().allocate(size, dtype=dtype, device=device)
        if self.kept and device.type == "cpu":
            self._turns.append(found)
        return found

    def __call__(self, output_tensor: Tensor, input_tensor: Tensor, group: Any, op: Any, async_op: bool = False) -> Any:
        with self.world.together():
            return add_and_scatter(output_tensor, input_tensor, group=group, op=op, async_op=async_op)
