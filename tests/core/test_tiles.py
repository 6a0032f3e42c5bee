"""Tiles of a grid: what reads within a tile is computed in small batches, and equals the definition."""

import dataclasses

import pytest
import torch
from helpers.tiny import close, numbers
from hypothesis import given
from hypothesis import strategies as st

from weft.core import Attention, Block, Mlp, Tile, Trunk, kernels, record
from weft.core.scope import Scope, Shape
from weft.errors import ConfigError
from weft.modalities.image import PatchEmbed, Picture
from weft.modalities.stages import on_grid
from weft.models.stream import Stream
from weft.position import Offsets

FACTOR = 0.7


def grid(rows: int, columns: int, *, width: int = 4):
    return on_grid(numbers(2, rows * columns, width), rows, columns)


@given(st.integers(1, 7), st.integers(1, 7), st.integers(1, 4), st.integers(0, 3), st.booleans())
def test_reading_within_tiles_equals_the_definition(rows: int, columns: int, size: int, shift: int, padded: bool):
    tokens, rules = grid(rows, columns), (Tile(size=size, shift=shift % size),)
    if padded:
        valid = numbers(2, rows * columns, seed=4) > -0.5
        tokens = dataclasses.replace(tokens, valid=valid, unpadded=False)
    q, k, v = (numbers(2, 2, rows * columns, 3, seed=seed) for seed in (1, 2, 3))
    bias = Offsets.Config(size=size).build(heads=2).double()
    torch.nn.init.normal_(bias.table.weight, generator=torch.Generator().manual_seed(5))

    def added(scope: Scope):
        return bias(scope.queries.coords, scope.keys.coords)

    scope = Scope(tokens, tokens, ranked=True)
    expected = kernels.explicit(q, k, v, scope, rules=rules, score=lambda q, k: FACTOR * q @ k.mT, bias=added)
    assert close(kernels.attend(q, k, v, scope, rules=rules, factor=FACTOR, bias=added), expected)
    assert (scope.shape(rules) is Shape.BAND) == (size < max(rows, columns))
    plain = dataclasses.replace(tokens, grid=None)
    assert Scope(plain, plain, ranked=True).shape(rules) is Shape.MASK, (
        "without a stated grid there are no small batches"
    )


def test_a_shifted_tile_joins_what_the_others_keep_apart():
    tokens = grid(1, 6)
    whole, shifted = (Tile(size=2, shift=shift).allow(tokens, tokens)[0].int().tolist() for shift in (0, 1))
    assert whole[0] == [1, 1, 0, 0, 0, 0] and whole[1] == [1, 1, 0, 0, 0, 0]
    assert shifted[0] == [1, 0, 0, 0, 0, 0] and shifted[1] == [0, 1, 1, 0, 0, 0]


def test_pictures_of_other_sizes_are_read_in_tiles_too_and_recorded_weights_are_those_that_were_used():
    mix = Attention.Config(heads=2, rules=(Tile(size=2, shift=1),), bias=Offsets.Config(size=2))
    trunk = Trunk.Config(depth=2, block=Block.Config(mix=mix, transform=Mlp.Config(hidden=6)))
    model = Stream.Config(dim=4, embed=PatchEmbed.Config(grid=(3, 4), patch=2), trunk=trunk).build()
    for height, width in ((6, 8), (10, 6)):
        with torch.inference_mode(), record(model) as recorded:
            found = model.encode(Picture(torch.rand(2, 3, height, width))).x
        assert found.isfinite().all()
        for (reading,) in recorded.readings.values():
            q, k, v, scope, rules = reading.q, reading.k, reading.v, reading.scope, reading.attention.rules
            factor = reading.attention.score.factor
            read = kernels.attend(q, k, v, scope, rules=rules, factor=factor, bias=reading.bias)
            assert close(reading.weights() @ v, read, 1e-6)
            assert (scope.shape(rules) is Shape.BAND) == (height == 6)


@pytest.mark.parametrize("fields", [{"size": 0}, {"size": 2, "shift": 2}, {"size": 2, "shift": -1}])
def test_tiles_that_cannot_be_meant_are_refused(fields):
    with pytest.raises(ConfigError):
        Tile(**fields)
