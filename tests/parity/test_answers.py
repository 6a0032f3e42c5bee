"""Questions about pictures, answered as the Hugging Face library's models answer them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers.foreign import TOLERANCE, built, changed, difference, library, saved
from helpers.foreign_models import mostly_slow
from helpers.foreign_models.answers import BLIP, BLIP_TEXT, CASES, GIT, VILT, asked_texts
from PIL import Image

import weft
from weft.domains.captions.exchange import refuse_layout
from weft.errors import ConfigError, WeftError
from weft.interop import read_folder
from weft.interop.families import FAMILIES
from weft.modalities.image import Sight
from weft.models.zoo.answering import ANSWER_ENCODERS, ANSWER_MODELS, Words
from weft.models.zoo.language import Size
from weft.models.zoo.vision import VisionSize
from weft.runs.exporting import export_run
from weft.runs.importing import import_run

WORDS = ("what", "colour", "is", "the", "horse", "dog", "red", "green", "how", "many", "are", "there", "in", "it")
QUESTIONS = ("What colour is the dog?", "How many horses are there in it", "is it red")
SIZES = ((24, 24), (31, 57), (60, 40), (90, 25))


def words() -> Any:
    """A tokenizer as BERT's, of a few words."""
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, "##s", "?", *"abcdefghijklmnopqrstuvwxyz"]
    vocab = {name: id for id, name in enumerate([*names, "[DEC]"])}
    return library().BertTokenizer(vocab=vocab, model_max_length=20, bos_token="[DEC]")


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


@pytest.mark.parametrize("name", mostly_slow(name for name in CASES if "vilt" in name))
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


def blip(kind: str, place: Path) -> Path:
    """A BLIP with its tokenizer and the recipe of its pictures, as their library writes them."""
    known = words()
    ids = {"bos_token_id": known.bos_token_id, "sep_token_id": known.sep_token_id, "pad_token_id": 0}
    text = {**BLIP_TEXT, "vocab_size": len(known), **ids}
    processor = library().BlipImageProcessor(size={"height": 24, "width": 24})
    library().BlipProcessor(processor, known).save_pretrained(saved(built(kind, {**BLIP, "text_config": text}), place))
    return place


@pytest.fixture(scope="module", params=["BlipForQuestionAnswering", "BlipForConditionalGeneration"])
def writer(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, weft.Run]:
    folder = blip(request.param, tmp_path_factory.mktemp("blip") / "theirs")
    import_run(folder, folder.parent / "run")
    return folder, weft.load(folder.parent / "run")


def their_text(folder: Path, picture: Path, question: str | None, **how: Any) -> str:
    """What their library writes about a picture."""
    transformers = library()
    processor = transformers.BlipProcessor.from_pretrained(folder)
    kind = "BlipForConditionalGeneration" if question is None else "BlipForQuestionAnswering"
    model = getattr(transformers, kind).from_pretrained(folder).eval()
    given = processor(Image.open(picture), *([] if question is None else [question]), return_tensors="pt")
    written = model.generate(**given, do_sample=False, **how)[0]
    return processor.tokenizer.decode(written, skip_special_tokens=True).strip()


def asking(run: weft.Run) -> list[str | None]:
    return [None] if run._loaded.config["task"] == "caption" else list(QUESTIONS)


def test_written_texts_are_theirs_by_greedy_search_and_by_beams(writer, photos):
    folder, run = writer
    for picture in photos:
        for question in asking(run):
            said = {} if question is None else {"question": question}
            for beam in (1, 3):
                (one,) = run.predict([str(picture)], beam=beam, length_penalty=1.0, max_tokens=7, **said)
                assert one["text"] == their_text(folder, picture, question, max_new_tokens=7, num_beams=beam)


def test_what_each_written_word_read_of_the_picture_adds_up(writer, photos):
    _, run = writer
    said = {"question": QUESTIONS[0]} if run._loaded.config["task"] == "answer" else {}
    view = run.look(str(photos[1]), **said, **{run._loaded.config["task"]: "red dog"})
    written = view.shown.sentences[-1]
    assert written.words == ("red", "dog") and written.weights.shape[3:] == (3, 3)
    assert 0 < float(written.weights.sum((3, 4)).min()) <= float(written.weights.sum((3, 4)).max()) < 1
    if run._loaded.config["task"] == "answer":
        assert "the picture" in run.look(str(photos[1]), **said, answer="red", over="question").text()
        assert run.look(str(photos[1]), **said, answer="red", token="dog").steps.weights.shape[-1] == 10


def test_answers_of_a_writer_are_measured_without_a_list_of_usual_ones(writer, photos, tmp_path):
    _, run = writer
    if run._loaded.config["task"] == "caption":
        return
    rows = "".join(f"{path}\t{QUESTIONS[0]}\tred\n" for path in photos)
    (tmp_path / "asked.tsv").write_text(f"image\tquestion\tanswer\n{rows}")
    found = run.evaluate(tmp_path / "asked.tsv", outside=True)
    assert found["metrics"]["loss"] > 0 and "chosen_accuracy" not in found["metrics"]
    with pytest.raises(WeftError, match="without a list of usual answers"):
        run.predict([str(photos[0])], question=QUESTIONS[0], choose=True)
    (one,) = run.predict([str(photos[0])], question=QUESTIONS[0], choices="red,green")
    assert one["text"] in ("red", "green")


