"""What a setting names by a text may be a number in Python: a node, a column, a class."""

import numpy as np
import pytest

from weft.config import field_types
from weft.domains.graphs.views.reading import LookAtGraph
from weft.domains.registry import CARDS
from weft.errors import ConfigError
from weft.tasks.settings.limits import with_settings


@pytest.mark.parametrize("node", [7, np.int64(7), "7"])
def test_a_node_is_named_by_a_number_or_a_text(node: object):
    assert with_settings(LookAtGraph(), {"node": node}).node == "7"


@pytest.mark.parametrize("task", CARDS)
def test_columns_are_named_by_their_numbers_in_every_task(task: str):
    training = CARDS[task].training
    for name in field_types(training):
        if name.endswith("_column") and task != "tag-text":
            assert getattr(with_settings(training(), {name: 2}), name) == "2"


def test_a_truth_value_is_no_name():
    with pytest.raises(ConfigError):
        with_settings(LookAtGraph(), {"node": True})
