"""The language-model task from Python: train, predict, evaluate, load, start from another run, compose by hand."""

import gzip
import itertools
import json
import math
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers import processes
from helpers.commands import TINY_SETTINGS, Weft, lines, text
from helpers.drawings import as_for_users
from helpers.seals import unsealed
from helpers.stops import stopped_in
from safetensors.torch import load_file, save_file

import weft
from weft import WeftError
from weft.batches.windows import TextWindows
from weft.core import Attention, Block, Mlp, PerToken, Trunk
from weft.domains.texts.dataset.running import RunningText
from weft.domains.texts.language_model import LanguageModel
from weft.domains.texts.settings import TextTraining
from weft.errors import ConfigError, DataError, Interrupted, StorageError
from weft.modalities import tokenizer_making as tokenizers
from weft.modalities.text import TextEmbed
from weft.modalities.tokenizer import Tokenizer
from weft.models import Stream
from weft.models.zoo import LANGUAGE_MODELS
from weft.objectives import NextToken
from weft.position import Rotary
from weft.tasks.planning import plan
from weft.training.folder import RunFolder

FIXTURES = Path(__file__).parents[2] / "fixtures"


def train(*data: Any, **settings: Any) -> weft.Run:
    """A run of a few steps with a tiny model."""
    return weft.train(data, **{"steps": 4, "quiet": True, **TINY_SETTINGS, **settings})


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("book") / "book.txt"
    path.write_text(text())
    return path


@pytest.fixture(scope="module")
def trained(book: Path) -> weft.Run:
    """A run that has learned a little."""
    with as_for_users():
        return train(book, out=book.parent / "trained", steps=60, lr=1e-2)


@pytest.fixture
def copy(trained: weft.Run, tmp_path: Path) -> Path:
    """A copy of the trained run, to be spoiled; without a seal, by which every change would be refused unseen."""
    return unsealed(Path(shutil.copytree(trained.folder, tmp_path / "copy")))


@pytest.fixture(autouse=True)
def brief(monkeypatch: pytest.MonkeyPatch, trained: weft.Run) -> None:
    """Short samples, once one run was made with long ones."""
    monkeypatch.setattr("weft.domains.texts.language_model.SAMPLE", 10)


# Training


@pytest.mark.parametrize("model", sorted(LANGUAGE_MODELS))
def test_every_model_trains_predicts_and_measures(book: Path, tmp_path: Path, model: str) -> None:
    run = train(book, out=tmp_path / "run", model=model)
    assert run.report["model"] == model and run.report["steps"] == 4
    assert run.predict("The", max_tokens=5)[0]["prompt"] == "The"
    assert run.evaluate()["metrics"] == run.report["metrics"]


@pytest.mark.parametrize(("kind", "vocabulary"), [("bytes", 257), ("characters", 24), ("bpe", 300)])
def test_every_kind_of_tokenizer(book: Path, tmp_path: Path, kind: str, vocabulary: int) -> None:
    vocab = {"vocab": 300} if kind == "bpe" else {}
    run = train(book, out=tmp_path / "run", tokenizer=kind, **vocab)
    tokenizer = Tokenizer.from_json((run.folder / "tokenizer.json").read_text())
    assert run.config["training"]["tokenizer"] == tokenizer.kind == kind and tokenizer.size <= vocabulary
    again = train(book, out=tmp_path / "again", tokenizer=str(run.folder / "tokenizer.json"))
    assert (again.folder / "tokenizer.json").read_bytes() == (run.folder / "tokenizer.json").read_bytes()
    assert again.report["metrics"] == run.report["metrics"]


def test_a_vocabulary_size_alone_means_bpe(book: Path, tmp_path: Path) -> None:
    assert train(book, out=tmp_path / "run", vocab=290).config["training"]["tokenizer"] == "bpe"


