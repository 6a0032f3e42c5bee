"""CLIP: vectors of pictures and texts, and what is done with them, as the Hugging Face library computes it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers.foreign import TOLERANCE, changed, difference, library, perturbed, randomised, saved
from helpers.foreign_models.newer_pictures import CLIP, CLIP_PICTURES, CLIP_TEXT
from PIL import Image
from safetensors.torch import load_file, save_file

import weft
from weft.core import LowRank, record
from weft.errors import ConfigError, WeftError
from weft.generate.compute import prepared
from weft.interop import prove, read_folder, write_folder
from weft.interop.pictures import seen
from weft.interop.proof import trial_inputs
from weft.modalities.text import Text
from weft.models.adapted import adapted, merged
from weft.runs.exporting import export_run
from weft.runs.importing import import_run

WORDS = ("a photo of a cat", "a photo of a dog", "two green horses, 12 trees and a café", "DOG!")


def tokenizer() -> Any:
    """A tokenizer as CLIP's: the signs of bytes, inside words and at their ends, a few merges and two marks."""
    from tokenizers.pre_tokenizers import ByteLevel

    signs = sorted(ByteLevel.alphabet())
    merges = [("c", "a"), ("ca", "t</w>"), ("d", "o"), ("do", "g</w>"), ("p", "h"), ("o", "t"), ("o", "f</w>")]
    names = [*signs, *(f"{sign}</w>" for sign in signs), *map("".join, merges), "<|startoftext|>", "<|endoftext|>"]
    vocab = {name: id for id, name in enumerate(names)}
    return library().CLIPTokenizer(vocab=vocab, merges=merges, model_max_length=40)


