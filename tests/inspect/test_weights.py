"""Weights a few at a time are those that are computed at once, and long inputs never have all of them built."""

from typing import Any

import numpy as np
import pytest
import torch
from helpers.fields import GLOBE, field_model
from helpers.fields import window as fields
from helpers.tiny import pictures, vision_model

from weft.core.recording import Reading
from weft.domains.fields.reading.grid import FieldLayer
from weft.domains.fields.views import attention
from weft.domains.pictures.views import vision
from weft.inspect import weights
from weft.inspect.rollout import rollout
from weft.inspect.weights import followed, mean_read, weights_of


def view(**how: Any) -> vision.PictureView:
    return vision.PictureView(vision_model("vit"), pictures(1), np.zeros((8, 8, 3), np.uint8), vision.Glance(**how))


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Numbers are computed a few at a time, any input is long; the numbers of each call are noted."""
    sizes, whole = list[int](), Reading.weights

    def noted(self: Reading, **which: Any) -> torch.Tensor:
        found = whole(self, **which)
        sizes.append(found[0, 0].numel())
        return found

    monkeypatch.setattr(weights, "AT_ONCE", 40)
    for long in (vision, attention):
        monkeypatch.setattr(long, "LONG", 4)
    monkeypatch.setattr(Reading, "weights", noted)
    return sizes


def test_a_row_that_is_followed_back_is_a_row_of_the_rollout(monkeypatch: pytest.MonkeyPatch) -> None:
    readings = view()._readings
    layers = [one[0] for one in readings]
    monkeypatch.setattr(weights, "AT_ONCE", 40)
    every = torch.stack([one.weights()[0] for one in layers])
    through = rollout([one.weights() for one in layers])[0]
    tokens = through.shape[0]
    for start in (torch.eye(tokens)[2], torch.full((tokens,), 1 / tokens)):
        torch.testing.assert_close(followed(layers, start).to(through), start.to(through) @ through)
    np.testing.assert_allclose(mean_read(layers), every.mean(2).float().numpy(), atol=1e-6)
    np.testing.assert_allclose(weights_of(readings, queries=[3, 1]), every[:, :, [3, 1]].float().numpy(), atol=1e-6)


@pytest.mark.parametrize("how", [{}, {"patch": (2, 1)}], ids=["class", "patch"])
def test_of_a_fine_picture_only_the_weights_of_one_reader_are_built(few: list[int], how: Any) -> None:
    whole = view(**how)
    tokens = whole._tokens
    whole.text(), whole.picture("svg")
    document = whole.document()
    assert few and max(few) < tokens**2 / 2
    readers = {one.queries for one in document.streams if one.by in ("attention", "rollout")}
    assert readers == {"reader"} and any("--set patch=ROW,COLUMN" in note for note in document.notes)


def test_of_a_fine_map_only_the_weights_of_one_place_are_built(few: list[int]) -> None:
    layers = (FieldLayer("z", 500.0), FieldLayer("z", 850.0))
    model, given = field_model("atmorep", wraps=True, patch=3), fields(rows=1, shape=GLOBE.shape)
    for through in (False, True):
        how = attention.LookAtPlace(at="-20,100", through=through)
        found = attention.look_at_place(model, given, GLOBE, layers, ("a", "b", "c", "d"), how)
        assert found.text() and found.heads is None
    assert few and max(few) <= 2 * 64
