"""The score of hidden cells: the continuous ranked probability score of normal distributions, by area."""

import numpy as np
import pytest
import torch
from helpers.fields import field_model, window
from helpers.tiny import close

from weft.batches.field_windows import Cells
from weft.batches.samples import Samples
from weft.objectives.hidden_cells import HiddenCells, crps


@pytest.mark.parametrize(("truth", "mean", "spread"), [(0.0, 0.0, 1.0), (2.0, -1.0, 0.5), (-0.3, 0.4, 3.0)])
def test_the_score_is_the_area_between_the_distribution_and_what_came(truth, mean, spread):
    x = np.linspace(-60, 60, 400_001)
    below = 0.5 * (1 + torch.erf(torch.from_numpy((x - mean) / spread / np.sqrt(2))).numpy())
    wanted = ((below - (x >= truth)) ** 2).sum() * (x[1] - x[0])
    found = crps(*(torch.tensor(value, dtype=torch.float64) for value in (truth, mean, spread)))
    assert float(found) == pytest.approx(wanted, abs=1e-4)


def test_a_sure_answer_is_scored_by_its_absolute_error_and_keeps_a_finite_gradient():
    truth, mean = torch.tensor([1.0, 1.0, -2.0]).double(), torch.tensor([1.0, 3.0, 0.5], requires_grad=True).double()
    spread = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    scores = crps(truth, mean, spread)
    assert close(scores, torch.tensor([0.0, 2.0, 2.5]).double(), 1e-5)
    scores.sum().backward()
    assert spread.grad.isfinite().all()


def test_the_best_spread_is_that_of_the_errors():
    errors = torch.from_numpy(np.random.default_rng(0).normal(size=20_000))
    spreads = torch.linspace(0.5, 2.0, 31).double()
    scores = [float(crps(errors, torch.zeros_like(errors), torch.full_like(errors, s)).mean()) for s in spreads]
    assert float(spreads[int(np.argmin(scores))]) == pytest.approx(1.0, abs=0.1)


def test_only_scored_cells_count_each_by_its_area():
    model, raw = field_model(), window()
    truth = torch.randn(raw.values.shape, dtype=torch.float64)
    scored = ~raw.known & (torch.rand(raw.values.shape) < 0.5)
    weights = torch.rand(2, 5, dtype=torch.float64)
    objective = HiddenCells.Config().build()
    loss = objective(model, Samples(raw, Cells(truth, scored, weights)))
    found = model.embed.distribution(raw, model(raw))
    wanted = (crps(truth, found.mean, found.spread) * weights[:, None, None, :, None])[scored].sum()
    assert close(loss.total, wanted, 1e-9) and loss.count == int(scored.sum())
    elsewhere = torch.where(scored, truth, 1e6)
    assert close(objective(model, Samples(raw, Cells(elsewhere, scored, weights))).total, wanted, 1e-9)
