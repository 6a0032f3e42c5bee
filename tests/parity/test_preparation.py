"""Pictures of any size, prepared as the Hugging Face library's processors prepare them: pixel for pixel, both ways."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers.foreign import TOLERANCE, changed, difference, library, randomised, saved
from helpers.foreign_models import mostly_slow
from helpers.foreign_models.pictures import VIT
from PIL import Image

from weft.domains.pictures.codec import PictureCodec
from weft.domains.pictures.encoded.preparing import prepared, read_prepared
from weft.domains.pictures.reading.trying import find_pictures
from weft.errors import ConfigError, DataError
from weft.interop import read_folder, write_folder
from weft.interop.preprocessors import FILTERS, PREPROCESSOR_FILE, PROCESSORS, read_preparation, write_preprocessor
from weft.interop.their_config import TheirConfig
from weft.modalities.image import PatchEmbed
from weft.modalities.preparation import Preparation
from weft.runs.exporting import export_run
from weft.runs.importing import import_run
from weft.runs.run import load
from weft.tasks.codec import codecs_from_json

RECIPES: dict[str, dict] = {
    "vit": {"image_processor_type": "ViTImageProcessor", "size": {"height": 24, "width": 24}},
    "vit, earlier": {"feature_extractor_type": "ViTFeatureExtractor", "size": 24, "resample": 2},
    "deit": {"image_processor_type": "DeiTImageProcessor", "size": 30, "crop_size": 24},
    "convnext": {"image_processor_type": "ConvNextImageProcessor", "size": {"shortest_edge": 24}, "crop_pct": 0.8},
    "convnext, whole": {"image_processor_type": "ConvNextImageProcessor", "size": {"shortest_edge": 384}},
    "clip": {"image_processor_type": "CLIPImageProcessor", "size": 24, "crop_size": {"height": 24, "width": 24}},
    "clip, larger than the picture": {"image_processor_type": "CLIPImageProcessor", "size": 21, "crop_size": 24},
    "bit": {"image_processor_type": "BitImageProcessor", "size": {"shortest_edge": 27}, "crop_size": 24},
    "bit, a longest edge": {"image_processor_type": "BitImageProcessor", "crop_size": 24,
                       "size": {"shortest_edge": 20, "longest_edge": 40}},
    "vilt": {"image_processor_type": "ViltImageProcessor", "size": {"shortest_edge": 24}, "size_divisor": 8},
    "vilt, earlier": {"feature_extractor_type": "ViltFeatureExtractor", "size": 40, "size_divisor": 4, "do_pad": True},
    "deit, not scaled": {"image_processor_type": "DeiTImageProcessor", "do_resize": False, "crop_size": [24, 24]},
    "vit, no scale of numbers": {"size": {"height": 24, "width": 24}, "do_normalize": False, "do_rescale": False},
    "siglip, fast": {"image_processor_type": "SiglipImageProcessorFast", "size": {"height": 24, "width": 24}},
    **{f"vit, resampled {name}": {"size": {"height": 24, "width": 24}, "resample": number}
       for number, name in enumerate(FILTERS)},
}  # fmt: skip
OBLONG = ("convnext, whole", "vilt", "vilt, earlier")  # those that do not end with 24 times 24 pixels
SQUARE = [name for name in RECIPES if name not in OBLONG]


def drawn(height: int, width: int, channels: int = 3, *, seed: int = 0) -> np.ndarray:
    """Noise on a smooth ground, so that every filter gives other pixels."""
    noise = np.random.default_rng(seed).integers(0, 90, (height, width, channels))
    ground = 80 * (1 + np.sin(np.arange(width) / 7))[None, :, None]
    return (noise + ground).astype(np.uint8)


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, Path]:
    """Pictures of several shapes and modes by what is special about them."""
    folder = tmp_path_factory.mktemp("pictures")
    images = {
        "wide.png": Image.fromarray(drawn(37, 91)),
        "high.png": Image.fromarray(drawn(83, 29)),
        "same.png": Image.fromarray(drawn(24, 24)),
        "tiny.png": Image.fromarray(drawn(5, 9)),
        "odd.jpg": Image.fromarray(drawn(61, 45)),
        "large.jpg": Image.fromarray(drawn(300, 411)),
        "grey.png": Image.fromarray(drawn(40, 50, 1)[..., 0]),
        "palette.png": Image.fromarray(drawn(40, 50)).convert("P"),
        "bits.png": Image.fromarray(drawn(40, 50, 1)[..., 0]).convert("1"),
        "cmyk.jpg": Image.fromarray(drawn(40, 50)).convert("CMYK"),
        "see_through.png": Image.fromarray(drawn(40, 50, 4), "RGBA"),
        "grey_see_through.png": Image.fromarray(drawn(40, 50, 2), "LA"),
    }
    for name, image in images.items():
        image.save(folder / name)
    turned = Image.Exif()
    turned[0x0112] = 6
    Image.fromarray(drawn(33, 52)).save(folder / "turned.jpg", exif=turned)
    return {path.name: path for path in sorted(folder.iterdir())}


@pytest.fixture(scope="module")
def model():
    """A small ViT of theirs."""
    transformers = library()
    torch.manual_seed(1)
    return randomised(transformers.ViTForImageClassification(transformers.ViTConfig(**VIT)))


def with_recipe(model, folder: Path, keys: dict) -> Path:
    saved(model, folder)
    (folder / PREPROCESSOR_FILE).write_text(json.dumps(keys))
    return folder


def seen_by(processor, path: Path) -> torch.Tensor:
    """What their processor gives: what it converts to RGB lies on white; a named file is read without alpha."""
    picture = Image.open(path) if processor.do_convert_rgb and "turned" not in path.name else str(path)
    return processor(picture, return_tensors="pt")["pixel_values"]


@pytest.mark.parametrize("name", mostly_slow(RECIPES))
def test_pictures_of_any_size_and_mode_are_prepared_as_their_processor_does(tmp_path: Path, files, model, name: str):
    folder = with_recipe(model, tmp_path / "a", RECIPES[name])
    processor, imported = library().AutoImageProcessor.from_pretrained(folder), read_folder(folder)
    assert imported.warnings == () and imported.preparation is not None
    embed = imported.model.embed
    for path in files.values():
        ours = read_prepared(find_pictures([path]), 0, imported.preparation)
        pixels = torch.from_numpy(ours.pixels).permute(2, 0, 1)[None]
        expected = seen_by(processor, path)
        limit = 1e-5 * max(1.0, float(expected.abs().max()))
        assert difference(expected, (pixels / 255 - embed.mean) * embed.scale) < limit, path.name
        assert ours.missing is None


@pytest.mark.parametrize("name", mostly_slow(SQUARE))
def test_a_run_gives_the_probabilities_that_their_processor_and_model_give(tmp_path: Path, files, model, name: str):
    folder = with_recipe(model, tmp_path / "a", RECIPES[name])
    processor = library().AutoImageProcessor.from_pretrained(folder)
    import_run(folder, tmp_path / "run")
    run = load(tmp_path / "run")
    for answer, path in zip(run.predict([str(path) for path in files.values()]), files.values(), strict=True):
        with torch.inference_mode():
            shares = model(seen_by(processor, path)).logits.softmax(-1)[0]
        for i, share in enumerate(shares.tolist()):
            assert answer["probabilities"][f"LABEL_{i}"] == pytest.approx(share, abs=1e-4), path.name


def test_arrays_are_prepared_like_files(tmp_path: Path, files, model):
    run = load(with_recipe(model, tmp_path / "a", RECIPES["clip"]))
    names = ["wide.png", "odd.jpg"]
    by_name = run.predict([str(files[name]) for name in names])
    by_array = run.predict([np.array(Image.open(files[name])) for name in names])
    assert [one["probabilities"] for one in by_name] == [one["probabilities"] for one in by_array]


@pytest.mark.parametrize("name", RECIPES)
def test_the_way_there_and_back_changes_nothing(tmp_path: Path, files, model, name: str):
    folder = with_recipe(model, tmp_path / "a", RECIPES[name])
    imported = read_folder(folder)
    write_folder(tmp_path / "b", imported.model, preparation=imported.preparation)
    again = read_folder(tmp_path / "b")
    assert (again.preparation, again.warnings) == (imported.preparation, ())
    assert again.config.to_json() == imported.config.to_json()
    theirs = [library().AutoImageProcessor.from_pretrained(tmp_path / one) for one in "ab"]
    for path in (files["wide.png"], files["turned.jpg"]):
        before, after = (seen_by(processor, path) for processor in theirs)
        assert difference(before, after) < TOLERANCE * max(1.0, float(before.abs().max()))


@pytest.mark.slow
def test_an_exported_run_says_how_its_pictures_are_prepared(tmp_path: Path, model):
    imported, _ = import_run(with_recipe(model, tmp_path / "a", RECIPES["convnext"]), tmp_path / "run")
    codec = imported.codec("picture", PictureCodec)
    assert codec.config.preparation == Preparation(shortest=30, crop=(24, 24), resample="bicubic")
    export_run(imported, tmp_path / "out")
    assert read_folder(tmp_path / "out").preparation == codec.config.preparation
    assert "aspect" not in (tmp_path / "out/README.md").read_text()


@pytest.mark.slow
def test_a_folder_that_does_not_say_how_pictures_are_prepared_is_read_as_before(tmp_path: Path, model):
    imported, remarks = import_run(saved(model, tmp_path / "a"), tmp_path / "run")
    assert remarks == (
        "no preprocessor_config.json: pictures are prepared as weft prepares its own, with their aspect kept",
    )
    assert imported.codec("picture", PictureCodec).config.preparation is None
    export_run(imported, tmp_path / "out")
    written = json.loads((tmp_path / "out" / PREPROCESSOR_FILE).read_text())
    assert FILTERS[written["resample"]] == "bilinear" and written["size"] == {"height": 24, "width": 24}
    assert "aspect" in (tmp_path / "out/README.md").read_text()


def test_a_processor_that_is_a_part_of_another_file_is_followed(tmp_path: Path, model):
    folder = with_recipe(model, tmp_path / "a", {"size": 99})
    (folder / "processor_config.json").write_text(json.dumps({"image_processor": RECIPES["deit"]}))
    assert read_folder(folder).preparation == Preparation(sides=(30, 30), crop=(24, 24), resample="bicubic")


def test_a_picture_that_would_grow_without_bound_is_refused(tmp_path: Path):
    Image.new("RGB", (40_000, 1)).save(tmp_path / "line.png")
    with pytest.raises(DataError, match=r"line\.png.*40,000 x 1 pixels") as error:
        read_prepared(find_pictures([tmp_path / "line.png"]), 0, Preparation(shortest=224, crop=(224, 224)))
    assert "cut it" in str(error.value)


def test_codecs_of_earlier_runs_are_read_as_they_were():
    found = codecs_from_json({"picture": {"type": "PictureCodec", "size": 64, "shape": None}}, lambda name: b"", "run")
    assert found["picture"].config == PictureCodec.Config(size=64)
    assert found["picture"].read_shape((30, 90, 3), 8) == (40, 112)


def test_a_size_is_left_as_it_is_where_nothing_is_asked_for(tmp_path: Path):
    Image.fromarray(drawn(10, 20)).save(tmp_path / "a.png")
    picture = find_pictures([tmp_path / "a.png"]).read(0)
    assert prepared(picture, Preparation(), where="a").pixels is picture.pixels


@pytest.mark.parametrize("name", PROCESSORS)
def test_what_a_file_leaves_out_is_what_their_processor_does(tmp_path: Path, name: str):
    transformers = library()
    kind = getattr(transformers, f"{name}Pil", None) or getattr(transformers, name)
    try:
        kind().save_pretrained(tmp_path)
    except ImportError:
        pytest.skip("this processor needs torchvision")
    full = json.loads((tmp_path / PREPROCESSOR_FILE).read_text())
    bare = {"image_processor_type": name}
    assert read_preparation(TheirConfig(bare, "a"), "") == read_preparation(TheirConfig(full, "a"), "")
    assert PROCESSORS[name].scale[0] * (3 // len(PROCESSORS[name].scale[0])) == tuple(full["image_mean"])


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"image_processor_type": "LevitImageProcessor"}, "prepared by 'LevitImageProcessor'"),
        ({"do_pad": True}, "do_pad is True"),
        ({"size": {"longest_edge": 30}}, "size has the keys longest_edge"),
        ({"size": {"max_height": 30, "max_width": 30}}, "size has the keys max_height, max_width"),
        ({"size": {"height": 24}}, "size has the keys height"),
        ({"size": "large"}, "size"),
        ({"size": {"height": 0, "width": 24}}, "height"),
        ({"resample": 9}, "resample is 9"),
        ({"do_center_crop": True}, "crop_size"),
        ({**RECIPES["convnext"], "do_center_crop": True, "crop_size": 20}, "cropped twice"),
        ({**RECIPES["convnext"], "size": {"height": 24, "width": 24}}, "shortest_edge only"),
        ({**RECIPES["convnext"], "crop_pct": 0}, "crop_pct"),
        ({"auto_map": {"AutoImageProcessor": "a.B"}}, "code that comes with the model"),
    ],
)
def test_a_preparation_that_weft_does_not_follow_is_refused_by_name(tmp_path: Path, model, keys, message: str):
    with pytest.raises(ConfigError, match=message) as error:
        read_folder(with_recipe(model, tmp_path / "a", keys))
    assert "preprocessor_config.json" in str(error.value)


def test_unknown_keys_of_a_preparation_are_noted(tmp_path: Path, model):
    folder = with_recipe(model, tmp_path / "a", {**RECIPES["vit"], "sharpen": 2})
    assert read_folder(folder).warnings == (
        "keys of preprocessor_config.json that weft does not know were not followed: sharpen",
    )
    changed(folder, PREPROCESSOR_FILE, sharpen=None)
    assert read_folder(folder).warnings == ()


@pytest.mark.parametrize(
    "fields",
    [{"sides": (3,)}, {"crop": (0, 3)}, {"sides": (3, 3), "shortest": 3}, {"longest": 4}, {"shortest": 0}],
)
def test_sizes_that_cannot_be_meant_are_refused(fields):
    with pytest.raises(ConfigError):
        Preparation(**fields)


def test_a_preparation_is_written_with_the_steps_that_it_has():
    embed = PatchEmbed.Config(grid=(3, 3), patch=8)
    made = Preparation(shortest=20, longest=40, resample="box", white=True)
    written = write_preprocessor(embed, made)
    assert written["size"] == {"shortest_edge": 20, "longest_edge": 40} and not written["do_center_crop"]
    assert read_preparation(TheirConfig(written, "a"), "") == made
