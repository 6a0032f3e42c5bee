"""Folders from anyone: read exactly or refused with the reason. Nothing in them is run, nothing outside is opened."""

import json
import os
import shutil
import sys
import zipfile
from pathlib import Path

import pytest
import torch
from helpers import processes
from helpers.foreign import changed
from safetensors.torch import load_file, save_file

from weft.errors import ConfigError, DataError, WeftError
from weft.interop import hub, read_folder, read_source, write_folder
from weft.interop.families import FAMILIES
from weft.interop.their_config import REFUSED
from weft.modalities.tokenizer import Tokenizer
from weft.models.zoo import Size, gpt
from weft.runs.finding import is_foreign

INDEX = "model.safetensors.index.json"


def sharded(folder: Path, **weights) -> Path:
    """The folder with its weights in two files; `weights` change the index."""
    tensors = load_file(folder / "model.safetensors")
    names, index = sorted(tensors), {}
    for number, part in enumerate((names[::2], names[1::2]), 1):
        file = f"model-{number}.safetensors"
        save_file({name: tensors[name] for name in part}, folder / file)
        index |= dict.fromkeys(part, file)
    (folder / "model.safetensors").unlink()
    (folder / INDEX).write_text(json.dumps({"metadata": {}, "weight_map": {**index, **weights}}))
    return folder


def first(folder: Path) -> str:
    """The first tensor of a folder."""
    return sorted(load_file(folder / "model.safetensors"))[0]


def test_a_folder_comes_back_with_all_it_says(folder: Path, words):
    found = read_folder(folder)
    assert found.family == json.loads((folder / "config.json").read_text())["model_type"]
    assert (found.task, found.labels, found.warnings, found.source) == ("language-model", (), (), folder)
    assert found.tokenizer_json == words.to_json() and found.marks.eos == (words.end,)
    assert not found.model.training and found.config == found.model.config
    assert is_foreign(folder) and not is_foreign(folder.parent)


def test_the_digest_changes_with_any_file(folder: Path):
    before = read_folder(folder).digest()
    assert read_folder(folder).digest() == before
    changed(folder, "generation_config.json", pad_token_id=1)
    assert read_folder(folder).digest() != before


def test_weights_in_several_files_are_the_same_weights(folder: Path):
    whole, parts = read_folder(folder).model.state_dict(), read_folder(sharded(folder)).model.state_dict()
    assert all(torch.equal(whole[name], parts[name]) for name in whole)


@pytest.mark.parametrize(
    "name", ["../x.safetensors", "/x.safetensors", "a/b.safetensors", "..", "", "a\\b.safetensors", 3]
)
def test_an_index_with_names_outside_the_folder_is_refused_unopened(folder: Path, name):
    outside = folder.parent / "x.safetensors"
    os.mkfifo(outside)  # to open it would never return
    with pytest.raises(DataError, match="not a plain name"):
        read_folder(sharded(folder, **{first(folder): name}))


def test_links_out_of_the_folder_are_refused(folder: Path):
    shutil.move(folder / "model.safetensors", folder.parent / "elsewhere")
    (folder / "model.safetensors").symlink_to("../elsewhere")
    with pytest.raises(DataError, match="leads out of the folder"):
        read_folder(folder)


def test_links_of_a_cache_of_the_hub_are_followed(folder: Path):
    snapshot = folder.parent / "models--a--b" / "snapshots" / "abc"
    (folder.parent / "models--a--b" / "blobs").mkdir(parents=True)
    snapshot.mkdir(parents=True)
    for file in folder.iterdir():
        shutil.copy(file, snapshot.parents[1] / "blobs" / file.stem)
        (snapshot / file.name).symlink_to(f"../../blobs/{file.stem}")
    assert read_folder(snapshot).task == "language-model"


def test_a_shard_that_is_missing_is_named(folder: Path):
    sharded(folder)
    (folder / "model-2.safetensors").unlink()
    with pytest.raises(DataError, match=r"model-2\.safetensors is missing"):
        read_folder(folder)


def test_a_tensor_in_two_shards_or_in_the_wrong_one_is_refused(folder: Path):
    name = first(folder)
    sharded(folder, **{name: "model-2.safetensors"})
    with pytest.raises(DataError, match=f"lacks {name}, against {INDEX}"):
        read_folder(folder)
    moved = load_file(folder / "model-1.safetensors")[name]
    save_file({**load_file(folder / "model-2.safetensors"), name: moved}, folder / "model-2.safetensors")
    with pytest.raises(DataError, match=f"{name} also in model-[12].safetensors"):
        read_folder(folder)


def test_an_index_that_is_none_is_refused(folder: Path):
    sharded(folder)
    for index in ("[]", "{}", '{"weight_map": {}}', '{"weight_map": []}'):
        (folder / INDEX).write_text(index)
        with pytest.raises(DataError, match="weight_map"):
            read_folder(folder)


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "model.ckpt", "model.pth"])
def test_pickles_are_refused_with_advice_and_never_opened(folder: Path, name: str):
    (folder / "model.safetensors").unlink()
    os.mkfifo(folder / name)  # to open it would never return
    for place in (folder, folder / name):
        with pytest.raises(DataError, match=r"pickle(.|\n)+save_file"):
            read_folder(place)


