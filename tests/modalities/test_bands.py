"""Frequency bands of pictures: a Laplacian pyramid of one step, and the decoder that makes both bands."""

import torch

from weft.modalities.bands import TwoBands, two_bands
from weft.modalities.image import Picture
from weft.models.zoo.vision import Sight, VisionSize, autoencoder, mae, scale_mae
from weft.objectives.reconstruct import Reconstruct, draw_shown

SIZE, SIGHT = VisionSize(dim=16, depth=1, heads=2, patch=5), Sight(20, 15)


def test_two_bands_add_up_and_detail_is_in_the_high_one():
    draw = torch.Generator().manual_seed(0)
    noise, known = torch.rand(2, 3, 8, 8, generator=draw) - 0.5, torch.ones(2, 3, 8, 8, dtype=torch.bool)
    low, high = two_bands(noise, known, (2, 2))
    assert torch.allclose(low + high, noise) and high.square().mean() > 3 * low.square().mean()
    smooth = torch.linspace(0, 1, 8).expand(2, 3, 8, 8)
    low, high = two_bands(smooth, known, (4, 4))
    assert high[..., 3:-3].abs().max() < 1e-6


def test_unknown_pixels_change_no_band():
    draw = torch.Generator().manual_seed(0)
    pixels, known = torch.rand(1, 1, 8, 8, generator=draw), torch.ones(1, 1, 8, 8, dtype=torch.bool)
    known[..., 3] = False
    (one, _), (other, _) = (two_bands(torch.where(known, pixels, value), known, (4, 4)) for value in (0.0, 9.0))
    assert torch.equal(one, other)


def test_scale_mae_predicts_two_bands_and_mae_one():
    torch.manual_seed(0)
    picture = Picture(torch.rand(2, 3, 18, 15), metres=torch.tensor([1.0, 2.0]))
    for make, count in ((mae, 1), (scale_mae, 2)):
        model = autoencoder(make(SIZE, SIGHT)).build().eval()
        made = model.made(picture, shown := draw_shown(model, picture, 0.5))
        assert len(made) == count and torch.allclose(sum(made), model(picture, shown), atol=1e-6)
        Reconstruct.Config().build()(model, picture).total.backward()
        assert all(weight.grad is not None for weight in model.parameters())


def test_errors_of_both_bands_count():
    torch.manual_seed(0)
    model, picture = autoencoder(scale_mae(SIZE, SIGHT)).build().eval(), Picture(torch.rand(2, 3, 20, 15))
    loss = Reconstruct.Config().build()
    first = loss(model, picture).total
    for bias in (model.bands.low.bias, model.bands.detail.bias):
        with torch.no_grad():
            bias += 5
        assert loss(model, picture).total > first + 1
        with torch.no_grad():
            bias -= 5
    assert TwoBands.Config(low=3).build(dim=16, patch=5, channels=1)(torch.rand(2, 12, 16), 4)[0].shape == (
        2,
        1,
        20,
        15,
    )
