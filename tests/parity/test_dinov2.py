"""DINOv2 of the Hugging Face library: other sizes of pictures, its attention, and its use in int8 and by adapters."""

from pathlib import Path

import pytest
import torch
from helpers.foreign import TOLERANCE, changed, difference, library, randomised, saved
from helpers.foreign_models.newer_pictures import DINOV2, REGISTERS

from weft.core import LowRank, record
from weft.errors import ConfigError
from weft.generate.compute import prepared
from weft.interop import read_folder
from weft.interop.pictures import seen
from weft.models.adapted import adapted, merged


def theirs(kind: str = "Dinov2ForImageClassification", **keys):
    """A small model with random weights."""
    transformers = library()
    torch.manual_seed(1)
    config = transformers.Dinov2Config(**{**DINOV2, **keys}, attn_implementation="eager")
    return randomised(getattr(transformers, kind)(config))


def pictures(height: int = 24, width: int = 24) -> torch.Tensor:
    return torch.randn(2, 3, height, width, generator=torch.Generator().manual_seed(2))


@pytest.mark.parametrize("sides", [(48, 48), (16, 40), (8, 24)])
def test_places_of_pictures_of_another_size_are_interpolated_as_theirs_are(tmp_path: Path, sides: tuple[int, int]):
    model, given = theirs(), pictures(*sides)
    found = read_folder(saved(model, tmp_path / "a")).model
    with torch.inference_mode():
        assert difference(model(given).logits, found(seen(found, given))) < TOLERANCE


@pytest.mark.parametrize("sides", [(24, 24), (80, 56), (16, 40), (8, 32), (48, 8)])
def test_places_of_models_with_registers_are_smoothed_as_theirs_are(tmp_path: Path, sides: tuple[int, int]):
    kind, given = library().Dinov2WithRegistersForImageClassification, pictures(*sides)
    torch.manual_seed(1)
    model = randomised(kind(kind.config_class(**{**REGISTERS, "image_size": 56})))
    found = read_folder(saved(model, tmp_path / "a")).model
    with torch.inference_mode():
        assert difference(model(given).logits, found(seen(found, given))) < TOLERANCE
        found.embed.place.code.smoothed = False
        assert difference(model(given).logits, found(seen(found, given))) > 1e-3


def test_what_it_attends_to_is_theirs(tmp_path: Path):
    model, given = theirs("Dinov2Model", use_swiglu_ffn=True), pictures()
    found = read_folder(saved(model, tmp_path / "a")).model
    with torch.inference_mode(), record(found) as looked:
        result = model(given, output_attentions=True)
        found(seen(found, given))
    assert len(looked.readings) == len(result.attentions) == 2
    for weights, reading in zip(result.attentions, looked.readings.values(), strict=True):
        assert difference(weights, reading[0].weights()) < TOLERANCE


@pytest.mark.parametrize("there", [True, False])
def test_the_token_for_hidden_patches_is_read_where_the_file_has_it(tmp_path: Path, there: bool):
    folder = changed(saved(theirs(use_mask_token=there), tmp_path / "a"), use_mask_token=True)
    found = read_folder(folder)
    assert found.warnings == () and found.config.embed.hidden_token is there


def test_it_answers_nearly_the_same_in_eight_bits_and_the_same_with_fresh_or_merged_adapters(tmp_path: Path):
    found, given = read_folder(saved(theirs(use_swiglu_ffn=True), tmp_path / "a")).model, pictures()
    with torch.inference_mode():
        exact = found(seen(found, given))
        for precision in ("int8", "bf16"):
            other = prepared(found, precision)
            assert 0 < difference(exact, other(seen(found, given))) < 0.1 * float(exact.abs().max()), precision
        learning = adapted(found, LowRank.Config(rank=2, alpha=4.0))
        assert difference(exact, learning(seen(found, given))) == 0
        names = [name for name, weight in learning.named_parameters() if weight.requires_grad]
        assert sum(".transform." in name for name in names) and sum(".mix." in name for name in names)
        for name in names:
            learning.get_parameter(name).normal_(std=0.1)
        assert difference(exact, changed_values := learning(seen(found, given))) > 0
        assert difference(merged(learning)(seen(found, given)), changed_values) < TOLERANCE


@pytest.mark.parametrize(
    ("keys", "message"),
    [({"image_size": [16, 24]}, "only for squares"), ({"architectures": ["Dinov2Backbone"]}, "does not know the arch")],
)
def test_what_weft_does_not_compute_is_refused(tmp_path: Path, keys, message: str):
    with pytest.raises(ConfigError, match=message):
        read_folder(changed(saved(theirs(), tmp_path / "a"), **keys))
