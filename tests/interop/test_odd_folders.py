"""What odd folders of the Hugging Face library say is followed or refused, never half of it."""

from pathlib import Path

import pytest
import torch
from helpers.foreign import changed, library, randomised, saved

import weft
from weft.errors import ConfigError
from weft.generate.choices import limited
from weft.generate.sampling import generator
from weft.generate.search import Line
from weft.interop import read_folder
from weft.interop.generation import read_generation
from weft.interop.labels import with_labels
from weft.interop.marks import Marks
from weft.modalities import tokenizer_making
from weft.runs.importing import import_run


def test_a_language_model_ends_at_any_of_the_ends_that_its_makers_name(tmp_path: Path):
    transformers = library()
    words = tokenizer_making.train("bpe", ["Do you like tea? Yes, I like tea. " * 20], 270)
    sizes = {"vocab_size": words.size, "n_positions": 32, "n_embd": 16, "n_layer": 1, "n_head": 2}
    torch.manual_seed(0)
    model = randomised(transformers.GPT2LMHeadModel(transformers.GPT2Config(**sizes)))
    folder = saved(model, tmp_path / "a")
    (folder / "tokenizer.json").write_text(words.to_json())
    prompt = words.encode("Do you").tolist()
    written = model.generate(
        torch.tensor([prompt]), max_new_tokens=6, do_sample=False, eos_token_id=None, pad_token_id=0
    )
    third = written[0, len(prompt) + 2].item()
    for name in ("config.json", "generation_config.json"):
        changed(folder, name, eos_token_id=[0, third])
    import_run(folder, tmp_path / "run")
    (found,) = weft.load(tmp_path / "run").predict(["Do you"], temperature=0.0, max_tokens=6)
    first = written[0, len(prompt) :].tolist().index(third)
    assert found["text"] == words.decode(written[0, len(prompt) : len(prompt) + first].tolist())


def test_a_line_ends_at_any_of_its_ends():
    line = Line([1], (5, 7), 9, generator(0, [1], 0))
    line.take(3)
    line.take(7)
    assert (line.ids, line.ended) == ([3], "end")


def test_labels_of_one_name_are_told_apart():
    data, names, remarks = with_labels({"id2label": {"0": "crane", "1": "crane", "2": "dog"}}, "config.json")
    assert names == ("crane (0)", "crane (1)", "dog") and len(data["id2label"]) == 3 and "one name" in remarks[0]


@pytest.mark.parametrize("given", ["12", [1.5], [float("inf")], [[1]], [-2]])
def test_tokens_that_are_never_written_are_ids(given):
    with pytest.raises(ConfigError, match="ids of tokens"):
        read_generation({"suppress_tokens": given}, "continues", context=8, marks=Marks(), where="x")


def test_minus_one_stands_for_no_token_and_one_beyond_the_vocabulary_is_refused():
    assert read_generation({"suppress_tokens": [-1]}, "continues", context=8, marks=Marks(), where="x")[0] == {}
    with pytest.raises(ConfigError, match="tokens 0 to 4"):
        limited(torch.zeros(1, 5), [[]], None, (5,))


@pytest.mark.parametrize("keys", [{"depths": [], "num_heads": []}])
def test_a_swin_without_stages_is_refused(tmp_path: Path, keys: dict):
    transformers = library()
    config = transformers.SwinConfig(embed_dim=8, depths=[2], num_heads=[2], window_size=4, patch_size=2, image_size=16)
    folder = saved(transformers.SwinForImageClassification(config), tmp_path / "a")
    with pytest.raises(ConfigError, match="depths"):
        read_folder(changed(folder, **keys))
