"""ONNX graphs: other programs compute what our models compute, at every size, or nothing is written."""

import json
import logging
import os
from pathlib import Path

import jaxtyping
import numpy as np
import pytest
import torch
from helpers.foreign import perturbed

from weft.batches.samples import PaddedIds
from weft.core import Dense, Disentangled, Distances, LowRank, PerToken, Summary, Trunk, Window
from weft.domains.texts.views.vectors import TextVectors, text_vectors
from weft.errors import ConfigError, DataError, StorageError, WeftError
from weft.interop import Marks, onnx, write_onnx
from weft.interop.onnx import prove_onnx
from weft.interop.signatures import TextPooling, TextSignature, signature, unstated
from weft.modalities.image import Picture
from weft.modalities.text import Text, TextEmbed
from weft.models.adapted import adapted
from weft.models.distilled import summary as class_vector
from weft.models.stream import Stream
from weft.models.zoo import ENCODER_MODELS, LANGUAGE_MODELS, Size
from weft.models.zoo.captioning import CAPTION_ENCODERS, CAPTION_MODELS
from weft.models.zoo.translation import TRANSLATION_MODELS
from weft.models.zoo.vision import VISION_MODELS, Sight, VisionSize, autoencoder, mae, small_net
from weft.position import Add, Learned, PairRamp, Rotary
from weft.tokens import Order

SIZE = Size(dim=16, depth=1, heads=2, context=32)
VISION = VisionSize(dim=16, depth=1, heads=2, patch=4, net=small_net(4, (1,)))
SIGHT = Sight(height=16, width=12)
NO_BLOCKS = Trunk.Config(depth=0)
slow = pytest.mark.slow


