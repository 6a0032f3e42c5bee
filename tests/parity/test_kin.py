"""Decoders of the kin of Llama and Gemma: what is read inside them, padding, other precisions, adapters and graphs."""

from pathlib import Path

import jaxtyping
import pytest
import torch
from helpers.foreign import TOLERANCE, difference, library, saved
from helpers.foreign_models import gemma_kin
from helpers.foreign_models.kin import FIRST, ids, theirs

from weft.core import LowRank, Window, record
from weft.core.adapters import adapters
from weft.generate.compute import prepared
from weft.interop import prove, read_folder, write_folder, write_onnx
from weft.modalities.text import Text
from weft.models.adapted import adapted

slow = pytest.mark.slow
MAPS = [
    *(name for name in FIRST if name in gemma_kin.CASES),
    "gpt_neox, one after the other",
    *("llama, llama3 turns", "mistral", "qwen2, upper windows", "qwen3", "smollm3, windows", "phi3", "phi3, longrope"),
]


def mostly_slow(names: list[str], *quick: str) -> list:
    """The names as parameters of a test: all but a few are slow."""
    return [name if name in quick else pytest.param(name, marks=slow) for name in names]


@pytest.mark.parametrize("name", mostly_slow(MAPS, "gemma2", "phi3"))
def test_recorded_maps_are_those_that_they_give_out(tmp_path: Path, name: str):
    model, given = theirs(name, attn_implementation="eager"), ids(2, 30)
    imported = read_folder(saved(model, tmp_path / "a"))
    with torch.inference_mode(), record(imported.model) as looked:
        expected = model(given, output_attentions=True).attentions
        imported.model(Text(given))
    for weights, reading in zip(expected, looked.readings.values(), strict=True):
        assert difference(weights, reading[0].weights()) < TOLERANCE


@slow
@pytest.mark.parametrize(
    "name",
    ["mistral", "qwen2, upper windows", "smollm3, windows", "phi3", "gemma2", "gemma2, no caps", "gemma3_text"],
)
def test_windows_over_long_texts_are_read_in_blocks_with_the_same_values(tmp_path: Path, name: str):
    model, given = theirs(name, max_position_embeddings=200), ids(2, 190)
    imported = read_folder(saved(model, tmp_path / "a"))
    mixers = [block.mix for block in imported.config.trunk.all_blocks()]
    assert any(rule == Window(radius=6) for mix in mixers for rule in mix.rules)
    with torch.inference_mode():
        assert difference(model(given).logits, imported.model(Text(given))) < 2 * TOLERANCE


@pytest.mark.parametrize("name", mostly_slow(FIRST, "opt"))
def test_padding_in_front_changes_nothing(tmp_path: Path, name: str):
    model, given, mask = theirs(name), ids(1, 20), torch.tensor([[0] * 4 + [1] * 16])
    found = read_folder(saved(model, tmp_path / "a")).model
    with torch.inference_mode():
        assert difference(model(given[:, 4:]).logits, found(Text(given, mask.bool()))[:, 4:]) < TOLERANCE


@pytest.mark.parametrize("name", mostly_slow(FIRST, "gemma3_text", "smollm3"))
def test_eight_bits_and_bf16_answer_close_to_full_precision(tmp_path: Path, name: str):
    model = read_folder(saved(theirs(name), tmp_path / "a")).model
    with torch.inference_mode():
        exact, rounded = model(Text(ids(2, 40))), prepared(model, "int8")(Text(ids(2, 40)))
        half = prepared(model, "bf16")(Text(ids(2, 40)))
    assert 0 < float((rounded - exact).std()) < 0.1 * float(exact.std())
    assert 0 < float((half - exact).std()) < 0.1 * float(exact.std())


@pytest.mark.parametrize("name", mostly_slow(FIRST, "gpt_neox"))
def test_adapters_find_every_map_and_are_merged_into_the_folder_that_is_written(tmp_path: Path, name: str):
    imported, given = read_folder(saved(theirs(name), tmp_path / "a")), ids(2, 40)
    model = adapted(imported.model, LowRank.Config(rank=2, alpha=4.0))
    for tensor in adapters(model).values():
        torch.nn.init.normal_(tensor, std=0.2, generator=torch.Generator().manual_seed(1))
    blocks = imported.config.trunk.all_blocks()
    maps = sum(2 + 2 * getattr(block.transform, "experts", 1) for block in blocks)  # qkv, out, up and down
    assert len(adapters(model)) == 2 * maps
    assert write_folder(tmp_path / "b", model, marks=imported.marks, model_type=imported.family) == imported.family
    back = library().AutoModelForCausalLM.from_pretrained(tmp_path / "b").eval()
    with torch.inference_mode():
        found = model(Text(given))
        assert difference(back(given).logits, found) < TOLERANCE * max(1.0, float(found.abs().max()))
        assert not torch.allclose(imported.model(Text(given)), found, atol=0.1)


@slow
@pytest.mark.parametrize("name", [name for name in FIRST if name in gemma_kin.CASES])
def test_graphs_and_other_processes_give_the_same_values(tmp_path: Path, name: str, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # sizes are symbols while a graph is traced
    imported = read_folder(saved(theirs(name), tmp_path / "a"))
    assert write_onnx(tmp_path / "b", imported.model) < TOLERANCE
    write_folder(tmp_path / "c", imported.model, marks=imported.marks, model_type=imported.family)
    assert prove(tmp_path / "c", imported.model, {"input_ids": ids(2, 30)}) < TOLERANCE
