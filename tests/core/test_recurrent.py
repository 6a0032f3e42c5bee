"""Recurrence: the same equations step by step, by torch's fused kernel, and in torch's own modules."""

import pytest
import torch
from helpers.tiny import close, numbers, randomised
from torch import nn

from weft.config import from_json
from weft.core import (
    Additive,
    Attention,
    Cache,
    ContextGate,
    DeepOutput,
    FirstState,
    Last,
    LastToken,
    Lstm,
    MeanToken,
    Mixer,
    Rnn,
)
from weft.core.recurrent import Recurrent, lstm_step, rnn_step
from weft.core.scope import Pass
from weft.errors import ConfigError
from weft.tokens import Tokens

DIM, LENGTH = 5, 7
KINDS = {"rnn": Rnn, "lstm": Lstm}
THEIRS = {"rnn": nn.RNN, "lstm": nn.LSTM}


def built(kind: str, *, read: bool = False) -> Recurrent:
    attention = Attention.Config(heads=1, score=Additive.Config()) if read else None
    config = KINDS[kind].Config(read=attention)
    return randomised(config.build(dim=DIM, memory_dim=4 if read else None), std=0.5).double()


def run(mixer: Recurrent, tokens: Tokens, memory: Tokens | None = None) -> torch.Tensor:
    return mixer(tokens.x, Pass(tokens, memory=memory))


@pytest.mark.parametrize("kind", KINDS)
def test_weights_copied_from_torch_give_the_output_of_torch(kind: str):
    ours, theirs = built(kind), THEIRS[kind](DIM, DIM, batch_first=True, dtype=torch.float64)
    theirs.load_state_dict({"weight_ih_l0": ours.x.weight, "bias_ih_l0": ours.x.bias, "weight_hh_l0": ours.h.weight,
                            "bias_hh_l0": ours.h.bias})  # fmt: skip
    x = numbers(3, LENGTH, DIM)
    assert close(run(ours, Tokens.line(x)), theirs(x)[0])


@pytest.mark.parametrize("kind", KINDS)
def test_the_fast_way_equals_the_equations_step_by_step(kind: str):
    mixer, x = built(kind), numbers(3, LENGTH, DIM)
    start = tuple(numbers(3, DIM, seed=9 + i) for i in range(mixer.parts))
    tokens = Tokens.line(x)
    fast, slow = mixer.whole(x, start), mixer.stepwise(x, start, Pass(tokens), None)
    assert close(fast[0], slow[0]) and all(close(a, b) for a, b in zip(fast[1], slow[1], strict=True))
    h = start
    step = {"rnn": rnn_step, "lstm": lstm_step}[kind]
    for t in range(LENGTH):
        h = step(x[:, t] @ mixer.x.weight.T + mixer.x.bias + h[0] @ mixer.h.weight.T + mixer.h.bias, h)
        assert close(fast[0][:, t], h[0])


def test_the_gates_do_what_they_are_named_for():
    c, big = numbers(1, 2), torch.full((1, 2), 100.0, dtype=torch.float64)
    state = (torch.zeros_like(c), c)

    def gates(i: int, f: int, g: int, o: int) -> tuple[torch.Tensor, ...]:
        return lstm_step(torch.cat([sign * big for sign in (i, f, g, o)], -1), state)

    kept, closed = gates(-1, 1, 1, 1), gates(-1, 1, 1, -1)
    assert close(kept[1], c) and close(kept[0], torch.tanh(c)) and close(closed[0], torch.zeros_like(c))
    written = gates(1, -1, 1, 1)
    assert close(written[1], torch.ones_like(c))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("read", [False, True], ids=["alone", "with a memory"])
