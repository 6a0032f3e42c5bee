"""A step of a language model under FSDP2 on ranks that are not there: bytes that one holds at its peak, and sends.

python many_ranks.py '{"ranks": 64, "dim": 512, "depth": 6, "heads": 8, "vocab": 16000, "rows": 2, "context": 512,
                       "recompute": true}'
"""

import json
import sys
import warnings
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed._tools.fsdp2_mem_tracker import FSDPMemTracker
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.testing._internal.distributed.fake_pg import FakeStore
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

from weft.batches.windows import windows
from weft.core.block import Block
from weft.core.trunk import recompute_blocks
from weft.models.zoo import LANGUAGE_MODELS, Size
from weft.objectives import NextToken


class Wire(TorchDispatchMode):
    """Adds up the bytes that ranks exchange."""

    total = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.namespace in ("c10d", "_c10d_functional"):
            given = [one for one in tree_flatten((args, kwargs))[0] if isinstance(one, torch.Tensor)]
            self.total += max((one.nbytes for one in given), default=0)
        return func(*args, **(kwargs or {}))


class Step(nn.Module):
    """A model and its loss as one module, whose call FSDP2 hangs on."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model, self.objective = model, NextToken.Config().build()

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        total: torch.Tensor = self.objective(self.model, windows(ids)).total
        return total


def simulated(given: dict[str, Any]) -> dict[str, float]:
    """The peak of one rank, and the bytes of a step."""
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=given["ranks"])
    mesh = init_device_mesh("cpu", (given["ranks"],))
    half = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    with FakeTensorMode(allow_non_fake_inputs=True):
        size = Size(dim=given["dim"], depth=given["depth"], heads=given["heads"], context=given["context"])
        model = LANGUAGE_MODELS["llama"](size, vocab=given["vocab"]).build().train()
        count, step = sum(p.numel() for p in model.parameters()), Step(model)
        recompute_blocks(model, given["recompute"])
        for block in [part for part in model.modules() if isinstance(part, Block)]:
            fully_shard(block, mesh=mesh, mp_policy=half)
        fully_shard(model.embed, mesh=mesh, reshard_after_forward=False)  # never rounded, gathered for the whole step
        fully_shard(step, mesh=mesh, mp_policy=half)
        rule = torch.optim.AdamW(step.parameters(), foreach=True)
        ids = torch.zeros(given["rows"], given["context"] + 1, dtype=torch.int64)
        step(ids).backward()  # one step that is not tracked makes the optimizer's state
        rule.step()
        rule.zero_grad()
        tracker, wire = FSDPMemTracker(step, rule), Wire()
        tracker.track_inputs((ids,))
        with tracker, wire:  # the optimizer's step would count tensors of whole shapes
            step(ids).backward()
        peak = tracker.get_tracker_snapshot("peak")
    memory = next(sizes for device, sizes in peak.items() if device.type == "cpu")
    total = next(value for kind, value in memory.items() if "otal" in str(kind))
    return {"parameters": count, "memory": total, "network": wire.total}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(simulated(json.loads(sys.argv[1]))))
