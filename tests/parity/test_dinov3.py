"""DINOv3 of the Hugging Face library: pictures of other sizes, its recipe of pictures, hidden patches."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from helpers.foreign import TOLERANCE, built, changed, difference, saved
from helpers.foreign_models.newer_pictures import DINOV2, DINOV3

from weft.core import Attention
from weft.errors import ConfigError
from weft.interop import read_folder
from weft.interop.pictures import seen


@pytest.mark.parametrize("sides", [(24, 24), (40, 24), (16, 56)])
def test_places_are_shares_of_a_picture_of_any_size(tmp_path: Path, sides: tuple[int, int]):
    model = built("DINOv3ViTModel", DINOV3)
    imported, given = read_folder(saved(model, tmp_path / "a")), torch.randn(2, 3, *sides)
    with torch.inference_mode():
        found = imported.model.encode(seen(imported.model, given)).x
        assert difference(model(given).last_hidden_state, found) < TOLERANCE


def test_keys_have_no_offsets_and_learn_none():
    mix = Attention.Config(heads=2, key_offsets=False).build(dim=8)
    assert mix.qkv.bias is None and mix.offset.shape == (16,)
    torch.nn.init.ones_(mix.offset)
    q, k, v = mix.projected(torch.zeros(1, 1, 8)).split(8, -1)
    assert q.eq(1).all() and k.eq(0).all() and v.eq(1).all()


def test_its_recipe_of_pictures_is_followed(tmp_path: Path):
    folder = saved(built("DINOv3ViTModel", DINOV3), tmp_path / "a")
    recipe = {"image_processor_type": "DINOv3ViTImageProcessorFast", "size": {"height": 24, "width": 24}}
    (folder / "preprocessor_config.json").write_text(json.dumps(recipe))
    imported = read_folder(folder)
    assert imported.preparation.sides == (24, 24) and imported.preparation.resample == "bilinear"
    assert imported.config.embed.mean == (0.485, 0.456, 0.406)


def test_offsets_of_queries_alone_are_refused(tmp_path: Path):
    folder = changed(saved(built("DINOv3ViTModel", DINOV3), tmp_path / "a"), value_bias=False)
    with pytest.raises(ConfigError, match="query_bias"):
        read_folder(folder)


def test_hidden_patches_are_the_mask_token_that_theirs_has(tmp_path: Path):
    kind = "Dinov2Model"
    model = built(kind, DINOV2)
    imported, given = read_folder(saved(model, tmp_path / "a")), torch.randn(2, 3, 24, 24)
    masked = torch.zeros(2, 9, dtype=torch.bool)
    masked[0, :4] = masked[1, 7] = True
    missing = masked.unflatten(1, (3, 3)).repeat_interleave(8, 1).repeat_interleave(8, 2)[:, None]
    picture = replace(seen(imported.model, given), missing=missing)
    with torch.inference_mode():
        expected = model(given, bool_masked_pos=masked).last_hidden_state
        assert difference(expected, imported.model.encode(picture).x) < TOLERANCE
