"""ViT, DeiT, ViT-MAE, DINO, ResNet and captioning models of the Hugging Face library: the same numbers, both ways."""

import json
from dataclasses import replace
from pathlib import Path

import jaxtyping
import pytest
import torch
from helpers.foreign import (
    NO_TOKENIZER,
    TOLERANCE,
    built,
    changed,
    difference,
    greedy,
    library,
    perturbed,
    randomised,
    same_files,
    saved,
    unsettled,
)
from helpers.foreign_models import captions, mostly_slow, newer_pictures, pictures
from helpers.foreign_models.pictures import MAE, VIT
from helpers.foreign_models.text_towers import ended_texts, filled_texts, patched_pictures
from safetensors.torch import load_file, save_file

from weft.core import LayerNorm, LowRank, PerClassToken, Pooled, RmsNorm, record
from weft.domains.pictures.views.vision import readings_in
from weft.errors import ConfigError, DataError
from weft.generate.compute import prepared
from weft.interop import Marks, prove, read_folder, write_folder, write_onnx
from weft.interop.families import FAMILIES
from weft.interop.pictures import seen
from weft.interop.proof import trial_inputs
from weft.modalities.convnet import Bottleneck, ConvEmbed, ResNet
from weft.modalities.convnext import ConvNext
from weft.modalities.image import Picture
from weft.models.adapted import adapted
from weft.models.outline import unfilled
from weft.models.seq2seq import Seq2Seq
from weft.models.zoo import Size, gpt
from weft.models.zoo.vision import Sight, VisionSize, autoencoder, mae, resnet, vit
from weft.objectives.reconstruct import Reconstruct, draw_shown
from weft.position import Add, Grid

FOLDED = ("cls_token", "distillation_token", "position_embeddings", "class_embedding",
          "vision_model.embeddings.position_embedding.weight")  # fmt: skip
CASES = {**pictures.CASES, **newer_pictures.CASES}
SIZE = VisionSize(dim=32, depth=2, heads=4, patch=8)
SIGHT = Sight(height=24, width=24, channels=3, mean=(0.4, 0.5, 0.6), std=(0.2, 0.25, 0.3))
NET = ResNet.Config(depths=(1, 1), widths=(8, 16))
NEXT = ConvNext.Config(depths=(1, 2), widths=(8, 16))


def theirs(name: str):
    """One of the cases, built by their library."""
    return built(*CASES[name])


