"""The laws of tasks, over every task: trained, stopped, loaded, asked, measured, looked at, written for others.

Nothing here knows how a task is built: only what users see of it.
"""

import json
import math
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jaxtyping
import numpy as np
import pytest
import torch
from helpers.foreign import same_files
from helpers.pages import document
from helpers.stops import stopped_in
from helpers.trials import EVERY, Trial, train

import weft
from weft.cli.app import run as command
from weft.config import field_types
from weft.errors import DataError, Interrupted, WeftError
from weft.inspect.document import SCENES

MORE_TEXTS = ["An old house , by the sea .", "Ada knows 12 old songs"]
NO_INPUTS = [3.5, None, {"a": 1}, b"bytes", [[2.5]]]


@dataclass(frozen=True)
class Trained:
    """A tiny run with the data it learned from, in a place of its own."""

    name: str
    trial: Trial
    run: weft.Run
    data: list[Path]


def own_copy(trial: Trial, folder: Path) -> list[Path]:
    """The trial's data, where it may be changed."""
    return [Path(shutil.copy(path, folder / path.name)) for path in trial.data]


@pytest.fixture(scope="module", params=list(EVERY))
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """The run that the laws are about; made once for each task."""
    trial, folder = EVERY[request.param], tmp_path_factory.mktemp(request.param)
    data = own_copy(trial, folder)
    run = train(request.param, data, out=folder / "run", baselines=True, **trial.drawn)
    return Trained(request.param, trial, run, data)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some predictions are pictures, written where the process is."""
    monkeypatch.chdir(tmp_path)


def told(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    """What a command prints as JSON."""
    assert command([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def plain(value: Any) -> Any:
    """An answer as values that can be compared; arrays and pictures become lists and bytes."""
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return value.tolist() if isinstance(value, np.ndarray | torch.Tensor) else value


# Trained


def test_every_task_is_in_the_battery(capsys: pytest.CaptureFixture[str]) -> None:
    assert [task["task"] for task in told(capsys, "tasks")["tasks"]] == list(EVERY)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow) if name in ("answer", "caption", "translate", "forecast") else name
        for name in EVERY
    ],
)
def test_the_sample_that_ships_trains(name: str, tmp_path: Path) -> None:
    trial = EVERY[name]
    few = {}
    if trial.few:  # sentences to hold out, where a model that has learned nothing writes long answers to each
        path = tmp_path / f"few{trial.data[0].suffix}"
        path.write_text("\n".join(trial.data[0].read_text().splitlines()[: trial.few]) + "\n")
        few = {"valid": path}
    run = train(name, (), out=tmp_path / "run", steps=3, **few, **trial.sample)
    assert run.config["data"]["sample"] is True
    assert run.report["task"] == name and all(math.isfinite(value) for value in run.report["metrics"].values())


def test_a_report_and_a_folder_have_what_is_promised(trained: Trained) -> None:
    report, run = trained.run.report, trained.run
    promised = {"run", "task", "model", "parameters", "steps", "seconds", "metrics", "sample", "example"}
    compared = {"baselines", "baseline_intervals", "comparison"}
    assert set(report) - {"intervals", "baseline_remarks"} - compared == promised and report["example"]
    assert report["task"] == trained.name and report["run"] == str(run.folder) and report["steps"] == 4
    assert set(report["metrics"]) == trained.trial.metrics
    assert all(math.isfinite(value) for value in report["metrics"].values())
    assert [line["step"] for line in run.metrics] == [1, 2, 3, 4]
    assert all(math.isfinite(line["loss"]) for line in run.metrics)
    there = {path.name for path in run.folder.iterdir()}
    assert there >= {"config.json", "model.safetensors", "metrics.jsonl", "README.md", "loss.png", "checkpoints"}
    config = json.loads((run.folder / "config.json").read_text())
    assert config == run.config and {"model", "objective", "training", "data", "budget", "fingerprint"} <= set(config)
    assert [str(path) for path in trained.data] == config["data"]["sources"]


def test_stopped_and_resumed_is_never_stopped(
    trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "parts"
    with stopped_in(1, monkeypatch), pytest.raises(Interrupted):
        train(trained.name, trained.data, out=place, **trained.trial.drawn)
    parts = weft.train(out=place, resume=True, quiet=True)
    whole, again = trained.run.model.state_dict(), parts.model.state_dict()
    assert whole.keys() == again.keys()
    for key, tensor in whole.items():
        assert torch.equal(tensor, again[key]), key
    seen = [[{k: v for k, v in line.items() if k != "seconds"} for line in run.metrics] for run in (trained.run, parts)]
    assert seen[0] == seen[1] and trained.run.report["metrics"] == parts.report["metrics"]


def test_a_run_goes_on_from_another_of_its_task(trained: Trained, tmp_path: Path) -> None:
    task = trained.name if trained.trial.named else None
    origin = trained.run.folder
    more: dict[str, Any] = {"steps": 1, "precision": "fp32", "quiet": True, "baselines": False}
    run = weft.train(trained.data, task=task, from_=origin, out=tmp_path / "next", **more)
    assert run.config["from"] == str(origin.absolute()) and run.report["task"] == trained.name
    assert {n: t.shape for n, t in run.model.state_dict().items()} == {
        n: t.shape for n, t in trained.run.model.state_dict().items()
    }


# Used


def test_a_loaded_run_gives_the_same_answers(trained: Trained) -> None:
    loaded = weft.load(trained.run.folder)
    assert plain(loaded.predict(trained.trial.input)) == plain(trained.run.predict(trained.trial.input))
    assert loaded.evaluate(baselines=False) == trained.run.evaluate(baselines=False)
    assert loaded.report == trained.run.report


def test_each_input_gets_an_answer_of_the_promised_form(trained: Trained) -> None:
    given = trained.trial.input
    found = trained.run.predict([given, given])
    assert len(found) == 2 and len(trained.run.predict(given)) == 1
    for one in found:
        assert set(one) >= trained.trial.answer
    assert trained.run.predict([]) == []


def test_the_held_out_part_is_measured_as_at_the_end_of_training(trained: Trained) -> None:
    found = trained.run.evaluate(baselines=False)
    assert set(found) >= {"run", "task", "data", "examples", "metrics"} and found["task"] == trained.name
    assert found["metrics"] == pytest.approx(trained.run.report["metrics"], rel=1e-4, abs=1e-4)
    json.dumps(found)


def test_every_report_has_plain_methods_on_the_same_examples(
    trained: Trained, capsys: pytest.CaptureFixture[str]
) -> None:
    report, found = trained.run.report, trained.run.evaluate()
    for one in (report, found):
        won = one["comparison"]
        assert won["baseline"] in one["baselines"] and won["verdict"] in ("ahead", "level", "behind")
        assert won["examples"] == found["comparison"]["examples"] > 0 and won["sentence"] in str(one)
        for name, metrics in one["baselines"].items():
            low, high = one["baseline_intervals"][name][won["measure"]]
            assert math.isfinite(metrics[won["measure"]]) and low <= high
        assert not any("could not be fitted" in text for text in one.get("baseline_remarks", ()))
    own = found["metrics"].get(won["measure"])
    best = found["baselines"][won["baseline"]][won["measure"]]
    assert abs(won["gain"]) == pytest.approx(abs(own - best), rel=1e-3, abs=1e-5)
    assert report["baselines"] == found["baselines"] and report["comparison"] == found["comparison"]
    assert won["baseline"] in (trained.run.folder / "README.md").read_text()
    assert command(["evaluate", str(trained.run.folder)]) == 0
    assert " ".join(won["sentence"].split()[:4]) in " ".join(capsys.readouterr().out.split())


def test_weights_in_eight_bits_measure_nearly_the_same_and_answer(trained: Trained) -> None:
    exact, rounded = (trained.run.evaluate(baselines=False, **how) for how in ({}, {"precision": "int8"}))
    assert rounded["examples"] == exact["examples"] and set(rounded["metrics"]) == set(exact["metrics"])
    if "loss" in exact["metrics"]:
        assert abs(rounded["metrics"]["loss"] - exact["metrics"]["loss"]) < 0.05
    if "precision" not in field_types(trained.run.task.Predict):
        return
    assert len(trained.run.predict([trained.trial.input], precision="int8")) == 1
    if trained.trial.embeds:
        vectors, rough = (trained.run.embed([trained.trial.input], precision=name) for name in ("fp32", "int8"))
        assert vectors.shape == rough.shape and not np.array_equal(vectors, rough)


def test_named_data_is_measured(trained: Trained) -> None:
    own, all_of_it = trained.run.evaluate(baselines=False), trained.run.evaluate(trained.data)
    assert all_of_it["metrics"].keys() == own["metrics"].keys() and all_of_it["examples"] >= own["examples"]
    assert all(math.isfinite(value) for value in all_of_it["metrics"].values())


def test_vectors_are_given_or_refused(trained: Trained) -> None:
    given = trained.trial.input
    if not trained.trial.embeds:
        with pytest.raises(WeftError, match="no vectors"):
            trained.run.embed(given)
        return
    found = trained.run.embed([given, given])
    assert found.shape == (2 * trained.trial.vectors, 8) and np.isfinite(found).all()
    assert np.array_equal(*np.split(found, 2))


def test_a_look_shows_itself_in_every_form(trained: Trained) -> None:
    view = trained.run.look(trained.trial.input)
    assert isinstance(view.text(), str) and view.text()
    assert view.picture().startswith(b"\x89PNG") and b"<svg" in view.picture("svg")
    shown = document(view.page())
    assert shown.scene in SCENES and (shown.run, shown.task) == (trained.run.folder.name, trained.name)
    assert shown.streams or shown.pictures
    assert json.loads(json.dumps(view.to_json()))
    assert view.note() is None or isinstance(view.note(), str)
    assert repr(view).startswith(f"<{type(view).__name__}: {view.about}") and "<iframe" in view._repr_html_()


SILENT = {"reconstruct-images", "distill-images", "embed-words"}  # whose looks carry no answer
WRITING = {"caption", "answer"}  # whose looks carry one where a word was written
FIRST_TOKEN = {"max_tokens": 1, "temperature": 0.0}


def said_by(found: dict[str, Any], called: str) -> list[tuple[str, float | None]]:
    """What a prediction says, as a look says it, the likeliest first; `called` is the look's name for its answer."""
    if "nodes" in found:
        (found,) = (one for one in found["nodes"] if called == f"answer for {one['node']}")
    if "probabilities" in found:
        return list(found["probabilities"].items())
    if "candidates" in found:
        return [(one["token"], one["probability"]) for one in found["candidates"]]
    if "tags" in found:
        tagged = [f"{word} {tag}" for word, tag in zip(found["words"], found["tags"], strict=True) if tag != "O"]
        return [(text, None) for text in tagged or ["no word is tagged"]]
    if "value" in found:
        return [(f"{found['value']:g}", None)]
    return [(repr(found["text"]) if called == "next token" else found["text"], None)]


