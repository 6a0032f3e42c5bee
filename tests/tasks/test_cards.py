"""What cards promise to users: models to start from are such as `weft import` knows."""

import pytest

from weft.domains import registry
from weft.interop.hub import SHORT_NAMES

PAGE = ("classify-images", "caption", "answer", "classify-text", "tag-text")  # of docs/pretrained.md


@pytest.mark.parametrize("name", PAGE)
def test_where_data_is_little_a_plan_names_a_model_that_can_be_imported(name):
    known = registry.card_named(name).pretrained
    assert known is not None and known.name in SHORT_NAMES
    assert f"--from runs/{known.name}" in known.advice(known.rows - 1)
    assert known.advice(known.rows) == ""
