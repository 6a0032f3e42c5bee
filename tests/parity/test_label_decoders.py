"""Decoders that label a text by its last token: the same values here and there, and the same answers to raw texts."""

from pathlib import Path

import pytest
import torch
from helpers.foreign import TOLERANCE, built, difference, saved
from helpers.foreign_models.label_decoders import CASES
from safetensors.torch import load_file

import weft
from weft.core import Pooled
from weft.interop import read_folder, write_folder
from weft.modalities import tokenizer_making
from weft.modalities.text import Text

QUICK = ("GPT2ForSequenceClassification", "LlamaForSequenceClassification")


@pytest.mark.parametrize(
    "name", [*QUICK, *(pytest.param(one, marks=pytest.mark.slow) for one in CASES if one not in QUICK)]
)
def test_their_labels_are_read_off_the_last_token_and_written_again(tmp_path: Path, name: str):
    model, mask = built(*CASES[name]), torch.arange(12) < torch.tensor([[12], [7]])
    ids = torch.randint(1, 61, (2, 12), generator=torch.Generator().manual_seed(1)).masked_fill(~mask, 0)
    imported = read_folder(saved(model, tmp_path / "a"))
    assert imported.task == "classify-text" and imported.labels == ("LABEL_0", "LABEL_1", "LABEL_2")
    assert isinstance(imported.config.head, Pooled.Config) and imported.predict == {}
    with torch.inference_mode():
        expected = model(ids, attention_mask=mask.long()).logits
        assert difference(expected, imported.model(Text(ids, mask))) < TOLERANCE
    options = {"model_type": imported.family, "labels": imported.labels, "marks": imported.marks}
    assert write_folder(tmp_path / "b", imported.model, **options) == imported.family
    theirs, ours = (load_file(tmp_path / part / "model.safetensors") for part in "ab")
    assert theirs.keys() == ours.keys() and all(torch.equal(theirs[key], ours[key]) for key in ours)


def test_raw_texts_get_the_probabilities_that_they_get_there(tmp_path: Path):
    words = tokenizer_making.train("bpe", ["Do you like tea? Yes, I like tea. " * 20], 300)
    architecture, keys = CASES[QUICK[0]]
    model = built(architecture, {**keys, "vocab_size": words.size})
    (saved(model, tmp_path / "a") / "tokenizer.json").write_text(words.to_json())  # says nothing of marks
    given = torch.tensor([words.encode("I like tea?").tolist()])
    with torch.inference_mode():
        expected = model(given).logits.softmax(-1)[0].tolist()
    found = weft.load(tmp_path / "a").predict(["I like tea?"])[0]["probabilities"]
    assert [found[f"LABEL_{i}"] for i in range(3)] == pytest.approx(expected, abs=1e-5)
