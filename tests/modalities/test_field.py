"""Tokens of fields: how cells become tokens, and how what a head says of tokens becomes cells again."""

import dataclasses

import numpy as np
import pytest
import torch
from einops import rearrange
from helpers.fields import field_model, window
from helpers.tiny import close, numbers

from weft.errors import ConfigError
from weft.modalities.field import AXES, CHANNELS, CYCLES, WIDEST, FieldEmbed, FieldWindow

SHAPES = [(6, 8), (5, 7), (1, 7), (3, 1), (2, 2)]


def embed(*, layers: int = 2, times: int = 4, **options) -> FieldEmbed:
    config = FieldEmbed.Config(**{"layers": layers, "times": times, "patch": 2, **options})
    return config.build(dim=4).double()


def own_cells(part: FieldEmbed, raw: FieldWindow) -> torch.Tensor:
    """The values of a token's own cells, as a head would give them: (B N, s p q)."""
    config = part.config
    side = config.patch + 2 * config.halo
    cells = part.neighbourhoods(raw)
    cells = rearrange(cells, "b n (c s p q) -> c b n s p q", c=CHANNELS, s=config.span, p=side)[0]
    inner = slice(config.halo, config.halo + config.patch)
    return rearrange(cells[..., inner, inner], "b n s p q -> b n (s p q)")


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("options", [
    {}, {"halo": 1}, {"halo": 1, "wraps": True}, {"halo": 3, "wraps": True, "span": 2}, {"patch": 3, "span": 4},
    {"patch": 16, "halo": 4, "wraps": True},
], ids=str)  # fmt: skip
def test_what_a_head_says_of_a_token_comes_back_at_the_cells_of_the_token(shape, options):
    part, raw = embed(**options), window(shape=shape)
    unsure = dataclasses.replace(raw, doubt=torch.ones_like(raw.doubt))
    zeroed = dataclasses.replace(unsure, values=torch.zeros_like(raw.values))
    own = own_cells(part, raw)
    found = part.distribution(zeroed, torch.cat([own, torch.zeros_like(own)], -1))
    assert close(found.mean, raw.values, 1e-6) and close(found.spread, torch.ones_like(raw.values), 1e-6)
    widened = part.distribution(zeroed, torch.cat([torch.zeros_like(own), own], -1))
    assert close(widened.mean, zeroed.values) and close(
        widened.spread, (WIDEST * torch.tanh(raw.values / WIDEST)).exp(), 1e-5
    )


@pytest.mark.parametrize("halo", [0, 1, 3])
def test_rolling_a_globe_by_whole_patches_permutes_the_tokens(halo):
    part, raw = embed(halo=halo, wraps=True), window(shape=(5, 8))
    rolled = dataclasses.replace(
        raw, **{name: getattr(raw, name).roll(4, -1) for name in ("values", "known", "doubt", "place")}
    )
    grid = {"v": 2, "t": 4, "y": 3, "x": 4}
    here, there = (rearrange(part.neighbourhoods(one), "b (v t y x) p -> b v t y x p", **grid) for one in (raw, rolled))
    assert torch.equal(there, here.roll(2, 4))


def test_a_token_of_a_globe_sees_over_the_seam_and_another_sees_nothing_there():
    raw = window(rows=1, layers=1, times=1, shape=(2, 4))
    for wraps, beyond in ((True, raw.values[0, 0, 0, :, 3]), (False, torch.zeros(2, dtype=torch.float64))):
        cells = embed(layers=1, times=1, halo=1, wraps=wraps).neighbourhoods(raw)[0, 0].reshape(CHANNELS, 4, 4)
        assert torch.equal(cells[0, 1:3, 0], beyond)
        assert not cells[:, 0].any() and not cells[:, 3].any()  # beyond the poles nothing is known


def test_known_cells_and_doubt_are_read_beside_the_values():
    raw = window(rows=1, layers=1, times=2, shape=(2, 2))
    cells = embed(layers=1, times=2, span=2).neighbourhoods(raw)[0, 0].reshape(CHANNELS, 2, 2, 2)
    assert torch.equal(cells, torch.stack([raw.values[0, 0], raw.known[0, 0].double(), raw.doubt[0, 0]]))


def test_a_silent_head_gives_the_first_guess_exactly():
    part, raw = embed(halo=1), window()
    silent = torch.zeros(2, int(np.prod(part.config.grid((5, 7)))), part.config.size)
    found = part.distribution(raw, silent)
    assert torch.equal(found.mean, raw.values) and torch.equal(found.spread, raw.doubt)


def test_known_cells_keep_their_values_whatever_the_head_says():
    part, raw = embed(), window()
    found = part.distribution(raw, 100 * numbers(2, int(np.prod(part.config.grid((5, 7)))), part.config.size))
    assert torch.equal(found.mean[raw.known], raw.values[raw.known])
    assert not found.spread[raw.known].any() and (found.spread[~raw.known] > 0).all()


def test_tokens_know_their_place_layer_and_time():
    part, raw = embed(span=2), window(rows=1, shape=(4, 4))
    coords = part.coordinates(raw)
    assert set(coords) == {*AXES, *CYCLES, "layer", "time"}
    grids = {name: values.reshape(2, 2, 2, 2) for name, values in coords.items()}  # V T R S
    assert (grids["layer"][0] == 0).all() and (grids["layer"][1] == 1).all()
    assert torch.equal(grids["time"][0, :, 0, 0], raw.time[0, [1, 3]])  # of the last field of the token
    assert close(grids["north"][1, 1, 0, 1], raw.place[0, 1, :2, 2:].mean())
    assert close(grids["season_cos"][0, 1, 1, 1], (2 * np.pi * raw.season[0, 3]).cos())


def test_other_windows_are_refused_with_both_sizes():
    with pytest.raises(ConfigError, match="2 and 4 layers and times; the model reads 3 and 4"):
        embed(layers=3).neighbourhoods(window())
    with pytest.raises(ConfigError, match="4 time steps do not divide into tokens of 3"):
        embed(span=3)


def test_a_window_is_cut_by_rows():
    raw = window(rows=3)
    part = raw[1:3]
    assert len(raw) == 3 and len(part) == 2
    assert all(torch.equal(getattr(part, f.name), getattr(raw, f.name)[1:]) for f in dataclasses.fields(raw))


def test_rows_of_a_batch_do_not_meet():
    model, raw = field_model(), window()
    alone = torch.cat([model(raw[i : i + 1]) for i in range(2)])
    assert close(model(raw), alone)
