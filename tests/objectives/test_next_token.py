"""Next token: a sum of surprises and a count, each target scored once from what came before it."""

import math

import pytest
import torch
from helpers.tiny import VOCAB, ZOO, close, ids, language_model
from torch.nn import functional as F

from weft.batches.windows import windows
from weft.modalities.text import Text
from weft.objectives import NextToken

OBJECTIVE = NextToken.Config().build()


@pytest.mark.parametrize("name", ZOO)
def test_the_loss_is_the_sum_of_minus_log_probabilities_of_the_next_tokens(name: str):
    model, stretch = language_model(name), ids(3, 8)
    loss = OBJECTIVE(model, windows(stretch))
    chance = model(Text(stretch[:, :-1])).log_softmax(-1)
    expected = -sum(chance[r, t, stretch[r, t + 1]] for r in range(3) for t in range(7))
    assert loss.count == 21 and close(loss.total, expected)


@pytest.mark.parametrize("name", ZOO)
def test_only_marked_targets_are_scored_and_the_rest_is_still_read(name: str):
    model, stretch, scored = language_model(name), ids(3, 8), torch.rand(3, 7) < 0.5
    loss = OBJECTIVE(model, windows(stretch, scored))
    each = F.cross_entropy(model(Text(stretch[:, :-1])).flatten(0, 1), stretch[:, 1:].flatten(), reduction="none")
    assert loss.count == int(scored.sum()) and close(loss.total, each[scored.flatten()].sum())


def test_marked_and_unmarked_add_up_to_all():
    model, stretch, scored = language_model("gpt"), ids(3, 8), torch.rand(3, 7) < 0.5
    some, others, both = (OBJECTIVE(model, windows(stretch, mark)) for mark in (scored, ~scored, None))
    assert some.count + others.count == both.count and close(some.total + others.total, both.total)


def test_nothing_to_score_is_zero_over_zero_with_finite_gradients():
    model = language_model("gpt")
    loss = OBJECTIVE(model, windows(ids(2, 6), torch.zeros(2, 5, dtype=torch.bool)))
    assert loss.count == 0 and loss.total.item() == 0
    loss.total.backward()
    assert all(p.grad is None or (p.grad.isfinite().all() and not p.grad.any()) for p in model.parameters())


def test_a_model_that_knows_nothing_is_surprised_by_the_logarithm_of_the_vocabulary():
    model = language_model("llama")
    with torch.no_grad():
        model.head.out.weight.zero_()
    loss = OBJECTIVE(model, windows(ids(4, 9)))
    assert loss.total.item() / loss.count == pytest.approx(math.log(VOCAB))


def test_the_last_token_is_never_read_and_the_first_never_scored():
    model, stretch = language_model("gpt"), ids(1, 6)
    table = model.embed.place.code.table.weight
    OBJECTIVE(model, windows(stretch)).total.backward()
    assert table.grad.abs().sum(1).bool().tolist() == [True] * 5 + [False] * 7


def test_what_is_counted_has_a_name():
    assert OBJECTIVE.unit == "tokens"
