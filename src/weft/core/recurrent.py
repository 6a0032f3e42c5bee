"""Recurrence: mixers that pass information along the line one token at a time, through a state.

The state lives in the cache's slots between calls, so a recurrent decoder steps like any other.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from weft.core.attention import Attention
from weft.core.cache import Slots
from weft.core.contexts import ContextGate, DeepOutput, FirstState, LastToken, MemoryVector
from weft.core.linear import RowwiseLinear
from weft.core.mixers import Last, Mixer
from weft.core.scope import Pass, Scope
from weft.errors import ConfigError
from weft.tokens import Tokens

State = tuple[Tensor, ...]


def rnn_step(gates: Float[Tensor, "B D"], state: State) -> State:
    """H' = tanh(W_x x + W_h h + b), the sum given as `gates`."""
    return (torch.tanh(gates),)


def lstm_step(gates: Float[Tensor, "B D4"], state: State) -> State:
    """The gate equations (Hochreiter & Schmidhuber, 1997), with [i f g o] = W_x x + W_h h + b given as `gates`:

    c' = sigmoid(f) * c + sigmoid(i) * tanh(g)        h' = sigmoid(o) * tanh(c')
    """
    i, f, g, o = gates.chunk(4, -1)
    c = torch.sigmoid(f) * state[1] + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


class Recurrent(Mixer):
    """h_t from x_t and h_{t-1}; with `read`, also from a context c_t read of a memory.

    The context is read anew at each step with h_{t-1} as the query (`Attention`: Bahdanau et al., 2015), or is the same
    throughout (`Last`: Sutskever et al., 2014; `FirstState`: c = h_0). A vector m of the memory also gives the first
    state: h_0 = tanh(W m). Tokens that are not real leave the state as it was.
    """

    abstract = True

    class Config(Mixer.Config):
        """`read` gives each step a context from a memory: `Attention`, `Last` or `FirstState`.

        `start` is the vector of the memory that the first state is made of. A context by attention may have a `gate`;
        with an `output` a step gives more than its state.
        """

        read: Mixer.Config | None = None
        start: MemoryVector.Config = LastToken.Config()
        gate: ContextGate.Config | None = None
        output: DeepOutput.Config | None = None

        def check(self) -> None:
            if not isinstance(self.read, Attention.Config | Last.Config | FirstState.Config | None):
                kind = type(self.read).__qualname__
                problem = f"a recurrent mixer reads by Attention, Last or FirstState, not by {kind}"
                raise ConfigError(problem, where="Recurrent.read")
            for name in ("gate", "output"):
                if getattr(self, name) is not None and not isinstance(self.read, Attention.Config):
                    problem = "needs a context that is new at each step"
                    raise ConfigError(problem, where=f"Recurrent.{name}", fix="read by Attention")

    step: Callable[[Tensor, State], State]
    parts: int  # tensors in the state
    gates: int  # widths of gates

    def __init__(self, config: Config, *, dim: int, memory_dim: int | None = None):
        super().__init__()
        self.dim = dim
        # whether padded rows are computed without their padding, by the kernel that an unpadded row has
        self.rows_apart = False
        reads = config.read is not None and memory_dim is not None
        self.read = config.read.build(dim=dim, memory_dim=memory_dim) if config.read else None
        self.memory_vector = config.start.build(dim=memory_dim) if reads else None
        self.start = nn.Linear(memory_dim, self.parts * dim) if reads and memory_dim else None
        self.x = nn.Linear(2 * dim if config.read else dim, self.gates * dim)
        self.h = nn.Linear(dim, self.gates * dim)
        self.gate = config.gate.build(dim=dim) if config.gate else None
        self.output = config.output.build(dim=dim) if config.output else None

    def forward(self, x: Float[Tensor, "B Q D"], at: Pass, slots: Slots | None = None) -> Float[Tensor, "B Q D"]:
        start = slots.get("state") if slots is not None else None
        again = isinstance(self.read, FirstState)  # the first state is the context too
        first = self.first_state(x, at, slots) if start is None or again else start
        start = first if start is None else start
        known = self.read is None or self.read.same_for_all_queries
        if again:
            x = torch.cat([x, first[0][:, None].expand(x.shape)], -1)
        elif self.read is not None and known:
            x = torch.cat([x, self.read(x, at, slots)], -1)
        if known and (at.tokens.unpadded or (at.tokens.padded_behind and slots is None)):
            # padding behind changes nothing before it, and no state is kept
            outputs, state = self.whole(x, start, kept=slots is not None)
        elif known and self.rows_apart and self.fused:
            outputs, state = self.without_padding(x, start, at.tokens, kept=slots is not None)
        else:
            outputs, state = self.stepwise(x, start, at, slots)
        if slots is not None:
            slots.set("state", state)
        return outputs

    @property
    def fused(self) -> bool:
        """Whether `whole` is one kernel for all tokens."""
        return False

    def first_state(self, x: Tensor, at: Pass, slots: Slots | None = None) -> State:
        """The first state: zeros, or computed from a vector of the memory."""
        start, vector, memory = self.start, self.memory_vector, at.memory
        if start is None or vector is None:
            return tuple(x.new_zeros(x.shape[0], self.dim) for _ in range(self.parts))
        assert memory is not None, "this mixer reads a memory: none was given"

        def make() -> Tensor:
            return torch.tanh(start(vector(memory.with_x(memory.x.to(x.dtype)))))

        first = make() if slots is None else slots.once("first state", make)
        return first.repeat_interleave(at.rows_per_memory, 0).chunk(self.parts, -1)

    def stepwise(self, x: Tensor, state: State, at: Pass, slots: Slots | None) -> tuple[Tensor, State]:
        """One token after the other, by the equations; a context that is the same for all steps is in x already."""
        outputs, contexts = list[Tensor](), list[Tensor]()
        given = self.x(x) if self.read is None or self.read.same_for_all_queries else None  # all of W_x x at once
        for t in range(x.shape[1]):
            if given is None:
                contexts.append(self.context(state[0], at, slots, t))
                inner = torch.cat([x[:, t], contexts[-1]], -1)
                gates = self.x(inner) + self.h(state[0])
            else:
                gates = given[:, t] + self.h(state[0])
            new = type(self).step(gates, state)
            if not at.tokens.unpadded:
                new = tuple(torch.where(at.tokens.valid[:, t, None], n, o) for n, o in zip(new, state, strict=True))
            state = new
            outputs.append(state[0])
        states = torch.stack(outputs, 1)
        return states if self.output is None else self.output(x, states, torch.stack(contexts, 1)), state

    def whole(self, x: Tensor, state: State, *, kept: bool = False) -> tuple[Tensor, State]:
        """`stepwise` for all tokens at once, by a faster kernel where there is one; `kept`: more steps follow."""
        return self.stepwise(x, state, Pass(Tokens.line(x)), None)

    def without_padding(self, x: Tensor, state: State, tokens: Tokens, *, kept: bool) -> tuple[Tensor, State]:
        """`whole` for the rows with the same number of real tokens at a time, which alone are read."""
        outputs, ends = x.new_zeros(*x.shape[:2], self.dim), tuple(one.clone() for one in state)
        counts = tokens.valid.sum(1)
        for count in sorted(set(counts.tolist()) - {0}):
            rows = counts == count
            real = tokens.valid & rows[:, None]
            some, new = self.whole(x[real].unflatten(0, (-1, count)), tuple(one[rows] for one in state), kept=kept)
            outputs[real] = some.flatten(0, 1)
            for end, one in zip(ends, new, strict=True):
                end[rows] = one
        return outputs, ends

    def context(self, h: Float[Tensor, "B D"], at: Pass, slots: Slots | None, t: int) -> Float[Tensor, "B D"]:
        """The context vector that the state reads from the memory at step t."""
        assert isinstance(self.read, Attention) and at.cross is not None and at.memory is not None
        reader, memory, cross = self.read, at.memory, at.cross
        scope = cross.memo(("step", t), lambda: _one_query(at, t))

        def keys() -> tuple[Tensor, ...]:
            return tuple(one.contiguous() for one in reader.keys(memory.x, cross))

        k, v = cross.memo(f"memory of {id(self)}", keys) if slots is None else slots.once("memory", keys)
        q = reader.place(reader.q(h[:, None]), reader.q_norm, scope, "queries").transpose(1, 2)
        inside = None if at.inside is None else at.inside.at_token(t)
        context = reader.finish(q, k, v, scope, inside)[:, 0]
        context = context if self.gate is None else self.gate(h, context)
        return context if inside is None else inside.context(context)


