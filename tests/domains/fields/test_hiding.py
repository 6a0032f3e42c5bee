"""Which cells of windows are hidden: patterns by key and index alone, each kind what it says."""

import numpy as np
import pytest

from weft.batches.draws import draws
from weft.domains.fields.encoded.hiding import DRAWN, Chance, Hiding

SHAPE, HISTORY = (3, 7, 6, 9), 4


def chance(index: int, key: str = "k") -> Chance:
    return Chance(draws(key, np.array([index]), DRAWN)[0])


def patterns(kind: str, count: int = 60, shape=SHAPE, history: int = HISTORY) -> list[np.ndarray]:
    hiding = Hiding(shape, history)
    return [getattr(hiding, kind)(chance(i)) for i in range(count)]


def test_a_pattern_depends_on_key_and_index_alone():
    hiding = Hiding(SHAPE, HISTORY)
    whole = hiding.shown("k", np.arange(8))
    parts = np.concatenate([hiding.shown("k", np.arange(3)), hiding.shown("k", np.array([7, 5, 4, 3, 6]))])
    assert (whole[[0, 1, 2, 7, 5, 4, 3, 6]] == parts).all()
    assert (hiding.shown("another", np.arange(8)) != whole).any()
    assert len({one.tobytes() for one in whole}) > 3


@pytest.mark.parametrize(
    ("purpose", "kinds"),
    [
        ("all", {"future", "blocks", "patches", "middle", "layer"}),
        ("future", {"future"}),
        ("gaps", {"blocks", "patches"}),
    ],
)
def test_each_purpose_has_its_kinds(purpose, kinds):
    assert set(Hiding(SHAPE, HISTORY, purpose).kinds) == kinds


def test_a_forecast_hides_the_future_and_nothing_of_the_last_known_field():
    for shown in Hiding(SHAPE, HISTORY, "future").shown("k", np.arange(60)):
        assert not shown[:, HISTORY:].any() and shown[:, HISTORY - 1].all()
    short = [one for one in patterns("future") if one[:, 0].any()]
    assert 5 <= len(short) <= 30  # some know only the end of the history


def test_training_for_gaps_never_hides_a_whole_future():
    shown = Hiding(SHAPE, HISTORY, "gaps").shown("k", np.arange(60))
    assert shown[:, :, HISTORY:].any(axis=(1, 2, 3, 4)).all()


def test_training_for_all_meets_every_kind_and_forecasts_most():
    shown = Hiding(SHAPE, HISTORY).shown("k", np.arange(200))
    ahead = ~shown[:, :, HISTORY:].any(axis=(1, 2, 3, 4))
    layer = (~shown.any(axis=(2, 3, 4))).sum(1) == 1
    assert 0.45 <= ahead.mean() <= 0.75 and 0.03 <= (layer & ~ahead).mean() <= 0.15
    assert not shown.all(axis=(1, 2, 3, 4)).any()  # in every sample something is hidden


def test_the_middle_has_known_fields_on_both_sides():
    several = set()
    for hidden in patterns("middle"):
        fields = hidden.all(axis=(0, 2, 3))
        assert (hidden == fields[None, :, None, None]).all() and fields.any() and not fields[0]
        several.add(tuple(fields))
        assert not fields[-1] or fields.tolist() == [False, True] * 3 + [False]
    assert len(several) > 4


def test_a_layer_is_hidden_at_all_times():
    found = {tuple(hidden.all(axis=(1, 2, 3))) for hidden in patterns("layer")}
    assert found == {(True, False, False), (False, True, False), (False, False, True)}
    assert all(hidden.sum() == hidden[0].size for hidden in patterns("layer"))


def test_patches_are_hidden_whole():
    shares = []
    for hidden in patterns("patches", shape=(2, 3, 8, 12)):
        corners = hidden[:, :, ::4, ::4]
        assert (hidden == corners.repeat(4, 2).repeat(4, 3)).all()
        shares.append(hidden.mean())
    assert 0.3 <= np.mean(shares) <= 0.5


@pytest.mark.parametrize("shape", [(2, 3, 32, 40), (1, 4, 6, 12)])
def test_blocks_hide_the_share_that_is_drawn(shape):
    found = patterns("blocks", shape=shape, history=2)
    shares = np.array([hidden.mean() for hidden in found])
    assert 0.25 <= shares.mean() <= 0.55 and shares.min() > 0 and shares.max() < 0.95
    alike = [(hidden == hidden[:1]).all() for hidden in found]
    assert all(alike) if shape[0] == 1 else 10 <= sum(alike) <= 50
    assert all(hidden.any(axis=(2, 3)).all() for hidden in found)  # in every field


def test_blocks_go_round_the_globe_and_reach_the_poles():
    hidden = np.mean(patterns("blocks", 200, (1, 4, 16, 16), 2), (0, 1, 2))
    assert hidden.min() > 0.5 * hidden.mean()


@pytest.mark.parametrize("shape", [(1, 2, 1, 1), (1, 2, 1, 9), (1, 3, 9, 1), (2, 2, 2, 2)])
def test_the_smallest_windows_are_hidden_too(shape):
    for purpose in ("all", "future", "gaps"):
        shown = Hiding(shape, 1, purpose, patch=4).shown("k", np.arange(40))
        assert shown.shape == (40, *shape) and not shown.all()
    assert "layer" not in Hiding((1, 2, 4, 4), 1).kinds


def test_numbers_are_used_again_changed_where_more_are_needed():
    numbers = chance(0).some(3 * DRAWN).reshape(3, DRAWN)
    assert ((numbers >= 0) & (numbers < 1)).all() and not np.isclose(numbers[0], numbers[1]).any()
