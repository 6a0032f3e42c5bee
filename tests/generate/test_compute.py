"""Rounded and eight-bit copies stay close to the model; the model itself is never touched."""

import pytest
import torch
from helpers.tiny import ZOO, close, ids, language_model
from torch import nn

from weft.core.cache import Cache
from weft.generate import Session
from weft.generate.compute import Compute, Int8Linear, prepared
from weft.modalities.text import Text
from weft.models.stream import Stream
from weft.position import Rotary

CLOSE = {"bf16": 0.05, "int8": 0.1}  # of the spread of the logits


@pytest.mark.parametrize("precision", CLOSE)
@pytest.mark.parametrize("name", ZOO)
def test_a_copy_in_another_precision_stays_close_and_the_model_is_untouched(name: str, precision: str):
    model = language_model(name, dtype=torch.float32)
    before = {key: t.clone() for key, t in model.state_dict().items()}
    text = Text(ids(3, 8))
    with torch.no_grad():
        exact = model(text)
        copy = prepared(model, precision)
        rounded = copy(text)
    assert copy is not model and rounded.dtype is torch.float32
    assert float((rounded - exact).std()) < CLOSE[precision] * float(exact.std())
    assert not torch.equal(rounded, exact), "something was rounded"
    after = model.state_dict()
    assert list(after) == list(before)
    assert all(torch.equal(after[key], t) and after[key].dtype is t.dtype for key, t in before.items())


@pytest.mark.parametrize("precision", CLOSE)
@pytest.mark.parametrize("name", ZOO)
def test_stepping_a_copy_stays_close_to_its_own_full_pass(name: str, precision: str):
    copy = prepared(language_model(name, dtype=torch.float32), precision)
    text, cache = ids(2, 6), Cache(4)
    with torch.no_grad():
        whole = copy(Text(text))
        steps = torch.cat([copy(Text(piece), cache=cache) for piece in text.split([3, 1, 1, 1], 1)], 1)
    assert float((steps - whole).std()) < CLOSE[precision] * float(whole.std())
    session = Session(copy)
    assert close(session.start(text.tolist()), whole[:, -1], 0.2 * float(whole.std()))


def test_fp32_is_the_model_itself_and_copies_are_made_once():
    model = language_model("gpt", dtype=torch.float32)
    assert prepared(model, "fp32") is model
    assert prepared(model, "int8") is prepared(model, "int8")
    assert prepared(model, "bf16") is prepared(model, "bf16") is not prepared(model, "int8")


def test_a_copy_is_kept_no_longer_than_its_model():
    import gc
    import weakref

    model = language_model("gpt", dtype=torch.float32)
    copy = weakref.ref(prepared(model, "int8"))
    del model
    gc.collect()
    assert copy() is None


def parts(model: Stream, kind: type) -> list:
    return [m for m in model.modules() if isinstance(m, kind)]


@pytest.mark.parametrize("name", ZOO)
def test_rounding_leaves_the_places_exact(name: str):
    model = language_model(name, dtype=torch.float32)
    copy = prepared(model, "bf16")
    assert copy.trunk.dtype is torch.bfloat16
    for key, buffer in dict(copy.named_buffers()).items():
        assert torch.equal(buffer, dict(model.named_buffers())[key]), key
    for one, other in zip(parts(copy, Rotary), parts(model, Rotary), strict=True):
        coords = {"position": torch.tensor([[1000]])}
        assert all(close(a, b) for a, b in zip(one(coords, torch.float32), other(coords, torch.float32), strict=True))


@pytest.mark.parametrize("name", ZOO)
def test_in_eight_bits_every_map_of_trunk_and_head_is_small(name: str):
    copy = prepared(language_model(name, dtype=torch.float32), "int8")
    assert not [m for m in (*copy.trunk.modules(), *copy.head.modules()) if isinstance(m, nn.Linear)]
    assert all(m.weight.whole.dtype is torch.int8 for m in parts(copy, Int8Linear))


@pytest.mark.parametrize("rows", [1, 16, 17])
@pytest.mark.parametrize("width", [1, 7, 24, 32, 50, 64])  # kernels read several weights at a time
def test_an_eight_bit_map_is_within_half_a_step_of_each_weight(rows: int, width: int):
    for bias in (True, False):
        exact = nn.Linear(width, 10, bias=bias)
        small = Int8Linear(exact)
        step = exact.weight.abs().amax(1) / 127
        restored = small.weight.whole.float() * small.weight.scale[:, None]
        assert ((restored - exact.weight).abs() <= step[:, None] / 2 + 1e-7).all()
        x = torch.randn(rows, width)
        assert close(small(x), exact(x), 0.05)
        assert small(x[None]).shape == (1, rows, 10)


def test_a_row_of_zeros_stays_zero():
    exact = nn.Linear(4, 3, bias=False)
    with torch.no_grad():
        exact.weight[1] = 0
    assert not Int8Linear(exact)(torch.randn(2, 4))[:, 1].any()


def test_an_unknown_precision_is_refused():
    from weft.errors import ConfigError

    with pytest.raises(ConfigError, match="fp32, bf16, int8"):
        Compute(precision="fp8")
