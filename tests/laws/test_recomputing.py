"""Blocks that are computed again on the way back: the same bits, dropout included, in every model of the zoo."""

from collections.abc import Iterator

import pytest
import torch
from helpers.tiny import ids, language_model
from helpers.whole_zoo import ROWS, WHOLE_ZOO, Case, case
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks

from weft.batches.windows import windows
from weft.core.block import Block
from weft.core.draws import Chance, opened
from weft.core.trunk import recompute_blocks
from weft.objectives import NextToken


@pytest.fixture(params=WHOLE_ZOO)
def zoo(request: pytest.FixtureRequest) -> Iterator[Case]:
    """A model that learns with dropout; as it was afterwards."""
    one = case(request.param)
    blocks = [module for module in one.model.modules() if isinstance(module, Block)]
    rates, kept = [block.rate for block in blocks], {n: b.clone() for n, b in one.model.named_buffers()}
    one.model.train()
    for block in blocks:
        block.rate = 0.3
    yield one
    for block, rate in zip(blocks, rates, strict=True):
        block.rate = rate
    for name, buffer in one.model.named_buffers():
        buffer.copy_(kept[name])
    recompute_blocks(one.model, False)
    one.model.eval()


def learned(model: nn.Module, values: Tensor) -> list[Tensor | None]:
    """The values and the gradients of all weights."""
    whole = (values * torch.linspace(-1, 1, values.numel(), dtype=values.dtype).view_as(values)).sum()
    return [values, *torch.autograd.grad(whole, list(model.parameters()), allow_unused=True)]


def by_sample() -> Chance:
    """The chance of rows that are one sample."""
    return Chance(lambda rows, device: torch.tensor([[1, 2]], dtype=torch.int32), whole=True)


def test_a_model_that_computes_blocks_again_learns_the_same_bits(zoo: Case) -> None:
    for drawn in (lambda: None, by_sample):  # by torch's generator, and by sample
        found = []
        for on in (False, True):
            recompute_blocks(zoo.model, on)
            torch.manual_seed(0)
            with opened(drawn()):
                found.append(learned(zoo.model, zoo.values(range(ROWS))))
        for one, other in zip(*found, strict=True):
            assert one is other is None or torch.equal(one, other)  # type: ignore[arg-type]


def test_blocks_keep_less_for_the_way_back() -> None:
    model, batch, sizes = language_model("llama", dtype=torch.float32).train(), windows(ids(3, 12)), []
    for on in (False, True):
        recompute_blocks(model, on)
        kept: list[int] = []

        def keep(tensor: Tensor, kept: list[int] = kept) -> Tensor:
            kept.append(tensor.numel())
            return tensor

        with saved_tensors_hooks(keep, lambda tensor: tensor):
            NextToken.Config().build()(model, batch).total.backward()
        sizes.append(sum(kept))
    assert sizes[1] < sizes[0] / 2
