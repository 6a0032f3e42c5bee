"""Skill by lead time: a chart for each layer, the same forecast in the same colour."""

import numpy as np
import pytest
from helpers.drawings import pixels, size, texts

from weft.domains.fields.reading.grid import FieldLayer
from weft.domains.fields.views.skill import LayerSkill, skill_chart
from weft.errors import DataError

RMSE = {"model": [1.0, 2.0, 3.0], "persistence": [2.0, 3.0, 4.0], "climatology": [3.5, 3.5, np.nan]}
ACC = {"model": [0.9, 0.8, 0.7], "persistence": [0.8, 0.5, -0.2]}


def skill(name: str = "u", acc: dict | None = None) -> LayerSkill:
    return LayerSkill(FieldLayer(name, 500.0, "m/s"), [1, 2, 3], RMSE, ACC if acc is None else acc)


def test_each_layer_has_its_errors_and_correlations():
    words = texts(skill_chart([skill("u"), skill("v")], unit="days", format="svg"))
    assert {"u at 500", "v at 500", "lead, days", "● persistence"} <= set(words)
    assert words.count("rmse, m/s") == 2 and words.count("anomaly correlation") == 2


def test_correlations_that_are_not_known_have_no_chart():
    words = texts(skill_chart([skill(acc={})], format="svg"))
    assert "anomaly correlation" not in words and "lead, steps" in words


def test_of_many_layers_the_first_are_shown_and_the_number_is_named():
    words = texts(skill_chart([skill(f"v{n}", {}) for n in range(15)], format="svg"))
    assert "the first 12 of 15 layers" in words and "v12 at 500" not in words


def test_a_chart_has_the_colours_of_its_lines():
    shown = pixels(skill_chart([skill()]))
    assert size(skill_chart([skill()]))[0] < 1600
    for colour in ((0x1F, 0x5F, 0xA8), (0xD1, 0x49, 0x5B), (0x3A, 0x8F, 0x6B)):
        assert (shown == colour).all(2).sum() > 100


def test_a_forecast_has_the_colour_of_its_name():
    unknown = [np.nan] * 3
    shown = pixels(
        skill_chart([LayerSkill(FieldLayer("u"), [1, 2, 3], {"model": [1.0, 2.0, 3.0], "persistence": unknown})])
    )
    blue, red = ((shown == colour).all(2).sum() for colour in ((0x1F, 0x5F, 0xA8), (0xD1, 0x49, 0x5B)))
    assert blue > 2 * red  # the line of the model and its name; the name of the other alone


def test_one_lead_and_perfect_forecasts_can_be_drawn():
    assert size(skill_chart([LayerSkill(FieldLayer("u"), [1], {"model": [0.0]}, {"model": [np.nan]})]))


def test_a_forecast_far_beyond_the_others_leaves_their_chart():
    near, far = {"model": [1.0] * 3, "damped": [1.5] * 3, "recent": [1.2] * 3}, {"persistence": [50.0] * 3}
    both = (pixels(skill_chart([LayerSkill(FieldLayer("u"), [1, 2, 3], {**near, **more})])) for more in ({}, far))
    rows = [np.flatnonzero((shown == (0x1F, 0x5F, 0xA8)).all(2).sum(1) > 100).mean() for shown in both]
    assert abs(rows[0] - rows[1]) < 100  # the line of the model is not pressed down to the axis


def test_numbers_that_do_not_fit_the_leads_are_refused():
    with pytest.raises(DataError, match="u, model: expected a number for each of 3 leads, found 2"):
        LayerSkill(FieldLayer("u"), [1, 2, 3], {"model": [1.0, 2.0]})
    with pytest.raises(DataError, match="no skill"):
        skill_chart([])
