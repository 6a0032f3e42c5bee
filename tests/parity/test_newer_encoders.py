"""What is special about ELECTRA, MPNet, ModernBERT and DeBERTa: what they read, what is left out, what is refused."""

from pathlib import Path

import pytest
import torch
from helpers.foreign import TOLERANCE, changed, difference, library, randomised, saved
from helpers.foreign_models import mostly_slow
from helpers.foreign_models.newer_encoders import CASES, DEBERTA, FAMILIES, FIRST, MODERN, NARROW
from safetensors.torch import load_file, save_file

from weft.core import LowRank, record
from weft.errors import ConfigError
from weft.generate.compute import prepared
from weft.interop import read_folder
from weft.interop.proof import trial_inputs
from weft.modalities.text import Text
from weft.models.adapted import adapted, merged


def theirs(architecture: str, keys: dict, **more):
    kind = getattr(library(), architecture)
    torch.manual_seed(1)
    return randomised(kind(kind.config_class(**keys), **more))


def inputs(length: int = 20) -> dict[str, torch.Tensor]:
    """Ids that are no marks, and rows of different lengths."""
    ids = torch.randint(5, 61, (3, length), generator=torch.Generator().manual_seed(2))
    mask = torch.arange(length)[None] < torch.tensor([[length], [length // 3], [length - 2]])
    return {"input_ids": ids.masked_fill(~mask, 1), "attention_mask": mask.long()}


def text(given: dict[str, torch.Tensor]) -> Text:
    return Text(given["input_ids"], given["attention_mask"].bool())


def apart(model, imported, given: dict[str, torch.Tensor]) -> float:
    """The largest difference at real tokens, or of the answers for whole texts."""
    with torch.inference_mode():
        out = model(**given)
        expected = out["logits"] if "logits" in out else out["last_hidden_state"]
        found = imported.model.encode(text(given)).x if imported.task is None else imported.model(text(given))
    real = given["attention_mask"].bool() if found.ndim == 3 else slice(None)
    return difference(expected[real], found[real])


MAPS = ["ModernBertForMaskedLM", "DebertaV2ForSequenceClassification", "MPNetForSequenceClassification",
        "deberta, own maps of distances", "deberta, queries of distances and places"]  # fmt: skip


SCORES = [
    "query",
    "key",
    "attn.q.",
    "attn.k.",
    "rel_embeddings",
    "relative_attention_bias",
]  # weights that scores are made of


def sharpened(model):
    """The model with larger weights where scores are made, so that attention is far from even."""
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if any(part in name for part in SCORES):
                weight.mul_(6)
    return model


@pytest.mark.parametrize("name", mostly_slow(MAPS))
def test_recorded_attention_is_that_of_their_library(tmp_path: Path, name: str):
    architecture, keys = CASES[name]
    model, given = sharpened(theirs(architecture, {**keys, "attn_implementation": "eager"})), inputs()
    imported = read_folder(saved(model, tmp_path / "a"))
    with torch.inference_mode(), record(imported.model) as recorder:
        imported.model(text(given))
        expected = model(**given, output_attentions=True).attentions
    real = given["attention_mask"].bool()
    assert len(expected) == len(recorder.readings) == keys["num_hidden_layers"]
    for layer, (reading,) in zip(expected, recorder.readings.values(), strict=True):
        weights = reading.weights()
        assert max(difference(layer[row][:, real[row]], weights[row][:, real[row]]) for row in range(3)) < TOLERANCE
        assert float(weights[0].amax(-1).mean()) > 0.1, "and it tells the twenty tokens apart"


def test_windows_of_long_texts_are_read_in_blocks_with_the_same_values(tmp_path: Path):
    model = theirs("ModernBertModel", {**MODERN, "max_position_embeddings": 400, "local_attention": 60})
    imported = read_folder(saved(model, tmp_path / "a"))
    with torch.inference_mode(), record(imported.model) as recorder:
        imported.model.encode(text(inputs(300)))
    mixers = [reading.attention for (reading,) in recorder.readings.values()]
    scope = recorder.readings["trunk.blocks.1.mix"][0].scope
    assert [scope.fold(mix.rules) is not None for mix in mixers] == [False, True, True, False, True]
    assert apart(model, imported, inputs(300)) < TOLERANCE


@pytest.mark.slow
def test_far_distances_share_rows_over_the_whole_length_of_deberta_v3(tmp_path: Path):
    keys = {**DEBERTA, "position_buckets": 256, "max_relative_positions": -1, "max_position_embeddings": 512}
    model = theirs("DebertaV2Model", keys)
    imported = read_folder(saved(model, tmp_path / "a"))
    assert imported.config.trunk.distances.farthest == 512
    assert apart(model, imported, inputs(600)) < TOLERANCE


@pytest.mark.parametrize("stem", [pytest.param(s, marks=[pytest.mark.slow] * (s != "DebertaV2")) for s in FAMILIES])
def test_weights_in_eight_bits_and_rounded_answer_nearly_the_same(tmp_path: Path, stem: str):
    model = theirs(f"{stem}{FIRST[stem]}", FAMILIES[stem])
    ours = read_folder(saved(model, tmp_path / "a")).model
    with torch.inference_mode():
        exact = ours(text(inputs()))
        for precision in ("int8", "bf16"):
            found = prepared(ours, precision)(text(inputs()))
            assert 0 < float((found - exact).norm() / exact.norm()) < 0.05


@pytest.mark.parametrize("name", ["DebertaV2ForSequenceClassification", "ModernBertForMaskedLM"])
def test_adapters_learn_beside_the_maps_and_are_merged_again(tmp_path: Path, name: str):
    imported = read_folder(saved(theirs(*CASES[name]), tmp_path / "a"))
    model = adapted(imported.model, LowRank.Config(rank=2))
    learned = {key: p for key, p in model.named_parameters() if p.requires_grad}
    assert len(learned) == 4 * 2 * CASES[name][1]["num_hidden_layers"]
    given = text(inputs())
    with torch.inference_mode():
        assert torch.equal(model(given), imported.model(given))
    with torch.no_grad():
        for p in learned.values():
            p.add_(0.05)
    with torch.inference_mode():
        assert (
            difference(merged(model)(given), model(given)) < TOLERANCE < difference(model(given), imported.model(given))
        )


def test_of_electra_s_discriminator_the_body_is_read_and_the_rest_is_noted(tmp_path: Path):
    model, given = theirs("ElectraForPreTraining", NARROW), inputs()
    imported = read_folder(saved(model, tmp_path / "a"))
    assert apart(model.electra, imported, given) < TOLERANCE and imported.task is None
    assert any("discriminator_predictions" in said for said in imported.warnings)


def test_the_head_of_published_deberta_v3_files_is_read_under_its_other_names(tmp_path: Path):
    model, given = theirs("DebertaV2ForMaskedLM", {**DEBERTA, "legacy": False}), inputs()
    folder = saved(model, tmp_path / "a")
    imported = read_folder(folder)
    assert apart(model, imported, given) < TOLERANCE
    assert not any("legacy" in said or "weights" in said for said in imported.warnings)
    more = {
        "mask_predictions.dense.weight": torch.zeros(3, 3),
        "deberta.embeddings.position_embeddings.weight": torch.zeros(3),
    }
    save_file({**load_file(folder / "model.safetensors"), **more}, folder / "model.safetensors")
    again = read_folder(folder)
    assert apart(model, again, given) < TOLERANCE
    assert any("mask_predictions" in said and "position_embeddings" in said for said in again.warnings)


def test_classes_without_names_have_those_that_their_library_means(tmp_path: Path):
    for labels, names in ((3, ("LABEL_0", "LABEL_1", "LABEL_2")), (1, ("LABEL_0",))):
        folder = saved(
            theirs("MPNetForSequenceClassification", {**FAMILIES["MPNet"], "num_labels": labels}),
            tmp_path / str(labels),
        )
        imported = read_folder(changed(folder, id2label=None, label2id=None, num_labels=labels))
        assert imported.labels == names and imported.config.outputs == labels


@pytest.mark.parametrize("name", ["MPNetForSequenceClassification", "CamembertForMaskedLM"])
def test_an_export_is_tried_with_texts_without_padding_which_has_no_place_there(tmp_path: Path, name: str):
    imported = read_folder(saved(theirs(*CASES[name]), tmp_path / "a"))
    drawn = trial_inputs(imported.model, vocab=6)["input_ids"]
    assert drawn.shape == (2, 16) and set(drawn.flatten().tolist()) == {0, 2, 3, 4, 5}


def test_modernbert_s_older_keys_for_layers_and_bases_are_read(tmp_path: Path):
    model = theirs("ModernBertModel", {**MODERN, "global_attn_every_n_layers": 2, "global_rope_theta": 900.0})
    folder = saved(model, tmp_path / "a")
    older = {"layer_types": None, "rope_parameters": None, "local_rope_theta": 10000.0}
    imported = read_folder(changed(folder, **older, global_attn_every_n_layers=2, global_rope_theta=900.0))
    assert apart(model, imported, inputs()) < TOLERANCE


REFUSED = {
    "DebertaV2": [
        {"conv_kernel_size": 3},
        {"relative_attention": False},
        {"embedding_size": 16},
        {"pos_att_type": ["p2p"]},
        {"norm_rel_ebd": "batch"},
        {"pooler_hidden_size": 7},
    ],
    "ModernBert": [
        {"layer_types": ["full_attention"] * 4 + ["chunked_attention"]},
        {"rope_parameters": {"full_attention": {"rope_type": "yarn", "factor": 4.0}}},
        {"classifier_pooling": "max"},
        {"rope_scaling": {"rope_type": "linear", "factor": 2.0}},
    ],
    "MPNet": [{"relative_attention_num_buckets": 16}],
    "Electra": [{"hidden_act": "mish"}],
}


@pytest.mark.parametrize("stem", REFUSED)
def test_what_weft_does_not_compute_is_refused_by_name(tmp_path: Path, stem: str):
    kept = (saved(theirs(f"{stem}{FIRST[stem]}", FAMILIES[stem]), tmp_path / "a") / "config.json").read_text()
    for keys in REFUSED[stem]:
        (tmp_path / "a/config.json").write_text(kept)
        name = next(iter(keys))
        with pytest.raises(ConfigError, match="rope_type" if name == "rope_parameters" else name):
            read_folder(changed(tmp_path / "a", **keys))
