"""Step by step: the numbers shown are those by which the kernels compute."""

import dataclasses
import json
import math
import re

import numpy as np
import pytest
import torch
from helpers.tiny import numbers, randomised

from weft.core import Additive, Attention, Block, Capped, Dot, Lstm, Mlp, Score, Stride, Trunk, Window, kernels, record
from weft.core.distances import Disentangled, Distances
from weft.core.recording import Reading
from weft.errors import ConfigError
from weft.inspect.steps import Steps, steps
from weft.inspect.steps_table import table
from weft.position import Alibi, Rotary
from weft.tokens import Tokens

KINDS = {
    "scaled": Attention.Config(heads=2),
    "plain": Attention.Config(heads=2, score=Dot.Config(scaled=False)),
    "warm": Attention.Config(heads=2, score=Dot.Config(temperature=2.5)),
    "additive": Attention.Config(heads=2, score=Additive.Config()),
    "additive and warm": Attention.Config(heads=2, score=Additive.Config(temperature=0.5)),
    "capped": Attention.Config(heads=2, score=Capped.Config(cap=1.5, temperature=0.5)),
    "capped, additive": Attention.Config(heads=2, score=Capped.Config(score=Additive.Config(), cap=0.5)),
    "shared keys": Attention.Config(heads=4, kv_heads=2, value_dim=3, turn=Rotary.Config()),
    "one key head, additive": Attention.Config(heads=4, kv_heads=1, score=Additive.Config()),
    "slopes": Attention.Config(heads=4, kv_heads=2, bias=Alibi.Config()),
    "slopes, additive": Attention.Config(heads=2, bias=Alibi.Config(), score=Additive.Config()),
    "rules": Attention.Config(heads=2, rules=(Window(radius=4), Stride(every=2))),
    "distances": Attention.Config(heads=4, kv_heads=2, score=Disentangled.Config(temperature=0.5)),
}
STREAMS = {
    "line": lambda x: Tokens.line(x),
    "set": lambda x: Tokens.free(x, coords={"position": torch.arange(9)[None].expand(2, -1)}),
    "padded": lambda x: Tokens.line(x, valid=torch.arange(9)[None] >= torch.tensor([[0], [4]])),
}


def recorded(kind: str, stream: str = "line", dtype: torch.dtype = torch.float64) -> Reading:
    distances = Distances.Config(reach=4) if kind == "distances" else None
    block = Block.Config(mix=KINDS[kind], transform=Mlp.Config())
    trunk = Trunk.Config(depth=1, block=block, distances=distances).build(dim=8)
    trunk = randomised(trunk, std=0.7).to(dtype)
    with record(trunk) as recorder:
        trunk(STREAMS[stream](numbers(2, 9, 8, dtype=dtype)))
    return recorder.readings["blocks.0.mix"][0]


def kernel(reading: Reading) -> torch.Tensor:
    a = reading.attention
    rest = {"rules": a.rules, "score": a.score_of(reading.scope), "bias": reading.bias}
    return kernels.explicit(reading.q, reading.k, reading.v, reading.scope, **rest).detach()


def every_place(reading: Reading) -> list[tuple[int, int, int]]:
    rows, heads, queries, _ = reading.q.shape
    return [(r, h, q) for r in range(rows) for h in range(heads) for q in range(queries)]


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("kind", KINDS)
def test_weights_and_output_are_those_of_the_explicit_kernel(kind: str, stream: str):
    reading = recorded(kind, stream)
    weights, output = reading.weights().detach().numpy(), kernel(reading).numpy()
    for row, head, query in every_place(reading):
        shown = steps(reading, row=row, head=head, query=query)
        assert np.allclose(shown.weights, weights[row, head, query], atol=1e-12)
        assert np.allclose(shown.output, output[row, head, query], atol=1e-12)


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("kind", KINDS)
def test_each_step_follows_from_the_one_before(kind: str, stream: str):
    reading = recorded(kind, stream)
    for row, head, query in every_place(reading):
        s = steps(reading, row=row, head=head, query=query)
        if s.formula == "q·k":
            assert np.allclose(s.scores, s.k @ s.q)
        assert np.allclose(s.scaled, s.scores * s.factor)
        exponents = np.exp(s.scaled + (0 if s.bias is None else s.bias)) * s.readable
        assert np.allclose(s.weights, exponents / max(exponents.sum(), 1e-300))
        assert np.isclose(s.weights.sum(), 1.0 if s.readable.any() else 0.0)
        assert not s.weights[~s.readable].any()
        assert np.allclose(s.output, s.weights @ s.v)


