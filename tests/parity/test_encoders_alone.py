"""Encoders of translators without their decoders: the same vectors here and there."""

from pathlib import Path

import pytest
import torch
from helpers.foreign import TOLERANCE, built, difference, saved
from helpers.foreign_models.encoders_alone import CASES
from safetensors.torch import load_file

from weft.interop import read_folder, write_folder
from weft.modalities.text import Text

FIRST = "umt5, encoder alone"


@pytest.mark.parametrize("name", [FIRST, *(pytest.param(one, marks=pytest.mark.slow) for one in CASES if one != FIRST)])
def test_their_encoder_gives_the_same_vectors_here_and_is_written_again(tmp_path: Path, name: str):
    model, mask = built(*CASES[name]), torch.arange(20) < torch.tensor([[20], [7]])
    ids = torch.randint(3, 41, (2, 20), generator=torch.Generator().manual_seed(1))
    imported = read_folder(saved(model, tmp_path / "a"))
    assert imported.task is None
    with torch.inference_mode():
        expected = model(ids, attention_mask=mask.long()).last_hidden_state
        assert difference(expected[mask], imported.model.encode(Text(ids, mask)).x[mask]) < TOLERANCE
    assert write_folder(tmp_path / "b", imported.model, model_type=imported.family) == imported.family
    theirs, ours = (load_file(tmp_path / part / "model.safetensors") for part in "ab")
    assert theirs.keys() == ours.keys() and all(torch.equal(theirs[key], ours[key]) for key in ours)
