"""Decoders that were read from folders of the Hugging Face library are stepped in native code, all families of them."""

from pathlib import Path

import pytest
from helpers.foreign import built, saved
from helpers.foreign_models import captions, decoders, gemma_kin, llama_kin, many_languages, mostly_slow, translators

from weft.generate.programs import unknown_part
from weft.interop import read_folder

CASES = {**decoders.CASES, **llama_kin.CASES, **gemma_kin.CASES}
PAIRS = {**translators.CASES, **many_languages.CASES, **captions.CASES}


@pytest.mark.parametrize("name", mostly_slow(CASES))
def test_native_code_knows_every_part_of_an_imported_decoder(tmp_path: Path, name: str):
    kept_from_it = "a stream without a head" if "no head" in name else ""
    assert unknown_part(read_folder(saved(built(*CASES[name]), tmp_path / "theirs")).model) == kept_from_it


@pytest.mark.parametrize("name", mostly_slow(PAIRS))
def test_native_code_knows_every_part_of_an_imported_encoder_decoder(tmp_path: Path, name: str):
    kept_from_it = "a stream without a head" if "no head" in name else ""
    assert unknown_part(read_folder(saved(built(*PAIRS[name]), tmp_path / "theirs")).model.target) == kept_from_it
