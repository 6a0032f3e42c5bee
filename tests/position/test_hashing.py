"""HashGrid: corners of grids of several resolutions, mixed in proportion, in the plane and in space."""

import pytest
import torch
from helpers.tiny import close, numbers

from weft.errors import ConfigError
from weft.position import HashGrid
from weft.position import hashing as module

AXES = ("x", "y", "z")


def code(axes: int, *, rows: int, fine: int = 9, levels: int = 3) -> HashGrid:
    torch.manual_seed(0)
    config = HashGrid.Config(axes=AXES[:axes], levels=levels, coarse=2, fine=fine, rows=rows)
    return config.build(dim=2 * levels).double()


def coords(places: torch.Tensor) -> dict[str, torch.Tensor]:
    """Places, one a row, as streams of one token."""
    return {axis: places[:, i : i + 1] for i, axis in enumerate(AXES[: places.shape[1]])}


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_at_a_corner_stands_its_row_and_between_two_corners_a_mixture(axes: int):
    grid = code(
        axes,
        rows=10**6,
        levels=1,
        fine=4,
    )
    low, high = torch.full((1, axes), -1.0).double(), torch.full((1, axes), -1.0).double()
    high[0, 0] = 0.0  # the next corner of two cells along the first axis
    table = grid.table.weight
    assert close(grid(coords(low))[0, 0], table[0]) and close(grid(coords(high))[0, 0], table[1])
    assert close(grid(coords(0.25 * low + 0.75 * high))[0, 0], 0.25 * table[0] + 0.75 * table[1])
    beyond = low.clone()
    beyond[0, 0] = -7.0
    assert close(grid(coords(beyond)), grid(coords(low))), "beyond the edge stands the edge"


@pytest.mark.parametrize("rows", [10**6, 7])
@pytest.mark.parametrize("axes", [2, 3])
def test_shares_of_corners_add_up_to_one_and_rows_are_within_their_level(axes: int, rows: int):
    grid = code(axes, rows=rows)
    found, shares = grid.corners(torch.rand(50, axes).double() * 2 - 1)
    assert found.shape == (50, 3, 2**axes) and close(shares.sum(-1), torch.ones(50, 3).double())
    assert (found >= grid.first[:, None]).all() and (found < (grid.first + grid.sizes)[:, None]).all()
    assert len(grid.table.weight) == sum(min(rows, (side + 1) ** axes) for side in grid.cells.tolist())
    if rows == 10**6:
        every = torch.cartesian_prod(*(torch.linspace(-1, 1, 3).double() for _ in range(axes)))
        assert len(grid.corners(every)[0][:, 0, 0].unique()) == 2**axes, "each cell has a lower corner of its own"


@pytest.mark.parametrize("rows", [10**6, 7])
def test_the_fast_gradient_is_that_of_plain_operators(rows: int, monkeypatch: pytest.MonkeyPatch):
    grid, places, wanted = code(2, rows=rows), coords(torch.rand(40, 2).double() * 2 - 1), numbers(40, 1, 6)
    found = []
    for devices in (("cpu",), ()):
        monkeypatch.setattr(module, "SUMMING_DEVICES", devices)
        out = grid(places)
        found.append([out, *torch.autograd.grad((out * wanted).sum(), [grid.table.weight])])
    assert all(close(a, b) for a, b in zip(*found, strict=True))
    assert found[0][1].abs().sum() > 0


def test_resolutions_grow_evenly_and_what_cannot_be_built_is_refused():
    assert HashGrid.Config(axes=("x",), levels=4, coarse=8, fine=64).cells() == (8, 16, 32, 64)
    with pytest.raises(ConfigError, match="fewer than the coarsest"):
        HashGrid.Config(axes=("x",), coarse=8, fine=4)
    with pytest.raises(ConfigError, match="not shared equally by 8 levels"):
        HashGrid.Config(axes=("x",)).build(dim=9)
    with pytest.raises(ConfigError, match="at most 4 axes"):
        HashGrid.Config(axes=("a", "b", "c", "d", "e"))
