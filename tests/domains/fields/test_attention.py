"""What a place on the map read: its tokens' attention, averaged, of one layer and head, or through all layers."""

import numpy as np
import pytest
import torch
from helpers.fields import GLOBE, field_model, window

from weft.domains.fields.reading.grid import FieldLayer
from weft.domains.fields.views.attention import LookAtPlace, attention_of, look_at_place
from weft.inspect.rollout import rollout

LAYERS, LABELS = (FieldLayer("z", 500.0), FieldLayer("z", 850.0)), ("a", "b", "c", "d")
PLACE = "-20,100"  # row 3, column 9


@pytest.fixture(scope="module")
def seen():
    """A model with a token for each time, and a window."""
    return field_model("atmorep", wraps=True, patch=3), window(rows=1, shape=GLOBE.shape)


def shares(seen, **how) -> np.ndarray:
    return look_at_place(*seen, GLOBE, LAYERS, LABELS, LookAtPlace(at=PLACE, **how)).reading.shares


def asking(weights: torch.Tensor, layers: list[int]) -> np.ndarray:
    """What the tokens of the last time at the place read: of 2 layers, 4 times, 2 rows and 4 columns of tokens."""
    rows = weights.reshape(2, 4, 2, 4, 64)[layers, -1, 1, 3]
    return rows.mean(0).reshape(2, 4, 2, 4).numpy()


def test_the_shares_are_the_attention_of_the_tokens_at_the_place(seen):
    weights = [one.weights() for one in attention_of(*seen)]
    assert len(weights) == 2 and weights[0].shape == (1, 2, 64, 64)
    every = torch.stack([one[0] for one in weights]).mean((0, 1))
    np.testing.assert_allclose(shares(seen), asking(every, [0, 1]), atol=1e-6)
    np.testing.assert_allclose(shares(seen, layer=2), asking(weights[1][0].mean(0), [0, 1]), atol=1e-6)
    np.testing.assert_allclose(shares(seen, layer=2, head=1), asking(weights[1][0, 0], [0, 1]), atol=1e-6)
    np.testing.assert_allclose(shares(seen, through=True), asking(rollout(weights)[0], [0, 1]), atol=1e-6)


def test_the_lead_that_is_asked_for_is_explained(seen):
    """The window has two fields of history and two ahead: step 2 is the first that is predicted."""
    every = torch.stack([one.weights()[0] for one in attention_of(*seen)]).mean((0, 1))
    found = look_at_place(*seen, GLOBE, LAYERS, LABELS, LookAtPlace(at=PLACE), 2).reading.shares
    wanted = every.reshape(2, 4, 2, 4, 64)[:, 2, 1, 3].mean(0).reshape(2, 4, 2, 4).numpy()
    np.testing.assert_allclose(found, wanted, atol=1e-6)
    assert not np.allclose(found, shares(seen), atol=1e-5)


def test_a_variable_or_one_of_its_levels_asks_alone(seen):
    every = torch.stack([one.weights()[0] for one in attention_of(*seen)]).mean((0, 1))
    np.testing.assert_allclose(shares(seen, variable="z"), shares(seen), atol=1e-7)
    np.testing.assert_allclose(shares(seen, variable="z at 850"), asking(every, [1]), atol=1e-6)


def test_tokens_of_several_times_name_the_first_and_the_last():
    model = field_model("swift", wraps=True, patch=3)
    view = look_at_place(model, window(rows=1, shape=GLOBE.shape), GLOBE, LAYERS, LABELS, LookAtPlace())
    assert view.reading.times == ("a to d",) and view.reading.shares.shape == (2, 1, 2, 4)
    assert view.reading.shares.sum() == pytest.approx(1, abs=1e-6)