class Rnn(Recurrent):
    """h' = tanh(W_x x + W_h h + b) (Elman, 1990)."""

    class Config(Recurrent.Config):
        """The plain recurrent network."""

    step = staticmethod(rnn_step)
    parts, gates = 1, 1


class Lstm(Recurrent):
    """The long short-term memory; see `lstm_step` for its equations."""

    class Config(Recurrent.Config):
        """A recurrent network with gates, which keeps information over many steps."""

    step = staticmethod(lstm_step)
    parts, gates = 2, 4

    @property
    def fused(self) -> bool:
        return isinstance(self.x, nn.Linear)

    def whole(self, x: Tensor, state: State, *, kept: bool = False) -> tuple[Tensor, State]:
        """Torch's fused LSTM on the same weights, where they are plain.

        For one row alone it adds in another order than for several: in bf16, where that shows, the row is computed
        twice. It packs its weights at each call, which takes longer than the equations of one decoding step in bf16.
        """
        rows, rowwise = len(x), isinstance(self.x, RowwiseLinear)
        if not self.fused or (rowwise and kept and x.shape[1] == 1):
            return super().whole(x, state, kept=kept)
        if rowwise and rows == 1:
            x, state = x.expand(2, -1, -1), tuple(one.expand(2, -1) for one in state)
        weights = [self.x.weight, self.h.weight, self.x.bias, self.h.bias]
        start = [one[None] for one in state]
        outputs, h, c = torch.lstm(x, start, weights, True, 1, 0.0, self.training, False, True)
        return outputs[:rows], (h[0, :rows], c[0, :rows])


def _one_query(at: Pass, t: int) -> Scope:
    tokens, memory = at.tokens, at.memory
    assert memory is not None
    one = Tokens.free(tokens.x[:, t : t + 1, :0], coords={a: c[:, t : t + 1] for a, c in tokens.coords.items()})
    return Scope(one, memory, ranked=False)