def test_tokens_that_are_not_real_leave_the_state_as_it_was(kind: str, read: bool):
    mixer = built(kind, read=read)
    memory = Tokens.free(numbers(2, 3, 4, seed=4)) if read else None
    real = numbers(2, 4, DIM)
    valid = torch.tensor([[False, True, False, True, True, True, False]] * 2)
    x = torch.full((2, LENGTH, DIM), 1e6, dtype=torch.float64)
    x[valid] = real.flatten(0, 1)
    padded = run(mixer, Tokens.line(x, valid=valid), memory)
    assert close(padded[valid].reshape(2, 4, DIM), run(mixer, Tokens.line(real), memory))
    assert torch.equal(padded[:, 6], padded[:, 5])
    begun = mixer.first_state(x[:, 0], Pass(Tokens.line(x), memory=memory))[0]
    assert torch.equal(padded[:, 0], begun) and bool(begun.any()) == read


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("read", [False, True], ids=["alone", "with a memory"])
@pytest.mark.parametrize("cuts", [(1, 1, 1, 1, 1, 1, 1), (3, 4), (6, 1)])
def test_stepping_with_the_state_in_a_cache_equals_one_pass(kind: str, read: bool, cuts: tuple[int, ...]):
    mixer, x = built(kind, read=read), numbers(2, LENGTH, DIM)
    memory = None
    if read:
        memory = Tokens.free(numbers(2, 3, 4, seed=4), valid=torch.tensor([[True, True, False], [True] * 3]))
    slots = Cache().slots("mixer")
    with torch.no_grad():
        outs = [mixer(piece, Pass(Tokens.line(piece), memory=memory), slots) for piece in x.split(cuts, 1)]
    assert close(torch.cat(outs, 1), run(mixer, Tokens.line(x), memory))


def test_the_context_is_read_from_the_memory_with_the_last_state_as_the_query():
    mixer, x = built("rnn", read=True), numbers(1, 3, DIM)
    memory = Tokens.free(numbers(1, 4, 4, seed=4))
    reader, h, outs = mixer.read, torch.tanh(mixer.start(memory.x[:, -1])), []
    k, v = reader.kv(memory.x).chunk(2, -1)
    for t in range(3):
        energy = torch.tanh(reader.q(h)[:, None] + k) @ reader.score.v.weight[0]
        context = reader.out((energy.softmax(-1)[..., None] * v).sum(1))
        h = torch.tanh(mixer.x(torch.cat([x[:, t], context], -1)) + mixer.h(h))
        outs.append(h)
    assert close(run(mixer, Tokens.line(x), memory), torch.stack(outs, 1))


def test_what_stands_at_the_padding_of_a_memory_is_not_read():
    mixer, x = built("lstm", read=True), numbers(2, 3, DIM)
    short = numbers(2, 3, 4, seed=4)
    long = torch.cat([short, torch.full((2, 2, 4), 1e6, dtype=torch.float64)], 1)
    valid = torch.tensor([[True] * 3 + [False] * 2] * 2)
    padded, plain = (run(mixer, Tokens.line(x), m) for m in (Tokens.free(long, valid=valid), Tokens.free(short)))
    assert close(padded, plain)


def test_the_keys_of_a_memory_are_computed_once_for_all_steps(monkeypatch: pytest.MonkeyPatch):
    mixer, memory, calls = built("lstm", read=True), Tokens.free(numbers(1, 3, 4)), []
    keys = mixer.read.keys
    monkeypatch.setattr(mixer.read, "keys", lambda *args: calls.append(1) or keys(*args))
    slots = Cache().slots("mixer")
    with torch.no_grad():
        for piece in numbers(1, 5, DIM).split(1, 1):
            mixer(piece, Pass(Tokens.line(piece), memory=memory), slots)
    assert len(calls) == 1


def with_memory(kind: str = "lstm", **parts: object) -> Recurrent:
    return randomised(KINDS[kind].Config(**parts).build(dim=DIM, memory_dim=4), std=0.5).double()


ATTENTION = Attention.Config(heads=1, score=Additive.Config())


