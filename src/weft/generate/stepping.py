"""Steps of a decoder in native code, over the same cache as those of its modules: either may follow the other."""

import ctypes
import time
from collections.abc import Collection, Sequence

import torch
from jaxtyping import Float, Float64, Int, Int32
from torch import Tensor

from weft.core.cache import Cache
from weft.core.int8 import ROW_BYTES
from weft.errors import ConfigError, NotNumbers
from weft.generate.program import Kept, Program
from weft.generate.sampling import NOT_NUMBERS, NOT_NUMBERS_FIX, Sampling
from weft.generate.thread_choice import thread_choice
from weft.native import Batch, Draw, Library, Writing
from weft.native.loading import BAD_ID, BAD_PLACE
from weft.native.loading import NOT_NUMBERS as LOGITS_ARE_NOT_NUMBERS
from weft.tokens import Tokens


class NativeSteps:
    """A program bound to a cache: addresses of what the blocks keep, and memory to work in.

    It is bound anew where the cache's tensors have changed: rows were taken, lines have grown.
    """

    def __init__(self, library: Library, program: Program, cache: Cache, memory: Tokens | None):
        """The cache holds what rows have read, or is new and was made ready by `begin`."""
        self.library, self.program, self.cache = library, program, cache
        self.first = cache.length - cache.slots("embed").get("next position")
        self.room = cache.reserve_line(cache.length + 1, self.first)
        self.batch, self.line_rows = Batch(room=self.room), len(self.first)
        self.places: Int32[Tensor, "B N"] | None = None  # which row of the lines holds each place, once rows have moved
        self._note_memory(memory)
        self._bind_rows()

    @staticmethod
    def begin(program: Program, cache: Cache, first: Int[Tensor, "B"], length: int) -> None:
        """Make a new cache ready for rows of `length` tokens, of which those before `first` are padding."""
        rows, room = len(first), cache.begin_line(first, length)
        for kept in program.kept:
            slots = cache.slots(kept.slots)
            if kept.of == "line":
                groups, _, width = kept.shape
                slots.begin(kept.name, torch.zeros(rows, groups, room, width), dim=2)
            elif kept.of == "rows":
                new = torch.zeros(rows, *kept.shape, dtype=kept.dtype)
                slots.set(kept.name, new if kept.part is None else (*(slots.get(kept.name) or ()), new))
        cache.slots("embed").set("next position", -first)
        if program.before:
            cache.slots("embed").set("earlier ids", torch.zeros(rows, program.before, dtype=torch.long))

    @property
    def left(self) -> int:
        """The number of places that are left in the lines."""
        return self.room - self.cache.length

    def take(self, rows: Int[Tensor, "R"]) -> bool:
        """Go on with these rows, without a copy of what they have read; returns False where there are too many."""
        if len(rows) > self.line_rows:
            return False
        own = torch.arange(self.line_rows, dtype=torch.int32)
        before = own[:, None].expand(-1, self.room) if self.places is None else self.places
        self.places = before[rows].contiguous()
        self.places[:, self.cache.length :] = own[
            : len(rows), None
        ]  # what is read from now on stands in each row's own line
        self.batch.places = self.places.data_ptr()
        self.cache.take_all_but_lines(rows)
        self.first = self.first[rows]
        self.cache.note_line(self.first, self.cache.length, self.room)
        self._bind_rows()
        return True

    def settle(self) -> None:
        """Move what the rows have read into lines of their own, where the modules and others expect it."""
        if self.places is None:
            return
        length = self.cache.length
        where, each = self.places[:, :length].long(), torch.arange(length)
        for kept in self.program.kept:
            if kept.of == "line":
                slots = self.cache.slots(kept.slots)
                line = slots.line(kept.name)
                own = line.new_zeros(len(where), *line.shape[1:])
                own[:, :, :length] = line[where, :, each].transpose(1, 2)
                slots.begin(kept.name, own, dim=2)
        self.places = None

    def step(self, ids: Int[Tensor, "B"]) -> Float[Tensor, "B V"]:
        """Read one more token in each row; returns the logits of the next."""
        return self.read(ids[:, None])

    def read(self, ids: Int[Tensor, "B N"]) -> Float[Tensor, "B V"]:
        """Read some more tokens in each row; returns the logits of the next."""
        at, ids = self.batch, ids.long().contiguous()
        if ids.shape[1] != at.fresh:
            self._bind_work(ids.shape[1])
        logits = torch.empty(at.rows, self.program.values)
        at.length, at.ids, at.out = self.cache.length, ids.data_ptr(), logits.data_ptr()
        if failure := self._run():
            raise self._fault(failure, ids)
        self.cache.length += at.fresh
        self.position.add_(at.fresh)
        return logits

    def write(
        self,
        logits: Float[Tensor, "B V"],
        how: Sequence[Sampling],
        chances: Float64[Tensor, "N B"],
        ends: Sequence[Collection[int]],
    ) -> Int[Tensor, "M B"]:
        """Draw and read up to N tokens of each row in one call: fewer where all rows have written an end before.

        Each row has its own way of drawing, and its own ends.

        `logits` are those of the first token, and then of the one after the last, which is not read if all rows ended.
        """
        at, (count, rows) = self.batch, chances.shape
        if at.fresh != 1:
            self._bind_work(1)
        tokens, ended = torch.empty(count, rows, dtype=torch.long), torch.zeros(rows, dtype=torch.uint8)
        never, never_of = _in_a_row([one.never for one in how])
        last, ends_of = _in_a_row([tuple(sorted(one)) for one in ends])
        work = torch.empty(4 * self.program.values)
        draws = (Draw * rows)(*(Draw(one.temperature, one.top_p, one.min_p, one.top_k or 0) for one in how))
        writing = Writing(draws, count, self.program.values)
        writing.chances, writing.tokens, writing.ended = chances.data_ptr(), tokens.data_ptr(), ended.data_ptr()
        writing.never, writing.never_of = never.data_ptr(), never_of.data_ptr()
        writing.ends, writing.ends_of, writing.work = last.data_ptr(), ends_of.data_ptr(), work.data_ptr()
        at.length, at.out = self.cache.length, logits.data_ptr()
        if failure := self._run(writing):
            raise self._fault(failure, tokens[: writing.drawn])
        self.position.add_(at.length - self.cache.length)
        self.cache.length = at.length
        return tokens[: writing.drawn]

    def _run(self, writing: Writing | None = None) -> int:
        """Compute a step, or those of a writing; returns 0, or a failure."""
        at, start = self.batch, time.perf_counter()
        at.threads = self.choice.next()
        failure = self.library.run(self.program.table, at, writing)
        steps = at.fresh if writing is None else max(1, writing.drawn)
        self.choice.note(at.threads, (time.perf_counter() - start) / (steps * at.rows * self.program.products))
        return failure

    def _fault(self, failure: int, ids: Tensor) -> Exception:
        """What the modules would say."""
        if failure == BAD_PLACE:
            place = int(self.position.max()) + self.batch.fresh - 1
            return ConfigError(
                f"the learned table of places has none for place {place}", fix="use shorter texts, or another model"
            )
        if failure == LOGITS_ARE_NOT_NUMBERS:
            return NotNumbers(NOT_NUMBERS, fix=NOT_NUMBERS_FIX)
        assert failure == BAD_ID, "Python and C know different operations"
        return IndexError(f"the table of tokens has no row for one of {ids.flatten().tolist()}")

    def _tensor(self, kept: Kept) -> Tensor:
        """What a block keeps, as rows that stand side by side; put back so that steps of the modules find it."""
        if kept.of == "coordinate":
            return self._coordinate(kept.name)
        slots = self.cache.slots(kept.slots)
        if kept.of == "line":
            return slots.line(kept.name)
        if kept.of == "rows" and not kept.part:  # the first of several tensors, or the only one
            value = slots.get(kept.name)
            slots.set(kept.name, tuple(map(_own, value)) if isinstance(value, tuple) else _own(value))
        value = slots.kept_once(kept.name) if kept.of == "memory" else slots.get(kept.name)
        return value if kept.part is None else value[kept.part]

    def _coordinate(self, axis: str) -> Int[Tensor, "M K"]:
        """Where the tokens of the memory stand along an axis; -1 for padding."""
        assert self.memory is not None
        return torch.where(self.memory.valid, self.memory.coords[axis], -1).contiguous()

    def read_memory_rows(self, rows: Int[Tensor, "S"]) -> None:
        """Read these rows of the memory from now on, without a copy of them."""
        self.memory_index = rows.int().contiguous()
        self.batch.memory_rows, self.batch.memory_index = len(rows), self.memory_index.data_ptr()

    def _note_memory(self, memory: Tokens | None) -> None:
        self.memory = memory
        if memory is not None:
            self.batch.memory_rows, self.batch.memory_length = memory.shape
            self.batch.memory_valid = None
            if not memory.unpadded:
                self.valid = memory.valid.to(torch.uint8).contiguous()
                self.batch.memory_valid = ctypes.cast(self.valid.data_ptr(), ctypes.POINTER(ctypes.c_uint8))

    def _bind_rows(self) -> None:
        """The rows as they are now in the cache."""
        rows = self.batch.rows = len(self.first)
        self.choice, self.batch.first = thread_choice(self.program.products, rows), self.first.data_ptr()
        embed = self.cache.slots("embed")
        self.position = embed.get("next position").clone()
        embed.set("next position", self.position)
        if (valid := self.cache.valid_behind_prefix()) is not None:
            self.batch.line_valid = valid.data_ptr()
        self._bind_earlier()
        self._bind_slots()
        self._bind_work(1)

    def _bind_slots(self) -> None:
        """What the blocks keep."""
        self.tensors = [self._tensor(kept) for kept in self.program.kept]
        self.slots = (ctypes.c_void_p * max(1, len(self.tensors)))(*(tensor.data_ptr() for tensor in self.tensors))
        self.batch.slots = ctypes.cast(self.slots, ctypes.POINTER(ctypes.c_void_p))

    def _bind_earlier(self) -> None:
        """The latest ids, with zeros in front where fewer were read."""
        before, slots = self.program.before, self.cache.slots("embed")
        if before:
            self.earlier = torch.zeros(self.batch.rows, before, dtype=torch.long)
            known = slots.get("earlier ids")
            self.earlier[:, before - known.shape[1] :] = known
            slots.set("earlier ids", self.earlier)
            self.batch.earlier, self.batch.before = self.earlier.data_ptr(), before

    def _bind_work(self, fresh: int) -> None:
        """Registers for `fresh` new tokens in each row, and scratch memory for each thread."""
        at, registers = self.batch, self.batch.rows * fresh * self.program.widest
        at.fresh, at.scratch_size = fresh, max(self.room, at.memory_length, 4 * self.program.widest)
        self.work = torch.empty(registers + at.scratch_size * self.choice.most)
        at.work = self.work.data_ptr()
        at.scratch = at.work + registers * self.work.element_size()
        if self.program.rounded:
            tokens = at.rows * fresh
            self.bytes, self.steps = (
                torch.empty(tokens * (self.program.widest + ROW_BYTES), dtype=torch.uint8),
                torch.empty(tokens),
            )
            at.rounded, at.steps = self.bytes.data_ptr(), self.steps.data_ptr()


def _own(tensor: Tensor) -> Tensor:
    """A copy that nobody else writes to or reads from."""
    return tensor.clone(memory_format=torch.contiguous_format)


def _in_a_row(sets: Sequence[tuple[int, ...]]) -> tuple[Int[Tensor, "I"], Int[Tensor, "B 2"]]:
    """The ids of all rows behind each other, equal ones once, and where those of each row begin and end."""
    ids, places = list[int](), dict[tuple[int, ...], tuple[int, int]]()
    for one in sets:
        if one not in places:
            places[one] = (len(ids), len(ids) + len(one))
            ids += one
    return torch.tensor(ids, dtype=torch.long), torch.tensor([places[one] for one in sets], dtype=torch.long)