def test_the_answer_of_a_look_is_that_of_a_prediction(trained: Trained) -> None:
    answer = trained.run.look(trained.trial.input).answer
    if answer is None:
        assert trained.name in SILENT | WRITING
        return
    if trained.name == "forecast":  # a look is of one place, a prediction in words of the whole area
        assert [text.split()[0] for text, _ in answer.said] == list(
            trained.run.predict(trained.trial.input)[0]["layers"]
        )
        return
    settings = FIRST_TOKEN if answer.called == "next token" else {}
    (found,) = trained.run.predict(trained.trial.input, **settings)
    expected = said_by(found, answer.called)
    assert answer.said
    for (text, chance), (wanted, probability) in zip(answer.said, expected, strict=False):
        assert text == wanted
        assert probability is None or chance == pytest.approx(probability, abs=1e-5)


# Refused


def rewritten(path: Path) -> Callable[[], None]:
    """A change of what stands in a data file, which stays sound; returns what undoes it."""
    before = path.read_bytes()
    if path.suffix == ".npz":
        arrays = dict(np.load(path))
        arrays["x"] = 255 - arrays["x"]
        np.savez_compressed(path, **arrays)
    elif path.suffix == ".zip":
        with zipfile.ZipFile(path) as old:
            members = {name: old.read(name) for name in old.namelist()}
        one, other = list(members)[:2]
        members[one] = members[other]
        with zipfile.ZipFile(path, "w") as new:
            for name, data in members.items():
                new.writestr(name, data)
    elif path.suffix == ".nc":
        from scipy.io import netcdf_file

        with netcdf_file(path, "a", mmap=False) as file:
            file.variables["v"][:] = file.variables["v"][:] * np.float32(1.5)
    else:
        words = path.read_text()
        for old, new in (
            (" the ", " our "),
            ("Town", "Tower"),
            ("moon", "star"),
            ("soup", "stew"),
            (",11.6,", ",11.7,"),
            ("[0.5, ", "[0.75, "),
        ):
            words = words.replace(old, new)
        path.write_text(words)
    assert path.read_bytes() != before
    return lambda: path.write_bytes(before) and None