@pytest.mark.slow
def test_a_writer_exported_again_writes_the_same_there(writer, photos, tmp_path):
    folder, run = writer
    written = export_run(run._loaded, tmp_path / "again")
    assert written["model_type"] == "blip" and written["difference"] < TOLERANCE and written["same_answers"] == 8
    for question in asking(run):
        before, after = (their_text(one, photos[2], question, max_new_tokens=5) for one in (folder, tmp_path / "again"))
        assert before == after


@pytest.fixture(scope="module")
def git(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A GIT with its tokenizer and the recipe of its pictures, as their library writes them."""
    place, known = tmp_path_factory.mktemp("git") / "theirs", words()
    keys = {**GIT, "vocab_size": len(known), "bos_token_id": known.cls_token_id, "eos_token_id": known.sep_token_id}
    processor = library().CLIPImageProcessor(size={"shortest_edge": 24}, crop_size={"height": 24, "width": 24})
    library().GitProcessor(processor, known).save_pretrained(saved(built("GitForCausalLM", keys), place))
    return place


def their_line(folder: Path, picture: Path, question: str = "", **how: Any) -> str:
    """What their library writes behind a question about a picture, or of the picture alone."""
    model = library().GitForCausalLM.from_pretrained(folder).eval()
    processor = library().GitProcessor.from_pretrained(folder)
    ids = [processor.tokenizer.cls_token_id, *processor.tokenizer(question, add_special_tokens=False)["input_ids"]]
    pixels = processor(images=Image.open(picture), return_tensors="pt")["pixel_values"]
    written = model.generate(pixel_values=pixels, input_ids=torch.tensor([ids]), do_sample=False, **how)[0]
    return processor.tokenizer.decode(written[len(ids) :], skip_special_tokens=True).strip()


@pytest.mark.parametrize("task", ["caption", "answer"])
def test_a_line_goes_on_from_the_picture_or_from_a_question_about_it(git, photos, tmp_path, task):
    import_run(git, tmp_path / "run", task=task)
    run = weft.load(tmp_path / "run")
    for picture in photos[:2]:
        for question in QUESTIONS if task == "answer" else [""]:
            for beam in (1, 3):
                said = {"question": question} if question else {}
                (one,) = run.predict([str(picture)], beam=beam, length_penalty=1.0, max_tokens=6, **said)
                assert one["text"] == their_line(git, picture, question, max_new_tokens=6, num_beams=beam)
    said = {"question": QUESTIONS[0]} if task == "answer" else {}
    written = run.look(str(photos[1]), **said, **{task: "red dog"}).shown.sentences[-1]
    assert written.words == ("red", "dog") and written.weights.shape[3:] == (3, 3)
    if task == "answer":
        assert "the picture" in run.look(str(photos[1]), **said, answer="red", over="question").text()
        assert run.look(str(photos[1]), **said, answer="red", token="dog").steps is not None
        covered = run.look(str(photos[1]), **said, answer="red", by="occlusion")
        assert covered.shown.sentences[0].words == ("red",)


def test_a_use_that_a_model_does_not_have_is_refused(git, tmp_path):
    with pytest.raises(ConfigError, match="does not serve the task 'translate'") as refused:
        import_run(git, tmp_path / "run", task="translate")
    assert "caption, answer" in str(refused.value)


@pytest.mark.slow
@pytest.mark.parametrize("task", ["caption", "answer"])
def test_a_line_exported_again_goes_on_as_before(git, photos, tmp_path, task):
    import_run(git, tmp_path / "run", task=task)
    written = export_run(weft.load(tmp_path / "run")._loaded, tmp_path / "again")
    assert written["model_type"] == "git" and written["difference"] < TOLERANCE and written["same_answers"] == 8
    found = [their_line(one, photos[2], QUESTIONS[1], max_new_tokens=5) for one in (git, tmp_path / "again")]
    assert found[0] == found[1]


@pytest.mark.parametrize(("name", "why"), [("swift", "takes the mean"), ("joint", "one stream with a decoder")])
def test_models_of_our_own_layout_are_refused_in_words_that_say_why(name: str, why: str):
    size, sight = VisionSize(dim=32, depth=1, heads=2), Sight(24, 24)
    encoder = ANSWER_ENCODERS[name](size, sight)
    config = ANSWER_MODELS[name](encoder, Size(dim=32, depth=2, heads=2, context=8), Words(vocab=40, longest=12))
    with pytest.raises(ConfigError, match=why) as refused:
        refuse_layout(config)
    assert "blip-vqa-base" in str(refused.value)


@pytest.mark.slow
def test_a_training_that_goes_on_from_a_writer_is_exported(writer, tmp_path):
    _, run = writer
    caption, rows = run._loaded.config["task"] == "caption", list[str]()
    for number in range(16):
        Image.fromarray(np.full((24, 24, 3), 10 * number, np.uint8)).save(tmp_path / f"{number}.png")
        rows.append(f"{number}.png\tred dog" if caption else f"{number}.png\tis it red\tred")
    (tmp_path / "d.tsv").write_text("\n".join(["image\tcaption" if caption else "image\tquestion\tanswer", *rows]))
    given = {"from_": run.folder, "steps": 2, "out": tmp_path / "run", "quiet": True}
    learned = weft.train(tmp_path / "d.tsv", task="caption" if caption else "answer", **given)
    written = export_run(learned._loaded, tmp_path / "out")
    assert written["model_type"] == "blip" and written["same_answers"] == 8


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
