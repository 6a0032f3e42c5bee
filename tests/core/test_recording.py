"""Recording: looking changes no bit, costs no second pass, and leaves nothing behind."""

import pytest
import torch
from einops import rearrange
from helpers.tiny import close, numbers, randomised

from weft.core import Additive, Attention, Block, Capped, Lstm, Mlp, Trunk, Window, record
from weft.core.recording import active
from weft.position import Alibi, Even, Rotary
from weft.tokens import Tokens

KINDS = {
    "plain": Attention.Config(heads=2),
    "shared and turned": Attention.Config(heads=4, kv_heads=2, turn=Rotary.Config()),
    "turned in part, with a gain": Attention.Config(
        heads=2, turn=Rotary.Config(share=0.5, stretch=Even(factor=2.0, gain=1.2))
    ),
    "additive": Attention.Config(heads=2, score=Additive.Config()),
    "capped": Attention.Config(heads=4, kv_heads=2, score=Capped.Config(cap=0.5), rules=(Window(radius=3),)),
    "slopes": Attention.Config(heads=2, bias=Alibi.Config()),
    "window": Attention.Config(heads=2, rules=(Window(radius=3),)),
}
LENGTHS = {"short": 9, "long": 150}  # long enough for blocks
VALID = {"full": None, "padded": 4}


def built(kind: str) -> Trunk:
    block = Block.Config(mix=KINDS[kind], read=Attention.Config(heads=2), transform=Mlp.Config())
    return randomised(Trunk.Config(depth=2, block=block).build(dim=8, memory_dim=5)).double()


def streams(length: str, valid: str) -> tuple[Tokens, Tokens]:
    n = LENGTHS[length]
    real = None if valid == "full" else torch.arange(n)[None] >= torch.tensor([[0], [4]])
    empty = None if valid == "full" else torch.tensor([[True, True, False], [False] * 3])
    return Tokens.line(numbers(2, n, 8), valid=real), Tokens.free(numbers(2, 3, 5, seed=1), valid=empty)


@pytest.mark.parametrize("grad", [True, False], ids=["training", "using"])
@pytest.mark.parametrize("valid", VALID)
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("kind", KINDS)
def test_recording_changes_no_bit_and_its_weights_reproduce_what_was_read(
    kind: str, length: str, valid: str, grad: bool
):
    trunk, (tokens, memory) = built(kind), streams(length, valid)
    with torch.set_grad_enabled(grad):
        plain, read = trunk(tokens, memory).x, {}
        for name, module in trunk.named_modules():
            if isinstance(module, Attention):
                module.out.register_forward_pre_hook(lambda _, inputs, name=name: read.update({name: inputs[0]}))
        with record(trunk) as recorder:
            recorded = trunk(tokens, memory).x
    assert torch.equal(plain, recorded)
    assert set(recorder.readings) == {f"blocks.{i}.{part}" for i in range(2) for part in ("mix", "read")}
    for name, readings in recorder.readings.items():
        (reading,) = readings
        weights = reading.weights()
        total = weights.sum(-1)
        starved = reading.scope.starved(reading.attention.rules).squeeze(-1).expand_as(total)
        assert close(total, (~starved).double())
        v = reading.v.repeat_interleave(weights.shape[1] // reading.v.shape[1], 1)
        assert close(rearrange(weights @ v, "b h q d -> b q (h d)"), read[name]), name


def test_nothing_is_left_behind_and_nothing_is_kept_outside():
    trunk, (tokens, memory) = built("plain"), streams("short", "full")
    before = {name: set(vars(module)) for name, module in trunk.named_modules()}
    with record(trunk) as recorder:
        trunk(tokens, memory)
    assert active() is None
    trunk(tokens, memory)
    assert all(len(readings) == 1 for readings in recorder.readings.values())
    assert before == {name: set(vars(module)) for name, module in trunk.named_modules()}


def test_a_recorder_ends_also_when_something_fails_and_hears_only_its_own_model():
    one, other, (tokens, memory) = built("plain"), built("plain"), streams("short", "full")
    with pytest.raises(ZeroDivisionError), record(one) as recorder:
        other(tokens, memory)
        raise ZeroDivisionError
    assert active() is None and not recorder.readings


def test_each_call_is_kept_in_order():
    trunk, (tokens, memory) = built("plain"), streams("short", "full")
    other = tokens.with_x(numbers(2, 9, 8, seed=7))
    with record(trunk) as recorder:
        trunk(tokens, memory)
        trunk(other, memory)
    first, second = recorder.readings["blocks.0.mix"]
    assert close(first.q, second.q) is False and first.scope is not second.scope


def test_a_recurrent_mixer_is_heard_at_every_step():
    mix = Lstm.Config(read=Attention.Config(heads=1, score=Additive.Config()))
    trunk = randomised(Trunk.Config(block=Block.Config(mix=mix)).build(dim=8, memory_dim=5)).double()
    tokens, memory = streams("short", "full")
    with record(trunk) as recorder:
        trunk(tokens, memory)
    readings = recorder.readings["blocks.0.mix.read"]
    assert len(readings) == 9
    assert all(close(r.weights().sum(-1), torch.ones(2, 1, 1, dtype=torch.float64)) for r in readings)