def inputs_of(model) -> dict[str, torch.Tensor]:
    """Pictures on the scale that their models read, and what decides which patches are seen, where some are not."""
    config, draw = model.config, torch.Generator().manual_seed(2)
    if config.model_type == "clip":
        return {**ended_texts(config.text_config, draw), **inputs_of(model.vision_model)}
    if config.model_type == "siglip":
        return {**filled_texts(config.text_config, draw), **inputs_of(model.vision_model)}
    if config.model_type == "siglip2":
        return {**filled_texts(config.text_config, draw), **patched_pictures(config.vision_config, draw)}
    size = getattr(config, "image_size", 64)
    sides = (size, size) if isinstance(size, int) else tuple(size)
    pictures = {"pixel_values": torch.randn(2, config.num_channels, *sides, generator=draw)}
    if config.model_type != "vit_mae":
        return pictures
    return {**pictures, "noise": torch.rand(2, sides[0] * sides[1] // config.patch_size**2, generator=draw)}


def answer(result) -> torch.Tensor:
    return next(result[key] for key in ("logits", "logits_per_image", "last_hidden_state") if key in result)


def written_again(imported, folder: Path) -> Path:
    known = {"settings": imported.settings, "preparation": imported.preparation}
    write_folder(folder, imported.model, marks=imported.marks, labels=imported.labels, **known)
    return folder


@pytest.mark.parametrize("name", mostly_slow(CASES))
def test_their_model_gives_the_same_values_here(tmp_path: Path, name: str):
    model = theirs(name)
    imported, inputs = read_folder(saved(model, tmp_path / "a")), inputs_of(model)
    with torch.inference_mode():
        result = model(**inputs)
        found = FAMILIES[imported.family].values(imported.model, inputs)
        assert difference(answer(result), found) < TOLERANCE
        if "pooler" in name:
            picture = seen(imported.model, inputs["pixel_values"])
            assert difference(result.pooler_output, imported.model(picture)) < TOLERANCE
    assert imported.warnings == ((NO_TOKENIZER,) if imported.task == "caption" else ())
    assert (imported.task is None) == ("last_hidden_state" in result)


@pytest.mark.parametrize("name", mostly_slow(CASES))
def test_what_was_read_and_written_is_the_same_folder_from_then_on(tmp_path: Path, name: str):
    model = theirs(name)
    first = written_again(read_folder(saved(model, tmp_path / "theirs")), tmp_path / "a")
    assert same_files(first, written_again(read_folder(first), tmp_path / "b"))
    original, written = load_file(tmp_path / "theirs/model.safetensors"), load_file(first / "model.safetensors")
    original = {key.replace("decoder_encoder.layer", "decoder_layers"): value for key, value in original.items()}
    if name in (
        "clip, pictures alone, pooler",
        "siglip, pictures alone, pooler",
    ):  # they read these names with and without what they begin with
        original = {f"vision_model.{key}": value for key, value in original.items()}
    folded = {key for key in written if key.endswith(FOLDED)}
    assert all(torch.equal(written[key], original[key]) for key in written.keys() - folded)
    assert written.keys() == original.keys()
    back, report = type(model).from_pretrained(first, output_loading_info=True)
    assert not any(report.values())
    with torch.inference_mode():
        assert difference(answer(model(**inputs_of(model))), answer(back.eval()(**inputs_of(model)))) < TOLERANCE


def test_a_class_token_and_its_place_become_one_vector_and_are_written_as_one(tmp_path: Path):
    original = load_file(saved(theirs("vit"), tmp_path / "a") / "model.safetensors")
    written = load_file(written_again(read_folder(tmp_path / "a"), tmp_path / "b") / "model.safetensors")
    place, token = "vit.embeddings.position_embeddings", "vit.embeddings.cls_token"
    assert torch.equal(written[token][0], original[token][0] + original[place][:, 0]) and not written[place][:, 0].any()
    assert torch.equal(written[place][:, 1:], original[place][:, 1:])


TWO = vit(SIZE, SIGHT, outputs=5).embed.replace(class_tokens=2)
OURS = {
    "vit": vit(SIZE, SIGHT, outputs=5),
    "vit, no head": vit(SIZE, SIGHT, outputs=None),
    "deit": vit(SIZE, SIGHT, outputs=5).replace(embed=TWO),
    "deit, with teacher": vit(SIZE, SIGHT, outputs=5).replace(embed=TWO, head=PerClassToken.Config()),
    "mae": autoencoder(mae(SIZE, SIGHT)),
    "mae, no head": mae(SIZE, SIGHT),
    "resnet": resnet(replace(SIZE, net=NET), SIGHT, outputs=5),
    "convnext": resnet(SIZE, SIGHT, outputs=5).replace(
        dim=16,
        embed=ConvEmbed.Config(grid=(3, 3), net=NEXT, project=False, mean=SIGHT.mean, std=SIGHT.std),
        head=Pooled.Config(norm=LayerNorm.Config()),
    ),
    "resnet, bottleneck": resnet(replace(SIZE, net=NET.replace(block=Bottleneck.Config())), SIGHT, outputs=5),
}


@pytest.mark.parametrize("name", OURS)
def test_our_model_gives_the_same_values_there(tmp_path: Path, name: str):
    transformers, ours, given = library(), unsettled(perturbed(OURS[name])), torch.rand(2, 3, 24, 24)
    noise = {"noise": torch.rand(2, 9)} if "mae" in name else {}
    family = FAMILIES[write_folder(tmp_path / "a", ours)]
    mean, std = (torch.tensor(numbers)[:, None, None] for numbers in (SIGHT.mean, SIGHT.std))
    inputs = {"pixel_values": (given - mean) / std, **noise}
    architecture = json.loads((tmp_path / "a/config.json").read_text())["architectures"][0]
    back = getattr(transformers, architecture).from_pretrained(tmp_path / "a").eval()
    with torch.inference_mode():
        assert difference(answer(back(**inputs)), family.values(ours, inputs)) < TOLERANCE
        if getattr(ours, "head", None) is not None:
            assert difference(back(**inputs).logits, ours(Picture(given))) < TOLERANCE, "from pixels from 0 to 1"


@pytest.mark.slow
def test_another_process_of_their_library_uses_our_folder(tmp_path: Path):
    library()
    ours = perturbed(OURS["vit, no head"])
    write_folder(tmp_path / "a", ours)
    assert prove(tmp_path / "a", ours, {"pixel_values": torch.randn(2, 3, 24, 24)}) < TOLERANCE


@pytest.mark.parametrize(
    ("keys", "mean", "std"),
    [
        (None, (0.5,), (0.5,)),
        ({"image_mean": [0.1, 0.2, 0.3], "image_std": [0.4, 0.5, 0.6]}, (0.1, 0.2, 0.3), (0.4, 0.5, 0.6)),
        ({"do_normalize": False}, (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)),
        ({"do_rescale": False, "image_mean": [51.0] * 3, "image_std": [255.0] * 3}, (0.2,) * 3, (1.0,) * 3),
        ({"rescale_factor": 1 / 127.5, "image_mean": [1.0] * 3, "image_std": [1.0] * 3}, (0.5,) * 3, (0.5,) * 3),
    ],
)
def test_pixels_from_0_to_1_are_brought_to_the_scale_that_the_model_learned(tmp_path: Path, keys, mean, std):
    model = theirs("vit")
    folder = saved(model, tmp_path / "a")
    if keys is not None:
        (folder / "preprocessor_config.json").write_text(json.dumps(keys))
    imported, given = read_folder(folder), torch.rand(2, 3, 24, 24)
    embed = imported.config.embed
    assert (embed.mean, embed.std) == (pytest.approx(mean), pytest.approx(std))
    scaled = (given - torch.tensor(mean)[:, None, None]) / torch.tensor(std)[:, None, None]
    with torch.inference_mode():
        assert difference(model(scaled).logits, imported.model(Picture(given))) < TOLERANCE


def test_a_place_of_the_decoders_class_token_is_refused(tmp_path: Path):
    folder = saved(theirs("mae"), tmp_path / "a")
    tensors = load_file(folder / "model.safetensors")
    tensors["decoder.decoder_pos_embed"][0, 0, 3] = 0.5
    save_file(tensors, folder / "model.safetensors")
    with pytest.raises(DataError, match="decoder_pos_embed begins with a place of the class token"):
        read_folder(folder)


def test_how_an_autoencoder_was_trained_is_read_and_written(tmp_path: Path):
    transformers = library()
    model = transformers.ViTMAEForPreTraining(transformers.ViTMAEConfig(**MAE, mask_ratio=0.6, norm_pix_loss=True))
    imported = read_folder(saved(model, tmp_path / "a"))
    assert imported.settings == {"hide": 0.6, "even": True} and imported.task == "reconstruct-images"
    written = json.loads((written_again(imported, tmp_path / "b") / "config.json").read_text())
    assert (written["mask_ratio"], written["norm_pix_loss"]) == (0.6, True)
    family = FAMILIES["vit_mae"].as_written(written)
    inputs = family.trial(imported.config, trial_inputs(imported.model))
    with torch.inference_mode():
        assert difference(answer(model.eval()(**inputs)), family.values(imported.model, inputs)) < TOLERANCE


def test_the_loss_of_an_autoencoder_is_theirs(tmp_path: Path):
    for even in (False, True):
        model = theirs("mae")
        model.config.norm_pix_loss = even
        imported = read_folder(saved(model, tmp_path / f"{even}"))
        given = inputs_of(model)["pixel_values"]
        picture = seen(imported.model, given)
        shown = draw_shown(imported.model, picture, 0.75)
        noise = torch.ones(2, 16).scatter(1, shown, torch.arange(4.0).expand(2, -1) / 10)
        with torch.inference_mode():
            loss = Reconstruct(Reconstruct.Config(**imported.settings))(imported.model, picture)
            assert difference(model(given, noise=noise).loss, loss.total / loss.count) < TOLERANCE


def test_the_scale_of_pixels_is_written_and_read_again(tmp_path: Path):
    ours = perturbed(OURS["vit"])
    write_folder(tmp_path / "a", ours)
    written = json.loads((tmp_path / "a/preprocessor_config.json").read_text())
    assert written["image_mean"] == [0.4, 0.5, 0.6] and written["size"] == {"height": 24, "width": 24}
    embed = read_folder(tmp_path / "a").config.embed
    assert (embed.mean, embed.std, embed.grid) == (SIGHT.mean, SIGHT.std, (3, 3))


@pytest.mark.parametrize(
    ("keys", "grid"),
    [
        ({"size": {"shortest_edge": 160}}, (10, 10)),
        (
            {
                "size": 256,
                "crop_size": {"height": 224, "width": 192},
                "do_center_crop": True,
                "image_processor_type": "BitImageProcessor",
            },
            (14, 12),
        ),
        ({"size": 256, "crop_size": 224, "do_center_crop": False}, (16, 16)),
        ({"image_mean": [0.1, 0.2, 0.3]}, (24, 24)),
    ],
)
def test_a_resnet_reads_pictures_of_the_size_that_they_are_prepared_to(tmp_path: Path, keys, grid):
    folder = saved(theirs("resnet"), tmp_path / "a")
    (folder / "preprocessor_config.json").write_text(json.dumps(keys))
    embed, processor = read_folder(folder).config.embed, library().AutoImageProcessor.from_pretrained(folder)
    mean = embed.mean * (3 // len(embed.mean))
    assert (embed.grid, mean) == (grid, processor.image_mean)
    prepared = processor(torch.zeros(3, 300, 300, dtype=torch.uint8), return_tensors="pt")["pixel_values"]
    assert tuple(prepared.shape[2:]) == tuple(16 * side for side in grid)


@pytest.mark.parametrize("name", ["resnet", "resnet, early", "resnet, halved", "resnet, no head"])
@pytest.mark.parametrize("sides", [(33, 70), (50, 41)])
def test_a_resnet_sees_pictures_of_any_size_as_theirs_does(tmp_path: Path, name: str, sides: tuple[int, int]):
    model = theirs(name)
    ours, given = read_folder(saved(model, tmp_path / "a")).model, {"pixel_values": torch.randn(2, 3, *sides)}
    with torch.inference_mode():
        assert difference(answer(model(**given)), FAMILIES["resnet"].values(ours, given)) < TOLERANCE


def test_an_encoder_of_an_autoencoder_keeps_its_type(tmp_path: Path):
    imported = read_folder(saved(theirs("mae, no head"), tmp_path / "a"))
    assert write_folder(tmp_path / "b", imported.model, model_type=imported.family) == "vit_mae"
    assert json.loads((tmp_path / "b/config.json").read_text())["architectures"] == ["ViTMAEModel"]
    inputs = FAMILIES["vit_mae"].trial(imported.config, trial_inputs(imported.model))
    with torch.inference_mode():
        there = answer(library().ViTMAEModel.from_pretrained(tmp_path / "b").eval()(**inputs))
        assert difference(there, FAMILIES["vit_mae"].values(imported.model, inputs)) < TOLERANCE


def test_a_resnet_without_a_file_about_its_pictures_reads_them_at_224_pixels(tmp_path: Path):
    embed = read_folder(saved(theirs("resnet"), tmp_path / "a")).config.embed
    assert (embed.grid, embed.mean) == ((14, 14), (0.485, 0.456, 0.406))


@pytest.mark.parametrize(
    ("name", "keys", "message"),
    [
        ("vit", {"patch_size": [8, 4]}, "squares only"),
        ("vit", {"image_size": 25}, "not a multiple of patch_size"),
        ("vit", {"image_size": [24, 24, 24]}, "a height and a width"),
        ("vit", {"hidden_act": "gelu_10"}, "which weft does not compute"),
        ("vit", {"architectures": ["ViTForMaskedImageModeling"]}, "does not know the architecture"),
        ("convnext", {"patch_size": [4, 2]}, "squares only"),
        ("swin", {"use_absolute_embeddings": True}, "use_absolute_embeddings"),
        ("swin", {"num_heads": [2, 4]}, "3 depths and 2 num_heads"),
        ("swin", {"image_size": 40}, "whole windows of 4"),
        ("convnext", {"num_stages": 2}, "num_stages is 2"),
        ("convnext", {"hidden_sizes": [8, 16]}, "3 depths and 2 widths"),
        ("resnet", {"hidden_act": "gelu"}, "only with 'relu'"),
        ("resnet", {"layer_type": "bottle"}, "bottleneck"),
        ("resnet", {"depths": 3}, "a list of whole numbers"),
        ("resnet, bottleneck", {"hidden_sizes": [16, 24, 30]}, "multiples of 4"),
    ],
)
def test_what_weft_does_not_compute_is_refused(tmp_path: Path, name: str, keys, message: str):
    folder = changed(saved(theirs(name), tmp_path / "a"), **keys)
    with pytest.raises(ConfigError, match=message):
        read_folder(folder)


@pytest.mark.parametrize("keys", [{"image_mean": [0.5, 0.5]}, {"image_std": [0, 1, 1]}, {"image_mean": "imagenet"}])
def test_a_scale_that_cannot_be_meant_is_refused(tmp_path: Path, keys):
    folder = saved(theirs("vit"), tmp_path / "a")
    (folder / "preprocessor_config.json").write_text(json.dumps(keys))
    with pytest.raises(ConfigError, match="preprocessor_config.json"):
        read_folder(folder)


@pytest.mark.parametrize("odd", ["vit.mask_token", "vit.pooler.dense.weight", "vit.encoder.layer.2.output.dense.bias"])
def test_weights_without_a_place_are_refused(tmp_path: Path, odd: str):
    folder = saved(theirs("vit"), tmp_path / "a")
    save_file({**load_file(folder / "model.safetensors"), odd: torch.zeros(32)}, folder / "model.safetensors")
    with pytest.raises(DataError, match=f"hold {odd} too many"):
        read_folder(folder)


def test_a_vit_without_a_pooler_is_read_by_dinos_name_and_its_attention_can_be_looked_at(tmp_path: Path):
    torch.manual_seed(1)
    transformers = library()
    config = transformers.ViTConfig(**VIT, attn_implementation="eager")
    model = randomised(transformers.ViTModel(config, add_pooling_layer=False))
    imported, given = read_folder(saved(model, tmp_path / "a")), inputs_of(model)["pixel_values"]
    assert imported.config.head is None and imported.task is None and imported.warnings == ()
    with torch.inference_mode(), record(imported.model) as looked:
        result = model(given, output_attentions=True)
        found = imported.model.encode(seen(imported.model, given))
    assert difference(result.last_hidden_state, found.x) < TOLERANCE
    for theirs_weights, reading in zip(result.attentions, looked.readings.values(), strict=True):
        assert difference(theirs_weights, reading[0].weights()) < TOLERANCE


@pytest.mark.parametrize("name", ["swin", mostly_slow(["swin, odd windows"])[0]])
def test_attention_within_tiles_is_theirs_shifted_or_not(tmp_path: Path, name: str):
    model = theirs(name)
    model.set_attn_implementation("eager")
    config, given = model.config, inputs_of(model)["pixel_values"]
    imported = read_folder(saved(model, tmp_path / "a"))
    with torch.inference_mode(), record(imported.model) as looked:
        result = model(given, output_attentions=True)
        imported.model(seen(imported.model, given))
    readings, ends = list(looked.readings.values()), torch.tensor(config.depths).cumsum(0) - 1
    for i, (end, windows) in enumerate(
        zip(ends, result.attentions, strict=True)
    ):  # theirs of the last block of a stage
        side, tile = config.image_size // config.patch_size // 2**i, config.window_size
        shift = tile // 2 if config.depths[i] % 2 == 0 and side > tile else 0
        places = torch.arange(side**2).view(side, side).roll((-shift, -shift), (0, 1))
        places = places.unfold(0, tile, tile).unfold(1, tile, tile).reshape(-1, tile**2)
        whole = torch.zeros(2, config.num_heads[i], side**2, side**2)
        for window, weights in zip(places, windows.unflatten(0, (2, -1)).unbind(1), strict=True):
            whole[:, :, window[:, None], window] = weights
        assert difference(whole, readings[end][0].weights()) < TOLERANCE


def test_the_last_stage_of_a_swin_can_be_looked_at(tmp_path: Path):
    imported = read_folder(saved(theirs("swin"), tmp_path / "a"))
    found = readings_in(imported.model, Picture(torch.rand(1, 3, 32, 32)))
    assert [layer[0].weights().shape for layer in found] == [(1, 4, 16, 16)] * 2


@pytest.mark.slow
@pytest.mark.parametrize("name", ["convnext", "swin"])
def test_newer_models_of_pictures_are_written_as_graphs(tmp_path: Path, name: str, monkeypatch):
    pytest.importorskip("onnxruntime")
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # sizes of a traced graph are symbols
    assert write_onnx(tmp_path / "o", read_folder(saved(theirs(name), tmp_path / "a")).model) < 1e-4


def test_a_swin_is_read_at_the_size_that_its_stages_were_made_for(tmp_path: Path):
    folder = saved(theirs("swin"), tmp_path / "a")
    (folder / "preprocessor_config.json").write_text(json.dumps({"size": 32}))
    assert read_folder(folder).preparation.sides == (32, 32)
    changed(folder, "preprocessor_config.json", size=64)
    with pytest.raises(ConfigError, match=r"prepared to \[64, 64\] pixels"):
        read_folder(folder)


@pytest.mark.parametrize("name", ["convnext", "swin"])
def test_newer_models_of_pictures_answer_alike_in_eight_bits(tmp_path: Path, name: str):
    imported, given = read_folder(saved(theirs(name), tmp_path / "a")), Picture(torch.rand(2, 3, 32, 32))
    with torch.inference_mode():
        exact = imported.model(given)
        for precision, most in (("int8", 0.05), ("bf16", 0.1)):
            near = prepared(imported.model, precision)(given)
            assert 0 < difference(exact, near) < most * float(exact.abs().max())


def test_the_last_stage_of_a_swin_takes_adapters_that_change_nothing_at_first(tmp_path: Path):
    imported, given = read_folder(saved(theirs("swin"), tmp_path / "a")), Picture(torch.rand(2, 3, 32, 32))
    small = adapted(imported.model, LowRank.Config(rank=2)).eval()
    with torch.inference_mode():
        assert difference(imported.model(given), small(given)) < TOLERANCE
    assert {name.split(".")[0] for name, weight in small.named_parameters() if weight.requires_grad} >= {"trunk"}


@pytest.mark.parametrize("change", ["mean of all tokens", "no class token", "places on the ground", "another norm"])
def test_a_model_without_a_counterpart_is_not_written(tmp_path: Path, change: str):
    config = OURS["vit"]
    embed, block = config.embed, config.trunk.block
    config = {
        "mean of all tokens": config.replace(head=config.head.replace(first=False)),
        "no class token": config.replace(embed=embed.replace(class_tokens=0)),
        "places on the ground": config.replace(
            embed=embed.replace(place=Add.Config(code=Grid.Config(rows=3, columns=3, axes=("south", "east"))))
        ),
        "another norm": config.replace(trunk=config.trunk.replace(block=block.replace(norm=RmsNorm.Config()))),
    }[change]
    with pytest.raises(ConfigError, match="no model of the Hugging Face library computes this; the nearest, vit,"):
        write_folder(tmp_path / "a", perturbed(config))


def writer(name: str):
    """A model that writes about pictures, built by their library."""
    return built(*captions.CASES[name])


def looks(batch: int = 2) -> dict[str, torch.Tensor]:
    draw = torch.Generator().manual_seed(2)
    return {
        "pixel_values": torch.randn(batch, 3, 24, 24, generator=draw),
        "decoder_input_ids": torch.randint(1, 61, (batch, 12), generator=draw),
    }


@pytest.mark.parametrize("name", captions.CASES)
def test_their_writer_about_pictures_gives_the_same_values_both_ways(tmp_path: Path, name: str):
    model = writer(name)
    imported = read_folder(saved(model, tmp_path / "theirs"))
    assert imported.task == "caption" and all("no tokenizer.json" in said for said in imported.warnings)
    first = written_again(imported, tmp_path / "a")
    assert same_files(first, written_again(read_folder(first), tmp_path / "b"))
    back, report = type(model).from_pretrained(first, output_loading_info=True)
    assert not any(report.values())
    with torch.inference_mode():
        expected = model(**looks()).logits
        assert difference(expected, FAMILIES[imported.family].values(imported.model, looks())) < TOLERANCE
        assert difference(expected, back.eval()(**looks()).logits) < TOLERANCE


@pytest.mark.parametrize("name", captions.CASES)
def test_their_writer_about_pictures_writes_the_same_text_here(tmp_path: Path, name: str):
    model, given = writer(name), looks(1)["pixel_values"]
    imported = read_folder(saved(model, tmp_path / "a"))
    written = model.generate(
        given, decoder_start_token_id=3, max_new_tokens=20, do_sample=False, eos_token_id=None, pad_token_id=0
    )
    memory = imported.model.memorise(seen(imported.model, given))
    assert greedy(imported.model.target, [3], 20, memory=memory) == written[0, 1:].tolist()


@pytest.mark.parametrize("dim", [32, 24])
def test_our_writer_about_pictures_gives_the_same_values_there(tmp_path: Path, dim: int):
    transformers = library()
    target = gpt(Size(dim=dim, depth=2, heads=4, context=24), vocab=61)
    block = target.trunk.block.replace(read=target.trunk.block.mix)
    target = target.replace(trunk=target.trunk.replace(block=block))
    ours = perturbed(Seq2Seq.Config(source=OURS["vit, no head"], target=target, bridge=None if dim == 32 else dim))
    family = FAMILIES[write_folder(tmp_path / "a", ours, marks=Marks(bos=0, eos=(0,), pad=0, start=0))]
    back = transformers.VisionEncoderDecoderModel.from_pretrained(tmp_path / "a").eval()
    with torch.inference_mode():
        assert difference(back(**looks()).logits, family.values(ours, looks())) < TOLERANCE
    assert read_folder(tmp_path / "a").marks.start == 0


def test_a_writer_whose_map_between_widths_is_missing_has_no_counterpart(tmp_path: Path):
    target = gpt(Size(dim=24, depth=1, heads=4, context=24), vocab=61)
    block = target.trunk.block.replace(read=target.trunk.block.mix)
    target = target.replace(trunk=target.trunk.replace(block=block))
    with pytest.raises(ConfigError, match="the nearest, vision-encoder-decoder, differs in bridge"):
        write_folder(tmp_path / "a", perturbed(Seq2Seq.Config(source=OURS["vit, no head"], target=target)))


@pytest.mark.parametrize(
    ("part", "keys", "message"),
    [
        ("encoder", {"model_type": "swin"}, "model_type is 'swin'"),
        ("decoder", {"model_type": "bloom"}, "model_type is 'bloom'"),
        ("decoder", {"add_cross_attention": False}, "add_cross_attention is False"),
        ("decoder", {"cross_attention_hidden_size": 32}, "cross_attention_hidden_size"),
        ("encoder", {"patch_size": 7}, "not a multiple"),
    ],
)
def test_parts_of_a_writer_that_weft_does_not_compute_are_refused(tmp_path: Path, part: str, keys, message: str):
    folder = saved(writer("vision-encoder-decoder"), tmp_path / "a")
    data = json.loads((folder / "config.json").read_text())
    changed(folder, **{part: {**data[part], **keys}})
    with pytest.raises(ConfigError, match=message):
        read_folder(folder)


def test_an_unknown_key_of_a_part_is_noted(tmp_path: Path):
    folder = saved(writer("vision-encoder-decoder"), tmp_path / "a")
    data = json.loads((folder / "config.json").read_text())
    changed(folder, encoder={**data["encoder"], "sharper": 2})
    assert "sharper" in read_folder(folder).warnings[0]


def test_a_model_is_made_ready_to_be_filled_whatever_its_memory_held_before(monkeypatch):
    plain = torch.nn.Linear.__init__

    def dirty(self, *args, **options):
        plain(self, *args, **options)
        self.weight.data.fill_(float("inf"))
        torch.nn.init.trunc_normal_(self.weight)  # a draw that leaves numbers outside would never end

    monkeypatch.setattr(torch.nn.Linear, "__init__", dirty)
    assert unfilled(OURS["vit"]).embed.project.weight.isfinite().all()
