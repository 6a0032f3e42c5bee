"""GPT-2 and Llama of the Hugging Face library: the same numbers, the same texts, both ways."""

import json
from pathlib import Path

import pytest
import torch
from helpers.foreign import NO_TOKENIZER, TOLERANCE, built, difference, greedy, library, perturbed, same_files, saved
from helpers.foreign_models import decoders, gemma_kin, llama_kin, mostly_slow
from safetensors.torch import load_file, save_file

from weft.errors import DataError
from weft.interop import Marks, prove, read_folder, write_folder
from weft.modalities import tokenizer_making
from weft.modalities.text import Text
from weft.models.zoo import Size, gpt, llama

SIZE = Size(dim=32, depth=2, heads=4, context=48)
CASES = {**decoders.CASES, **llama_kin.CASES, **gemma_kin.CASES}


def theirs(name: str):
    """One of the cases, built by their library."""
    return built(*CASES[name])


def ids(*shape: int) -> torch.Tensor:
    return torch.randint(1, 61, shape, generator=torch.Generator().manual_seed(2))


@pytest.mark.parametrize("name", mostly_slow(CASES))
def test_their_model_gives_the_same_values_here(tmp_path: Path, name: str):
    model, given = theirs(name), ids(3, 48)
    imported = read_folder(saved(model, tmp_path / "a"))
    with torch.inference_mode():
        if imported.task is None:
            expected, found = model(given).last_hidden_state, imported.model.encode(Text(given)).x
        else:
            expected, found = model(given).logits, imported.model(Text(given))
    assert difference(expected, found) < TOLERANCE
    assert imported.warnings == (() if imported.task is None else (NO_TOKENIZER,))


@pytest.mark.parametrize("name", mostly_slow(name for name in CASES if "no head" not in name))
def test_their_model_writes_the_same_text_here(tmp_path: Path, name: str):
    model, prompt = theirs(name), ids(1, 5)
    imported = read_folder(saved(model, tmp_path / "a"))
    mask = torch.ones_like(prompt)
    written = model.generate(
        prompt, attention_mask=mask, max_new_tokens=30, do_sample=False, eos_token_id=None, pad_token_id=0
    )
    assert imported.task == "language-model"
    assert greedy(imported.model, prompt[0].tolist(), 30) == written[0, 5:].tolist()


@pytest.mark.parametrize("model", [gpt, llama])
def test_our_model_gives_the_same_values_there(tmp_path: Path, model):
    transformers, given = library(), ids(2, 48)
    ours = perturbed(model(SIZE, vocab=61))
    write_folder(tmp_path / "a", ours, marks=Marks(bos=0, eos=(0,)))
    back, report = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "a", output_loading_info=True)
    assert not any(report.values())
    with torch.inference_mode():
        assert difference(back.eval()(given).logits, ours(Text(given))) < TOLERANCE


@pytest.mark.parametrize("name", mostly_slow(CASES))
def test_what_was_read_and_written_is_the_same_folder_from_then_on(tmp_path: Path, name: str):
    folder, last = saved(theirs(name), tmp_path / "theirs"), None
    for turn in ("a", "b"):
        imported = read_folder(folder)
        folder = tmp_path / turn
        write_folder(folder, imported.model, marks=imported.marks, model_type=imported.family)
        assert last is None or same_files(last, folder)
        last = folder
    original, written = load_file(tmp_path / "theirs/model.safetensors"), load_file(folder / "model.safetensors")
    assert all(torch.equal(written[key], original[key]) for key in written) and written.keys() == original.keys()


def test_another_process_of_their_library_uses_our_folder(tmp_path: Path):
    library()
    words = tokenizer_making.train("bpe", ["Do you like tea? Yes, I like tea. " * 20], 300)
    ours = perturbed(gpt(SIZE, vocab=words.size))
    marks = Marks(bos=words.end, eos=(words.end,))
    write_folder(tmp_path / "a", ours, tokenizer_json=words.to_json(), marks=marks)
    texts = ["Do you like tea?", "\n é <|end|> 東京"]
    assert prove(tmp_path / "a", ours, {"input_ids": ids(2, 30)}, texts) < TOLERANCE


def test_a_repeated_table_is_accepted_and_another_one_refused(tmp_path: Path):
    folder = saved(theirs("gpt2"), tmp_path / "a")
    tensors = load_file(folder / "model.safetensors")
    tensors["lm_head.weight"] = tensors["transformer.wte.weight"].clone()
    save_file(tensors, folder / "model.safetensors")
    read_folder(folder)
    tensors["lm_head.weight"][60, 31] += 1e-3
    save_file(tensors, folder / "model.safetensors")
    with pytest.raises(DataError, match="lm_head.weight differs from the table"):
        read_folder(folder)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_in_shards_is_read_exactly(tmp_path: Path, dtype):
    folder = saved(theirs("llama").to(dtype), tmp_path / "a", max_shard_size="8KB")
    assert len(list(folder.glob("*.safetensors"))) > 3
    found, exact = read_folder(folder).model, library().LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32)
    with torch.inference_mode():
        assert difference(exact.eval()(ids(2, 20)).logits, found(Text(ids(2, 20)))) < TOLERANCE
    assert next(found.parameters()).dtype is torch.float32


def test_files_of_the_first_gpt2_have_no_prefix_and_hold_masks(tmp_path: Path):
    model = theirs("gpt2")
    folder = saved(model, tmp_path / "a")
    old = {key.removeprefix("transformer."): value for key, value in load_file(folder / "model.safetensors").items()}
    old |= {f"h.{i}.attn.bias": torch.ones(1, 1, 48, 48).tril() for i in range(2)}
    save_file(old, folder / "model.safetensors")
    with torch.inference_mode():
        found = read_folder(folder).model(Text(ids(2, 20)))
        assert difference(model(ids(2, 20)).logits, found) < TOLERANCE


def test_padding_in_front_changes_nothing(tmp_path: Path):
    model = theirs("llama")
    found = read_folder(saved(model, tmp_path / "a")).model
    given, mask = ids(1, 12), torch.tensor([[0] * 4 + [1] * 8])
    with torch.inference_mode():
        whole = model(given[:, 4:]).logits
        assert difference(whole, found(Text(given, mask.bool()))[:, 4:]) < TOLERANCE


def test_a_published_model_writes_its_published_text(shared_data: Path):
    folder = shared_data / "weights" / "stories260K"
    golden = json.loads((folder / "golden.json").read_text())
    imported, prompt = read_folder(folder), golden["prompt_ids"]
    expected = golden["greedy_ids"][len(prompt) :]
    assert greedy(imported.model, prompt, len(expected)) == expected
    assert (imported.marks.bos, imported.marks.eos) == (1, (2,))
