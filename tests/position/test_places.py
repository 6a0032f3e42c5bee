"""Codes of places: harmonics are orthonormal waves of the globe without a seam or a pinch; codes join side by side."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from weft.errors import ConfigError
from weft.position import Coordinates, Fourier, Harmonics, Joined, direction


def code(lat: Tensor, lon: Tensor, dim: int = 121) -> Tensor:
    return Harmonics.Config().build(dim=dim)({"lat": lat[:, None], "lon": lon[:, None]})[:, 0]


def test_harmonics_are_orthonormal_over_the_globe() -> None:
    nodes, lines = 40, 40  # Gauss and equal steps: exact for products of these degrees
    points, shares = map(torch.tensor, np.polynomial.legendre.leggauss(nodes))
    lat = torch.rad2deg(torch.asin(points)).repeat_interleave(lines)
    lon = (torch.arange(lines) * 360 / lines).repeat(nodes)
    found = code(lat, lon).double()
    weight = shares.repeat_interleave(lines) / (2 * lines)
    gram = found.T @ (weight[:, None] * found)
    assert (gram - torch.eye(121, dtype=torch.float64)).abs().max() < 1e-4


def test_harmonics_know_no_seam_at_the_date_line_and_no_pinch_at_the_poles() -> None:
    lat = torch.linspace(-90, 90, 19)
    west, east, around = (code(lat, torch.full((19,), lon)) for lon in (-180.0, 180.0, 540.0))
    assert (west - east).abs().max() < 1e-3 and (west - around).abs().max() < 1e-3
    poles = code(torch.full((12,), 90.0), torch.arange(12) * 30.0)
    assert (poles - poles[:1]).abs().max() < 1e-4


def test_the_first_harmonics_are_the_direction() -> None:
    lat, lon = torch.tensor([10.0, -60.0, 85.0]), torch.tensor([20.0, 170.0, -90.0])
    found, unit = code(lat, lon, dim=4), direction(lat, lon)
    x, y, z = unit.values()
    assert torch.allclose(found, torch.stack([torch.ones(3), *(math.sqrt(3) * t for t in (z, x, y))], -1), atol=1e-5)


def test_a_width_that_no_degree_has_is_refused() -> None:
    for dim in (5, 42 * 42):
        with pytest.raises(ConfigError, match=r"\(L \+ 1\)\^2"):
            Harmonics.Config().build(dim=dim)
    with pytest.raises(ConfigError, match="2 coordinates are 2 numbers"):
        Coordinates.Config(axes=("x", "y")).build(dim=3)


def test_joined_codes_stand_side_by_side() -> None:
    coords = {"x": torch.rand(5, 1), "t": torch.rand(5, 1)}
    parts = Coordinates.Config(axes=("x",)), Fourier.Config(axes=("t",))
    found = Joined.Config(codes=parts, widths=(1, 8)).build(dim=9)(coords)
    assert torch.equal(found[..., :1], coords["x"][..., None])
    assert torch.equal(found[..., 1:], parts[1].build(dim=8)(coords))
    with pytest.raises(ConfigError, match=r"1 \+ 8"):
        Joined.Config(codes=parts, widths=(1, 8)).build(dim=10)
