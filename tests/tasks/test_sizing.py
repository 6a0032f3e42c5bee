"""Sizing: more time, a faster machine or more data never give a smaller model, and every size can be built."""

from itertools import pairwise

import pytest

from weft.models.zoo import LANGUAGE_MODELS
from weft.tasks.recipes import language as sizing
from weft.tasks.sizing import Sizing
from weft.training.run import size_of

SECONDS = [6 * 2**n for n in range(16)]  # from six seconds to two days


@pytest.mark.parametrize("vocab", [64, 257, 2048, 32768])
def test_more_time_never_gives_a_smaller_model(vocab: int) -> None:
    sizes = [sizing.for_budget(Sizing(s, 5e10), vocab, 10**8).size for s in SECONDS]
    weights = [sizing.trunk_weights(size) for size in sizes]
    assert all(a <= b for a, b in pairwise(weights)) and weights[0] < weights[-1]


def test_a_faster_machine_never_gives_a_smaller_model() -> None:
    weights = [sizing.trunk_weights(sizing.for_budget(Sizing(300, 5e7 * 4**n), 64, 10**8).size) for n in range(12)]
    assert all(a <= b for a, b in pairwise(weights)) and weights[0] < weights[-1]


@pytest.mark.parametrize("data_tokens", [1, 100, 10**4, 10**6, 10**9])
def test_whatever_the_data_the_numbers_can_be_used(data_tokens: int) -> None:
    for seconds in SECONDS:
        sized = sizing.for_budget(Sizing(seconds, 5e10), 64, data_tokens)
        assert sized.batch >= 1 and 0 <= sized.dropout < 1 and sized.tokens > 0
        sized.size.check()


def test_data_that_is_read_many_times_over_wants_no_less_dropout() -> None:
    dropouts = [sizing.for_budget(Sizing(600, 5e10), 64, 10**n).dropout for n in range(9, 2, -1)]
    assert all(a <= b for a, b in pairwise(dropouts)) and dropouts[0] < dropouts[-1]


@pytest.mark.parametrize("model", sorted(LANGUAGE_MODELS))
def test_every_rung_of_the_ladder_can_be_built(model: str) -> None:
    sizes = [size_of(LANGUAGE_MODELS[model](size, vocab=64), training=True) for size in sizing.LADDER]
    assert all(a < b for a, b in pairwise(sizes))