@pytest.fixture(autouse=True)
def unchecked(monkeypatch) -> None:
    """Shapes are not checked: while a graph is traced, sizes are symbols and no numbers."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


def library() -> None:
    for name in onnx.LIBRARIES:
        pytest.importorskip(name, reason=f"{name} is not installed")


def least() -> Stream:
    """The smallest model that reads texts: quick to export."""
    embed = TextEmbed.Config(vocab=20, context=32, place=Add.Config(code=Learned.Config(size=32)))
    return perturbed(Stream.Config(dim=8, embed=embed, trunk=NO_BLOCKS, head=PerToken.Config()))


def shapes(folder: Path) -> dict[str, list]:
    said = json.loads((folder / "weft.json").read_text())
    return {name: port["shape"] for name, port in {**said["inputs"], **said["outputs"]}.items()}


@pytest.mark.parametrize("name", [pytest.param("gpt", marks=slow), "llama", pytest.param("swift", marks=slow)])
def test_language_models_give_logits_for_every_token(tmp_path: Path, name: str):
    library()
    config = LANGUAGE_MODELS[name](SIZE, vocab=20, dropout=0.5)
    assert write_onnx(tmp_path / "a", perturbed(config)) < 1e-5
    assert sorted(os.listdir(tmp_path / "a")) == ["model.onnx", "weft.json"]
    assert shapes(tmp_path / "a") == {
        "input_ids": ["batch", "length"],
        "attention_mask": ["batch", "length"],
        "logits": ["batch", "length", 20],
    }


@slow
def test_turns_of_a_share_of_a_head_stretched_and_missing_in_some_layers_are_written_too(tmp_path: Path):
    library()
    config = LANGUAGE_MODELS["llama"](SIZE, vocab=20)
    stretch = PairRamp(factor=4.0, context=8, gain=1.2)
    block = config.trunk.block.set("mix.turn", Rotary.Config(base=100.0, share=0.5, stretch=stretch))
    blocks = (block.set("mix.rules", (Window(radius=4),)), block.set("mix.turn", None))
    model = perturbed(config.replace(trunk=config.trunk.replace(depth=1, block=None, blocks=blocks)))
    assert write_onnx(tmp_path / "a", model) < 1e-5


@pytest.mark.parametrize(
    "name, head, output",
    [
        ("bert", "pooled", {"logits": ["batch", 3]}),
        pytest.param("bert", "fill", {"logits": ["batch", "length", 20]}, marks=slow),
        pytest.param("bert", "tags", {"logits": ["batch", "length", 3]}, marks=slow),
        pytest.param(
            "swift", None, {"last_hidden_state": ["batch", "length", 16], "vector": ["batch", 16]}, marks=slow
        ),
        pytest.param("swift", "fill", {"logits": ["batch", "length", 20]}, marks=slow),
        pytest.param("swift", "tags", {"logits": ["batch", "length", 3]}, marks=slow),
        pytest.param("swift", "pooled", {"logits": ["batch", 3]}, marks=slow),
    ],
)
def test_encoders_give_what_their_head_says(tmp_path: Path, name: str, head: str | None, output: dict):
    library()
    outputs = 3 if head in ("pooled", "tags") else None
    config = ENCODER_MODELS[name](SIZE, vocab=20, head=head, outputs=outputs)
    assert write_onnx(tmp_path / "a", perturbed(config)) < 1e-5
    assert output.items() <= shapes(tmp_path / "a").items()


def computed(folder: Path, given: dict) -> dict:
    session = pytest.importorskip("onnxruntime").InferenceSession(folder / "model.onnx")
    names = [one.name for one in session.get_outputs()]
    return dict(zip(names, session.run(names, {name: t.numpy() for name, t in given.items()}), strict=True))


def test_an_encoder_gives_token_states_the_vector_of_weft_embed_and_its_pooler(tmp_path: Path):
    library()
    config = ENCODER_MODELS["bert"](SIZE, vocab=20, head=None).replace(
        head=Summary.Config(first=True, dense=Dense.Config(activation="tanh", width=6))
    )
    model = perturbed(config).eval()
    assert write_onnx(tmp_path / "a", model) < 1e-5
    said = json.loads((tmp_path / "a/weft.json").read_text())["outputs"]
    sizes = {"last_hidden_state": ["batch", "length", 16], "vector": ["batch", 16], "pooler_output": ["batch", 6]}
    assert {name: port["shape"] for name, port in said.items()} == sizes and list(said) == list(sizes)
    rows = [np.arange(1, n) for n in (9, 4, 6)]
    lines = PaddedIds.of(rows)
    found = computed(tmp_path / "a", {"input_ids": lines.ids, "attention_mask": lines.real.long()})
    assert np.abs(found["vector"] - text_vectors(model, rows, TextVectors())).max() < 1e-5
    with torch.inference_mode():
        states = model.encode(lines.raw()).x
        assert np.abs(found["pooler_output"] - model(lines.raw()).numpy()).max() < 1e-5
    assert np.abs(found["last_hidden_state"] - states.numpy())[lines.real.numpy()].max() < 1e-5


def test_the_proof_compares_every_output(tmp_path: Path):
    library()
    model = perturbed(least().config.replace(head=None)).eval()
    write_onnx(tmp_path / "a", model)
    pooled_otherwise = TextPooling("class", normalise=False)
    with pytest.raises(DataError, match="other values than the model(.|\n)*vector|vector of(.|\n)*other values"):
        prove_onnx(tmp_path / "a", signature(model, pooled_otherwise))


@slow
def test_a_picture_encoder_gives_token_states_and_the_vector_of_weft_embed(tmp_path: Path):
    library()
    model = perturbed(VISION_MODELS["vit"](VISION, SIGHT, outputs=3).replace(head=None, outputs=None)).eval()
    assert write_onnx(tmp_path / "a", model) < 1e-5
    assert shapes(tmp_path / "a")["vector"] == ["batch", 16]
    pixels = torch.rand(2, 3, 16, 12, generator=torch.Generator().manual_seed(0))
    found = computed(tmp_path / "a", {"pixel_values": pixels})
    with torch.inference_mode():
        states = model.encode(Picture(pixels)).x
    assert np.abs(found["last_hidden_state"] - states.numpy()).max() < 1e-5
    assert np.abs(found["vector"] - class_vector(model.encode(Picture(pixels))).detach().numpy()).max() < 1e-5


@pytest.mark.parametrize("name", ["vit", *(pytest.param(name, marks=slow) for name in ("vit-hybrid", "resnet"))])
def test_pictures_of_any_number_of_tokens_are_read(tmp_path: Path, name: str):
    library()
    model = perturbed(VISION_MODELS[name](VISION, SIGHT, outputs=3))
    assert write_onnx(tmp_path / "a", model, labels=["cat", "dog", "owl"]) < 1e-5
    assert shapes(tmp_path / "a") == {"pixel_values": ["batch", 3, "height", "width"], "logits": ["batch", 3]}
    said = json.loads((tmp_path / "a/weft.json").read_text())
    assert said["labels"] == ["cat", "dog", "owl"] and said["made_for"] == {"height": 16, "width": 12}


@pytest.mark.parametrize(
    "name, blocks",
    [
        pytest.param("transformer", False, marks=slow),
        pytest.param("transformer", True, marks=slow),
        pytest.param("swift", True, marks=slow),
    ],
)
def test_translators_read_a_source_and_the_target_so_far(tmp_path: Path, name: str, blocks: bool):
    library()
    config = TRANSLATION_MODELS[name](SIZE, vocab=20)
    config = config if blocks else config.replace(source=config.source.replace(trunk=NO_BLOCKS))
    assert write_onnx(tmp_path / "a", perturbed(config)) < 1e-5
    assert shapes(tmp_path / "a")["decoder_input_ids"] == ["batch", "target_length"]
    assert shapes(tmp_path / "a")["logits"] == ["batch", "target_length", 20]


@slow
@pytest.mark.parametrize("name", ["swift", "transformer", "one-stream", "coca"])
def test_captioners_read_a_picture_and_the_caption_so_far(tmp_path: Path, name: str):
    library()
    config = CAPTION_MODELS[name](CAPTION_ENCODERS[name](VISION, SIGHT, outputs=None), SIZE, vocab=20)
    assert write_onnx(tmp_path / "a", perturbed(config)) < 1e-5
    found = shapes(tmp_path / "a")
    assert found["decoder_input_ids"] == ["batch", "target_length"] and found["logits"] == [
        "batch",
        "target_length",
        20,
    ]


@slow
def test_windows_hold_for_lengths_that_weft_itself_reads_in_blocks(tmp_path: Path):
    library()
    config = LANGUAGE_MODELS["gpt"](Size(dim=16, depth=1, heads=2, context=256), vocab=20)
    local = config.set("trunk.block.mix.rules", (Window(axis="position", radius=3),))
    assert write_onnx(tmp_path / "a", perturbed(local)) < 1e-5


@slow
def test_disentangled_scores_hold_for_distances_beyond_the_length_traced(tmp_path: Path):
    library()
    config = ENCODER_MODELS["bert"](SIZE, vocab=20, head="tags", outputs=3)
    mix = config.trunk.block.mix.replace(score=Disentangled.Config())
    block, distances = config.trunk.block.replace(mix=mix), Distances.Config(reach=4, farthest=12)
    config = config.replace(trunk=config.trunk.replace(block=block, distances=distances))
    assert write_onnx(tmp_path / "a", perturbed(config)) < 1e-5


def test_a_frozen_length_is_found_out(tmp_path: Path, monkeypatch):
    library()

    def counted(self, input_ids, attention_mask):  # in a graph, a number that Python asked for stays what it was
        return self.model(Text(input_ids, attention_mask.bool())) / int(input_ids.shape[1])

    monkeypatch.setattr(TextSignature, "forward", counted)
    with pytest.raises(DataError, match="onnxruntime cannot use the folder: .*invalid dimensions for input: input_ids"):
        write_onnx(tmp_path / "a", least())
    assert os.listdir(tmp_path) == []


def test_what_stands_in_the_folder_is_enough_to_use_it_and_to_prove_it(tmp_path: Path, words):
    library()
    embed = TextEmbed.Config(vocab=words.size, context=32)
    model = Stream.Config(dim=8, embed=embed, trunk=NO_BLOCKS, head=PerToken.Config()).build().train()
    write_onnx(tmp_path / "a", model, tokenizer_json=words.to_json(), marks=Marks(eos=(words.end,)))
    assert (tmp_path / "a/tokenizer.json").read_text() == words.to_json()
    assert json.loads((tmp_path / "a/weft.json").read_text())["marks"] == {"eos_token_id": words.end}
    assert str(Path(onnx.__file__).parent).encode() not in (tmp_path / "a/model.onnx").read_bytes()
    assert model.training and not model.embed._forward_hooks
    assert logging.getLogger("torch.onnx").level < logging.ERROR
    with torch.no_grad():
        model.head.out.weight[3, 0] += 0.01
    with pytest.raises(DataError, match="the graph computes other values than the model: they differ by"):
        prove_onnx(tmp_path / "a", signature(model.eval()))


@slow
def test_adapters_are_merged(tmp_path: Path):
    library()
    model = adapted(perturbed(LANGUAGE_MODELS["gpt"](SIZE, vocab=20)), LowRank.Config(rank=2))
    assert write_onnx(tmp_path / "a", perturbed_adapters(model)) < 1e-5


def perturbed_adapters(model: Stream) -> Stream:
    with torch.no_grad():
        for weight in model.parameters():
            if weight.requires_grad:
                weight.normal_(std=0.3)
    return model


@pytest.mark.parametrize(
    "config, problem",
    [
        (LANGUAGE_MODELS["lstm"](SIZE, vocab=20), "recurrent"),
        (TRANSLATION_MODELS["lstm-attention"](SIZE, vocab=20), "recurrent"),
        (autoencoder(mae(VISION, SIGHT)), "Autoencoder over such inputs"),
    ],
)
def test_models_without_a_graph_are_refused(tmp_path: Path, monkeypatch, config, problem: str):
    monkeypatch.setattr(onnx, "LIBRARIES", ())
    with pytest.raises(ConfigError, match=problem):
        write_onnx(tmp_path / "a", config.build())
    assert os.listdir(tmp_path) == []


def test_what_does_not_fit_the_model_is_refused(tmp_path: Path, monkeypatch, words):
    monkeypatch.setattr(onnx, "LIBRARIES", ())
    with pytest.raises(ConfigError, match="2 labels for a model that tells 20 apart"):
        write_onnx(tmp_path / "a", least(), labels=["a", "b"])
    with pytest.raises(ConfigError, match="the model has vectors for 20"):
        write_onnx(tmp_path / "a", least(), tokenizer_json=words.to_json())
    (tmp_path / "a").mkdir()
    with pytest.raises(StorageError, match="exists already"):
        write_onnx(tmp_path / "a", least())
    assert os.listdir(tmp_path) == ["a"] and os.listdir(tmp_path / "a") == []


def test_missing_libraries_are_named(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(onnx, "LIBRARIES", ("no_such_library", "nor_this"))
    with pytest.raises(WeftError, match=r"no_such_library and nor_this not installed(.|\n)*weft\[onnx\]"):
        write_onnx(tmp_path / "a", least())


def test_facts_about_order_are_withheld_only_while_asked():
    model, text = least(), Text(torch.zeros(1, 5, dtype=torch.long))
    with unstated(signature(model)):
        assert model.embed(text).order is Order.ANY and model.embed(text).line_axis is None
    assert model.embed(text).order is Order.LINE and model.embed(text).line_axis == "position"