def test_what_was_decided_is_written_into_the_run(trained: weft.Run, book: Path) -> None:
    config = json.loads((trained.folder / "config.json").read_text())
    assert config["task"] == "language-model" and config["model_name"] == "swift"
    assert config["budget"] == {"steps": 60, "minutes": None, "epochs": None}
    settings = config["training"]
    assert (settings["dim"], settings["depth"], settings["context"], settings["batch"]) == (16, 2, 16, 4)
    assert settings["precision"] in ("fp32", "bf16") and settings["dropout"] is not None
    assert config["data"]["sources"] == [str(book)] and config["data"]["sample"] is False
    assert config["data"]["rule"].startswith("the last 10% of the text")
    assert config["result"]["metrics"] == trained.report["metrics"]


@pytest.mark.parametrize(
    "path", ["config.json", "model.safetensors", "tokenizer.json", "metrics.jsonl", "README.md", "loss.png"]
)
def test_a_run_is_a_folder_of_plain_files(trained: weft.Run, path: str) -> None:
    assert (trained.folder / path).stat().st_size > 100


def test_the_card_says_what_was_measured(trained: weft.Run) -> None:
    card = (trained.folder / "README.md").read_text()
    assert f"| loss | {trained.report['metrics']['loss']:.4g} |" in card
    assert "swift, 2 layers, 16 wide, 2 heads, context 16" in card and "book.txt (4 kB)" in card


def test_a_part_of_the_model_can_be_set_by_its_path_and_is_told_truly(
    book: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = train(book, out=tmp_path / "run", quiet=False, **{"model.trunk.depth": "3"})
    assert len(run.model.trunk.blocks) == 3 and run.config["training"]["depth"] == 3
    assert "3 layers, 16 wide" in capsys.readouterr().err


def test_a_run_starts_from_the_weights_of_another(trained: weft.Run, book: Path, tmp_path: Path) -> None:
    run = weft.train(book, out=tmp_path / "run", from_=trained.folder, steps=1, lr=1e-9, quiet=True)
    assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(run.model.parameters(), trained.model.parameters()))
    assert run.config["from"] == str(trained.folder) and run.config["training"]["batch"] == 4


@pytest.fixture
def start(trained: weft.Run, book: Path, tmp_path: Path) -> Any:
    """A run that starts from the trained one, without settings of its own."""
    return lambda **more: weft.train(book, out=tmp_path / "run", from_=trained.folder, steps=1, quiet=True, **more)


def test_a_model_whose_head_is_its_table_starts_from_another_too(book: Path, tmp_path: Path) -> None:
    first = train(book, out=tmp_path / "first", model="gpt")
    run = weft.train(book, out=tmp_path / "run", from_=first.folder, steps=1, lr=1e-9, quiet=True)
    assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(run.model.parameters(), first.model.parameters()))


@pytest.mark.parametrize(
    "more", [{"dim": 8}, {"tokenizer": "bytes"}, {"preset": "tiny"}, {"model.trunk.depth": 3}, {"model": "gpt"}]
)
def test_what_the_run_to_start_from_decides_cannot_be_set(start: Any, tmp_path: Path, more: dict[str, Any]) -> None:
    with pytest.raises(WeftError, match="the run to start from"):
        start(**more)
    assert not (tmp_path / "run").exists()