def test_an_index_of_pickles_is_refused(folder: Path):
    with pytest.raises(DataError, match="pickle"):
        read_folder(sharded(folder, **{first(folder): "pytorch_model.bin"}))


@pytest.mark.parametrize("name", ["model.h5", "model.msgpack", "model.gguf"])
def test_other_formats_are_refused(folder: Path, name: str):
    (folder / "model.safetensors").rename(folder / name)
    with pytest.raises(DataError, match=f"no model.safetensors here, only {name}"):
        read_folder(folder)


@pytest.mark.parametrize("name", ["a.zip", "a.tar", "a.tar.gz"])
def test_archives_are_not_unpacked(folder: Path, name: str):
    with zipfile.ZipFile(folder.parent / name, "w") as file:
        file.write(folder / "config.json", "config.json")
    with pytest.raises(DataError, match="archive; weft unpacks none"):
        read_folder(folder.parent / name)


@pytest.mark.parametrize("key", REFUSED)
def test_keys_that_ask_for_code_or_other_arithmetic_are_refused(folder: Path, key: str):
    with pytest.raises(ConfigError, match=key):
        read_folder(changed(folder, **{key: {"AutoModel": "evil.Model"}}))


AUDIT = """
import sys
from weft.interop import read_folder
read_folder(sys.argv[1])  # so that all of weft's own is imported
seen = []
sys.addaudithook(lambda name, args: seen.append(name) if name.split('.')[0] in ('pickle', 'socket', 'subprocess')
                 or name in ('exec', 'compile', 'os.system', 'import') else None)
for folder in sys.argv[1:]:
    try:
        read_folder(folder)
    except Exception as error:
        print('refused')
print(seen)
"""


@pytest.mark.parametrize("folder", ["gpt2"], indirect=True)
def test_reading_imports_runs_and_fetches_nothing(folder: Path):
    evil = Path(shutil.copytree(folder, folder.parent / "evil"))
    (evil / "modeling_evil.py").write_text("raise SystemExit('run')")
    changed(evil, auto_map={"AutoModel": "modeling_evil.Model"})
    pickled = Path(shutil.copytree(folder, folder.parent / "pickled"))
    (pickled / "model.safetensors").unlink()
    torch.save({"a": torch.zeros(1)}, pickled / "pytorch_model.bin")
    done = processes.run([sys.executable, "-c", AUDIT, folder, evil, pickled], capture_output=True, text=True)
    assert done.stdout.split("\n")[:3] == ["refused", "refused", "[]"], done.stderr


def test_unknown_keys_are_noted_unless_they_are_switched_off(folder: Path):
    found = read_folder(
        changed(folder, secret_sauce=True, other=False, transformers_version="9", torch_dtype="float16")
    )
    assert found.warnings == ("keys of config.json that weft does not know were not followed: secret_sauce",)


@pytest.mark.parametrize(
    "keys, problem",
    [
        ({"model_type": "gpt3"}, "model type 'gpt3'"),
        ({"model_type": 3}, "no model_type"),
        ({"architectures": ["GPT2ForTokenClassification"]}, "architecture 'GPT2ForTokenClassification'"),
        ({"architectures": "GPT2LMHeadModel"}, "a list of names"),
        ({"vocab_size": "many"}, "vocab_size: expected a whole number"),
        ({"vocab_size": 2**40}, "vocab_size"),
        ({"initializer_range": True}, "initializer_range: expected a number"),
        ({"tie_word_embeddings": 1}, "tie_word_embeddings: expected true or false"),
        ({"eos_token_id": "</s>", "bos_token_id": -1}, "bos_token_id: expected an id"),
    ],
)
def test_configs_that_cannot_be_meant_are_refused(folder: Path, keys, problem):
    (folder / "generation_config.json").unlink()
    with pytest.raises(ConfigError, match=problem):
        read_folder(changed(folder, **keys))


@pytest.mark.parametrize(
    "folder, keys",
    [
        ("gpt2", {"activation_function": "mish"}),
        ("gpt2", {"scale_attn_by_inverse_layer_idx": True}),
        ("gpt2", {"add_cross_attention": True}),
        ("llama", {"hidden_act": "mish"}),
        ("llama", {"rope_scaling": {"rope_type": "proportional", "factor": 8.0}, "rope_parameters": None}),
        ("llama", {"rope_scaling": {"type": "su", "factor": 2.0}, "rope_parameters": None}),
        ("llama", {"rope_parameters": {"rope_type": "axial", "rope_theta": 1e4}}),
        ("llama", {"partial_rotary_factor": 0.5}),
    ],
    indirect=["folder"],
)
def test_what_would_change_the_numbers_is_refused_by_its_name(folder: Path, keys):
    with pytest.raises(ConfigError, match="weft") as caught:
        read_folder(changed(folder, **keys))
    assert next(iter(keys)) in str(caught.value)