def test_what_stands_at_padding_is_never_shown():
    reading = recorded("scaled", "padded")
    gone = ~reading.scope.keys.valid[:, None, :, None]
    spoilt = dataclasses.replace(
        reading, k=reading.k.masked_fill(gone, math.nan), v=reading.v.masked_fill(gone, math.nan)
    )
    shown, clean = steps(spoilt, row=1, query=6), steps(reading, row=1, query=6)
    assert np.isfinite(shown.scores).all() and np.array_equal(shown.output, clean.output)


def test_a_window_that_the_kernels_fold_into_blocks_is_shown_alike():
    config = Attention.Config(heads=2, rules=(Window(radius=3),))
    trunk = randomised(
        Trunk.Config(depth=1, block=Block.Config(mix=config, transform=Mlp.Config())).build(dim=8)
    ).double()
    with record(trunk) as recorder:
        trunk(Tokens.line(numbers(1, 150, 8)))
    reading = recorder.readings["blocks.0.mix"][0]
    shown = steps(reading, head=1, query=100)
    assert list(np.flatnonzero(shown.readable)) == [97, 98, 99, 100]
    assert np.allclose(shown.output, kernel(reading)[0, 1, 100])


def test_a_recurrent_reader_of_a_memory_is_shown_step_by_step():
    config = Lstm.Config(read=Attention.Config(heads=1, score=Additive.Config()))
    trunk = Trunk.Config(depth=1, block=Block.Config(mix=config)).build(dim=8, memory_dim=5)
    trunk = randomised(trunk).double()
    with record(trunk) as recorder:
        trunk(Tokens.line(numbers(2, 3, 8)), Tokens.free(numbers(2, 4, 5)))
    (readings,) = recorder.readings.values()
    assert len(readings) == 3
    for reading in readings:
        shown = steps(reading, row=1)
        assert np.allclose(shown.output, kernel(reading)[1, 0, 0]) and shown.formula == "w·tanh(q+k)"


