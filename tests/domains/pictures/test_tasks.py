"""Tasks on pictures: folders, archives and arrays in, a run that classifies, fills in or describes, and its looks."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers.drawings import as_for_users
from helpers.foreign import library
from helpers.pages import document
from helpers.pictures import encoded, files, write, zipped
from helpers.stops import stopped_in
from helpers.tiny import PICTURE_ZOO
from PIL import Image

import weft
from weft.domains.pictures.codec import PictureCodec
from weft.domains.pictures.encoded.preparing import prepared, uncut
from weft.domains.pictures.filling import squared_steps
from weft.domains.pictures.reading.arrays import album_of
from weft.domains.pictures.recipe import hiding_cost, operations, views_cost
from weft.domains.pictures.settings import HidingTraining, ViewsTraining
from weft.domains.recognising import recognise
from weft.errors import ConfigError, DataError, Interrupted, WeftError
from weft.files.pictures.decoding import Decoded
from weft.inspect.document import GridPlace
from weft.interop import reference_run, write_folder
from weft.modalities.image import Picture
from weft.modalities.preparation import Preparation
from weft.models.zoo.vision import Sight, VisionSize, mae

TINY: dict[str, Any] = {
    "dim": 16, "depth": 1, "heads": 2, "batch": 16, "quiet": True, "steps": 4, "baselines": False,
}  # fmt: skip
CLASSES = ("left", "right", "top")


def drawn(label: int, seed: int, side: int = 12) -> np.ndarray:
    """Noise that is brighter on one side: the class is where."""
    pixels = np.random.default_rng(1000 * label + seed).integers(0, 120, (side, side, 3))
    half = side // 2
    part = [np.s_[:, :half], np.s_[:, half:], np.s_[:half]][label]
    pixels[part] += 120
    return pixels.astype(np.uint8)


def folder(root: Path, each: int, *, start: int = 0, side: int = 12) -> Path:
    for label, name in enumerate(CLASSES):
        for i in range(start, start + each):
            write(root / name / f"{i}.png", encoded(drawn(label, i, side)))
    return root


def train(data: Any, **settings: Any) -> weft.Run:
    given = {"task": "classify-images", **TINY, **settings}
    return weft.train(data, **{name: value for name, value in given.items() if value is not None})


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder(tmp_path_factory.mktemp("data") / "photos", 20)


@pytest.fixture(scope="module")
def trained(photos: Path) -> weft.Run:
    more = {"steps": 150, "dim": 32, "lr": 1e-2, "drop": 0.0, "strength": "none"}
    with as_for_users():
        return train(photos, model="vit", out=photos.parent / "trained", **more)


@pytest.fixture(scope="module")
def filling(photos: Path) -> weft.Run:
    with as_for_users():
        return train(photos, task="reconstruct-images", out=photos.parent / "filling", steps=30)


@pytest.fixture(scope="module")
def net(photos: Path) -> weft.Run:
    """A network without attention, which takes longest to train."""
    return train(photos, model="resnet", out=photos.parent / "net")


def test_an_export_labels_oblong_pictures_as_the_run_does(trained: weft.Run, tmp_path: Path) -> None:
    transformers, run, task = library(), trained._loaded, trained.task
    found, proof = task.outgoing(run), task.proof(run, 1e-4)
    assert proof is not None and len(proof.inputs) == 32 and found.remarks == ()
    assert sum(max(one.shape[:2]) > 1.2 * min(one.shape[:2]) for one in proof.inputs) > 16
    assert [one["label"] for one in trained.predict(proof.inputs)] == proof.answers
    write_folder(tmp_path / "a", found.model, labels=found.labels, preparation=found.preparation)
    model = transformers.AutoModelForImageClassification.from_pretrained(tmp_path / "a").eval()
    processor = transformers.AutoImageProcessor.from_pretrained(tmp_path / "a")
    there = [
        reference_run.label(model, processor(images=Image.fromarray(one), return_tensors="pt")) for one in proof.inputs
    ]
    proof.compare(there, tmp_path)


def test_an_export_of_an_earlier_run_says_that_it_keeps_the_aspect(trained: weft.Run) -> None:
    codec = PictureCodec(PictureCodec.Config(size=12))
    earlier = replace(trained._loaded, codecs={**trained._loaded.codecs, "picture": codec})
    found = trained.task.outgoing(earlier)
    assert "aspect kept" in found.remarks[0] and found.preparation == Preparation(sides=(12, 12), grey=True)
    assert codec.read_shape((12, 36, 3), 4) != (12, 12)


@pytest.mark.parametrize("model", PICTURE_ZOO)
def test_every_model_trains_names_classes_and_loads_again(
    model: str, net: weft.Run, photos: Path, tmp_path: Path
) -> None:
    run = net if model == "resnet" else train(photos, model=model, out=tmp_path / "run")
    assert run.report["model"] == model and 0 <= run.report["metrics"]["accuracy"] <= 1
    inputs = [str(photos / "left" / "0.png"), str(photos / "top" / "1.png")]
    found = run.predict(inputs)
    assert [one["input"] for one in found] == inputs
    for one in found:
        assert set(one["probabilities"]) == set(CLASSES) and sum(one["probabilities"].values()) == pytest.approx(
            1, abs=1e-5
        )
        assert one["label"] == max(one["probabilities"], key=one["probabilities"].get)
    assert weft.load(run.folder).predict(inputs) == found
    pixels = drawn(0, 0)
    assert run.predict(pixels)[0]["probabilities"] == found[0]["probabilities"]


@pytest.mark.slow  # tests/laws/test_tasks.py stops and resumes every task, with a smaller model
@pytest.mark.parametrize("task", ["classify-images", "reconstruct-images", "distill-images"])
def test_stopped_and_resumed_is_never_stopped(
    task: str, photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more: dict[str, Any] = {"task": task, "steps": 6, "drop": 0.25, "strength": "heavy"}
    if task == "classify-images":
        more["model"] = "vit-hybrid"
    whole = train(photos, out=tmp_path / "whole", **more)
    with stopped_in(3, monkeypatch), pytest.raises(Interrupted):
        train(photos, out=tmp_path / "parts", **more)
    parts = weft.train(out=tmp_path / "parts", resume=True, quiet=True)
    for name, tensor in whole.model.state_dict().items():
        assert torch.equal(tensor, parts.model.state_dict()[name]), name


def test_it_learns(trained: weft.Run, tmp_path: Path) -> None:
    test = folder(tmp_path / "test", 10, start=500)
    report = trained.evaluate(test)
    assert report["metrics"]["accuracy"] > 0.9 and report["examples"] == 30
    low, high = report["intervals"]["accuracy"]
    assert low < report["metrics"]["accuracy"] <= high
    assert set(report["recall"]) == set(CLASSES)
    assert all(Path(path).read_bytes().startswith((b"\x89PNG", b"a picture")) for path in report["pictures"])


def test_the_run_folder_has_pictures_of_how_it_went(trained: weft.Run, filling: weft.Run) -> None:
    for name in ("loss.png", "confusion.png", "calibration.png"):
        assert (trained.folder / name).read_bytes().startswith(b"\x89PNG")
    assert (filling.folder / "reconstructions.png").read_bytes().startswith(b"\x89PNG")
    assert "accuracy" in (trained.folder / "README.md").read_text()


def test_folder_archive_table_and_arrays_train_the_same_weights(photos: Path, tmp_path: Path) -> None:
    members = files(photos)
    archive = zipped(tmp_path / "photos.zip", members)
    rows = "".join(f"{photos / name},{name.split('/')[0]}\n" for name in members)
    table = write(tmp_path / "photos.csv", f"path,label\n{rows}")
    runs = [
        train(source, out=tmp_path / f"run-{i}", model="vit", **{"seed": 3})
        for i, source in enumerate((photos, archive))
    ]
    first = runs[0].model.state_dict()
    assert all(torch.equal(t, first[n]) for n, t in runs[1].model.state_dict().items())
    assert train(table, out=tmp_path / "table", model="vit", outside=True).config["codecs"]["label"]["names"] == sorted(
        CLASSES
    )
    x = np.stack([drawn(label, i) for label in range(3) for i in range(20)])
    y = np.array([CLASSES[label] for label in range(3) for _ in range(20)])
    np.savez(tmp_path / "photos.npz", x_train=x[::2], y_train=y[::2], x_val=x[1::2], y_val=y[1::2])
    run = train(tmp_path / "photos.npz", out=tmp_path / "arrays", model="vit")
    assert run.config["data"]["amounts"]["held_out"] == 30 and "set apart" in run.config["data"]["rule"]


def test_pictures_are_recognised(photos: Path, tmp_path: Path) -> None:
    zipped(tmp_path / "a.zip", files(photos))
    np.savez(tmp_path / "b.npz", x=np.zeros((4, 8, 8), np.uint8), y=np.arange(4) % 2)
    for source in (photos, tmp_path / "a.zip", tmp_path / "b.npz"):
        assert recognise([str(source)])[0].name == "classify-images"


def test_pictures_of_many_shapes_are_read_whole(tmp_path: Path) -> None:
    root = tmp_path / "mixed"
    for label, name in enumerate(CLASSES):
        for i, (height, width) in enumerate([(100, 140), (150, 90), (200, 200), (97, 300)] * 3):
            write(root / name / f"{i}.jpg", encoded(drawn(label, i, 300)[:height, :width], "JPEG"))
    run = train(root, out=tmp_path / "run", model="vit", size=32)
    assert run.config["codecs"]["picture"]["shape"] is None and run.config["training"]["size"] == 32
    view = run.look(str(root / "left" / "3.jpg"))
    assert view.grid == tuple(run.config["model"]["embed"]["grid"])  # scaled to the shape that other tools scale it to
    wide = drawn(0, 3, 300)[:97]
    end = np.where(np.arange(300)[None, :, None] < 290, wide, 255 - wide)
    first, other = (one["probabilities"] for one in run.predict([wide, end]))
    assert first != other  # nothing was cut off
    assert run.evaluate(root)["examples"] == 36


def test_grey_pictures_and_a_model_of_colour_and_the_other_way_round(trained: weft.Run, tmp_path: Path) -> None:
    grey = write(tmp_path / "grey.png", encoded(drawn(0, 1)[..., 0]))
    assert trained.predict(str(grey))[0]["label"] in CLASSES
    x = np.stack([drawn(i % 3, i)[..., 0] for i in range(30)])
    np.savez(tmp_path / "grey.npz", x=x, y=np.arange(30) % 3)
    run = train(tmp_path / "grey.npz", out=tmp_path / "run", model="vit")
    assert run.config["model"]["embed"]["channels"] == 1 and not run.config["training"]["augment"]["flip"]
    assert run.predict(drawn(1, 1))[0]["label"] in "012"


def test_many_pictures_are_answered_in_their_order_as_if_each_were_alone(
    trained: weft.Run, filling: weft.Run, photos: Path, tmp_path: Path
) -> None:
    wide = write(tmp_path / "wide.png", encoded(drawn(1, 7, 40)[:20]))
    given = [str(photos / "top" / "3.png"), str(wide), drawn(2, 5), str(photos / "left" / "2.png"), drawn(0, 9, 40)]
    for run, settings in ((trained, {}), (filling, {"out": str(tmp_path)})):
        together, alone = run.predict(given, **settings), [run.predict([one], **settings)[0] for one in given]
        assert [one["input"] for one in together] == [given[0], given[1], "picture 3", given[3], "picture 5"]
        for one, other in zip(together, alone, strict=True):
            assert one.get("label") == other.get("label")
            assert one.get("rmse") == pytest.approx(other.get("rmse"), abs=2e-3)
            assert one.get("probabilities", {}) == pytest.approx(other.get("probabilities", {}), abs=1e-5)


def test_how_far_a_prediction_is_shows_where_there_are_many(
    trained: weft.Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("weft.training.progress.FIRST_LINE_AFTER", 0.0)
    trained.predict([drawn(0, 1)] * 3)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("weft.domains.pictures.given.MANY", 3)
    trained.predict([drawn(0, 1)] * 3)
    assert "pictures 3/3" in capsys.readouterr().err


def shaded(root: Path, values: np.ndarray) -> Path:
    """A table of grey pictures and of how bright each is."""
    rows = []
    for i, value in enumerate(values):
        noise = np.random.default_rng(i).integers(0, 40, (12, 12))
        write(root / f"{i}.png", encoded((noise + 200 * value).astype(np.uint8)))
        rows.append(f"{i}.png,{value}")
    return write(root / "bright.csv", "path,value\n" + "\n".join(rows) + "\n")


def test_a_number_is_learned_of_each_picture(tmp_path: Path) -> None:
    table = shaded(tmp_path / "data", np.random.default_rng(0).random(60).round(3))
    assert recognise([str(table)])[0].name == "classify-images"
    run = train(table, out=tmp_path / "run", model="vit", steps=150, lr=1e-2, drop=0.0, strength="none")
    assert run.config["codecs"]["label"]["type"] == "NumberCodec" and run.config["training"]["labels"] == "numbers"
    assert run.report["metrics"]["r2"] > 0.5 and run.evaluate(table)["metrics"]["spearman"] > 0.9
    dark, bright = run.predict([np.full((12, 12), 20, np.uint8), np.full((12, 12), 200, np.uint8)])
    assert dark["value"] < bright["value"] and set(dark) == {"input", "value"}
    more = train(table, dim=None, depth=None, heads=None, from_=run.folder, out=tmp_path / "more", steps=1, lr=1e-9)
    assert more.config["codecs"] == run.config["codecs"]
    assert more.predict(np.full((12, 12), 20, np.uint8))[0]["value"] == pytest.approx(dark["value"], abs=1e-3)


def test_whole_numbers_are_classes_unless_someone_says_otherwise(tmp_path: Path) -> None:
    table = shaded(tmp_path / "data", np.arange(24) % 2)
    assert train(table, out=tmp_path / "a", model="vit").config["codecs"]["label"]["names"] == ["0", "1"]
    run = train(table, out=tmp_path / "b", model="vit", labels="numbers", strength="heavy")
    assert run.config["codecs"]["label"]["mean"] == pytest.approx(0.5, abs=0.1) and "rmse" in run.report["metrics"]
    with pytest.raises(DataError, match="expected a number"):
        train(folder(tmp_path / "names", 4), out=tmp_path / "c", model="vit", labels="numbers")


@pytest.mark.parametrize("task", ["classify-images", "reconstruct-images", "distill-images"])
def test_the_smallest_preset_suits_pictures_of_any_size(task: str, photos: Path, tmp_path: Path) -> None:
    model = "vit" if task == "classify-images" else None  # its default has no patches
    asked = {"task": task, "model": model, "preset": "tiny", "dim": None, "depth": None, "heads": None, "steps": 1}
    run = train(photos, out=tmp_path / "run", **asked)
    training = run.config["training"]
    assert (training["dim"], training["depth"], training["heads"], training["patch"]) == (64, 2, 2, 2)
    mixed = tmp_path / "mixed"
    for i, side in enumerate((200, 130, 120, 140)):
        write(mixed / CLASSES[i % 2] / f"{i}.png", encoded(drawn(0, i, side)))
    training = train(mixed, out=tmp_path / "large", **asked).config["training"]
    assert (training["size"], training["patch"]) == (64, 8)


# Starting from another run


def test_a_backbone_goes_on_as_what_it_is(net: weft.Run, tmp_path: Path) -> None:
    other = folder(tmp_path / "other", 6)
    (other / "top").rename(other / "bottom")
    own = {"dim": None, "depth": None, "heads": None, "from_": net.folder}
    tuned = train(other, out=tmp_path / "tuned", steps=2, **own)
    assert tuned.config["model_name"] == "resnet" and tuned.config["training"]["drop"] == 0.0
    assert tuned.config["codecs"]["label"]["names"] == ["bottom", "left", "right"]
    with pytest.raises(WeftError, match="is a resnet, not a vit"):
        train(other, out=tmp_path / "wrong", model="vit", **own)
    with pytest.raises(WeftError, match="no attention layers"):
        train(other, out=tmp_path / "wrong", lora=2, **own)


def test_convolutions_go_on_at_another_size_and_learned_places_refuse(
    net: weft.Run, trained: weft.Run, photos: Path, tmp_path: Path
) -> None:
    own = {"dim": None, "depth": None, "heads": None, "size": 24, "steps": 1}
    larger = train(photos, from_=net.folder, out=tmp_path / "larger", **own)
    before, after = (run.config["model"]["embed"]["grid"] for run in (net, larger))
    assert larger.config["training"]["size"] == 24 and (before, after) == ([2, 2], [3, 3])
    assert len(larger.predict(str(photos / "left/0.png"))) == 1
    with pytest.raises(WeftError, match="learned places for pictures of 12 pixels"):
        train(photos, from_=trained.folder, out=tmp_path / "refused", **own)


def test_small_matrices_learn_beside_a_backbone(
    trained: weft.Run, filling: weft.Run, photos: Path, tmp_path: Path
) -> None:
    own = {"dim": None, "depth": None, "heads": None, "steps": 2, "lora": 2}
    for task, origin in (("classify-images", trained), ("reconstruct-images", filling)):
        run = train(photos, task=task, out=tmp_path / task, from_=origin.folder, **own)
        before, after = origin.model.state_dict(), run.model.state_dict()
        same = [name for name, t in before.items() if ".trunk." in f".{name}" and ".mix." in name and name in after]
        assert same and all(torch.equal(before[name], after[name]) for name in same)


def test_a_student_is_measured_picture_by_picture(photos: Path, tmp_path: Path) -> None:
    run = weft.train(photos, task="distill-images", preset="tiny", steps=1, out=tmp_path / "run", quiet=True)
    report = run.evaluate(str(photos))
    assert report["examples"] == report["comparison"]["examples"] > 16


def test_a_student_goes_on_with_its_own_projector(photos: Path, tmp_path: Path) -> None:
    sizes = {"model.projector.outputs": 16, "model.projector.hidden": 8, "model.projector.narrow": 4}
    run = train(photos, task="distill-images", out=tmp_path / "run", near=1, **sizes)
    assert run.config["training"]["strength"] == "medium" and run.config["training"]["drop"] == 0.5
    own = {"dim": None, "depth": None, "heads": None}
    more = train(
        photos, task="distill-images", from_=run.folder, out=tmp_path / "more", steps=1, lr=1e-9, near=1, **own
    )
    assert more.config["model"]["projector"] == run.config["model"]["projector"]
    first = run.model.state_dict()
    assert torch.allclose(
        first["student_says.prototypes"], more.model.state_dict()["student_says.prototypes"], atol=1e-6
    )


def test_a_classifier_starts_from_what_an_autoencoder_learned(filling: weft.Run, photos: Path, tmp_path: Path) -> None:
    frozen = train(
        photos, dim=None, depth=None, heads=None, from_=filling.folder, freeze=True, out=tmp_path / "probe", steps=5
    )
    encoder = filling.model.encoder.state_dict()
    own = frozen.model.state_dict()
    assert all(torch.equal(t, own[n]) for n, t in encoder.items())
    tuned = train(photos, dim=None, depth=None, heads=None, from_=filling.folder, out=tmp_path / "tuned", steps=5)
    assert any(not torch.equal(t, tuned.model.state_dict()[n]) for n, t in encoder.items())
    assert tuned.config["from"] == str(filling.folder.absolute())


def test_there_is_nothing_to_freeze_without_a_run_to_start_from(photos: Path, tmp_path: Path) -> None:
    with pytest.raises(WeftError, match="no pretrained weights to keep"):
        train(photos, freeze=True, out=tmp_path / "run")


def test_a_run_of_another_kind_cannot_be_started_from(trained: weft.Run, photos: Path, tmp_path: Path) -> None:
    with pytest.raises(WeftError, match="classify-images"):
        train(photos, task="distill-images", from_=trained.folder, out=tmp_path / "run")


# Looking


def test_looking_shows_every_layer_and_head_and_changes_nothing(trained: weft.Run, photos: Path) -> None:
    path = str(photos / "left" / "0.png")
    before = trained.predict(path)
    view = trained.look(path)
    maps = view.maps
    assert maps.layers.shape[:2] == (1, 2) and maps.layers.shape[2:] == view.grid == maps.rollout.shape
    assert (maps.layers.sum((2, 3)) <= 1 + 1e-6).all()
    assert view.picture().startswith(b"\x89PNG") and b"<svg" in view.picture("svg")
    shown = document(view.page())
    shown_by = [one.by for one in shown.streams]
    assert shown_by[:4] == ["attention", "rollout", "gradient", "occlusion"] and "integrated gradients" in shown_by
    assert shown.groups[0].place == GridPlace(*view.grid, first=1, picture=0) and len(shown.pictures) == 1
    json.dumps(view.to_json())
    assert trained.predict(path) == before
    with pytest.raises(WeftError, match="is an input, which would be lost"):
        view.save(path)
    with pytest.raises(WeftError, match="lies in the run"):
        view.save(trained.folder / "look.png")
    asked = trained.look(path, patch="1,2")
    assert asked.maps.asked == (0, 1)
    with pytest.raises(ConfigError, match="row from 1"):
        trained.look(path, patch="99,1")


def test_what_was_learned_can_be_looked_at_without_a_picture(trained: weft.Run) -> None:
    view = trained.look(None, what="filters,positions")
    assert view.picture().startswith(b"\x89PNG") and "share of variance" in view.text()
    with pytest.raises(ConfigError, match="filters or positions"):
        trained.look(None, what="colours")
    with pytest.raises(WeftError, match="no picture"):
        trained.look(None)


def test_a_network_without_attention_is_looked_at_by_gradient_and_occlusion(net: weft.Run, photos: Path) -> None:
    run, file = net, str(photos / "left" / "0.png")
    view, answer = run.look(file), run.predict(file)[0]
    assert view.to_json()["by"] == "gradient" and repr(view).startswith("<SaliencyView: 0.png, by gradient (Grad-CAM)")
    said = view.to_json()["answer"]["said"][0]
    assert said["text"] == answer["label"] and np.isclose(said["probability"], answer["probabilities"][said["text"]])
    other = next(name for name in answer["probabilities"] if name != answer["label"])
    assert f"probability of {other}" in run.look(file, by="occlusion", label=other).text()
    assert run.look(what="filters").picture().startswith(b"\x89PNG")
    for wrong, message in (
        ({"by": "attention"}, "no attention"), ({"layer": 1}, "no layers"), ({"label": "up"}, "no class 'up'"),
        ({"by": "attention", "label": "left"}, "the same for every class"), ({"token": "1"}, "no attention"),
    ):  # fmt: skip
        with pytest.raises(WeftError, match=message):
            run.look(file, **wrong)


# Filling in


def test_missing_pixels_are_filled_in_and_known_ones_stay(filling: weft.Run, photos: Path, tmp_path: Path) -> None:
    from PIL import Image

    pixels = drawn(0, 3)
    alpha = np.full((12, 12, 1), 255, np.uint8)
    alpha[:6, :6] = 0
    holed = write(tmp_path / "holed.png", encoded(np.concatenate([pixels, alpha], 2)))
    (one,) = filling.predict(str(holed), hide=0, out=str(tmp_path))
    made = np.asarray(Image.open(one["output"]))
    assert (made[6:] == pixels[6:]).all() and (made[:6, 6:] == pixels[:6, 6:]).all()
    assert (made[:6, :6] != 127).any() and "rmse" not in one
    (part,) = filling.predict(str(photos / "left" / "0.png"), hide=0.5, out=str(tmp_path))
    assert 0 < part["rmse"] < 128


def test_a_picture_comes_back_in_its_own_size_with_its_shown_patches_as_they_were(
    filling: weft.Run, tmp_path: Path
) -> None:
    pixels = np.random.default_rng(0).integers(0, 255, (90, 128, 3), np.uint8)
    file = write(tmp_path / "photo.png", encoded(pixels))
    (one,) = filling.predict(str(file), hide=0.5, out=str(tmp_path))
    made = np.asarray(Image.open(one["output"]))
    kept = (made == pixels).all(-1)
    assert made.shape == pixels.shape and 0.45 < kept.mean() < 0.55
    (array,) = filling.predict(pixels, hide=0.5, out=str(tmp_path))
    assert ((np.asarray(Image.open(array["output"])) == pixels).all(-1) == kept).all()


@pytest.mark.parametrize("crop", [(8, 6), (16, 13)])
def test_what_preparing_cut_off_a_picture_stays_in_it(crop: tuple[int, int]) -> None:
    whole = np.arange(12 * 9).reshape(12, 9, 1).astype(np.uint8)
    middle = prepared(Decoded(whole, None), Preparation(crop=crop), where="").pixels
    found = uncut(middle, 12, 9, mode="constant", constant_values=200)
    assert found.shape == whole.shape and ((found == whole) | (found == 200)).all()
    assert (found == whole).sum() == min(12, crop[0]) * min(9, crop[1])


def test_more_hidden_is_harder_to_fill_in(filling: weft.Run) -> None:
    found = filling.evaluate()["metrics"]
    assert {"loss", "rmse_25_hidden", "rmse_50_hidden", "rmse_75_hidden"} <= set(found)
    assert 0 < found["sharpness"] < 2


def test_sharpness_is_texture_within_hidden_patches() -> None:
    truth = torch.rand(1, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    seen = torch.zeros(1, 1, 8, 8, dtype=torch.bool)
    seen[..., :4] = True

    def sharpness(filled: torch.Tensor) -> float:
        made, true = squared_steps(Picture(truth), filled, seen, 4)[0]
        return float(np.sqrt(made / true))

    even = torch.nn.functional.interpolate(torch.rand(1, 3, 2, 2), scale_factor=4.0)
    assert sharpness(truth) == 1 and sharpness(even) == 0  # seams are no texture
    assert sharpness(truth / 2) == pytest.approx(0.5) and sharpness(torch.where(seen, 0, truth)) == 1


def test_a_sheet_of_pictures_has_all_classes() -> None:
    x, y = np.zeros((30, 2, 2, 1), np.uint8), np.repeat(list("aaabc"), 6)
    rows = album_of("x", x, y).across_classes(8, 24)
    assert len(rows) == len(set(rows)) == 8 and [y[row] for row in rows] == list("abcabcab")
    assert album_of("x", x).across_classes(3, 24) == [0, 10, 20]
    many = album_of("x", x, np.arange(30)).across_classes(8, 10)
    assert many == list(range(0, 30, 3))


def test_places_in_metres_come_from_a_table(photos: Path, tmp_path: Path) -> None:
    rows = "".join(f"{photos / name},{0.5 + i % 3}\n" for i, name in enumerate(files(photos)))
    table = write(tmp_path / "ground.csv", f"path,metres_per_pixel\n{rows}")
    run = train(table, task="reconstruct-images", model="scale-mae", out=tmp_path / "run", outside=True)
    assert run.config["model"]["encoder"]["embed"]["reference"] == pytest.approx(1.5, abs=1)
    (usual,), (coarse,) = (
        run.predict(str(photos / "left" / "0.png"), out=str(tmp_path), **more) for more in ({}, {"metres": 30.0})
    )
    assert usual["rmse"] != coarse["rmse"]  # other places on the ground


def test_metres_are_refused_by_a_model_that_has_none(filling: weft.Run, photos: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="not in metres"):
        filling.predict(str(photos / "left" / "0.png"), out=str(tmp_path), metres=3.0)
    with pytest.raises(ConfigError, match="above 0"):
        filling.predict(str(photos / "left" / "0.png"), out=str(tmp_path), metres=-3.0)


def test_hidden_patches_are_not_paid_for_and_views_are() -> None:
    size, sight = VisionSize(dim=96, depth=4, heads=3, patch=4), Sight(32, 32)
    whole = operations(mae(size, sight))
    little = hiding_cost(mae(size, sight), HidingTraining(hide=0.75))
    much = hiding_cost(mae(size, sight), HidingTraining(hide=0.25))
    assert little < 0.4 * whole < 0.8 * whole < much
    views = [views_cost(mae(size, sight), ViewsTraining(near=near)) for near in (0, 4)]
    assert views[0] == pytest.approx(8 / 3 * whole, rel=0.01) and views[1] > views[0] + 0.8 * whole


# Bad input


def test_a_class_that_was_never_learned_is_named(trained: weft.Run, tmp_path: Path) -> None:
    other = folder(tmp_path / "other", 2)
    write(other / "zebra" / "1.png", encoded(drawn(0, 0)))
    with pytest.raises(DataError, match="zebra"):
        trained.evaluate(other)


def test_broken_pictures_are_listed_by_name(photos: Path, tmp_path: Path) -> None:
    bad = folder(tmp_path / "bad", 12)
    write(bad / "left" / "broken.jpg", b"<html>not found</html>")
    run = train(bad, out=tmp_path / "run", model="vit")
    assert any("broken.jpg" in name for name, _ in run.config["data"]["skipped"])
    write(bad / "left" / "empty.png", b"")
    with pytest.raises(DataError, match="empty.png"):
        train(bad, out=tmp_path / "refused", model="vit")
    assert train(bad, out=tmp_path / "allowed", model="vit", skip=2).config["data"]["amounts"]["pictures"] > 0


def test_data_that_changed_is_not_evaluated_on_by_mistake(tmp_path: Path) -> None:
    own = folder(tmp_path / "own", 12)
    run = train(own, out=tmp_path / "run", model="vit")
    write(own / "left" / "new.png", encoded(drawn(0, 99)))
    with pytest.raises(DataError, match="has changed"):
        run.evaluate()


def test_settings_are_refused_by_name(photos: Path, tmp_path: Path) -> None:
    for wrong, words in (({"patch": 0}, "patch"), ({"augment.flop": True}, "flop"), ({"summary": "last"}, "summary"),
                         ({"smoothing": 1.0}, "smoothing"),
                         ({"task": "reconstruct-images", "summary": "mean"}, "class token"),
                         ({"model": "resnet", "summary": "class"}, "class token")):  # fmt: skip
        with pytest.raises(WeftError, match=words):
            train(photos, out=tmp_path / "run", **wrong)


def test_larger_models_cost_more() -> None:
    from weft.models.zoo.vision import Sight, VisionSize, vit

    costs = [operations(vit(VisionSize(dim, 2, 2, 4), Sight(32, 32), outputs=3)) for dim in (32, 64, 128)]
    tokens, dim = 65, 128
    assert costs[0] < costs[1] < costs[2]
    matrices = 3 * 2 * (2 * 12 * dim**2 * tokens + 48 * dim * (tokens - 1))  # of two layers, and the patches
    assert matrices < costs[2] < 1.2 * matrices


def test_an_autoencoder_goes_on_from_its_own_run(filling: weft.Run, photos: Path, tmp_path: Path) -> None:
    more = train(photos, task="reconstruct-images", dim=None, depth=None, heads=None, from_=filling.folder,
                 out=tmp_path / "more", steps=1, lr=1e-9)  # fmt: skip
    own = filling.model.state_dict()
    assert all(torch.allclose(t, own[n], atol=1e-6) for n, t in more.model.state_dict().items())


def test_parts_of_the_model_can_be_set(photos: Path, tmp_path: Path) -> None:
    run = train(photos, model="vit", out=tmp_path / "run", **{"model.trunk.block.transform.activation": "relu"})
    assert run.config["model"]["trunk"]["block"]["transform"]["activation"] == "relu"


def test_tasks_on_pictures_are_listed_with_all_their_settings(capsys: pytest.CaptureFixture[str]) -> None:
    from weft.cli import task_pages
    from weft.domains.registry import CARDS

    for card in CARDS.values():
        task_pages.tasks([card], True, True)
        (listed,) = json.loads(capsys.readouterr().out)["tasks"]
        assert listed["task"] == card.name
    task_pages.tasks([CARDS["classify-images"]], True, False)
    assert "augment.flip" in capsys.readouterr().out