def test_held_out_data_can_be_named(book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("valid.txt").write_text("The sea sings of the weaver.\n")
    run = train(book, out="run", valid="valid.txt")
    assert run.config["data"]["amounts"]["train_tokens"] > 4000
    monkeypatch.chdir(book.parent)  # it is found from anywhere
    found = weft.load(tmp_path / "run").evaluate()
    assert found["metrics"] == run.report["metrics"] and found["bytes"] == 29


TEXTS = [{}, {"task": "fill-mask", "vocab": 300}]
TEXT_IDS = ["language-model", "fill-mask"]


@pytest.mark.parametrize("kind", TEXTS, ids=TEXT_IDS)
def test_a_new_run_holds_out_a_bounded_part_and_remembers_the_bound(
    book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: dict[str, Any]
) -> None:
    settings = {**kind, "steps": 6}
    whole = train(book, out=tmp_path / "whole", **settings)
    bounded = train(book, out=tmp_path / "bounded", held_out=120, **settings)
    sizes = [run.config["data"]["amounts"]["held_out_tokens"] for run in (whole, bounded)]
    assert sizes[0] > sizes[1] and whole.config["training"]["held_out"] == 1_000_000
    with pytest.raises(Interrupted), stopped_in(3, monkeypatch):
        train(book, out=tmp_path / "run", held_out=120, **settings)
    again = weft.train(book, out=tmp_path / "run", resume=True, quiet=True)
    assert again.report["metrics"] == bounded.report["metrics"]
    assert again.evaluate()["metrics"] == bounded.evaluate()["metrics"]


@pytest.mark.parametrize("kind", ["language-model", "fill-mask"])
def test_a_run_of_the_earlier_format_keeps_its_split_without_a_bound(kind: str) -> None:
    config = RunFolder(FIXTURES / "begun" / kind).config()
    assert config["format"] == 3 and config["training"]["held_out"] is None


@pytest.mark.parametrize("kind", TEXTS, ids=TEXT_IDS)
def test_a_last_evaluation_that_would_take_too_long_scores_a_part_and_says_so(
    book: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    kind: dict[str, Any],
) -> None:
    asked: list[float | None] = []

    def few(seconds: float | None, samples: int, score: Any) -> int | None:
        asked.append(seconds)
        score(2)
        return None if seconds is None else 5

    monkeypatch.setattr("weft.tasks.measuring.scored_within", few)
    monkeypatch.setattr("weft.training.run.step_seconds", lambda *_, **more: 1.0)
    ticks = itertools.count()
    monkeypatch.setattr("weft.training.loop.Clock.now", lambda clock: float(next(ticks)))
    run = train(book, out=tmp_path / "run", steps=None, minutes=0.1, quiet=False, **kind)
    assert asked == [pytest.approx(0.6)] and "spread evenly, to keep to the time" in capsys.readouterr().err
    assert "spread evenly" in (tmp_path / "run" / "README.md").read_text()
    part, all = run.report["metrics"], run.evaluate()
    assert asked[1:] == [None] and "part" not in all
    assert part["loss"] != all["metrics"]["loss"] and part["loss"] == pytest.approx(all["metrics"]["loss"], rel=0.2)
    if not kind:
        assert part["bits_per_byte"] == pytest.approx(all["metrics"]["bits_per_byte"], rel=0.2)


def test_epochs_are_rounds_through_the_data(book: Path, tmp_path: Path) -> None:
    run = train(book, out=tmp_path / "run", steps=None, epochs=0.25)
    assert run.report["steps"] == round(0.25 * ((3601 // 16) - 1) / 4)


def test_files_gzip_and_folders_of_them_are_one_text(book: Path, tmp_path: Path) -> None:
    folder = tmp_path / "texts"
    folder.mkdir()
    half = len(text()) // 2
    (folder / "a.txt").write_text(text()[:half])
    (folder / "b.jsonl.gz").write_bytes(gzip.compress(json.dumps({"text": text()[half:]}).encode()))
    run = train(folder, out=tmp_path / "run")
    assert run.config["data"]["amounts"]["documents"] == 2 and run.config["data"]["amounts"]["characters"] == 4000


def test_without_data_the_sample_is_used_and_no_file_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    small = "from pydoc_data import topics"
    monkeypatch.setattr("pydoc_data.topics.topics", {"a": text(2000), "b": text(1500)})
    run = train(task="language-model", out=tmp_path / "run")
    assert run.config["data"]["sample"] is True and run.config["data"]["sources"] == []
    assert run.evaluate()["metrics"] == run.report["metrics"] and small
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_run_by_steps_has_the_same_size_on_every_machine(book: Path, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("weft.tasks.sizing.product_rate", lambda *_: pytest.fail("the machine was measured"))
    plain = dict.fromkeys(("dim", "depth", "heads", "context"))
    run = train(book, out=tmp_path / "run", steps=1, precision="fp32", **plain)
    assert run.config["training"]["dim"] >= 64


def test_a_run_by_minutes_is_sized_by_the_machine(book: Path, tmp_path: Path, monkeypatch: Any) -> None:
    sizes = []
    for rate in (1e8, 1e13):
        monkeypatch.setattr("weft.tasks.sizing.product_rate", lambda *_, rate=rate: rate)
        monkeypatch.setattr("weft.training.run.parameters", lambda model: 1)
        request = _request(book, minutes=10.0)
        data = RunningText().read(request.sources, None, TextTraining())
        sizes.append(plan(LanguageModel(), request, data, timing=False).work.training.dim)
    assert sizes[0] < sizes[1]


def _request(book: Path, **budget: Any) -> Any:
    from weft.tasks.request import Request
    from weft.training.schedule import Budget

    return Request((str(book),), None, None, Budget(**budget), None, {"precision": "fp32"}, torch.device("cpu"))


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"steps": 0}, "expected a whole number above 0, found 0"),
        ({"steps": 2.5}, "expected a whole number above 0, found 2.5"),
        ({"steps": None, "minutes": -1}, "expected a number above 0, found -1"),
        ({"steps": None, "minutes": math.nan}, "expected a number above 0, found nan"),
        ({"steps": 1, "minutes": 1}, "give one of steps, minutes and epochs"),
        ({"lr": "fast"}, "expected a number, found 'fast'"),
        ({"dropout": 1.0}, "must be at least 0 and below 1"),
        ({"depth": 10**6}, "expected from 1 to 1000, found 1000000"),
        ({"seed": -1}, "expected from 0 to"),
        ({"heads": 3}, r"16 / 3 = 5\.33"),
        ({"model": "swif"}, "there is no model 'swif'"),
        ({"preset": "tinny"}, "there is no preset 'tinny'"),
        ({"learning_rate": 1}, "unknown setting 'learning_rate'"),
        ({"model.trunk.dept": 1}, "unknown name 'dept'"),
        ({"model.embed.vocab": 9}, "the tokenizer has 24 tokens, the model 9"),
        ({"tokenizer": "byte"}, "unknown tokenizer 'byte'"),
        ({"tokenizer": "missing.json"}, "no such file"),
        ({"task": "language-modell"}, "there is no task"),
    ],
)
def test_what_cannot_be_meant_is_refused_and_leaves_nothing(
    book: Path, tmp_path: Path, settings: dict[str, Any], problem: str
) -> None:
    with pytest.raises(WeftError, match=problem):
        train(book, out=tmp_path / "run", **settings)
    assert list(tmp_path.iterdir()) == []


def test_a_model_beyond_memory_is_refused_with_the_arithmetic(book: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"x 16 bytes = [\d,.]+ GB to be trained, and this machine has"):
        train(book, out=tmp_path / "run", dim=65536, depth=20, heads=64)
    assert list(tmp_path.iterdir()) == []


# Prediction


def test_a_prediction_follows_from_its_seed_and_not_from_its_neighbours(trained: weft.Run) -> None:
    alone = trained.predict("The", max_tokens=20)
    assert trained.predict(["sea", "The", "row after"], max_tokens=20)[1] == alone[0]
    assert trained.predict("The", max_tokens=20) == alone
    assert trained.predict("The", max_tokens=20, seed=1) != alone


def test_several_samples_of_each_prompt(trained: weft.Run) -> None:
    found = trained.predict(["The", "A"], samples=2, max_tokens=8)
    assert [(one["prompt"], one["sample"]) for one in found] == [("The", 0), ("The", 1), ("A", 0), ("A", 1)]
    assert found[0]["text"] != found[1]["text"]


def test_what_is_heard_is_what_is_returned(trained: weft.Run) -> None:
    heard: dict[int, str] = {}
    found = trained.predict(
        ["The", ""], max_tokens=30, listen=lambda row, piece: heard.update({row: heard.get(row, "") + piece})
    )
    assert [heard.get(row, "") for row in range(2)] == [one["text"] for one in found]


def test_a_prompt_longer_than_the_context_is_read_in_its_last_part_and_says_so(trained: weft.Run) -> None:
    prompt = text(100)
    found = trained.predict(prompt, max_tokens=5, temperature=0)[0]
    assert found["unread"] == 101 - 16
    assert trained.predict("x" * 50 + prompt[-16:], max_tokens=5, temperature=0)[0]["text"] == found["text"]
    assert "unread" not in trained.predict("The", max_tokens=1)[0]


def test_unknown_characters_are_counted(trained: weft.Run, tmp_path: Path) -> None:
    assert trained.predict("Thé Ω", max_tokens=1)[0]["unknown"] == 2
    (tmp_path / "greek.txt").write_text("The Ω and the Ω\n")
    assert trained.evaluate(tmp_path / "greek.txt")["unknown"] == 2


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"temperature": -1}, "from 0 to 100"),
        ({"temperature": "nan"}, "expected a number, found 'nan'"),
        ({"top_p": 0}, "above 0"),
        ({"max_tokens": -1}, "from 0"),
        ({"temprature": 1}, "unknown setting 'temprature'"),
        ({"precision": "fp8"}, "expected one of fp32, bf16, int8"),
    ],
)
def test_predictions_that_cannot_be_meant_are_refused(
    trained: weft.Run, settings: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ConfigError, match=problem):
        trained.predict("The", **settings)