def test_a_first_state_may_be_made_of_the_mean_of_the_memory():
    mixer, x = with_memory(read=ATTENTION, start=MeanToken.Config()), numbers(2, 3, DIM)
    valid = torch.tensor([[True, False, True], [True] * 3])
    memory = Tokens.free(numbers(2, 3, 4, seed=4), valid=valid)
    mean = torch.stack([memory.x[0, [0, 2]].mean(0), memory.x[1].mean(0)])
    layer = mixer.memory_vector.layers[0]
    expected = torch.tanh(mixer.start(torch.relu(layer(mean))))
    first = mixer.first_state(x, Pass(Tokens.line(x), memory=memory))
    assert close(torch.cat(first, -1), expected)
    plain = with_memory(read=ATTENTION, start=MeanToken.Config(hidden=0))
    begun = plain.first_state(x, Pass(Tokens.line(x), memory=memory))
    assert close(torch.cat(begun, -1), torch.tanh(plain.start(mean)))


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_state_may_be_the_context_of_every_step(kind: str):
    mixer, x = with_memory(kind, read=FirstState.Config(), start=MeanToken.Config()), numbers(4, LENGTH, DIM)
    memory = Tokens.free(numbers(2, 3, 4, seed=4))  # two rows of the batch read each of its rows
    at = Pass(Tokens.line(x), memory=memory)
    state = first = mixer.first_state(x, at)
    slots, outs = Cache().slots("mixer"), []
    for t in range(LENGTH):
        gates = mixer.x(torch.cat([x[:, t], first[0]], -1)) + mixer.h(state[0])
        state = type(mixer).step(gates, state)
        outs.append(state[0])
    whole = mixer(x, at)
    assert close(whole, torch.stack(outs, 1))
    with torch.no_grad():
        pieces = [mixer(piece, Pass(Tokens.line(piece), memory=memory), slots) for piece in x.split((1, 4, 2), 1)]
    assert close(torch.cat(pieces, 1), whole)


def test_a_gate_weighs_the_context_and_an_output_adds_word_state_and_context():
    mixer = with_memory(read=ATTENTION, start=MeanToken.Config(), gate=ContextGate.Config(), output=DeepOutput.Config())
    x, memory = numbers(1, 3, DIM), Tokens.free(numbers(1, 4, 4, seed=4))
    reader, at = mixer.read, Pass(Tokens.line(x), memory=memory)
    state, outs = mixer.first_state(x, at), []
    k, v = reader.kv(memory.x).chunk(2, -1)
    for t in range(3):
        h = state[0]
        energy = torch.tanh(reader.q(h)[:, None] + k) @ reader.score.v.weight[0]
        read = reader.out((energy.softmax(-1)[..., None] * v).sum(1))
        context = torch.sigmoid(h @ mixer.gate.beta.weight.T + mixer.gate.beta.bias) * read
        state = lstm_step(mixer.x(torch.cat([x[:, t], context], -1)) + mixer.h(h), state)
        outs.append(x[:, t] + mixer.output.h(state[0]) + mixer.output.context(context))
    assert close(mixer(x, at), torch.stack(outs, 1))


@pytest.mark.parametrize("part", [{"gate": ContextGate.Config()}, {"output": DeepOutput.Config()}])
@pytest.mark.parametrize("read", [None, Last.Config(), FirstState.Config()])
def test_a_gate_or_output_without_attention_is_refused(part: dict, read: Mixer.Config | None):
    with pytest.raises(ConfigError, match="new at each step"):
        Lstm.Config(read=read, **part)


def test_recurrent_mixers_of_earlier_files_begin_with_the_last_token():
    config = Lstm.Config(read=ATTENTION)
    earlier = {name: value for name, value in config.to_json().items() if name in ("type", "read")}
    assert from_json(earlier, Lstm.Config) == config and config.start == LastToken.Config()
    names = set(config.build(dim=DIM, memory_dim=4).state_dict())
    kept = {"start.weight", "start.bias", "x.weight", "x.bias", "h.weight", "h.bias"}
    assert {name for name in names if not name.startswith("read.")} == kept
