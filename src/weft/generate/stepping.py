"""Steps of a decoder in native code, over the same cache as those of its modules: either may follow the other."""

import ctypes

import torch
from jaxtyping import Float, Int
from torch import Tensor

from weft.core.cache import Cache
from weft.errors import ConfigError
from weft.generate.program import Program
from weft.native import Batch, Library
from weft.tokens import Tokens


class NativeSteps:
    """A program bound to a cache: addresses of what the blocks keep, and memory to work in.

    It is bound anew where the cache's tensors have changed: rows were taken, lines have grown.
    """

    def __init__(self, library: Library, program: Program, cache: Cache, memory: Tokens | None):
        self.library, self.program, self.cache = library, program, cache
        self.room, self.first = cache.reserve_line(cache.length + 1)
        self.position = cache.slots("embed").get("next position").clone()
        cache.slots("embed").set("next position", self.position)
        rows = len(self.first)
        self.tensors = [self._tensor(kept.slots, kept.name, kept.part) for kept in program.kept]
        self.slots = (ctypes.c_void_p * max(1, len(self.tensors)))(*(tensor.data_ptr() for tensor in self.tensors))
        self.out_width = program.ops[-1].target.width
        at = self.batch = Batch(rows=rows, fresh=1, room=self.room, threads=torch.get_num_threads())
        at.slots = ctypes.cast(self.slots, ctypes.POINTER(ctypes.c_void_p))
        at.first = self.first.data_ptr()
        self._bind_memory(memory)
        self._bind_earlier(rows)
        scratch = max([self.room, at.memory_length, *(4 * op.target.width for op in program.ops)])
        at.scratch_size = scratch
        self.work = torch.empty(rows * program.widest + scratch * at.threads)
        at.work = self.work.data_ptr()
        at.scratch = at.work + 4 * rows * program.widest

    @property
    def full(self) -> bool:
        """Whether the lines have no place left."""
        return self.cache.length >= self.room

    def step(self, ids: Int[Tensor, "B"]) -> Float[Tensor, "B V"]:
        """Read one more token in each row; returns the logits of the next."""
        at, ids = self.batch, ids.contiguous()
        logits = torch.empty(at.rows, self.out_width)
        at.length, at.ids, at.out = self.cache.length, ids.data_ptr(), logits.data_ptr()
        failed = self.library.run(self.program.table, at)
        if failed:
            raise ConfigError(f"a learned table of places has none for place {int(self.position.max())}")
        self.cache.length += 1
        self.position.add_(1)
        return logits

    def _tensor(self, slots: str, name: str, part: int | None) -> Tensor:
        """What a block keeps, as rows that stand side by side; put back so that steps of the modules find it."""
        kept = self.cache.slots(slots)
        if name in ("k", "v"):
            return kept.line(name)
        if name == "memory":
            return kept.kept_once(name)[part]
        value = kept.get(name)
        if part is not None:
            if part == 0 or not all(one.is_contiguous() for one in value):
                value = tuple(one.clone(memory_format=torch.contiguous_format) for one in value)
                kept.set(name, value)
            return value[part]
        value = value.clone(memory_format=torch.contiguous_format)
        kept.set(name, value)
        return value

    def _bind_memory(self, memory: Tokens | None) -> None:
        if memory is None:
            return
        self.batch.memory_rows, self.batch.memory_length = memory.shape
        if not memory.unpadded:
            self.valid = memory.valid.to(torch.uint8).contiguous()
            self.batch.memory_valid = ctypes.cast(self.valid.data_ptr(), ctypes.POINTER(ctypes.c_uint8))

    def _bind_earlier(self, rows: int) -> None:
        """The latest ids, with zeros in front where fewer were read."""
        before, slots = self.program.before, self.cache.slots("embed")
        if before:
            self.earlier = torch.zeros(rows, before, dtype=torch.long)
            known = slots.get("earlier ids")
            self.earlier[:, before - known.shape[1] :] = known
            slots.set("earlier ids", self.earlier)
            self.batch.earlier, self.batch.before = self.earlier.data_ptr(), before
