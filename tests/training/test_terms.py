"""Losses with further terms: each is divided by its own count, over pieces, batches and processes."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers.commands import lines
from torch import Tensor

import weft
from weft.batches.windows import TextWindows
from weft.errors import ConfigError
from weft.models.zoo import LANGUAGE_MODELS, Size
from weft.objectives import Loss, NextToken, Objective, Term
from weft.objectives.objective import OWN, added
from weft.training import loop
from weft.training.progress import Progress
from weft.training.sums import Sums, to_differentiate
from weft.training.world import World

VOCAB, CONTEXT, WEIGHT = 11, 8, 0.3
CONFIG = LANGUAGE_MODELS["gpt"](Size(dim=16, depth=2, heads=2, context=CONTEXT), vocab=VOCAB)


class Penalised(Objective):
    """The next token, and a mean of squares over the few places of a batch where a low id stands."""

    class Config(Objective.Config):
        """`named`: whether the counts name the term."""

        named: bool = True

    unit = "tokens"

    def __init__(self, config: Config):
        self.config, self.next = config, NextToken.Config().build()

    def __call__(self, model: Any, batch: Any) -> Loss:
        loss = self.next(model, batch)
        x = model.encode(batch.given.raw()).x
        squares = x.square().mean(-1)[low(batch)]
        return Loss(loss.total, loss.count, terms=(Term("squares", squares.sum(), squares.numel(), WEIGHT),))

    def counts(self, batch: Any) -> dict[str, int]:
        return {OWN: batch.wanted.values.numel(), **({"squares": int(low(batch).sum())} if self.config.named else {})}


@pytest.mark.parametrize("name", [OWN, "norm", "lr", "count", "seconds", "step"])
def test_a_term_cannot_have_the_name_of_another_number_of_its_line(name: str) -> None:
    with pytest.raises(ConfigError, match=f"cannot be named '{name}'"):
        Term(name, torch.tensor(1.0), 1)


def low(batch: Any) -> Tensor:
    return batch.given.ids < 2


def text() -> TextWindows:
    ids = np.random.default_rng(0).integers(0, VOCAB, 13 * CONTEXT + 5, dtype=np.uint16)
    return TextWindows(ids, ids[:40], context=CONTEXT, fingerprint="text", seed=0)


def trained(place: Path, objective: Objective.Config | None = None, **settings: Any) -> Any:
    chosen = {"batch": 5, "optimizer": "adamw", "precision": "fp32", "evaluate_every": 2, **settings}
    return weft.fit(CONFIG, objective or Penalised.Config(), text(), out=place, steps=4, quiet=True, **chosen)


@pytest.mark.parametrize("micro", [1, 2, 4])
def test_pieces_give_the_gradient_of_the_whole_batch_though_the_counts_of_a_term_differ(
    tmp_path: Path, micro: int
) -> None:
    pieces, whole = trained(tmp_path / "pieces", micro=micro), trained(tmp_path / "whole")
    for name, tensor in whole.model.state_dict().items():
        assert torch.allclose(pieces.model.state_dict()[name], tensor, rtol=1e-4, atol=1e-6), name
    for one, other in zip(lines(tmp_path / "pieces"), lines(tmp_path / "whole"), strict=True):
        assert one["loss"] == pytest.approx(other["loss"]) and one["squares"] == pytest.approx(other["squares"])


def test_terms_are_noted_by_name_and_the_loss_holds_them_by_their_weight(tmp_path: Path) -> None:
    trained(tmp_path / "run", lr=1e-9)
    trained(tmp_path / "plain", NextToken.Config(), lr=1e-9)
    for line, plain in zip(lines(tmp_path / "run"), lines(tmp_path / "plain"), strict=True):
        assert line["loss"] == pytest.approx(plain["loss"] + WEIGHT * line["squares"], rel=1e-4)
        assert "squares" not in plain and line["squares"] > 0.1
        if "held_out" in plain:  # so are held-out losses, by which weights are kept
            assert line["held_out"] > plain["held_out"] + 0.1 * WEIGHT


class Told(Progress):
    """Progress that keeps the names of what it was shown."""

    def __init__(self) -> None:
        super().__init__(quiet=True)
        self.names: set[str] = set()

    def step(self, share: float, values: Any, left: float) -> None:
        self.names |= set(values)


def test_the_line_of_progress_shows_the_terms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told, show = Told(), loop.Fit.show

    def shown(fit: loop.Fit, line: Any) -> None:
        fit.job.progress = told
        show(fit, line)

    monkeypatch.setattr(loop.Fit, "show", shown)
    trained(tmp_path / "run")
    assert {"loss", "squares"} <= told.names


def test_a_term_that_the_counts_do_not_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="a term 'squares' that its counts do not name"):
        trained(tmp_path / "run", Penalised.Config(named=False))


def test_losses_are_added_with_their_terms() -> None:
    one, two = (
        Loss(torch.tensor(float(n)), n, terms=(Term("more", torch.tensor(2.0 * n), 3 * n, 0.5),)) for n in (1, 2)
    )
    both = added([one, two])
    assert (float(both.total), both.count) == (3, 3) and (float(both.terms[0].total), both.terms[0].count) == (6, 9)
    sums = Sums()
    sums.add(one)
    sums.add(two)
    assert sums.loss == pytest.approx(3 / 3 + 0.5 * 6 / 9) and sums.means == {"more": pytest.approx(6 / 9)}
    assert sums.over(World()) == (sums, [])


def test_a_loss_without_further_terms_is_differentiated_as_it_is() -> None:
    loss = Loss(torch.tensor(2.0), 1)
    assert to_differentiate(loss, {}) is loss.total
