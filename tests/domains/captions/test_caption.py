"""caption: pictures with sentences in, a run that writes about new ones, is measured, looked at, stopped, resumed."""

import json
import shutil
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers.captions import brief, captioned_table
from helpers.foreign import library, saved
from helpers.pages import document
from helpers.pictures import encoded, write
from helpers.stops import stopped_in
from PIL import Image

import weft
from weft.domains.captions.dataset import CaptionedPictures
from weft.domains.captions.measures.known import KnownCaptions, central_captions, thumbnails_of
from weft.domains.captions.sample.album import scenes
from weft.domains.captions.settings import CaptionTraining
from weft.domains.captions.views.captioning import WrittenCaption, caption_words
from weft.domains.pictures.dataset import PictureData
from weft.domains.pictures.encoded.frames import frames_of
from weft.domains.recognising import recognise
from weft.domains.texts.codec.text import TextCodec, TextMarks
from weft.errors import ConfigError, DataError, Interrupted, StorageError, WeftError
from weft.modalities.image import Picture
from weft.modalities.tokenizer_making import train as make_tokenizer
from weft.runs.importing import import_run
from weft.runs.verifying import verify_run
from weft.training.progress import Progress

TINY: dict[str, Any] = {"preset": "mini", "dim": 16, "depth": 1, "heads": 2, "batch": 8, "vocab": 300, "steps": 4,
                        "evaluate_every": 100, "quiet": True, "baselines": False}  # fmt: skip
OF_ANOTHER: dict[str, Any] = dict.fromkeys(("preset", "dim", "depth", "heads"))  # the model is that of a run
SCENES = scenes(24, 0).train


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    brief(monkeypatch)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of some of weft's scenes, the pictures in a folder beside it."""
    return captioned_table(tmp_path_factory.mktemp("data"), SCENES)


def train(data: Any, **settings: Any) -> weft.Run:
    given = {"task": "caption", **TINY, **settings}
    return weft.train(data, **{name: value for name, value in given.items() if value is not None})


@pytest.fixture(scope="module")
def trained(data: Path) -> weft.Run:
    with pytest.MonkeyPatch.context() as patch:
        brief(patch)
        return train(data, model="transformer", out=data.parent / "trained", steps=8)


def test_tables_of_captions_are_recognised_and_classes_are_not(data: Path, tmp_path: Path) -> None:
    for sources in ([str(data)], [str(data), str(data.parent / "photos")]):
        assert recognise(sources)[0].name == "caption"
    with pytest.raises(WeftError, match="reconstruct-images"):  # pictures alone say nothing of what is wanted
        recognise([str(data.parent / "photos")])
    labels = write(tmp_path / "labels.csv", "path,label\n" + "0.png,circle\n1.png,square\n" * 10)
    assert recognise([str(labels)])[0].name == "classify-images"