def test_an_input_that_is_not_text_is_refused(trained: weft.Run) -> None:
    with pytest.raises(WeftError, match="expected a text, found 3"):
        trained.predict([3])


# Evaluation


def test_measures_agree_with_each_other(trained: weft.Run, book: Path) -> None:
    found = trained.evaluate(book)
    metrics, loss = found["metrics"], found["metrics"]["loss"]
    assert metrics["perplexity"] == pytest.approx(math.exp(loss), rel=1e-4)
    assert metrics["bits_per_byte"] == pytest.approx(loss * found["tokens"] / math.log(2) / found["bytes"], rel=1e-4)
    assert (
        found["tokens"] == 4001 and found["bytes"] == 4000 and (found["examples"], found["counted"]) == (1, "document")
    )


def test_the_held_out_part_must_still_be_what_it_was(copy: Path, book: Path, tmp_path: Path) -> None:
    moved = tmp_path / "book.txt"
    moved.write_text(text() + "x")
    config = json.loads((copy / "config.json").read_text())
    config["data"]["sources"] = [str(moved)]
    (copy / "config.json").write_text(json.dumps(config))
    with pytest.raises(DataError, match="has changed since it was trained"):
        weft.load(copy).evaluate()


# Loading


def test_another_process_gets_the_same_numbers(trained: weft.Run, weft: Weft) -> None:
    prediction = weft("predict", trained.folder, "The sea", "--json", "--set", "max_tokens=40")
    assert prediction.json["predictions"] == trained.predict("The sea", max_tokens=40)
    assert weft("evaluate", trained.folder, "--json").json == trained.evaluate()


