"""SigLIP: vectors of pictures and texts, and each pair's probability, as the Hugging Face library computes them."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers.foreign import TOLERANCE, built, difference, library, saved
from helpers.foreign_models.newer_pictures import SIGLIP, SIGLIP2, SIGLIP_TEXT
from PIL import Image

import weft
from weft.interop import read_folder
from weft.modalities.image import cut
from weft.modalities.preparation import Preparation
from weft.modalities.text import Text
from weft.runs.exporting import export_run
from weft.runs.importing import import_run

WORDS = ("a cat", "two dogs and a horse", "rain")


def words():
    """A tokenizer that puts an end behind a text, and fills texts up with another token than the model usually has."""
    import tokenizers
    from tokenizers import models, pre_tokenizers, processors

    names = ["<pad>", "</s>", "<unk>", *sorted({word for text in WORDS for word in text.split()})]
    made = tokenizers.Tokenizer(models.WordLevel({name: id for id, name in enumerate(names)}, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return library().PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", eos_token="</s>", unk_token="<unk>", model_max_length=12
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with its tokenizer and the recipe of its pictures, as their library writes them."""
    place = tmp_path_factory.mktemp("siglip") / "theirs"
    model = built("SiglipModel", SIGLIP)
    model.logit_scale.data.fill_(2.0)
    model.logit_bias.data.fill_(-1.0)
    saved(model, place)
    words().save_pretrained(place)
    recipe = {"image_processor_type": "SiglipImageProcessor", "size": {"height": 24, "width": 24}, "resample": 3,
              "image_mean": [0.5] * 3, "image_std": [0.5] * 3}  # fmt: skip
    (place / "preprocessor_config.json").write_text(json.dumps(recipe))
    return place


@pytest.fixture(scope="module")
def photo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("photos") / "a.png"
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (24, 24, 3), np.uint8)).save(path)
    return path


def theirs(folder: Path, photo: Path):
    """What their library gives for texts that are filled up to full length."""
    given = library().AutoTokenizer.from_pretrained(folder)(list(WORDS), padding="max_length", return_tensors="pt")
    pixels = torch.from_numpy(np.array(Image.open(photo))).permute(2, 0, 1)[None] / 127.5 - 1
    with torch.inference_mode():
        return library().SiglipModel.from_pretrained(folder).eval()(input_ids=given["input_ids"], pixel_values=pixels)


def test_a_file_and_texts_get_the_same_vectors_and_each_pair_its_own_probability(folder, photo, tmp_path):
    import_run(folder, tmp_path / "run")
    run, expected = weft.load(tmp_path / "run"), theirs(folder, photo)
    vectors = torch.from_numpy(run.embed([str(photo), *WORDS]))
    assert difference(vectors[:1], expected.image_embeds) < TOLERANCE
    assert difference(vectors[1:], expected.text_embeds) < TOLERANCE
    (found,) = run.predict([str(photo)], labels=list(WORDS), template="{}")
    shares = expected.logits_per_image[0].sigmoid()
    assert [found["probabilities"][text] for text in WORDS] == pytest.approx(shares.tolist(), abs=1e-5)
    assert abs(sum(found["probabilities"].values()) - 1) > 1e-3, "they are no shares of one"


def test_the_tokenizer_says_which_id_fills_texts(folder):
    imported = read_folder(folder)
    assert SIGLIP_TEXT["pad_token_id"] == 1 and imported.config.text.embed.filler == 0
    short = torch.tensor([[5, 1]])
    full = torch.nn.functional.pad(short, (0, 10), value=0)
    with torch.inference_mode():
        one, other = (imported.model.text(Text(ids)) for ids in (short, full))
    assert torch.equal(one, other)


@pytest.mark.slow
def test_an_export_gives_the_same_there(folder, photo, tmp_path):
    import_run(folder, tmp_path / "run")
    written = export_run(weft.load(tmp_path / "run")._loaded, tmp_path / "again")
    assert written["model_type"] == "siglip" and written["difference"] < TOLERANCE
    before, after = (theirs(one, photo) for one in (folder, tmp_path / "again"))
    assert difference(before.logits_per_image, after.logits_per_image) < TOLERANCE


@pytest.mark.parametrize("sides", [(30, 50), (100, 20), (16, 16), (333, 777), (5, 400)])
def test_pictures_of_any_aspect_get_the_sides_that_siglip_2_gives_them(sides: tuple[int, int]):
    source = Path(library().__file__).parent / "models/siglip2/image_processing_siglip2.py"
    made = source.read_text().partition("def get_image_size_for_max_num_patches")[2]
    known: dict = {}
    body = made.partition("\n\n\n")[0]
    exec("from functools import *\ndef get" + body, known)  # the module itself needs torchvision
    expected = known["get"](*sides, 8, 24)
    assert Preparation(multiple=8, most=24).scaled_shape(*sides) == tuple(expected)


def test_siglip_2_takes_files_of_any_aspect(tmp_path: Path):
    model = built("Siglip2Model", SIGLIP2)
    words().save_pretrained(saved(model, tmp_path / "a"))
    recipe = {"image_processor_type": "Siglip2ImageProcessor", "patch_size": 8, "max_num_patches": 20}
    (tmp_path / "a/preprocessor_config.json").write_text(json.dumps(recipe))
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (24, 40, 3), np.uint8)).save(tmp_path / "wide.png")
    pixels = torch.from_numpy(np.array(Image.open(tmp_path / "wide.png"))).permute(2, 0, 1)[None] / 127.5 - 1
    run = weft.load(tmp_path / "a")
    sides = run._loaded.codecs["picture"].config.preparation.scaled_shape(24, 40)
    assert sides == (24, 40), "the largest sides with at most 20 patches of 8 by 8"
    given = {"pixel_values": cut(pixels, 8), "pixel_attention_mask": torch.ones(1, 15, dtype=torch.long)}
    ids = words()(list(WORDS), padding="max_length", return_tensors="pt")["input_ids"]
    with torch.inference_mode():
        expected = model(input_ids=ids, spatial_shapes=torch.tensor([[3, 5]]), **given)
    vectors = torch.from_numpy(run.embed([str(tmp_path / "wide.png"), *WORDS]))
    assert difference(vectors[:1], expected.image_embeds) < TOLERANCE
    assert difference(vectors[1:], expected.text_embeds) < TOLERANCE
