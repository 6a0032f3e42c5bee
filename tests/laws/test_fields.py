"""The laws over every model for fields in the zoo, with random weights in float64."""

import dataclasses

import pytest
import torch
from helpers.fields import field_model, window
from helpers.tiny import close

from weft.batches.field_windows import Cells
from weft.batches.samples import Samples
from weft.config import from_json
from weft.core import record
from weft.errors import ConfigError
from weft.json_text import read_json, write_json
from weft.models.stream import Stream
from weft.models.zoo.fields import FIELD_MODELS, FieldSize
from weft.objectives.hidden_cells import HiddenCells

FIELD_ZOO = sorted(FIELD_MODELS)


@pytest.mark.parametrize("name", FIELD_ZOO)
def test_configs_travel_as_json_and_build_the_same_weights(name: str):
    config = field_model(name, wraps=True).config
    again = from_json(read_json(write_json(config.to_json()), where=name), Stream.Config)
    assert again == config
    torch.manual_seed(1)
    first = config.build().state_dict()
    torch.manual_seed(1)
    second = again.build().state_dict()
    assert list(first) == list(second) and all(torch.equal(first[key], second[key]) for key in first)


@pytest.mark.parametrize("name", FIELD_ZOO)
def test_an_untrained_model_gives_the_first_guess(name: str):
    model = FIELD_MODELS[name](FieldSize(16, 2, 2, 2, 1), layers=2, times=4, wraps=False).build().double()
    raw = window()
    found = model.embed.distribution(raw, model(raw))
    assert torch.equal(found.mean, raw.values) and torch.equal(found.spread, raw.doubt)


@pytest.mark.parametrize("name", FIELD_ZOO)
def test_looking_changes_no_output(name: str):
    model, raw = field_model(name), window()
    before = model(raw)
    with record(model) as recorder:
        assert torch.equal(model(raw), before)
    assert all((r[0].weights().sum(-1) - 1).abs().max() < 1e-9 for r in recorder.readings.values())


@pytest.mark.parametrize("name", FIELD_ZOO)
@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (7, 1), (4, 6)])
@pytest.mark.parametrize("wraps", [True, False])
def test_fields_of_any_shape_are_read(name: str, shape: tuple[int, int], wraps: bool):
    raw = window(shape=shape)
    model = field_model(name, wraps=wraps)
    assert model.embed.distribution(raw, model(raw)).mean.isfinite().all()


@pytest.mark.parametrize("name", FIELD_ZOO)
def test_turning_a_globe_by_whole_patches_turns_the_forecast(name: str):
    model, raw = field_model(name, wraps=True), window(shape=(4, 8))
    turned = dataclasses.replace(raw, **{n: getattr(raw, n).roll(4, -1) for n in ("values", "known", "doubt", "place")})
    here, there = (model.embed.distribution(one, model(one)).mean for one in (raw, turned))
    assert close(there, here.roll(4, -1), 1e-5)
    assert not close(here, raw.values, 1e-2)


@pytest.mark.parametrize("name", FIELD_ZOO)
def test_every_weight_learns_and_parts_of_a_batch_add_up(name: str):
    model, raw = field_model(name), window(rows=4)
    wanted = Cells(torch.zeros_like(raw.values), ~raw.known, torch.ones(4, 5, dtype=torch.float64))
    batch = Samples(raw, wanted)
    objective = HiddenCells.Config().build()
    whole = objective(model, batch)
    parts = [objective(model, batch[i : i + 1]) for i in range(4)]
    assert whole.count == sum(part.count for part in parts) == int((~raw.known).sum())
    assert close(whole.total, sum(part.total for part in parts), 1e-9)
    whole.total.backward()
    assert all(p.grad is not None and p.grad.abs().max() > 0 for p in model.parameters())


def test_heads_that_do_not_divide_the_width_are_refused():
    with pytest.raises(ConfigError, match="a width of 16 does not divide into 3 heads"):
        FieldSize(16, 1, 3).check()
