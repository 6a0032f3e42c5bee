"""Parts beside the same parts of the Hugging Face library."""

import pytest
import torch
from helpers.foreign import library

from weft.position import Buckets


@pytest.mark.parametrize("sides", ["both", "past"])
@pytest.mark.parametrize(("count", "farthest"), [(32, 128), (8, 20), (64, 256)])
def test_distances_fall_into_the_buckets_of_t5(sides: str, count: int, farthest: int):
    library()
    from transformers.models.t5.modeling_t5 import T5Attention

    ahead = torch.arange(-600, 601)[None, None]
    expected = T5Attention._relative_position_bucket(ahead, sides == "both", count, farthest)
    assert torch.equal(
        Buckets.Config(count=count, farthest=farthest, sides=sides).build(heads=1).bucket(ahead), expected
    )
