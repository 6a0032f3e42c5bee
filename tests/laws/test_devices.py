"""Every task on a GPU that is not there: trained, stopped and resumed, asked, measured and looked at.

What stands in for the GPU refuses what CUDA would refuse (`helpers/standin`).
"""

import itertools
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers.standin import DEVICE, OtherDevice, standing_in
from helpers.steps import few_quick
from helpers.stops import stopped_in
from helpers.trials import EVERY, Trial, train

import weft
from weft.cli.app import run as command
from weft.domains.registry import CARDS
from weft.errors import Interrupted
from weft.training import precision

QUICK = ("language-model", "embed-words")  # the others take seconds each
PRECISIONS = ("fp32", "bf16", "fp16")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some predictions are pictures, written where the process is."""
    monkeypatch.chdir(tmp_path)


def losses(run: weft.Run) -> list[float]:
    """The losses of all steps, on the training data and on held-out data."""
    return [value for line in run.metrics for key, value in line.items() if key in ("loss", "held_out")]


def same_weights(one: weft.Run, other: weft.Run) -> bool:
    """Whether two runs have the same weights, bit for bit."""
    theirs = other.model.state_dict()
    return all(torch.equal(tensor.cpu(), theirs[name].cpu()) for name, tensor in one.model.state_dict().items())


def use(run: weft.Run, trial: Trial) -> None:
    """Ask, measure, embed with and look into a run."""
    run.predict([trial.input])
    run.evaluate([str(path) for path in trial.data], baselines=False)
    if run.task.Look is not None:
        assert run.look(trial.input).text()
    if trial.embeds:
        run.embed([trial.input])


def test_the_device_that_stands_in_refuses_what_cuda_refuses() -> None:
    with standing_in() as device:
        there, here = torch.ones(2, device=device.device), torch.ones(2)
        wrong = (
            lambda: there + here,
            lambda: here[there.long()],
            lambda: torch.cat([here, there]),
            lambda: there.numpy(),
            lambda: torch.rand(2, device=DEVICE, generator=torch.Generator()),
        )
        for refused in wrong:
            with pytest.raises(OtherDevice):
                refused()
        with device.counted() as found:
            assert float((there + 1.0).sum()) == 4.0 and there[torch.tensor([0])].device == DEVICE
        assert sum(found.waits.values()) == 2
    with standing_in(doubles=False), pytest.raises(TypeError, match="float64"):
        torch.ones(2, device=DEVICE).double()


@pytest.mark.parametrize("numbers", PRECISIONS)
@pytest.mark.parametrize("name", few_quick(EVERY, QUICK))
def test_stopped_and_resumed_on_a_gpu_is_never_stopped(
    name: str, numbers: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = EVERY[name]
    given: dict[str, Any] = {**trial.drawn, "precision": numbers}
    with standing_in():
        whole = train(name, trial.data, out=tmp_path / "whole", **given)
        with stopped_in(2, monkeypatch), pytest.raises(Interrupted):
            train(name, trial.data, out=tmp_path / "parts", **given)
        parts = weft.train(out=tmp_path / "parts", resume=True, quiet=True)
        assert next(parts.model.parameters()).device == DEVICE
        assert losses(whole) == losses(parts) and same_weights(whole, parts)


def test_steps_whose_gradients_overflow_are_left_out_and_the_scale_is_part_of_a_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(precision, "FIRST_SCALE", 2.0**20)
    monkeypatch.setattr(precision, "GROWS_AFTER", 3)
    trial, given = EVERY["language-model"], {"steps": 16, "evaluate_every": 20, "precision": "fp16"}
    with standing_in():
        whole = train("language-model", trial.data, out=tmp_path / "whole", **given)
        with stopped_in(3, monkeypatch), pytest.raises(Interrupted):
            train("language-model", trial.data, out=tmp_path / "parts", **given)
        parts = weft.train(out=tmp_path / "parts", resume=True, quiet=True)
    lines = [line for line in whole.metrics if "loss" in line]
    assert [line["scale"] for line in lines[:3]] == [2.0**20, 2.0**19, 2.0**18] and lines[0]["skipped"]
    assert any(a["scale"] < b["scale"] for a, b in itertools.pairwise(lines)) and not all(x["skipped"] for x in lines)
    assert losses(whole) == losses(parts) and same_weights(whole, parts)
    assert [line["scale"] for line in parts.metrics if "loss" in line] == [line["scale"] for line in lines]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "model"), [(card.name, model) for card in CARDS.values() for model in card.models])
def test_every_model_of_a_task_trains_on_a_gpu(name: str, model: str, tmp_path: Path) -> None:
    trial = EVERY[name]
    tables = {"model.embed.grams.buckets": None} if "model.embed.grams.buckets" in trial.settings else {}
    with standing_in():
        run = train(name, trial.data, out=tmp_path / "run", **{**trial.drawn, **tables, "model": model, "steps": 2})
    assert len([line for line in run.metrics if "loss" in line]) == 2


def test_a_run_that_averages_its_weights_resumes_on_a_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trial, given = EVERY["language-model"], {"steps": 12, "average": 3, "evaluate_every": 4}
    with standing_in():
        whole = train("language-model", trial.data, out=tmp_path / "whole", **given)
        with stopped_in(10, monkeypatch), pytest.raises(Interrupted):
            train("language-model", trial.data, out=tmp_path / "parts", **given)
        parts = weft.train(out=tmp_path / "parts", resume=True, quiet=True)
        assert losses(whole) == losses(parts) and same_weights(whole, parts)


@pytest.mark.parametrize("doubles", [True, False], ids=["cuda", "mps"])
@pytest.mark.parametrize("name", few_quick(EVERY, QUICK))
def test_a_run_is_used_on_a_gpu_as_on_the_cpu(name: str, doubles: bool, tmp_path: Path) -> None:
    trial = EVERY[name]
    with standing_in(doubles=doubles):
        run = train(name, trial.data, out=tmp_path / "run", **trial.drawn)
        use(run, trial)
        assert next(weft.load(tmp_path / "run").model.parameters()).device == DEVICE
        use(weft.load(tmp_path / "run", device="cpu"), trial)


def test_a_run_resumed_on_another_device_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    trial = EVERY["embed-words"]
    with standing_in(), stopped_in(2, monkeypatch), pytest.raises(Interrupted):
        train("embed-words", trial.data, out=tmp_path / "run")
    weft.train(out=tmp_path / "run", resume=True)
    assert "device was standin, is cpu" in capsys.readouterr().err


def test_a_device_that_is_absent_is_one_clear_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = train("embed-words", EVERY["embed-words"].data, out=tmp_path / "run")
    for use in ("predict", "evaluate", "look", "embed", "serve", "chat"):
        assert command([use, str(run.folder), "--device", "cuda"]) == 2
        said = capsys.readouterr().err
        assert "--device: torch finds no cuda device on this machine, which has: cpu" in said, said
    assert command(["predict", str(run.folder), "loom", "--device", "gpu"]) == 2
    assert "expected one of auto, cpu, cuda, mps, found 'gpu'" in capsys.readouterr().err
    assert command(["predict", str(run.folder), "loom", "--device", "cpu"]) == 0
