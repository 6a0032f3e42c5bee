"""Questions about pictures, answered as the Hugging Face library's models answer them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers.foreign import TOLERANCE, built, changed, difference, library, saved
from helpers.foreign_models import mostly_slow
from helpers.foreign_models.answers import CASES, VILT, asked_texts
from PIL import Image

import weft
from weft.errors import ConfigError, WeftError
from weft.interop import read_folder
from weft.interop.families import FAMILIES
from weft.runs.exporting import export_run
from weft.runs.importing import import_run

WORDS = ("what", "colour", "is", "the", "horse", "dog", "red", "green", "how", "many", "are", "there", "in", "it")
QUESTIONS = ("What colour is the dog?", "How many horses are there in it", "is it red")
SIZES = ((24, 24), (31, 57), (60, 40), (90, 25))


def words() -> Any:
    """A tokenizer as BERT's, of a few words."""
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, "##s", "?", *"abcdefghijklmnopqrstuvwxyz"]
    return library().BertTokenizer(vocab={name: id for id, name in enumerate(names)}, model_max_length=20)


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    place, draw, found = tmp_path_factory.mktemp("photos"), np.random.default_rng(0), []
    for number, sides in enumerate(SIZES):
        found.append(place / f"{number}.png")
        Image.fromarray(draw.integers(0, 256, (*sides, 3), np.uint8)).save(found[-1])
    return found