def test_a_loaded_run_reports_as_it_did(trained: weft.Run) -> None:
    again = weft.load(trained.folder)
    assert again.report == trained.report and again.metrics == trained.metrics
    assert all(torch.equal(a, b) for a, b in zip(again.model.parameters(), trained.model.parameters()))
    assert "language-model" in repr(again) and "<img" in again._repr_html_()


def spoil(copy: Path, name: str, change: Any) -> None:
    data = json.loads((copy / name).read_text())
    change(data)
    (copy / name).write_text(json.dumps(data))


def test_a_config_for_another_vocabulary_names_both_sizes(copy: Path) -> None:
    spoil(copy, "config.json", lambda data: data["model"]["embed"].update(vocab=99))
    with pytest.raises(
        ConfigError, match=r"embed\.\S+ has the shape \[\d+, 16\], the model needs \[\d+, 16\]"
    ) as error:
        weft.load(copy)
    assert "different runs" in error.value.fix


def test_weights_with_other_names_are_refused(copy: Path) -> None:
    tensors = load_file(copy / "model.safetensors")
    tensors["stranger"] = tensors.pop("embed.table.weight")
    save_file(tensors, copy / "model.safetensors")
    with pytest.raises(ConfigError, match="do not fit this model: embed.table.weight, stranger"):
        weft.load(copy)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda data: data.update(format=99), "format 99"),
        (lambda data: data.update(format="one"), "not a weft run's config"),
        (lambda data: data["model"].update(type="Streem"), "unknown part 'Streem'"),
        (lambda data: data["model"].update(dimm=3), "unknown key 'dimm'"),
        (lambda data: data["model"].update(dim="wide"), "expected a whole number, found 'wide'"),
        (lambda data: data["model"]["trunk"].update(depth=5000), "from 1 to 1000, found 5000"),
        (lambda data: data["model"].update(dim=2**40), "cannot be built|needs"),
    ],
)
def test_a_config_that_was_tampered_with_is_refused(copy: Path, change: Any, problem: str) -> None:
    spoil(copy, "config.json", change)
    with pytest.raises(ConfigError, match=problem):
        weft.load(copy)


