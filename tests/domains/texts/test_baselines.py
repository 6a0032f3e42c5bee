"""N-grams of tokens: probabilities that add up to one, and an order that suits the text."""

import numpy as np
import pytest

from weft.domains.texts.baselines.ngrams import Ngrams, order_for

SOME = np.random.default_rng(0).integers(0, 5, 400)


@pytest.mark.parametrize("order", [1, 2, 4])
def test_the_chances_of_all_tokens_after_a_context_add_up_to_one(order: int) -> None:
    counts = Ngrams(SOME, 5, order)
    every = [counts.chances(np.append(SOME[100:110], token))[-1] for token in range(5)]
    assert sum(every) == pytest.approx(1) and min(every) > 0


def test_a_text_that_repeats_itself_is_told_by_long_ngrams_and_chance_by_short_ones() -> None:
    again = np.tile([0, 0, 0, 1, 0, 0, 2], 100)
    assert order_for(again, 3) > 3 and order_for(SOME, 5) == 2
    assert Ngrams(again, 3, 5).chances(again)[50:].min() > 0.9