def test_changed_data_is_noticed(trained: Trained) -> None:
    for path in trained.data:
        undo = rewritten(path)
        try:
            with pytest.raises(DataError, match="changed since it was trained"):
                trained.run.evaluate()
        finally:
            undo()
    assert trained.run.evaluate(baselines=False)["examples"] > 0


def test_a_run_whose_data_changed_is_not_resumed(
    trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = own_copy(trained.trial, tmp_path)
    with stopped_in(1, monkeypatch), pytest.raises(Interrupted):
        train(trained.name, data, out=tmp_path / "run", evaluate_every=100)
    rewritten(data[0])
    with pytest.raises(WeftError, match="changed since this run began"):
        weft.train(out=tmp_path / "run", resume=True, quiet=True)


@pytest.mark.parametrize("given", NO_INPUTS, ids=repr)
def test_what_is_no_input_is_refused(trained: Trained, given: Any) -> None:
    for use in (trained.run.predict, trained.run.look, trained.run.embed):
        with pytest.raises(WeftError):
            use(given)


def test_unknown_settings_are_refused_with_the_nearest_name(
    trained: Trained, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (known,) = told(capsys, "tasks", trained.name)["tasks"]
    with pytest.raises(WeftError, match="did you mean 'depth'"):
        train(trained.name, trained.data, out=tmp_path / "run", depht=1)
    assert not (tmp_path / "run").exists()
    for use, settings in ((trained.run.predict, known["predict"]), (trained.run.look, known["look"])):
        for name in settings or ():
            with pytest.raises(WeftError, match=rf"unknown setting '{name}y'\n.*did you mean '{name}'"):
                use(trained.trial.input, **{f"{name}y": 1})


# For other tools


def test_what_another_tool_cannot_compute_is_refused_and_nothing_is_left(trained: Trained, tmp_path: Path) -> None:
    usual = trained.trial.hf == {}  # the trial's own model is known to the other library
    for to in [*(() if usual else ("hf",)), *(() if trained.trial.onnx else ("onnx",))]:
        with pytest.raises(WeftError):
            trained.run.export(tmp_path / to, to=to)
        assert not (tmp_path / to).exists()


def other(given: Any) -> Any:
    """Another input like one that is no text alone: the negative of a picture, a passage that says more."""
    return {**given, "context": f"{given['context']} Ben sells salt."} if isinstance(given, dict) else 255 - given


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, trial in EVERY.items() if trial.hf is not None])
def test_a_run_goes_to_the_hugging_face_library_and_comes_back(name: str, tmp_path: Path) -> None:
    pytest.importorskip("transformers", reason="transformers is not installed")
    trial = EVERY[name]
    run = train(name, trial.data, out=tmp_path / "run", **trial.hf)
    done = run.export(tmp_path / "folder")
    assert done["to"] == "hf" and done["difference"] <= 1e-4
    back = weft.load(tmp_path / "folder")
    assert back.report["task"] == (trial.returns or name)
    inputs = [trial.input, *(MORE_TEXTS if isinstance(trial.input, str) else [other(trial.input)])]
    inputs = [text.replace("old", "[MASK]") if name == "fill-mask" else text for text in inputs]
    settings = (
        {"max_tokens": 12} if "max_tokens" in field_types(back.task.Predict) else {}
    )  # by default a bound of the data
    ours, theirs = run.predict(inputs, **settings), back.predict(inputs, **settings)
    assert all(set(one) >= EVERY[back.report["task"]].answer for one in theirs) and len(theirs) == len(inputs)
    if trial.returns is None:
        assert [{**one, "output": None} for one in ours] == [{**one, "output": None} for one in theirs]
    again = back.export(tmp_path / "again")
    assert again["difference"] <= 1e-4 and same_files(tmp_path / "folder", tmp_path / "again", but={"README.md"})
    assert done.get("same_answers", 0) > 0 or name == "reconstruct-images"


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, trial in EVERY.items() if trial.onnx])
def test_a_run_becomes_a_graph(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for library in ("onnx", "onnxscript", "onnxruntime"):
        pytest.importorskip(library, reason=f"{library} is not installed")
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # sizes are symbols while a graph is traced
    run = train(name, EVERY[name].data, out=tmp_path / "run")
    done = run.export(tmp_path / "graph", to="onnx")
    assert done["to"] == "onnx" and done["difference"] <= 1e-4 and (tmp_path / "graph" / "model.onnx").exists()