@pytest.mark.parametrize(
    ("content", "problem"),
    [('{"format": 1, "format": 1}', "stands twice"), ('{"format": NaN}', "not a number in JSON"),
     ("{", "not valid JSON"), ("[" * 100 + "]" * 100, "nested deeper")],
)  # fmt: skip
def test_json_is_read_strictly(copy: Path, content: str, problem: str) -> None:
    (copy / "config.json").write_text(content)
    with pytest.raises(ConfigError, match=problem):
        weft.load(copy)


def test_a_tokenizer_of_another_run_is_refused_even_where_it_has_as_many_tokens(copy: Path) -> None:
    path = copy / "tokenizer.json"
    letters = sorted(set(text()))
    other = "".join(letters[:-1]) + "ß"
    path.write_text(tokenizers.train("characters", iter([other])).to_json())
    with pytest.raises(ConfigError, match="not the tokenizer that the run was trained with"):
        weft.load(copy).predict("The")
    path.write_text(tokenizers.train("characters", iter([other + "é"])).to_json())
    with pytest.raises(ConfigError, match="the tokenizer has 25 tokens, the model 24"):
        weft.load(copy).predict("The")
    path.unlink()
    with pytest.raises(StorageError, match="tokenizer.json: missing"):
        weft.load(copy).evaluate()


def test_a_tokenizer_that_is_not_utf8_and_marks_that_the_model_lacks_are_refused_when_the_run_is_loaded(
    copy: Path,
) -> None:
    path = copy / "tokenizer.json"
    content = path.read_bytes()
    path.write_bytes(content[:99] + b"\xff" + content[100:])
    with pytest.raises(ConfigError, match="byte 0xFF at byte offset 99 is not UTF-8"):
        weft.load(copy)
    path.write_bytes(content)
    for marks in ({"end": 24}, {"opening": [0, -1]}):
        spoil(
            copy,
            "config.json",
            lambda data, ids=marks: data["codecs"]["text"].update({"end": None, "opening": None, **ids}),
        )
        with pytest.raises(ConfigError, match=r"the model has no (24|-1): its ids end at 23"):
            weft.load(copy)


@pytest.mark.parametrize("size", [0, 7, 100, 5000])
def test_weights_cut_short_are_refused(copy: Path, size: int) -> None:
    path = copy / "model.safetensors"
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(DataError, match=r"not a valid safetensors file"):
        weft.load(copy)


# A model composed by hand


class Letters(TextWindows):
    """Data of a researcher's own."""

    def __init__(self) -> None:
        ids = np.frombuffer((text(2000)).encode(), np.uint8).astype(np.uint16) % 32
        super().__init__(ids, ids[:200], context=16, fingerprint="letters", seed=0)


