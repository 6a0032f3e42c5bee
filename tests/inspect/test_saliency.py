"""Maps of what an answer depends on: by gradient they are class activation maps, by occlusion they follow it."""

import numpy as np
import pytest
import torch
from helpers.tiny import pictures, vision_model
from torch import nn

from weft.errors import WeftError
from weft.inspect import saliency as module
from weft.inspect.saliency import Explained, SaliencyView, gradient_map, saliency
from weft.inspect.views import LookedAnswer
from weft.modalities.image import Picture

SHOWN = np.zeros((16, 16, 3), np.uint8)


class Corner(nn.Module):
    """The first class is as likely as the upper left quarter is bright."""

    def forward(self, raw: Picture) -> torch.Tensor:
        half = raw.pixels.shape[2] // 2
        bright = raw.pixels[:, :, :half, :half].amax((1, 2, 3))
        return torch.stack((5 * bright, torch.ones_like(bright)), 1)


def test_grad_cam_of_a_network_with_a_mean_and_a_linear_head_is_its_class_activation_map():
    model, raw = vision_model("resnet", side=16), pictures(1, 16, 16)
    assert not len(model.trunk.blocks)
    features = model.encode(raw).x[0]  # the last features as tokens, whose mean the head maps to classes
    grid = (int(len(features) ** 0.5),) * 2
    assert min(grid) >= module.MIN_PLACES
    for index in range(5):
        expected = (features @ model.head.out.weight[index]).clamp_min(0).reshape(grid).detach().numpy()
        assert np.allclose(gradient_map(model, raw, index), expected / max(expected.max(), 1e-30), atol=1e-5)


def test_the_gradient_of_a_transformer_is_followed_to_its_last_block_and_leaves_no_hook():
    model, raw = vision_model("vit"), pictures(1)
    found = gradient_map(model, raw, 2)
    assert found.shape == (4, 4) and found.min() >= 0 and found.max() == 1
    assert not model.trunk.blocks[-1]._forward_pre_hooks
    assert all(parameter.grad is None for parameter in model.parameters())


def test_a_stage_with_too_few_places_for_a_map_is_passed_over(monkeypatch):
    model, raw = vision_model("resnet", side=8), pictures(1, 8, 8)
    sizes = []
    for least in (1, 8):
        monkeypatch.setattr(module, "MIN_PLACES", least)
        sizes.append(gradient_map(model, raw, 0).shape)
    assert sizes[0] < sizes[1]


def test_covering_what_an_answer_depends_on_lowers_its_probability_there_alone():
    pixels = torch.zeros(1, 3, 16, 16)
    pixels[:, :, 3, 3] = 1
    found, name = saliency(Corner(), Picture(pixels), Explained(0, "bright"), "occlusion")
    assert np.unravel_index(found.argmax(), found.shape) in [(1, 1), (2, 2), (1, 2), (2, 1)]
    assert found.max() > 0.5 and not found[4:].any() and not found[:, 4:].any() and "probability of bright" in name


def test_a_model_without_a_head_is_looked_at_by_occlusion_and_its_gradient_is_refused():
    model, raw = vision_model("resnet"), pictures(1)
    found, name = saliency(model, raw, None, "occlusion")
    assert np.isfinite(found).all() and found.any() and "vector" in name
    with pytest.raises(WeftError, match="no answer whose gradient"):
        saliency(model, raw, None, "gradient")


def test_the_view_shows_the_answer_in_every_form(tmp_path):
    answer = LookedAnswer((("cat", 0.934), ("dog", 0.05)))
    view = SaliencyView(
        SHOWN, np.eye(4), "gradient (Grad-CAM): what supports cat", by="gradient", title="cat.jpg", answer=answer
    )
    said = "<SaliencyView: cat.jpg, by gradient (Grad-CAM): what supports cat; answer: cat (93 %), dog (5.0 %)>"
    assert repr(view) == said
    assert "answer: cat (93 %)" in view.text() and b"answer: cat (93 %)" in view.page()
    assert view.to_json()["answer"]["said"][0] == {"text": "cat", "probability": 0.934}
    assert b"cat (93 %)" in view.save(tmp_path / "look.svg").read_bytes() and "<iframe" in view._repr_html_()
