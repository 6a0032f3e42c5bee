"""Session: steps a decoder, transformer or recurrent alike. Holds the cache; knows nothing of sampling or text."""

from collections.abc import Collection, Sequence

import torch
from jaxtyping import Float, Float64, Int
from torch import Tensor

from weft.core import changes, recording
from weft.core.cache import Cache
from weft.core.inside import added_everywhere
from weft.errors import ConfigError
from weft.generate.program import Program
from weft.generate.programs import step_program, steps_of
from weft.generate.sampling import Sampling
from weft.generate.stepping import NativeSteps
from weft.modalities.text import Text
from weft.models.stream import Stream
from weft.native import library
from weft.tokens import Tokens

MOST_NATIVE_TOKENS = 64  # of prompts that native code reads at once; more are read in pieces, or by the modules
MOST_AHEAD = 32  # tokens that are written at once
SPARE = 64  # places ahead of rows that were joined
PRODUCTS_AHEAD = 64_000_000  # multiplications that are done at once: some milliseconds


class Session:
    """What a batch of rows has read, and the logits of what may come next.

    A model with attention reads at most its context. A row that would pass it forgets its older half and goes on, so
    text may grow without end at a bounded cost for each token. A purely recurrent model never forgets this way.

    A memory has a row for each row of the batch, or one for every `rows_per_memory` neighbouring rows.

    Steps and short prompts are computed in native code where it knows all parts of the model, otherwise by the modules.
    Of changes it knows one, vectors that are added to the stream of all tokens: others are computed by the modules.
    """

    def __init__(self, model: Stream, *, memory: Tokens | None = None, capacity: int | None = None):
        self.model, self.memory = model, memory
        steps = steps_of(model)
        self.memory_shareable, self.program = steps.memory_shareable, steps.program
        self._weights = None if self.program is None else self.program.pinned()
        context = model.config.embed.context  # type: ignore[attr-defined]
        self.window: int | None = context if steps.attends else None
        self.capacity = min(capacity or context, context)
        self.rows: list[list[int]] = []
        self.cache = Cache(self.capacity)
        self._memory_rows: Int[Tensor, "S"] | None = (
            None  # the rows of the memory that are read, where others are left in it
        )
        self._native: NativeSteps | None = None
        self._steered: tuple[changes.Changed, Program | None] | None = None  # the step under changes, and these
        self._unread: Int[Tensor, "B N"] | None = None  # what is left of the prompts, where they are read in pieces

    def start(self, prompts: list[list[int]]) -> Float[Tensor, "B V"]:
        """Read the prompts (none may be empty); returns the logits of each row's next token."""
        self.begin(prompts)
        return self._read_whole()

    def begin(self, prompts: list[list[int]]) -> None:
        """Note the prompts (none may be empty); `read` reads them."""
        assert all(prompts), "a prompt needs at least one token"
        if (changed := changes.active()) is not None and changed.by_row:
            problem = "rows change places while texts are written: a change cannot be of one row"
            raise ConfigError(problem, where="row", fix="leave it out")
        self.rows, self._unread = [self._recent(row) for row in prompts], None

    @torch.inference_mode()
    def read(self, most: int) -> Float[Tensor, "B V"] | None:
        """Read about `most` tokens more of the prompts; returns the logits of each row's next token once all is read.

        Native code computes a token the same way in pieces of any size. Modules read the prompts whole.
        """
        if self._unread is None:
            ids, first = self._padded()
            self.cache, self._native = Cache(max(self.capacity, ids.shape[1])), None
            if not self._reads_natively(ids):
                return self._read_by_modules(ids, first)
            program = self._program()
            assert program is not None
            NativeSteps.begin(program, self.cache, first, ids.shape[1])
            self._unread = ids
        count = max(1, most // len(self.rows))
        piece, rest = self._unread[:, :count], self._unread[:, count:]
        logits, self._unread = self._bound().read(piece), rest if rest.shape[1] else None
        return logits if self._unread is None else None

    @torch.inference_mode()
    def step(self, ids: Int[Tensor, "B"]) -> Float[Tensor, "B V"]:
        """Read one more token in each row; returns the logits of the next."""
        new = ids.tolist()
        full = self.window is not None and max(map(len, self.rows)) >= self.window
        if full:
            self.rows = [row if len(row) < self.window else row[len(row) - len(row) // 2 :] for row in self.rows]  # type: ignore[operator]
        for row, token in zip(self.rows, new, strict=True):
            row.append(token)
        if full:
            return self._read_whole()
        if self._program() is not None:
            return self._bound().step(ids)
        self._release()
        logits = self.model(Text(ids[:, None]), memory=self.memory, cache=self.cache)
        return logits[:, -1]

    @torch.inference_mode()
    def ahead(self) -> int:
        """How many tokens `write` may write at once: 0 where steps are not native, or where one step takes long."""
        program = self._program()
        if program is None:
            return 0
        room = MOST_AHEAD if self.window is None else self.window - max(map(len, self.rows))
        return min(room, self._bound().left, MOST_AHEAD, PRODUCTS_AHEAD // (len(self.rows) * program.products))

    @torch.inference_mode()
    def write(
        self,
        logits: Float[Tensor, "B V"],
        how: Sequence[Sampling],
        chances: Float64[Tensor, "N B"],
        ends: Sequence[Collection[int]],
    ) -> Int[Tensor, "B M"]:
        """Draw a token of each row, read it, and so on up to N <= `ahead()` times, in one call of native code.

        Each row has its own way of drawing, and its own ends.

        `logits` are those after the last step; those of the token that follows take their place. Rows that have ended
        go on until all have: then fewer than N tokens are returned, and the last of them was not read.
        """
        tokens = self._bound().write(logits, how, chances, ends).T
        for row, new in zip(self.rows, tokens.tolist(), strict=True):
            row += new
        return tokens

    @torch.inference_mode()
    def take(self, rows: Int[Tensor, "R"], memory: Int[Tensor, "S"] | None = None) -> None:
        """Go on with these rows only, in this order, repeats allowed; they read these rows of the memory.

        By default each takes its own row of the memory along.
        """
        order = rows.tolist()
        if order != list(range(len(self.rows))):
            self.rows = [self.rows[i][:] for i in order]
            if self._native is None or not self._native.take(rows):
                self._release()
                self.cache.take(rows)
        if self.memory is not None:
            memory = rows if memory is None or not self.memory_shareable else memory
            known = self._memory_rows
            if memory.tolist() != list(range(self.memory.shape[0] if known is None else len(known))):
                self._memory_rows = memory if known is None else known[memory]
                if self._native is None:
                    self._take_memory()
                else:
                    self._native.read_memory_rows(self._memory_rows)

    @torch.inference_mode()
    def join(self, others: "Sequence[Session]") -> None:
        """Go on with the rows of other sessions of the same model too, which stand below the own ones from now on.

        What each row has read stays as it is, bit for bit. A session with a memory cannot be joined.
        """
        every = [one for one in (self, *others) if one.rows]
        assert all(one.memory is None for one in every), "rows that read different memories are not joined"
        for one in every:
            one._release()
        if every:
            self.cache = Cache.joined([one.cache for one in every], spare=SPARE)
        self.rows = [row for one in every for row in one.rows]

    def _program(self) -> Program | None:
        """The step as it is now, changed or not; None where native code does not know it, or somebody looks inside."""
        held = changes.active()
        if self.program is None or recording.active() is not None:
            return None
        if held is None:
            return self.program
        if self._steered is None or not self._steered[0].same_as(held):
            added = added_everywhere(self.model.trunk)
            plain = None if added is None else self.program
            self._steered = held, step_program(self.model, added) if added else plain
        return self._steered[1]

    def _bound(self) -> NativeSteps:
        """The program, bound to the cache as it is now."""
        program = self._program()
        if self._native is None or self._native.left < 1 or self._native.program is not program:
            self._release()
            found = library()
            assert found is not None and program is not None
            self._native = NativeSteps(found, program, self.cache, self.memory)
        return self._native

    def _release(self) -> None:
        """Let the cache hold everything where the modules expect it."""
        if self._native is not None:
            self._native.settle()
            self._native = None
        self._take_memory()

    def _take_memory(self) -> None:
        """Let the memory have the rows that are read, and no others."""
        if self.memory is not None and self._memory_rows is not None:
            self.memory = self.memory.rows(self._memory_rows)
            self.cache.take_memory(self._memory_rows)
            self._memory_rows = None

    def _recent(self, row: list[int]) -> list[int]:
        return row[:] if self.window is None else row[-self.window :]

    def _read_whole(self) -> Float[Tensor, "B V"]:
        """Read all rows from their beginning."""
        while (logits := self.read(MOST_NATIVE_TOKENS)) is None:
            pass
        return logits

    def _padded(self) -> tuple[Int[Tensor, "B N"], Int[Tensor, "B"]]:
        """The rows, padded in front so that all end together, and the place of the first token of each."""
        device = next(self.model.parameters()).device
        longest = max(map(len, self.rows))
        ids = torch.tensor([[0] * (longest - len(row)) + row for row in self.rows], device=device)
        return ids, torch.tensor([longest - len(row) for row in self.rows], device=device)

    def _reads_natively(self, ids: Int[Tensor, "B N"]) -> bool:
        """Whether native code reads the prompts: what rounds (always the same way), single rows, and few tokens.

        Torch's products read several long rows faster, and agree within rounding.
        """
        program = self._program()
        if program is None or program.one_by_one or self.memory is not None:
            return False
        return program.rounded or len(ids) == 1 or ids.numel() <= MOST_NATIVE_TOKENS

    def _read_by_modules(self, ids: Int[Tensor, "B N"], first: Int[Tensor, "B"]) -> Float[Tensor, "B V"]:
        """Read all rows at once; only the last place is scored."""
        self._take_memory()
        longest = ids.shape[1]
        valid = torch.arange(longest, device=ids.device)[None] >= first[:, None] if bool(first.any()) else None
        tokens = self.model.encode(Text(ids, valid), memory=self.memory, cache=self.cache)
        assert self.model.head is not None
        last = torch.full_like(first, longest - 1)[:, None]
        return self.model.head(tokens.take(last))[:, -1]
