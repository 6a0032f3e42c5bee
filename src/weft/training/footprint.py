"""Footprint: what a training step takes of one process's memory, and sends between processes. Nothing is computed.

By closed forms for weights, for P weights on N processes that share them (`parallel`), P_blocks of them in blocks:

    weights, gradients, optimizer     4 P / N each; AdamW has two states (8 P / N), Muon one for the matrices it updates
    gathered                          what stands outside of blocks, and a block, in the format that computes; embedders
                                      in fp32. Where processes replicate weights, all are copied for the step
    a block on the way back           the next block gathered too, its gradients whole in fp32 before they are shared
    an update by Muon                 five numbers for each of one whole matrix, four for each that travels to its owner
                                      and back, and one for each that is updated
    padding                           rows of a tensor are filled up to a multiple of N
    network                           all gathered forward, blocks once more on the way back; gradients added in fp32:
                                      4 P where they are shared, 8 P where each process has the sum of all; Muon's
                                      matrices once more (messages that are filled up: 1.5 times at most), or rows of
                                      them there and back where weights are shared

What a step keeps for its way back, and its operations, are counted in a pass of tensors without numbers.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks

from weft.core.block import Block
from weft.core.heads import PerToken
from weft.core.trunk import Trunk, recompute_blocks
from weft.errors import ConfigError
from weft.models.outline import built, outline
from weft.objectives.token_loss import chunkable
from weft.training.fitting import tokens_of
from weft.training.optimizer import matrices_of
from weft.training.owners import COPIES_AT_ONCE, MESSAGE_BYTES
from weft.training.precision import Weights, exact_parameters
from weft.training.work import Work

WORK_BYTES = {torch.float32: 4, torch.bfloat16: 2, torch.float16: 2}
UNKNOWN = (
    RuntimeError,
    NotImplementedError,
    TypeError,
    ValueError,
    ConfigError,
)  # of a pass whose shapes depend on numbers


@dataclass(frozen=True)
class Footprint:
    """Bytes of one process, and the bytes that it sends and the operations that it makes in a step.

    `activations` and `operations` are None where they depend on numbers and not on shapes alone.
    """

    parameters: int
    weights: float
    gradients: float
    optimizer: float
    gathered: float
    block: float
    update: float
    activations: float | None
    loss: float
    network: float
    operations: float | None

    @property
    def memory(self) -> float:
        """All bytes at the largest moment of a step; without activations where these are not known.

        That is the loss, with all that was kept; or the last block on the way back; or the end, with all gradients; or
        the update, when nothing is gathered any more.
        """
        kept = self.activations or 0.0
        moments = (kept + self.loss, kept + self.block, self.block + self.gradients)
        last = self.gradients + self.update
        return self.weights + self.optimizer + max(self.gathered + max(moments), last)


@dataclass(frozen=True)
class _Kept:
    """Of one pass: bytes kept for the way back, bytes of a block that is computed again, and its operations."""

    bytes: int
    again: int
    operations: int


def footprint(work: Work, batch: Any, *, devices: int = 1, dtype: torch.dtype = torch.float32) -> Footprint:
    """What a step of a process on this batch takes, where `devices` compute as the settings of the work say."""
    training, model = work.training, outline(work.model).freeze(*work.frozen)
    copies = min(devices, training.replicas) if training.parallel == "shard" else devices
    parts = max(1, devices // copies)
    weights, learning = _filled(model.parameters(), parts), _filled(_learning(model), parts)
    blocks = [_filled(part.parameters(), parts) for part in model.modules() if isinstance(part, Block)]
    exact = _filled(exact_parameters(model), parts)
    matrices = matrices_of(model).values() if training.optimizer == "muon" else ()
    muon, whole = _filled(matrices, parts), max((p.numel() for p in matrices), default=0)
    loss, logits = _of_loss(model, work, batch, dtype)
    kept = _activations(work, batch, dtype)
    each, largest = WORK_BYTES[dtype], max(blocks, default=0)
    used = each * (weights - exact) + 4 * exact  # all weights in the formats that compute
    gathered = each * weights if each < 4 else 0.0  # the rounded copy that computes
    if devices > 1:
        gathered = used - (each * (sum(blocks) - largest) if parts > 1 else 0)
    sent = used + each * sum(blocks) + 4 * learning if parts > 1 else 0
    added = 8 * learning / parts if copies > 1 else 0
    at_once = max(MESSAGE_BYTES // 4, (parts if parts > 1 else min(copies, COPIES_AT_ONCE)) * whole)
    travels = min(muon, at_once) if devices > 1 else 0
    return Footprint(
        parameters=sum(p.numel() for p in model.parameters()),
        weights=4 * weights / parts,
        gradients=4 * learning / parts,
        optimizer=(8 * learning - 4 * muon) / parts,
        gathered=gathered,
        block=((each + 4) * largest if devices > 1 else 0) + (0 if kept is None else kept.again),
        update=(4 * muon + 16 * travels) / parts + 20 * whole if devices > 1 else 0,
        activations=None if kept is None else max(0, kept.bytes - logits),
        loss=loss + logits,
        network=sent + added + (8 / parts if parts > 1 else 4) * muon if devices > 1 else 0,
        operations=None if kept is None else kept.operations,
    )


def _learning(model: nn.Module) -> list[Tensor]:
    """The weights that learn."""
    return [p for p in model.parameters() if p.requires_grad]


def _filled(tensors: Iterable[Tensor], parts: int) -> int:
    """The numbers of tensors whose rows are filled up to be cut into equal parts."""
    return sum(-(-t.shape[0] // parts) * parts * t[0].numel() if t.ndim else t.numel() for t in tensors)


def _activations(work: Work, batch: Any, dtype: torch.dtype) -> _Kept | None:
    """What a step keeps and computes; None where shapes depend on numbers, which tensors without numbers cannot say."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    try:
        with torch.random.fork_rng(devices=[]), FakeTensorMode(allow_non_fake_inputs=True):
            model = built(work.model).freeze(*work.frozen).train()
            Weights(model, dtype)
            plain, flops = _passed(model, work, batch)
            if not work.training.recompute:
                return _Kept(plain, 0, 3 * flops)
            recompute_blocks(model, True)
            inputs, _ = _passed(model, work, batch)
        layers = sum(part.layers for part in model.modules() if isinstance(part, Trunk))
        return _Kept(inputs, (plain - inputs) // max(1, layers), 4 * flops)
    except UNKNOWN:
        return None


def _passed(model: nn.Module, work: Work, batch: Any) -> tuple[int, int]:
    """The bytes that a pass keeps for its way back, beside weights and the batch, and its operations."""
    from torch.utils.flop_counter import FlopCounterMode

    own = {_memory(tensor) for tensor in (*model.parameters(), *model.buffers())}
    seen: dict[int, tuple[int, Tensor]] = {}  # tensors stay alive, so that none takes the place of another

    def keep(tensor: Tensor) -> Tensor:
        seen[_memory(tensor)] = (tensor.untyped_storage().nbytes(), tensor)
        return tensor

    flops = FlopCounterMode(display=False)
    with saved_tensors_hooks(keep, lambda tensor: tensor), flops:
        loss = work.objective.build()(model, batch)
    assert loss is not None
    return sum(size for place, (size, _) in seen.items() if place not in own), flops.get_total_flops()


def _memory(tensor: Tensor) -> int:
    return tensor.untyped_storage()._cdata


def _of_loss(model: nn.Module, work: Work, batch: Any, dtype: torch.dtype) -> tuple[int, int]:
    """Bytes of a loss over a vocabulary: what it makes for a moment, and the logits that it keeps until then.

    Whole: log p in fp32 is kept, and the gradients of log p and of the logits are made. In chunks: two of a chunk, and
    the gradient of the head in fp32.
    """
    heads = [part for part in model.modules() if isinstance(part, PerToken) and chunkable(part)]
    tokens = max(map(tokens_of, getattr(batch, "each", ())), default=0)
    if not heads or not tokens:
        return 0, 0
    head, rounded = heads[-1].out, WORK_BYTES[dtype] if dtype is not torch.float32 else 0
    chunk = getattr(work.objective, "chunk", None)
    if chunk is not None and chunk < tokens:
        return chunk * head.out_features * (8 + rounded) + 4 * head.weight.numel(), 0
    return tokens * head.out_features * 8, tokens * head.out_features * 4