def test_a_run_writes_about_files_arrays_and_pillows_pictures_and_loads_again(data: Path, trained: weft.Run) -> None:
    file = str(data.parent / "photos" / "0.png")
    (found,) = trained.predict(file)
    assert set(found) - {"cut"} == {"input", "text", "score"} and found["input"] == file
    pixels = SCENES.read(0).pixels
    for same in (pixels, Image.fromarray(pixels)):
        assert trained.predict([same])[0]["text"] == found["text"]
    assert weft.load(trained.folder).predict([file]) == [found]
    assert len(trained.predict([file], best=3, beam=4, max_tokens=4)) == 3
    drawn = [trained.predict(file, temperature=1.0, seed=s, max_tokens=6)[0]["text"] for s in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_the_held_out_part_and_other_data_are_measured_with_all_references(data: Path, trained: weft.Run) -> None:
    own = trained.evaluate()
    assert own["metrics"].keys() == trained.report["metrics"].keys() >= {"loss", "bleu", "chrf", "perplexity"}
    assert own["metrics"] == pytest.approx(trained.report["metrics"])
    other = trained.evaluate([data, data.parent / "photos"])
    by_words = {"cider_d", "bleu_1", "bleu_2", "bleu_3", "bleu_4", "rouge_l"}
    assert other["examples"] == len(SCENES) and by_words <= set(other["intervals"]) <= {*by_words, "bleu", "chrf"}
    assert other["samples"][0]["references"] == list(SCENES.captions[0])


def test_an_evaluation_says_whether_the_model_looked(data: Path, trained: weft.Run, tmp_path: Path) -> None:
    found = trained.evaluate([data, data.parent / "photos"])
    assert set(found["beside"]) == {"shuffled", "constant", "nearest"} and len(found["looked"]) == 4
    for name, one in found["beside"].items():
        assert found["metrics"][f"{name}_cider_d"] == pytest.approx(one["score"], rel=1e-4)
        assert found["metrics"]["cider_d"] - one["score"] == pytest.approx(one["gain"], abs=1e-4)
    assert found["metrics"]["nearest_cider_d"] > 3, "most of these pictures are among those trained on"
    assert found["constant_caption"] in {text for texts in SCENES.captions for text in texts}
    without = weft.load(shutil.copytree(trained.folder, tmp_path / "earlier"))
    (tmp_path / "earlier" / "known.safetensors").unlink()
    assert set(without.evaluate([data, data.parent / "photos"])["beside"]) == {"shuffled"}
    assert verify_run(tmp_path / "earlier").changed == {"known.safetensors": "missing"}
    (tmp_path / "earlier" / "known.safetensors").write_bytes(b"something else")
    with pytest.raises(StorageError, match="changed since the run was written"):
        without.evaluate([data, data.parent / "photos"])
    assert set(verify_run(tmp_path / "earlier").refused) == {"known.safetensors"}
    with pytest.raises(DataError, match="not what a run keeps") as error:
        weft.load(tmp_path / "earlier", broken=True).evaluate([data, data.parent / "photos"])
    assert "remove it" in error.value.fix


def test_the_nearest_of_known_pictures_is_the_picture_itself_and_without_it_another() -> None:
    known = KnownCaptions.of(frames_of(SCENES, 48, 3), SCENES.captions)
    thumbnails = thumbnails_of(frames_of(SCENES, 48, 3))
    assert known.nearest(thumbnails) == list(known.captions)
    others = known.nearest(thumbnails, without=np.arange(len(SCENES)))
    different = [one != other for one, other in zip(others, known.captions, strict=True)]
    assert sum(different) > len(SCENES) / 2  # some pictures share a caption
    assert central_captions([["a dog", "a red dog", "a red bus runs"], ["one"]])[1] == "one"


def test_attention_inside_regions_is_measured_where_regions_are_known(trained: weft.Run) -> None:
    found = trained.task.measure(trained._loaded, SCENES, Progress(quiet=True))
    inside, area = found.metrics["attention_inside"], found.metrics["area_inside"]
    assert 0 < area < 0.3 and inside / area == pytest.approx(found.more["attention"]["ratio"], abs=1e-3)
    boxes = [box.box for regions in SCENES.regions for box in regions[0]]
    assert found.more["attention"]["pictures"] == len(SCENES) and found.more["attention"]["words"] <= len(boxes)


def test_the_loss_is_that_of_each_caption_by_itself(trained: weft.Run, tmp_path: Path) -> None:
    def loss(captions: tuple[str, ...]) -> dict[str, Any]:
        table = write(tmp_path / "one.tsv", "\t".join(("0.png", *captions)) + "\n")
        return trained.evaluate(table)

    write(tmp_path / "0.png", encoded(SCENES.read(0).pixels))
    texts = ("a red cross", "a large blue circle")
    both, single = loss(texts), [loss((text,)) for text in texts]
    summed = sum(one["metrics"]["loss"] * one["tokens"] for one in single)
    assert both["metrics"]["loss"] * both["tokens"] == pytest.approx(summed, rel=1e-5)


def test_pictures_whose_captions_are_all_too_long_are_not_scored(trained: weft.Run, tmp_path: Path) -> None:
    def measured(*rows: str) -> dict[str, Any]:
        return trained.evaluate(write(tmp_path / "t.tsv", "".join(rows)))

    write(tmp_path / "0.png", encoded(SCENES.read(0).pixels))
    write(tmp_path / "wide.png", encoded(np.repeat(SCENES.read(1).pixels, 3, 1)))  # a batch of its own
    fits, long = "0.png\ta red cross\n", f"wide.png\t{'a red cross ' * 200}\n"
    both = measured(fits, long)
    assert both["examples"] == 2 and 0 < both["tokens"] < 20
    with pytest.raises(DataError, match="no caption fits the"):
        measured(long)


def test_a_look_shows_where_each_word_looked(data: Path, trained: weft.Run) -> None:
    file = str(data.parent / "photos" / "0.png")
    view = trained.look(file, caption="a red circle above")
    assert view.words == ("a", "red", "circle", "above") and view.maps.shape == (4, *view.grid)
    assert np.all(view.maps.sum((1, 2)) < 1) and np.all(view.maps.sum((1, 2)) > 0.5), "the class token is read too"
    assert view.picture().startswith(b"\x89PNG") and "circle" in view.text()
    assert document(view.page()).groups[0].tokens == view.words
    assert view.film().startswith(b"GIF89a") and "score" not in view.to_json()
    own = trained.look(file).to_json()
    assert own["text"] == trained.predict(file)[0]["text"] and len(own["words"]) == len(own["maps"])
    one = trained.look(file, caption="a red circle above", word="circle", every=True)
    assert one.maps.layers.shape == (1, 2, *view.grid) and one.picture("svg").lstrip().startswith(b"<?xml")
    assert one.maps.layers.mean((0, 1)) == pytest.approx(view.maps[2], abs=1e-6)
    assert trained.look(None, what="filters").picture().startswith(b"\x89PNG")
    for wrong in ({"layer": 9}, {"word": "zebra", "caption": "a dog"}, {"what": "edges"}, {"every": True}):
        with pytest.raises(ConfigError):
            trained.look(file, **wrong)


def test_a_look_by_occlusion_shows_what_a_word_depends_on(data: Path, trained: weft.Run) -> None:
    file = str(data.parent / "photos" / "0.png")
    view = trained.look(file, caption="a red circle above", by="occlusion")
    assert view.words == ("a", "red", "circle", "above") and view.maps.shape == (4, 8, 8)
    assert view.maps.min() >= 0 and view.maps.max() > 0 and view.to_json()["by"] == "occlusion"
    with pytest.raises(ConfigError, match="layer"):
        trained.look(file, by="occlusion", layer=1)


def test_a_scene_is_looked_at_by_its_name_and_its_words_have_boxes(trained: weft.Run) -> None:
    held_out = scenes(1, 3).held_out
    view = trained.look("scene 3", caption=held_out.captions[2][0])
    boxes = [boxes for boxes in view.shown.last.boxes if boxes]
    assert view.shown.title == "scene 3" and boxes[0][0] == held_out.regions[2][0][0].box
    assert np.array_equal(view.shown.pixels, held_out.read(2).pixels)
    assert not any(trained.look("scene 3", caption="a dog").shown.last.boxes)
    with pytest.raises(ConfigError, match="from 1 to 500"):
        trained.look("scene 501")


def test_a_look_takes_the_picture_to_where_the_model_is(trained: weft.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(model: Any, given: Picture) -> None:
        raise LookupError(given.pixels.device.type)

    monkeypatch.setattr("weft.models.seq2seq.Seq2Seq.memorise", stop)
    tokenizer = make_tokenizer("bytes", [])
    what = WrittenCaption(SCENES.read(0).pixels, Picture(torch.rand(1, 3, 32, 32)), (0,), (1,))
    with pytest.raises(LookupError, match="meta"):
        caption_words(deepcopy(trained.model).to("meta"), tokenizer, what)


def test_a_word_is_looked_at_before_it_is_written(trained: weft.Run) -> None:
    """A map belongs to the word that follows: it does not depend on that word, nor on what comes after."""
    a, b = (trained.look(SCENES.read(0).pixels, caption=f"a red {word}").maps for word in ("square", "circle"))
    assert a[:2] == pytest.approx(b[:2], abs=1e-6)


@pytest.mark.parametrize(  # tests/laws/test_tasks.py stops and resumes transformer
    "model", ["swift", pytest.param("transformer", marks=pytest.mark.slow)]
)
def test_stopped_and_resumed_is_never_stopped(
    model: str, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more: dict[str, Any] = {"model": model, "strength": "heavy", "dropout": 0.1}
    whole = train(data, out=tmp_path / "whole", **more)
    with stopped_in(2, monkeypatch), pytest.raises(Interrupted):
        train(data, out=tmp_path / "parts", **more)
    parts = weft.train(out=tmp_path / "parts", resume=True, quiet=True)
    for name, tensor in whole.model.state_dict().items():
        assert torch.equal(tensor, parts.model.state_dict()[name]), name


def test_no_picture_is_mirrored_or_recoloured(trained: weft.Run) -> None:
    augment = trained.config["training"]["augment"]
    assert not augment["flip"] and not augment["colour"] and not augment["strong"]
    with pytest.raises(ConfigError, match="blends two pictures"):
        CaptionTraining().set("augment.cutmix", "1")


def test_a_run_goes_on_from_another_and_its_encoder_may_stay(data: Path, trained: weft.Run, tmp_path: Path) -> None:
    more = {**OF_ANOTHER, "vocab": None, "from_": trained.folder, "steps": 2}
    run = train(data, out=tmp_path / "on", freeze=True, **more)
    before, after = trained.model.state_dict(), run.model.state_dict()
    assert all(torch.equal(before[n], after[n]) for n in before if n.startswith("source."))
    assert not all(torch.equal(before[n], after[n]) for n in before)
    assert run.config["codecs"]["caption"] == trained.config["codecs"]["caption"]
    with pytest.raises(ConfigError, match="tokenizer"):
        train(data, **{**more, "tokenizer": "bpe"})


def test_a_run_starts_from_the_eyes_of_another_task(data: Path, tmp_path: Path) -> None:
    small = {name: value for name, value in TINY.items() if name != "vocab"}
    seen = weft.train(data.parent / "photos", task="reconstruct-images", out=tmp_path / "mae", **small)
    run = train(data, out=tmp_path / "run", from_=seen.folder, freeze=True, steps=1, **OF_ANOTHER)
    theirs, ours = seen.model.state_dict(), run.model.state_dict()
    assert torch.equal(theirs["encoder.embed.project.weight"], ours["source.embed.project.weight"])
    assert run.predict(SCENES.read(0).pixels)[0]["text"] is not None


def test_held_out_data_may_be_named_and_is_found_where_the_pictures_are(data: Path, tmp_path: Path) -> None:
    lines = data.read_text().splitlines(keepends=True)
    first, rest = write(tmp_path / "a.tsv", "".join(lines[:16])), write(tmp_path / "b.tsv", "".join(lines[16:]))
    run = train([first, data.parent / "photos"], valid=rest, out=tmp_path / "run", steps=1)
    assert (run.config["data"]["amounts"]["pictures"], run.config["data"]["amounts"]["held_out"]) == (16, 8)
    assert run.evaluate()["examples"] == 8


def reading(sources: list[str], valid: str) -> PictureData:
    return CaptionedPictures().read(sources, valid, CaptionTraining())


def test_held_out_pictures_are_those_beside_their_table_before_those_to_train_on(tmp_path: Path) -> None:
    for place, shapes in (("train", range(4)), ("val", range(4, 6)), ("both", range(4))):
        for name, row in enumerate(shapes):
            write(tmp_path / place / f"{name}.png", encoded(SCENES.read(row).pixels))
    table = write(tmp_path / "both" / "train.tsv", "".join(f"{n}.png\ta red cross\n" for n in range(4)))
    valid = write(tmp_path / "val" / "val.tsv", "0.png\ta circle\n1.png\ta square\n")
    read = reading([str(table), str(tmp_path / "train")], str(valid))
    assert np.array_equal(read.held_out.read(0).pixels, SCENES.read(4).pixels) and len(read.train) == 4
    away = write(tmp_path / "away" / "val.tsv", "0.png\ta circle\n")
    assert len(reading([str(table)], str(away)).held_out) == 1, "beside the other table"
    with pytest.raises(DataError, match="0 pictures to learn from[^$]*2 pictures have this name"):
        reading([str(table), str(tmp_path / "train")], str(away))


def test_what_the_encoder_hands_on_is_no_setting(data: Path) -> None:
    assert "summary" not in CaptionTraining.about
    with pytest.raises(ConfigError, match="reads all of the encoder's tokens"):
        train(data, summary="mean")


def test_the_marks_around_captions_are_those_learned_with_or_those_of_the_makers() -> None:
    words = make_tokenizer("bytes", [])

    def marks(**more: Any) -> TextMarks:
        config = TextCodec.Config(role="caption", **more)
        return TextCodec(config, read=lambda name: words.to_json().encode()).marks

    assert marks() == TextMarks((words.end,), (words.end,), (words.end,))
    assert marks(opening=(5, 6), end=7) == TextMarks((5, 6), (7,), (5, 6))
    assert marks(end=3) == TextMarks((3,), (3,), (3,))
    assert marks(opening=(5,)) == TextMarks((5,), (words.end,), (5,))


def test_bad_data_is_refused_and_context_too(data: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no caption fits 3 tokens"):
        train(data, context=3)
    with pytest.raises(WeftError, match="no pretrained weights to keep"):
        train(data, freeze=True)


def writer(folder: Path, text: str) -> Path:
    """A small model of their library that writes about pictures, with a tokenizer."""
    transformers = library()
    tokenizer = make_tokenizer("bpe", [text], 300)
    eyes = transformers.ViTConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
                                  image_size=48, patch_size=12)  # fmt: skip
    hand = transformers.GPT2Config(vocab_size=tokenizer.size, n_positions=48, n_embd=24, n_layer=2, n_head=2,
                                   bos_token_id=1, eos_token_id=tokenizer.end)  # fmt: skip
    torch.manual_seed(0)
    config = transformers.VisionEncoderDecoderConfig.from_encoder_decoder_configs(eyes, hand)
    config.decoder_start_token_id, config.pad_token_id = 5, tokenizer.end
    config.eos_token_id = tokenizer.end
    saved(transformers.VisionEncoderDecoderModel(config=config).eval(), folder)
    (folder / "tokenizer.json").write_text(tokenizer.to_json())
    return folder


def test_an_imported_writer_writes_is_measured_looked_at_and_fine_tuned(data: Path, tmp_path: Path) -> None:
    text = "\n".join(t for texts in SCENES.captions for t in texts)
    theirs = writer(tmp_path / "theirs", text)
    loaded, _ = import_run(theirs, tmp_path / "run")
    run = weft.load(loaded.folder.path)
    assert run.task.name == "caption" and run.config["codecs"]["caption"]["opening"] == [5]
    pixels = SCENES.read(0).pixels
    (found,) = run.predict(pixels, beam=1, max_tokens=12)
    transformers = library()
    model = transformers.VisionEncoderDecoderModel.from_pretrained(theirs).eval()
    given = (torch.from_numpy(pixels).permute(2, 0, 1)[None].float() / 255 - 0.5) / 0.5
    written = model.generate(given, max_new_tokens=12, do_sample=False, num_beams=1)[0, 1:]
    reader = loaded.codec("caption", TextCodec).tokenizer
    assert found["text"] == reader.decode([i for i in written.tolist() if i != reader.end]).strip()
    caption = SCENES.captions[0][0]
    labels = torch.tensor([[*reader.encode(caption).tolist(), reader.end]])
    write(tmp_path / "0.png", encoded(pixels))
    table = write(tmp_path / "one.tsv", f"0.png\t{caption}\n")
    with torch.inference_mode():
        expected = float(model(pixel_values=given, labels=labels).loss)
    assert run.evaluate(table)["metrics"]["loss"] == pytest.approx(expected, rel=1e-4)
    assert run.look(pixels).grid == (4, 4)
    tuned = weft.train(data, from_=run.folder, out=tmp_path / "tuned", steps=2, batch=4, freeze=True, quiet=True)
    assert tuned.config["codecs"]["caption"]["opening"] == [5] and tuned.config["task"] == "caption"
    assert torch.equal(tuned.model.state_dict()["source.embed.project.weight"], run.model.source.embed.project.weight)
    assert isinstance(tuned.predict(pixels)[0]["text"], str)


@pytest.mark.slow
def test_own_and_tuned_writers_go_to_the_other_library(data: Path, trained: weft.Run, tmp_path: Path) -> None:
    library()
    report = trained.export(tmp_path / "hf")
    assert report["model_type"] == "vision-encoder-decoder" and report["difference"] < 1e-4
    config = json.loads((tmp_path / "hf" / "config.json").read_text())
    assert config["decoder_start_token_id"] == trained._loaded.codec("caption", TextCodec).marks.start
    again = weft.load(tmp_path / "hf")
    pixels = SCENES.read(1).pixels
    assert again.predict(pixels)[0]["text"] == trained.predict(pixels)[0]["text"]


@pytest.mark.slow
def test_it_learns_what_it_sees(tmp_path: Path) -> None:
    settings = {"preset": "mini", "dim": 64, "depth": 2, "heads": 2, "batch": 32}
    run = weft.train(task="caption", out=tmp_path / "run", steps=2000, quiet=True, **settings)
    assert run.report["metrics"]["exact"] > 0.2, run.report[
        "metrics"
    ]  # of 648 single objects, and far more scenes of several