def made(kind: str = "CLIPModel", **keys: Any) -> Any:
    """One of their models, with random weights."""
    architecture = getattr(library(), kind)
    torch.manual_seed(1)
    return randomised(architecture(architecture.config_class(**keys)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CLIP with its tokenizer and the recipe of its pictures, as their library writes them."""
    words, place = tokenizer(), tmp_path_factory.mktemp("clip") / "theirs"
    text = {**CLIP_TEXT, "vocab_size": len(words), "max_position_embeddings": 40, "eos_token_id": words.eos_token_id}
    model = made(**{**CLIP, "text_config": text, "logit_scale_init_value": 3.0})
    model.logit_scale.data.fill_(3.0)
    processor = library().CLIPImageProcessor(size={"shortest_edge": 24}, crop_size={"height": 24, "width": 24})
    library().CLIPProcessor(processor, words).save_pretrained(saved(model, place))
    return place


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place, draw = tmp_path_factory.mktemp("photos"), np.random.default_rng(0)
    for name, sides in (("wide.png", (31, 57)), ("high.jpg", (60, 40)), ("same.png", (24, 24))):
        Image.fromarray(draw.integers(0, 256, (*sides, 3), np.uint8)).save(place / name)
    return place


@pytest.fixture(scope="module")
def imported(folder: Path) -> weft.Run:
    import_run(folder, folder.parent / "run")
    return weft.load(folder.parent / "run")


def their_answers(folder: Path, pictures: list[Path], texts: tuple[str, ...]) -> Any:
    processor, model = library().CLIPProcessor.from_pretrained(folder), library().CLIPModel.from_pretrained(folder)
    images = [Image.open(path) for path in pictures]
    with torch.inference_mode():
        return model.eval()(**processor(text=list(texts), images=images, return_tensors="pt", padding=True))


def test_the_same_files_and_texts_give_the_same_vectors_and_probabilities(folder, imported, photos):
    pictures = sorted(photos.iterdir())
    theirs = their_answers(folder, pictures, WORDS)
    vectors = torch.from_numpy(imported.embed([*map(str, pictures), *WORDS]))
    assert difference(vectors[:3], theirs.image_embeds) < TOLERANCE
    assert difference(vectors[3:], theirs.text_embeds) < TOLERANCE
    shares = theirs.logits_per_image.softmax(-1)
    found = imported.predict([str(photos)], labels=list(WORDS), template="{}")
    assert [Path(one["input"]).name for one in found] == [path.name for path in pictures]
    for one, expected in zip(found, shares, strict=True):
        ours = torch.tensor([one["probabilities"][text] for text in WORDS])
        assert difference(ours, expected) < 1e-4
        assert one["label"] == WORDS[int(expected.argmax())]


def test_recall_is_measured_and_what_the_picture_was_read_for_is_shown(imported, photos, tmp_path):
    pictures = sorted(photos.iterdir())
    table = "".join(f"{path}\t{text}\n" for path, text in zip(pictures, WORDS, strict=False))
    (tmp_path / "captions.tsv").write_text(f"image\tcaption\n{table}")
    found = imported.evaluate(tmp_path / "captions.tsv", outside=True)
    assert found["metrics"]["recall_at_5"] == 1.0 and found["candidates"] == found["candidate_texts"] == 3
    assert "bleu" not in found["metrics"] and "loss" not in found["metrics"]
    assert found["baselines"] == {"chance": {"recall_at_1": pytest.approx(1 / 3)}}
    view = imported.look(str(pictures[0]))
    assert view.maps.layers.shape == (3, 4, 3, 3)
    with pytest.raises(ConfigError, match="writes no captions"):
        imported.look(str(pictures[0]), caption="a dog")


def test_a_caption_is_refused_and_both_uses_are_named(imported, photos):
    with pytest.raises(WeftError, match="compares pictures with texts and writes no captions") as refused:
        imported.predict([str(photos)])
    assert "--set labels=" in str(refused.value) and "--query" in str(refused.value)


def test_a_text_of_just_the_context_is_read_and_a_longer_one_is_refused(imported):
    assert imported.embed(["a " * 38]).shape == (1, 20)
    with pytest.raises(WeftError, match="has 39 tokens, and the model reads 1 to 38"):
        imported.embed(["a " * 39])


def test_a_tokenizer_that_ends_texts_by_another_mark_is_refused(folder, tmp_path):
    copy = tmp_path / "copy"
    copy.mkdir()
    for path in folder.iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
    text = json.loads((copy / "config.json").read_text())["text_config"]
    changed(copy, text_config={**text, "eos_token_id": 7})
    with pytest.raises(WeftError, match="the model reads their vectors at 7"):
        import_run(copy, tmp_path / "run")


@pytest.mark.slow
def test_an_import_exported_again_is_opened_by_their_processor_and_answers_the_same(folder, imported, photos, tmp_path):
    written = export_run(imported._loaded, tmp_path / "again")
    assert written["model_type"] == "clip" and written["difference"] < TOLERANCE
    pictures = sorted(photos.iterdir())
    before, after = (their_answers(one, pictures, WORDS) for one in (folder, tmp_path / "again"))
    assert difference(before.logits_per_image, after.logits_per_image) < TOLERANCE


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{}, {"lora": 2}, {"task": "caption", "vocab": 300}])
def test_other_runs_start_from_its_pictures(imported, tmp_path, settings):
    draw, rows = np.random.default_rng(1), ["image\tcaption"]
    for number in range(16):
        kind, place = (
            ("dark", "light")[number % 2],
            tmp_path / "photos" / ("dark", "light")[number % 2] / f"{number}.png",
        )
        place.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(draw.integers(120 * (number % 2), 120 + 120 * (number % 2), (24, 24, 3), np.uint8)).save(place)
        rows.append(f"photos/{kind}/{place.name}\ta {kind} square")
    (tmp_path / "captions.tsv").write_text("\n".join(rows))
    data = tmp_path / "captions.tsv" if "task" in settings else tmp_path / "photos"
    given = {"from_": imported.folder, "steps": 2, "out": tmp_path / "run", "quiet": True, **settings}
    run = weft.train(data, **given)
    stream = run.model.source if "task" in settings else run.model
    assert stream.embed.last_norm is not None and len(stream.trunk.blocks) == 3
    assert run.predict(str(tmp_path / "photos"))


@pytest.mark.parametrize("kind", ["CLIPTextModel", pytest.param("CLIPTextModelWithProjection", marks=pytest.mark.slow)])
def test_the_tower_of_texts_alone_gives_the_same_vectors_and_is_written_again(tmp_path, kind):
    model = made(kind, **CLIP_TEXT, projection_dim=12)
    found = read_folder(saved(model, tmp_path / "a"))
    ids = torch.randint(3, 38, (3, 9), generator=torch.Generator().manual_seed(3))
    for row, place in enumerate((8, 5, 2)):
        ids[row, place:] = 39
    with torch.inference_mode():
        theirs, ours = model(input_ids=ids), found.model.encode(Text(ids)).x
        assert difference(theirs.last_hidden_state[0], ours[0]) < TOLERANCE
        vector = theirs.text_embeds if "text_embeds" in theirs else theirs.pooler_output
        assert difference(vector, found.model(Text(ids))) < TOLERANCE
    write_folder(tmp_path / "b", found.model, marks=found.marks)
    back, report = type(model).from_pretrained(tmp_path / "b", output_loading_info=True)
    assert not any(report.values())
    with torch.inference_mode():
        assert difference(back.eval()(input_ids=ids).last_hidden_state, theirs.last_hidden_state) < TOLERANCE


@pytest.mark.parametrize("kind", ["CLIPVisionModel", "CLIPVisionModelWithProjection"])
def test_the_vector_of_the_tower_of_pictures_is_theirs(tmp_path, kind: str):
    model, pixels = (
        made(kind, **CLIP_PICTURES, projection_dim=12),
        np.random.default_rng(0).integers(0, 256, (30, 40, 3)),
    )
    processor = library().CLIPImageProcessor(size={"shortest_edge": 24}, crop_size={"height": 24, "width": 24})
    processor.save_pretrained(saved(model, tmp_path / "a"))
    picture = Image.fromarray(pixels.astype(np.uint8))
    with torch.inference_mode():
        result = model(**processor(images=picture, return_tensors="pt"))
    wanted = result.pooler_output if kind == "CLIPVisionModel" else result.image_embeds
    (found,) = weft.load(tmp_path / "a").embed(pixels.astype(np.uint8))
    assert found == pytest.approx(wanted[0].numpy(), abs=TOLERANCE)


@pytest.mark.slow
def test_the_map_behind_the_tower_of_pictures_is_read(tmp_path):
    model = made("CLIPVisionModelWithProjection", **CLIP_PICTURES, projection_dim=12)
    found, given = read_folder(saved(model, tmp_path / "a")).model, torch.randn(2, 3, 24, 24)
    with torch.inference_mode():
        assert difference(model(given).image_embeds, found(seen(found, given))) < TOLERANCE


@pytest.mark.slow
def test_attention_is_theirs_in_both_towers(tmp_path):
    model = made(**CLIP)
    model.set_attn_implementation("eager")
    found = read_folder(saved(model, tmp_path / "a")).model
    inputs = trial_inputs(found)
    ends = (inputs["input_ids"] == 39).long().argmax(1)
    with torch.inference_mode():
        texts = model.text_model(input_ids=inputs["input_ids"], output_attentions=True).attentions
        pictures = model.vision_model(pixel_values=inputs["pixel_values"], output_attentions=True).attentions
    with record(found) as recorded:
        found(seen(found, inputs["pixel_values"]), Text(inputs["input_ids"]))
    for name, theirs in (("picture", pictures), ("text", texts)):
        for layer, expected in enumerate(theirs):
            ours = recorded.readings[f"{name}.trunk.blocks.{layer}.mix"][0].weights()
            real = [slice(None)] * 2 if name == "picture" else [slice(int(end) + 1) for end in ends]
            for row, some in enumerate(real):
                assert difference(ours[row][:, some, some], expected[row][:, some, some]) < TOLERANCE, (name, layer)


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["int8", "bf16"])
def test_a_rounded_model_answers_nearly_the_same(tmp_path, precision):
    found = read_folder(saved(made(**CLIP), tmp_path / "a")).model
    inputs = trial_inputs(found)
    given = seen(found, inputs["pixel_values"]), Text(inputs["input_ids"])
    with torch.inference_mode():
        exact, rounded = found(*given), prepared(found, precision)(*given)
    assert 0 < difference(exact, rounded.float()) < 0.05 * float(found.scale)


@pytest.mark.slow
def test_adapters_learn_beside_both_towers_and_are_merged_into_what_is_written(tmp_path):
    found = read_folder(saved(made(**CLIP), tmp_path / "a")).model
    learned = adapted(found, LowRank.Config(rank=2))
    names = [name for name, weight in learned.named_parameters() if weight.requires_grad]
    assert {name.split(".")[0] for name in names} == {"picture", "text"}
    with torch.no_grad():
        for name in names:
            learned.get_parameter(name).normal_(std=0.1)
    write_folder(tmp_path / "b", learned)
    assert prove(tmp_path / "b", merged(learned), trial_inputs(found)) < TOLERANCE


def test_our_model_gives_the_same_values_there(tmp_path):
    config = read_folder(saved(made(**CLIP), tmp_path / "a")).config
    ours = perturbed(config.replace(temperature=0.5))
    write_folder(tmp_path / "b", ours)
    model, inputs = library().CLIPModel.from_pretrained(tmp_path / "b").eval(), trial_inputs(ours)
    with torch.inference_mode():
        given = seen(ours, inputs["pixel_values"]), Text(inputs["input_ids"])
        assert difference(model(**inputs).logits_per_image, ours(*given)) < TOLERANCE


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"vision_config": {**CLIP_PICTURES, "image_size": [24, 32]}}, "squares only"),
        ({"vision_config": {**CLIP_PICTURES, "hidden_act": "mish"}}, "which weft does not compute"),
        ({"text_config": {**CLIP_TEXT, "eos_token_id": 40}}, "eos_token_id is 40, and there are 40 tokens"),
        ({"text_config": {**CLIP_TEXT, "eos_token_id": [39, 38]}}, "eos_token_id: expected a whole number"),
        ({"architectures": ["CLIPForImageClassification"]}, "does not know the architecture"),
    ],
)
def test_what_weft_does_not_compute_is_refused(tmp_path, keys, message):
    folder = changed(saved(made(**CLIP), tmp_path / "a"), **keys)
    with pytest.raises(ConfigError, match=message):
        read_folder(folder)


def test_an_older_copy_of_the_keys_of_a_tower_counts_as_in_their_library(tmp_path):
    folder = saved(made(**CLIP), tmp_path / "a")
    text = {key: value for key, value in CLIP_TEXT.items() if key != "hidden_act"}
    changed(folder, text_config={**CLIP_TEXT, "hidden_act": "relu"}, text_config_dict=text)
    assert library().CLIPConfig.from_pretrained(folder).text_config.hidden_act == "quick_gelu"
    assert read_folder(folder).config.text.trunk.all_blocks()[0].transform.activation == "quick"


def test_numbers_of_places_that_older_files_hold_are_no_weights(tmp_path):
    folder = saved(made(**CLIP), tmp_path / "a")
    tensors = load_file(folder / "model.safetensors")
    tensors |= {f"{side}_model.embeddings.position_ids": torch.arange(10)[None] for side in ("text", "vision")}
    save_file(tensors, folder / "model.safetensors")
    assert read_folder(folder).family == "clip"