def test_an_unknown_kind_of_score_is_shown_unscaled():
    class Distance(Score):
        class Config(Score.Config):
            """How far apart."""

        def __init__(self, config: "Distance.Config", *, dim: int):
            super().__init__()

        def forward(self, q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
            return -(q[..., :, None, :] - k[..., None, :, :]).square().sum(-1)

    reading = recorded("scaled")
    reading.attention.score = Distance.Config().build(dim=4)
    shown = steps(reading, head=1, query=5)
    assert np.allclose(shown.output, kernel(reading)[0, 1, 5]) and shown.factor == 1.0
    assert "Distance(q, k)" in table(shown)


def test_single_precision_is_shown_in_double_close_to_what_was_computed():
    reading = recorded("scaled", dtype=torch.float32)
    shown = steps(reading, query=8)
    assert shown.output.dtype == np.float64
    assert np.allclose(shown.output, kernel(reading)[0, 0, 8], atol=1e-5)


@pytest.mark.parametrize("wrong", [{"row": 2}, {"head": 2}, {"query": 9}, {"query": -1}, {"key_labels": ["a"]}])
def test_what_is_not_there_is_refused(wrong: dict):
    with pytest.raises(ConfigError, match="expected"):
        steps(recorded("scaled"), **wrong)


def test_json_has_plain_lists_and_reads_back_the_same():
    shown = steps(recorded("slopes"), query=4, query_label="été")
    back = json.loads(json.dumps(shown.to_json(), allow_nan=False))
    assert set(back) == {field.name for field in dataclasses.fields(Steps)}
    assert back["query"] == "été" and back["readable"] == shown.readable.tolist()
    for name in ("q", "k", "v", "scores", "scaled", "bias", "weights", "output"):
        assert np.array_equal(np.array(back[name]), getattr(shown, name)), name


def test_json_has_none_for_what_is_no_number():
    shown = dataclasses.replace(steps(recorded("scaled")), output=np.array([math.nan, 1.0]), factor=math.inf)
    assert shown.to_json()["output"] == [None, 1.0] and shown.to_json()["factor"] is None


@pytest.mark.parametrize("kind", KINDS)
def test_the_table_holds_every_score_and_weight(kind: str):
    shown = steps(recorded(kind), query=6, key_labels=[f"word{n}" for n in range(9)], query_label="word6")
    text = table(shown)
    for n, key in enumerate(shown.keys):
        (line,) = [
            line
            for line in text.splitlines()
            if re.search(rf"\b{key}\b", line) and "." in line and "How" not in line and "1." not in line[:2]
        ]
        assert f"{shown.scores[n]:.4f}" in line and f"{shown.scaled[n]:.4f}" in line
        assert (f"{shown.weights[n]:.4f}" in line) if shown.readable[n] else ("closed" in line)
        assert ("biggest" in line) == (n == shown.weights.argmax()) == line.startswith(">")
    assert "sum of the weights: 1.0000" in text


def test_the_table_says_how_scores_are_made_and_scaled():
    said = {kind: table(steps(recorded(kind))) for kind in KINDS}
    assert "score  = q·k" in said["scaled"] and "score / √4 = score × 0.5" in said["scaled"]
    assert "not scaled" in said["plain"] and "not scaled" in said["additive"]
    assert "score × factor = score × 0.2" in said["warm"]
    assert "factor = 0.2 = 1/√4 / 2.5, where 2.5 is the temperature of this model's scores (flattens" in said["warm"]
    assert "factor = 2 = 1 / 0.5, where 0.5 is the temperature" in said["additive and warm"]
    assert "1/√(3 × 2) / 0.5: a score is the sum of 3 products" in said["distances"]
    assert not any("factor =" in said[kind] for kind in ("scaled", "plain", "additive"))
    assert "score  = w·tanh(q+k)" in said["additive"] and "score × 2" in said["additive and warm"]
    assert "exp(scaled + bias)" in said["slopes"] and "bias" not in said["scaled"]


def test_columns_of_the_table_are_aligned_whatever_the_script():
    from rich.cells import cell_len

    labels = ["a", "猫", "ねこ", "été", "x" * 50, "a\nb", "\x1b[31mred", "", "ok"]
    lines = table(steps(recorded("scaled", "set"), key_labels=labels)).splitlines()
    start = next(n for n, line in enumerate(lines) if set(line) == {"-"}) + 1
    places = {cell_len(line[: line.rindex("…")]) for line in lines[start : start + 9] if line.endswith("…")}
    assert len(places) <= 1 and "\x1b" not in "".join(lines)


def test_a_narrow_table_shows_fewer_numbers_and_still_every_weight():
    config = Attention.Config(heads=1, head_dim=8)
    trunk = Trunk.Config(depth=1, block=Block.Config(mix=config, transform=Mlp.Config())).build(dim=8)
    with record(randomised(trunk)) as recorder:
        trunk(Tokens.line(numbers(1, 4, 8, dtype=torch.float32)))
    shown = steps(recorder.readings["blocks.0.mix"][0], query=3)
    wide, narrow = table(shown), table(shown, width=100)
    assert max(map(len, narrow.splitlines())) <= 100 < max(map(len, wide.splitlines()))
    assert all(f"{w:.4f}" in narrow for w in shown.weights)


def test_a_table_fits_into_sixty_columns_and_keeps_every_weight():
    shown = steps(recorded("warm"), query=6, layer="layer 1 of 1")
    text = table(shown, width=60)
    assert max(map(len, text.splitlines())) <= 60 and "in layer 1 of 1, head 1" in text
    assert all(f"{w:.4f}" in text for w in shown.weights[shown.readable])


def test_a_query_with_nothing_to_read_is_said_to_read_nothing():
    shown = steps(recorded("scaled", "padded"), row=1, query=0)
    assert not shown.readable.any() and not shown.output.any()
    assert "nothing may be read" in table(shown) and "biggest" not in table(shown)