def test_a_vocabulary_of_another_size_names_both_and_what_to_do(folder: Path, words):
    with pytest.raises(
        DataError, match=rf"\[{words.size}, 16\], config.json asks for \[999, 16\](.|\n)*999 -> {words.size}"
    ):
        read_folder(changed(folder, vocab_size=999))


def test_a_model_too_large_to_be_meant_is_refused_before_memory_is_taken(folder: Path):
    sizes = {"n_embd": 2**20, "n_inner": 2**30} if read_folder(folder).family == "gpt2" else {"hidden_size": 2**24}
    with pytest.raises(DataError, match="has the shape"):
        read_folder(changed(folder, vocab_size=2**30, **sizes))


def test_a_deep_or_large_config_is_refused(folder: Path):
    for text in ("[" * 100_000, '{"a": 1, "a": 2}', "[]", '{"a": NaN}', "nothing"):
        (folder / "config.json").write_text(text)
        with pytest.raises(WeftError):
            read_folder(folder)


def test_a_tokenizer_with_more_tokens_than_vectors_is_refused(folder: Path):
    data = json.loads((folder / "tokenizer.json").read_text())
    size = len(data["model"]["vocab"]) + len(data["added_tokens"])
    data["added_tokens"].append({**data["added_tokens"][0], "id": size, "content": "<extra>", "special": False})
    (folder / "tokenizer.json").write_text(json.dumps(data))
    with pytest.raises(ConfigError, match=f"{size + 1} tokens, the model has vectors for {size}: '<extra>'"):
        read_folder(folder)


def test_the_two_files_of_the_first_gpt2_make_a_tokenizer(folder: Path, words):
    data = json.loads((folder / "tokenizer.json").read_text())
    (folder / "tokenizer.json").unlink()
    (folder / "vocab.json").write_text(json.dumps({**data["model"]["vocab"], "<|endoftext|>": words.end}))
    merges = [m if isinstance(m, str) else " ".join(m) for m in data["model"]["merges"]]
    (folder / "merges.txt").write_text("\n".join(["#version: 0.2", *merges, ""]))
    found = read_folder(folder)
    if found.family != "gpt2":
        assert found.tokenizer_json is None
        return
    again = Tokenizer.from_json(found.tokenizer_json)
    assert again.size == words.size and again.end == words.end
    assert again.encode("I like tea, é").tolist() == words.encode("I like tea, é").tolist()
    (folder / "merges.txt").write_text("a b c")
    with pytest.raises(DataError, match="two tokens in each line"):
        read_folder(folder)


def test_weights_that_are_not_numbers_are_warned_of(folder: Path):
    tensors, name = load_file(folder / "model.safetensors"), first(folder)
    tensors[name].view(-1)[0] = float("nan")
    save_file(tensors, folder / "model.safetensors")
    assert read_folder(folder).warnings == (f"weights that are not finite numbers: {name}",)


def test_a_name_that_is_no_folder_is_told_without_the_network(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for source in ("no-such", "./a/b", "/no/such", "a/b/c"):
        with pytest.raises(DataError, match="no such folder"):
            read_folder(source)
    assert hub.is_name("openai-community/gpt2") and not hub.is_name("../gpt2") and not hub.is_name("a/..")
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(ConfigError, match="huggingface_hub is not installed"):
        read_source("owner/name")


def test_reading_a_folder_never_asks_the_hub(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(hub, "fetch", lambda name: pytest.fail(f"asked the Hub for {name}"))
    with pytest.raises(DataError, match="no such folder"):
        read_folder("owner/name")


MEMORY = """
import resource, sys
import weft.interop
for folder in sys.argv[1:]:
    weft.interop.read_folder(folder)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_reading_takes_little_more_memory_than_the_weights(tmp_path: Path):
    small, large = (gpt(Size(dim=384, depth=depth, heads=6, context=64), vocab=8000).build() for depth in (1, 8))
    write_folder(tmp_path / "small", small)
    write_folder(tmp_path / "half", large.bfloat16())
    write_folder(tmp_path / "large", large.float())
    command = [sys.executable, "-c", MEMORY, tmp_path / "small", tmp_path / "half", tmp_path / "large"]
    peaks = list(map(int, processes.run(command, capture_output=True, text=True, check=True).stdout.split()))
    sizes = [sum(p.numel() * 4 for p in model.parameters()) for model in (small, large)]
    assert all((peak - peaks[0]) * 1024 < 1.2 * sizes[1] - sizes[0] for peak in peaks[1:])


def test_every_model_type_that_is_read_stands_on_the_page():
    page = (Path(__file__).parents[2] / "docs/interop.md").read_text(encoding="utf-8")
    rows = {line.split("|")[1].strip(" `") for line in page.splitlines() if line.startswith("| `")}
    assert set(FAMILIES) <= rows