@pytest.fixture(scope="module")
def vilt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ViLT with its tokenizer, its labels and the recipe of its pictures, as their library writes them."""
    place, labels = tmp_path_factory.mktemp("vilt") / "theirs", ("red", "green", "two dogs", "yes", "no")
    model = built("ViltForQuestionAnswering", {**VILT, "vocab_size": len(words()), "id2label": dict(enumerate(labels))})
    processor = library().ViltImageProcessor(size={"shortest_edge": 24}, size_divisor=8)
    library().ViltProcessor(processor, words()).save_pretrained(saved(model, place))
    return place


@pytest.fixture(scope="module")
def imported(vilt: Path) -> weft.Run:
    import_run(vilt, vilt.parent / "run")
    return weft.load(vilt.parent / "run")


def their_labels(folder: Path, picture: Path, question: str) -> dict[str, float]:
    """The logarithm of the probability of each label there."""
    processor = library().ViltProcessor.from_pretrained(folder)
    model = library().ViltForQuestionAnswering.from_pretrained(folder).eval()
    with torch.inference_mode():
        logits = model(**processor(Image.open(picture), question, return_tensors="pt")).logits[0]
    return dict(zip(model.config.id2label.values(), torch.nn.functional.logsigmoid(logits).tolist(), strict=True))


@pytest.mark.parametrize("name", mostly_slow(CASES))
def test_values_are_theirs_at_every_size_of_the_picture(tmp_path: Path, name: str):
    model = built(*CASES[name])
    found, draw = read_folder(saved(model, tmp_path / "a")), torch.Generator().manual_seed(3)
    for height, width in ((24, 24), (16, 40), (8, 32), (48, 56)):
        pixels = torch.randn(2, model.config.num_channels, height, width, generator=draw)
        given = {**asked_texts(model.config, draw), "pixel_values": pixels}
        with torch.inference_mode():
            theirs = model(**given, pixel_mask=torch.ones(2, height, width)).logits
            assert difference(theirs, FAMILIES["vilt"].values(found.model, given)) < TOLERANCE, (height, width)


def test_the_same_files_and_questions_get_the_same_answers(vilt, imported, photos):
    for picture in photos:
        for question in QUESTIONS:
            theirs = their_labels(vilt, picture, question)
            found = imported.predict([str(picture)], question=question, best=5)
            assert [one["text"] for one in found] == sorted(theirs, key=lambda name: -theirs[name])
            assert found[0]["score"] == pytest.approx(theirs[found[0]["text"]], abs=1e-4)


def test_one_of_the_named_labels_is_chosen_and_others_are_refused(vilt, imported, photos):
    theirs = their_labels(vilt, photos[1], QUESTIONS[0])
    (one,) = imported.predict([str(photos[1])], question=QUESTIONS[0], choices="yes,no")
    assert one["text"] == max(("yes", "no"), key=lambda name: theirs[name])
    with pytest.raises(WeftError, match="'rad' is not among the 5 answers") as refused:
        imported.predict([str(photos[1])], question=QUESTIONS[0], choices="rad,no")
    assert "did you mean 'red'" in str(refused.value)
    with pytest.raises(ConfigError, match="chooses among its labels"):
        imported.predict([str(photos[1])], question=QUESTIONS[0], temperature=1.0)


def test_attention_is_theirs_and_each_word_has_its_map(vilt, imported, photos):
    model = library().ViltForQuestionAnswering.from_pretrained(vilt, attn_implementation="eager").eval()
    given = library().ViltProcessor.from_pretrained(vilt)(Image.open(photos[1]), QUESTIONS[0], return_tensors="pt")
    length = given["input_ids"].shape[1]
    torch.manual_seed(0)  # they read patches in an order that is drawn
    with torch.inference_mode():
        theirs = torch.stack(model(**given, output_attentions=True).attentions)[:, 0]
    view = imported.look(str(photos[1]), question=QUESTIONS[0])
    question, answer = view.shown.sentences
    assert question.words == ("what", "colour", "is", "the", "dog", "?") and question.weights.shape[3:] == (2, 4)
    words = theirs[:, :, 1 : length - 1, length + 1 :]
    assert difference(words.sum(-1), torch.from_numpy(question.weights.sum((3, 4)))) < TOLERANCE
    front = theirs[:, :, 0, length + 1 :].sum(-1)
    assert difference(front, torch.from_numpy(answer.weights[:, :, 0].sum((2, 3)))) < TOLERANCE
    steps = imported.look(str(photos[1]), question=QUESTIONS[0], token="dog").steps
    assert len(steps.keys) == length + 9
    covered = imported.look(str(photos[1]), question=QUESTIONS[0], by="occlusion", answer="red")
    assert covered.shown.sentences[0].text == "red"
    assert "red" in imported.look(str(photos[1]), question=QUESTIONS[0], over="question", answer="red").text()


def test_accuracy_is_measured_beside_shuffled_pictures(imported, photos, tmp_path):
    rows = "".join(f"{path}\t{QUESTIONS[0]}\tred\n" for path in photos)
    (tmp_path / "asked.tsv").write_text(f"image\tquestion\tanswer\n{rows}")
    found = imported.evaluate(tmp_path / "asked.tsv", outside=True)
    given = [one["text"] for one in imported.predict(list(map(str, photos)), question=QUESTIONS[0])]
    assert found["metrics"]["accuracy"] == pytest.approx(given.count("red") / 4)
    assert set(found["baselines"]) == {"shuffled"} and "loss" not in found["metrics"]


def test_training_goes_on_from_no_labels(imported, photos, tmp_path):
    rows = "".join(f"{path}\t{QUESTIONS[0]}\tred\n" for path in photos)
    (tmp_path / "asked.tsv").write_text(f"image\tquestion\tanswer\n{rows}")
    with pytest.raises(ConfigError, match="labels of its own"):
        weft.train(tmp_path / "asked.tsv", task="answer", from_=imported.folder, steps=1, outside=True, quiet=True)


@pytest.mark.slow
def test_an_import_exported_again_answers_the_same_there(vilt, imported, photos, tmp_path):
    written = export_run(imported._loaded, tmp_path / "again")
    assert written["model_type"] == "vilt" and written["difference"] < TOLERANCE and written["same_answers"] == 8
    for picture in photos:
        before, after = (their_labels(one, picture, QUESTIONS[1]) for one in (vilt, tmp_path / "again"))
        assert list(before.values()) == pytest.approx(list(after.values()), abs=1e-5)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"max_image_length": 4}, "max_image_length is 4"),
        ({"modality_type_vocab_size": 3}, "modality_type_vocab_size is 3"),
        ({"image_size": [24, 32]}, "not square"),
        ({"architectures": ["ViltForMaskedLM"]}, "does not know the architecture"),
    ],
)
def test_what_weft_does_not_compute_is_refused(tmp_path, keys, message):
    with pytest.raises(ConfigError, match=message):
        read_folder(changed(saved(built(*CASES["vilt"]), tmp_path / "a"), **keys))


def test_a_size_that_cuts_patches_is_refused(vilt, tmp_path):
    library().ViltImageProcessor(size={"shortest_edge": 24}, size_divisor=12).save_pretrained(
        saved(built(*CASES["vilt"]), tmp_path / "a")
    )
    with pytest.raises(ConfigError, match="no multiples of patch_size 8"):
        read_folder(tmp_path / "a")