def composed() -> Stream.Config:
    block = Block.Config(mix=Attention.Config(heads=2, turn=Rotary.Config()), transform=Mlp.Config())
    embed = TextEmbed.Config(vocab=32, context=16)
    return Stream.Config(dim=16, embed=embed, trunk=Trunk.Config(depth=2, block=block), head=PerToken.Config())


def fit(out: Path, **more: Any) -> weft.Run:
    settings = {"steps": 6, "batch": 4, "lr": 1e-2, "precision": "fp32", "quiet": True}
    return weft.fit(composed(), NextToken.Config(), Letters(), out=out, **{**settings, **more})


def test_a_model_composed_by_hand_trains_loads_and_resumes(tmp_path: Path, weft: Weft) -> None:
    from weft import load

    run = fit(tmp_path / "run")
    batch = Letters().batch(np.arange(2)).given.ids
    from weft.modalities.text import Text

    with torch.inference_mode():
        there = load(tmp_path / "run").model(Text(batch))
        assert torch.equal(there, run.model(Text(batch)))
    assert run.report["task"] is None and run.report["steps"] == 6
    message = weft.refused("predict", tmp_path / "run", "The")
    assert "composed by hand and has no task" in message
    assert fit(tmp_path / "run", resume=True, steps=None).report == run.report


def test_a_fit_without_an_end_or_with_other_settings_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="how long"):
        fit(tmp_path / "run", steps=None)
    with pytest.raises(ConfigError, match="unknown setting 'leraning_rate'"):
        fit(tmp_path / "run", leraning_rate=1)
    assert list(tmp_path.iterdir()) == []


def test_a_composed_run_in_another_process_needs_its_parts_defined(tmp_path: Path, weft: Weft) -> None:
    config = fit(tmp_path / "run").config
    assert config["model"]["type"] == "Stream" and "task" not in config
    spoil(unsealed(tmp_path / "run"), "config.json", lambda data: data["model"]["embed"].update(type="MyOwnToken"))
    message = weft.refused("evaluate", tmp_path / "run")
    assert "unknown part 'MyOwnToken'" in message and "must be defined before it is loaded" in message


def test_importing_weft_does_not_load_torch(weft: Weft) -> None:

    code = "import sys, weft, weft.cli.app; print('torch' in sys.modules, sorted(weft.__all__) == weft.__all__)"
    done = processes.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "False True\n", done.stderr
    assert lines(weft.folder) == []


# Symbols


@pytest.mark.parametrize("tokenizer", ["characters", "bytes", "bpe"])
def test_symbols_are_tokens_of_the_run_its_answers_and_its_export(tmp_path: Path, tokenizer: str) -> None:
    data = tmp_path / "talk.txt"
    data.write_text("<User:>is it red?<Bot:>it is\n" * 200)
    size = {"vocab": 300} if tokenizer == "bpe" else {}
    symbols = ("<User:>", "<Bot:>")
    run = train(
        data, out=tmp_path / "run", model="gpt", tokenizer=tokenizer, symbols=symbols, steps=40, lr=3e-2,
        baselines=False, **size,
    )  # fmt: skip
    codec = run.loaded.codecs["text"]
    assert codec.tokenizer.symbols == symbols and len(codec.ids(["<User:><Bot:>"])[0]) == 2
    assert "<Bot:>" in run.predict("<User:>is it red?", temperature=0, max_tokens=40)[0]["text"]
    run.export(tmp_path / "out")
    again = weft.load(tmp_path / "out").loaded.codecs["text"]
    assert [ids.tolist() for ids in again.ids(["<User:>red"])] == [ids.tolist() for ids in codec.ids(["<User:>red"])]
    with pytest.raises(WeftError, match="the run to start from"):
        weft.train(data, out=tmp_path / "other", from_=run.folder, symbols="<Nobody:>", steps=1, quiet=True)
