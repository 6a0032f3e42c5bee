"""The loop: stopped and resumed is never stopped, observers change nothing, and what goes wrong is said."""

import math
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers.commands import lines

import weft
from weft.batches.windows import TextWindows
from weft.errors import ConfigError, DataError, Diverged, Interrupted, StorageError, WeftError
from weft.models.zoo import LANGUAGE_MODELS, Size
from weft.objectives import NextToken
from weft.storage import store
from weft.training import checkpoint, loop, passes
from weft.training.claim import claim
from weft.training.folder import RunFolder
from weft.training.job import State
from weft.training.manifest import environment, environment_differences
from weft.training.optimizer import Optimizer
from weft.training.progress import Progress
from weft.training.run import Outcome, perform
from weft.training.schedule import Budget, Horizon
from weft.training.score import HeldOutScore
from weft.training.settings import Training
from weft.training.signals import StopRequest
from weft.training.watching import divergence, doing_well
from weft.training.work import Work
from weft.training.world import World

VOCAB, CONTEXT, BATCH, STEPS = 11, 8, 4, 10
SIZE = Size(dim=16, depth=2, heads=2, context=CONTEXT)


class Text(TextWindows):
    """A short text: an epoch of 12 samples ends in the middle of a batch."""

    def __init__(self, *, fingerprint: str = "text", during: Callable[[int], None] = lambda step: None):
        ids = np.random.default_rng(0).integers(0, VOCAB, 13 * CONTEXT + 5, dtype=np.uint16)
        super().__init__(ids, ids[:40], context=CONTEXT, fingerprint=fingerprint, seed=0)
        self.during = during

    def batch(self, indices: np.ndarray) -> Any:
        self.during(int(indices[0]) // BATCH)
        return super().batch(indices)


class Listener(Progress):
    """Progress that remembers what was said, except how far the run is: those lines come by the clock."""

    def __init__(self) -> None:
        super().__init__(quiet=True)
        self.said: list[str] = []

    def say(self, text: str) -> None:
        self.said.append(text)

    def step(self, progress: float, values: dict[str, str], left: float) -> None:
        pass


def go(
    place: Path,
    *,
    model: str = "swift",
    stop_in: int | None = None,
    resume: bool = False,
    steps: int = STEPS,
    source: TextWindows | None = None,
    objective: Any = None,
    progress: Progress | None = None,
    budget: Budget | None = None,
    **settings: Any,
) -> Outcome:
    """Train a tiny model with dropout; `stop_in` is the step during which it is asked to stop."""
    stop = StopRequest()

    def during(step: int) -> None:
        if step == stop_in:
            stop.asked = "SIGTERM"

    training = Training(
        **{"lr": 6e-3, "precision": "fp32", "batch": BATCH, "evaluate_every": 3, "warmup": 3, **settings}
    )
    config = LANGUAGE_MODELS[model](SIZE, vocab=VOCAB, dropout=0.2)
    work = Work(config, objective or NextToken.Config(), source or Text(during=during), training,
                budget or Budget(steps=steps))  # fmt: skip
    progress = progress or Progress(quiet=True)
    with claim(work, place, resume=resume, world=World()) as claimed:
        return perform(work, claimed, resume=resume, progress=progress, stop=stop, world=World())


def same(a: Outcome, b: Outcome) -> bool:
    """Bit for bit."""
    return a.weights.keys() == b.weights.keys() and all(torch.equal(a.weights[k], b.weights[k]) for k in a.weights)


def numbers(place: Path) -> list[dict[str, Any]]:
    """The metrics without the clock."""
    return [{k: v for k, v in line.items() if k != "seconds"} for line in lines(place)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Outcome]]:
    """Every model, trained without a stop."""
    places = {name: tmp_path_factory.mktemp("whole") / name for name in LANGUAGE_MODELS}
    return {name: (place, go(place, model=name)) for name, place in places.items()}


@pytest.mark.parametrize("model", sorted(LANGUAGE_MODELS))
@pytest.mark.parametrize("stops", [(0, 5), (2, 3, 8)])
def test_stopped_and_resumed_is_never_stopped(tmp_path: Path, whole: Any, model: str, stops: tuple[int, ...]) -> None:
    place, straight = whole[model]
    for number, step in enumerate(stops):
        with pytest.raises(Interrupted, match=f"at step {step + 1}, and saved") as stopped:
            go(tmp_path / "run", model=model, stop_in=step, resume=number > 0)
        assert "weft train --resume --out" in stopped.value.fix
    assert same(go(tmp_path / "run", model=model, resume=True), straight)
    assert numbers(tmp_path / "run") == numbers(place)
    assert [line["step"] for line in lines(place)] == list(range(1, STEPS + 1))


@pytest.mark.parametrize("settings", [{"precision": "bf16"}, {"optimizer": "adamw"}, {"micro": 3}, {"patience": 1}])
def test_stopped_and_resumed_is_never_stopped_whatever_the_settings(tmp_path: Path, settings: dict[str, Any]) -> None:
    straight = go(tmp_path / "whole", **settings)
    with pytest.raises(Interrupted):
        go(tmp_path / "run", stop_in=4, **settings)
    assert same(go(tmp_path / "run", resume=True, **settings), straight)
    assert numbers(tmp_path / "run") == numbers(tmp_path / "whole")


@pytest.mark.parametrize("place", ["accumulate", "ready", "apply", "spread", "evaluate", "note", "save", "prune"])
@pytest.mark.parametrize("step", [2, 6])
def test_a_crash_anywhere_in_a_step_loses_nothing(
    tmp_path: Path, whole: Any, monkeypatch: pytest.MonkeyPatch, place: str, step: int
) -> None:
    homes = {"accumulate": (passes, "accumulate"), "ready": (Optimizer, "ready"), "apply": (Optimizer, "apply"),
             "spread": (loop.Weights, "clear"), "evaluate": (passes, "evaluate"), "note": (RunFolder, "note"),
             "save": (checkpoint, "_commit"), "prune": (checkpoint, "prune")}  # fmt: skip
    home, name = homes[place]
    before, calls = getattr(home, name), []

    def crash(*args: Any, **more: Any) -> Any:
        calls.append(name)
        if len(calls) > step // (3 if place in ("evaluate", "save", "prune") else 1):
            raise KeyboardInterrupt
        return before(*args, **more)

    monkeypatch.setattr(home, name, crash)
    with pytest.raises(KeyboardInterrupt):
        go(tmp_path / "run", checkpoint_every=3)
    monkeypatch.undo()
    if not (tmp_path / "run").exists():  # nothing was trained, and nothing is left
        assert place == "accumulate" or step < 3
        return
    ended = go(tmp_path / "run", checkpoint_every=3, resume=True)
    assert same(ended, whole["swift"][1])
    assert numbers(tmp_path / "run") == numbers(whole["swift"][0])


def test_the_number_of_threads_that_suits_a_model_is_no_other_condition(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    torch.set_num_threads(2)
    try:
        with pytest.raises(Interrupted):
            go(tmp_path / "run", stop_in=2)
        listener = Listener()
        go(tmp_path / "run", resume=True, progress=listener)
        assert listener.said[0] == "resuming from step 3"
    finally:
        torch.set_num_threads(1)


def test_the_same_seed_gives_the_same_bits_and_another_seed_others(tmp_path: Path, whole: Any) -> None:
    assert same(go(tmp_path / "again"), whole["swift"][1])
    assert not same(go(tmp_path / "other", seed=1), whole["swift"][1])


@pytest.mark.parametrize(
    "watching",
    [{"evaluate_every": 1}, {"evaluate_every": 1000}, {"checkpoint_every": 1}, {"record_samples": True},
     {"tensorboard": True}],
)  # fmt: skip
def test_watching_changes_no_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, watching: dict[str, Any]) -> None:
    monkeypatch.setattr(loop.Fit, "choose", lambda fit: {k: t.clone() for k, t in fit.weights.tensors().items()})
    assert same(go(tmp_path / "watched", **watching), go(tmp_path / "alone", evaluate_every=500))


def test_training_leaves_the_callers_random_numbers_alone(tmp_path: Path) -> None:
    torch.manual_seed(7)
    before = torch.get_rng_state()
    config = LANGUAGE_MODELS["gpt"](SIZE, vocab=VOCAB, dropout=0.2)
    weft.fit(config, NextToken.Config(), Text(), out=tmp_path / "run", steps=2, batch=BATCH, quiet=True)
    assert torch.equal(before, torch.get_rng_state())


def test_samples_are_recorded_and_those_of_a_resumed_run_are_the_same(tmp_path: Path) -> None:
    go(tmp_path / "whole", record_samples=True)
    with pytest.raises(Interrupted):
        go(tmp_path / "run", record_samples=True, stop_in=6)
    go(tmp_path / "run", record_samples=True, resume=True)
    found = [line["samples"] for line in lines(tmp_path / "run")]
    assert found == [line["samples"] for line in lines(tmp_path / "whole")]
    assert sum(found, []) == list(range(BATCH * STEPS))


@pytest.mark.parametrize(("batch", "micro"), [(4, 1), (4, 3), (5, 2), (1, None), (1, 4)])
def test_pieces_of_a_batch_give_the_gradient_of_the_whole(tmp_path: Path, batch: int, micro: int | None) -> None:
    config = LANGUAGE_MODELS["gpt"](SIZE, vocab=VOCAB)

    def train(name: str, micro: int | None) -> dict[str, torch.Tensor]:
        run = weft.fit(config, NextToken.Config(), Text(), out=tmp_path / name, steps=4, batch=batch, micro=micro,
                       optimizer="adamw", precision="fp32", quiet=True)  # fmt: skip
        return dict(run.model.state_dict())

    pieces, whole = train("pieces", micro), train("whole", None)
    for name, tensor in whole.items():
        assert torch.allclose(pieces[name], tensor, rtol=1e-4, atol=1e-6), name


def test_patience_stops_early_and_a_resume_after_the_last_step_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worse = iter(range(1, 1000))
    monkeypatch.setattr(passes, "evaluate", lambda job, most=None: HeldOutScore(float(next(worse))))
    listener = Listener()
    ended = go(tmp_path / "run", steps=40, patience=2, progress=listener)
    said = "no better held-out loss in 2 evaluations: training ends early (early stopping), at step 11"
    assert ended.steps == 11 and listener.said.count(said) == 1
    again = go(tmp_path / "run", steps=40, patience=2, resume=True)
    assert again.steps == 11 and same(again, ended)
    noted = lines(tmp_path / "run")
    assert [line["step"] for line in noted] == list(range(1, 12))
    assert noted[-1]["lr"] < 0.6 * noted[-2]["lr"] < noted[8]["lr"]  # the rate falls to zero within the last steps


@pytest.mark.parametrize("schedule", ["linear", "inverse-sqrt"])
def test_a_run_stopped_while_it_lands_goes_on_as_if_never_stopped(
    schedule: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(name: str, **more: Any) -> Outcome:
        how = {"steps": 80, "patience": 2, "evaluate_every": None, "schedule": schedule}
        return go(tmp_path / name, **how, **more)

    def worse() -> None:
        losses = iter(range(1, 1000))
        monkeypatch.setattr(passes, "evaluate", lambda job, most=None: HeldOutScore(float(next(losses))))

    worse()
    whole = run("whole")
    worse()
    with pytest.raises(Interrupted):
        run("parts", stop_in=24)
    parts = run("parts", resume=True)
    assert whole.steps == parts.steps == 30 and same(whole, parts)
    noted = [[(line["lr"], line.get("held_out")) for line in lines(tmp_path / name)] for name in ("whole", "parts")]
    assert noted[0] == noted[1]
    assert noted[0][-1][0] < 0.4 * noted[0][23][0]  # whatever the schedule, it lands


def test_states_say_nothing_of_a_scale_that_only_fp16_has() -> None:
    plain = State(horizon=Horizon(end=9), step=3)
    assert not {"scale", "sound_steps"} & set(plain.to_json()), "weft before it trained in fp16 reads them"
    assert State.from_json(plain.to_json()) == plain
    scaled = State(horizon=Horizon(end=9), scale=8.0, sound_steps=2)
    assert State.from_json(scaled.to_json()) == scaled


def test_states_of_older_checkpoints_are_understood() -> None:
    old = {**State(horizon=Horizon(end=9)).to_json(), "best": 1.5}
    for name in ("lowest", "landing", "evaluate_every"):
        del old[name]
    found = State.from_json(old)
    assert found.best == HeldOutScore(1.5) and found.lowest == 1.5 and found.left == 1


def test_of_classifiers_the_last_weights_are_kept_unless_others_were_clearly_more_often_right() -> None:
    sure, calm = HeldOutScore(2.5, 0.38, 100), HeldOutScore(0.6, 0.40, 100)
    assert sure.beats(calm) and not calm.beats(sure)
    assert not calm.clearly_beats(sure) and not sure.clearly_beats(calm)
    assert HeldOutScore(9.0, 0.30, 100).clearly_beats(calm) and HeldOutScore(0.5, 0.40, 100).beats(calm)
    assert (
        HeldOutScore(1.0).beats(HeldOutScore(2.0))
        and HeldOutScore(1.0).clearly_beats(HeldOutScore(1.1))
        and not HeldOutScore(1.0).beats(HeldOutScore(1.0))
    )


def test_the_best_weights_on_held_out_data_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    losses = iter([3.0, 1.0, 2.0, 4.0])
    monkeypatch.setattr(passes, "evaluate", lambda job, most=None: HeldOutScore(next(losses)))
    listener = Listener()
    best = go(tmp_path / "run", progress=listener)
    assert listener.said == ["the weights of step 6 did better on held-out data and are kept"]
    with pytest.raises(Interrupted):
        go(tmp_path / "short", stop_in=5, evaluate_every=1000)
    saved = checkpoint.latest(tmp_path / "short").tensors("model")
    assert all(torch.equal(saved[name], best.weights[name]) for name in saved)


class NanInStep(NextToken):
    """The loss of one step is not a number."""

    class Config(NextToken.Config):
        step: int = 5

    def __init__(self, config: Any):
        super().__init__(config)
        self.calls, self.step = 0, config.step

    def __call__(self, model: Any, batch: Any) -> Any:
        loss = super().__call__(model, batch)
        self.calls += model.training
        if model.training and self.calls == self.step:
            return type(loss)(loss.total * math.nan, loss.count)
        return loss


def test_a_loss_that_is_not_a_number_stops_before_the_weights_and_names_the_samples(tmp_path: Path) -> None:
    with pytest.raises(Diverged, match=r"step 5: .* not a finite number \(samples 16 to 19\)") as error:
        go(tmp_path / "run", objective=NanInStep.Config())
    assert error.value.exit_code == 2 and "lr=0.002" in error.value.fix and "step 4 is kept" in error.value.fix
    assert lines(tmp_path / "run")[-1]["samples"] == [16, 17, 18, 19]
    kept = checkpoint.latest(tmp_path / "run")
    with pytest.raises(Interrupted):
        go(tmp_path / "good", stop_in=3)
    good = checkpoint.latest(tmp_path / "good").tensors("model")
    assert kept.step == 4 and all(torch.equal(kept.tensors("model")[name], good[name]) for name in good)


def test_a_diverging_run_stops_with_advice_and_keeps_its_checkpoints(tmp_path: Path) -> None:
    with pytest.raises(Diverged, match="diverged in step") as error:
        go(tmp_path / "run", model="gpt", lr=1e3, steps=200, checkpoint_every=1)
    assert "--set lr=0.01" in error.value.fix
    found = checkpoint.latest(tmp_path / "run")
    assert found is not None and all(t.isfinite().all() for t in found.tensors("model").values())


class Planted(NextToken):
    """The loss is multiplied from one step on, up to another: garbage among the data, or weights that went astray."""

    class Config(NextToken.Config):
        begin: int = 12
        end: int = 13
        times: float = 4.0

    def __init__(self, config: Any):
        self.calls, self.config = 0, config

    def __call__(self, model: Any, batch: Any) -> Any:
        loss = super().__call__(model, batch)
        step, self.calls = self.calls, self.calls + model.training
        if model.training and self.config.begin <= step < self.config.end:
            return type(loss)(loss.total * self.config.times, loss.count)
        return loss


def test_a_jump_of_the_loss_is_noted_with_its_samples_and_the_run_goes_on(tmp_path: Path) -> None:
    settings = {"objective": Planted.Config(), "steps": 16, "checkpoint_every": 4}
    listener = Listener()
    go(tmp_path / "run", progress=listener, **settings)
    noted = [line for line in lines(tmp_path / "run") if "samples" in line]
    assert [(line["step"], line["samples"]) for line in noted] == [(13, [48, 49, 50, 51])]
    said = [said for said in listener.said if "jumped" in said]
    assert len(said) == 1 and said[0].endswith("in step 13 (samples 48 to 51); training goes on")


def test_after_divergence_the_last_good_checkpoint_is_kept_and_not_the_last_finite_one(tmp_path: Path) -> None:
    """From step 12 on the losses are four times what they were: the run stops later, when twenty of them say so."""
    with pytest.raises(Diverged, match="the loss grew from") as error:
        go(tmp_path / "run", objective=Planted.Config(end=1000), steps=60, checkpoint_every=3)
    assert "the checkpoint of step 12 is kept" in error.value.fix
    assert checkpoint.latest(tmp_path / "run").step == 12
    aside = sorted(path.name for path in (tmp_path / "run" / "checkpoints").glob("*.diverged-*"))
    assert len(aside) == 2 and f"later ones are set aside as {aside[0]} and {aside[1]}" in error.value.fix
    with pytest.raises(Interrupted):
        go(tmp_path / "good", stop_in=11, steps=60)
    kept, good = (checkpoint.latest(tmp_path / name).tensors("model") for name in ("run", "good"))
    assert all(torch.equal(kept[name], good[name]) for name in good)


def test_a_healthy_run_with_noisy_losses_does_well() -> None:
    """Also where the first losses are low by chance: here the first one is a tenth of the usual."""
    for seed in range(20):
        losses = 0.8 + 0.2 * np.exp(-np.arange(400) / 100) + 0.4 * np.random.default_rng(seed).standard_normal(400)
        losses[0] = 0.1
        state, well = State(), []
        for loss in losses.tolist():
            divergence(state, loss)
            well.append(doing_well(state))
        assert all(well[:9]) and sum(well[-100:]) >= 50
        for loss in (losses[-40:] + 1.5).tolist():
            divergence(state, loss)
        assert not doing_well(state)


def test_a_state_of_an_earlier_version_begins_its_means_anew() -> None:
    saved = {**State(step=30, recent=[1.0] * 20, first_loss=0.2).to_json(), "calmest": 0.1}
    del saved["first_mean"], saved["lowest_recent_mean"]
    state = State.from_json(saved)
    divergence(state, 1.0)
    assert doing_well(state) and state.lowest_recent_mean == 1.0


class Moving(Planted):
    """An objective whose target moves: its loss may rise."""

    comparable = False

    class Config(Planted.Config):
        pass


def test_losses_say_nothing_of_a_run_whose_target_moves(tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        go(tmp_path / "run", objective=Moving.Config(times=2.0, end=1000), steps=60, checkpoint_every=3, stop_in=23)
    found = checkpoint.latest(tmp_path / "run")
    assert found.step == found.state()["good_step"] == 24


def test_after_divergence_the_message_names_a_checkpoint_that_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save = checkpoint.save_checkpoint

    def refusing(folder: Path, step: int, *args: Any, **more: Any) -> Path:
        if step == 12:
            raise StorageError("no space")
        return save(folder, step, *args, **more)

    monkeypatch.setattr(checkpoint, "save_checkpoint", refusing)
    with pytest.raises(Diverged) as error:
        go(tmp_path / "run", objective=Planted.Config(end=1000), steps=60, checkpoint_every=3)
    assert "the checkpoint of step 9 is kept" in error.value.fix
    assert checkpoint.latest(tmp_path / "run").step == 9


def test_a_run_that_does_worse_for_a_while_keeps_its_last_good_checkpoint_besides_the_newest(tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        go(tmp_path / "run", objective=Planted.Config(times=2.0, end=1000), steps=60, checkpoint_every=3, stop_in=23)
    assert sorted(path.name for path in (tmp_path / "run" / "checkpoints").iterdir()) == [
        "00000012",
        "00000021",
        "00000024",
    ]
    assert checkpoint.latest(tmp_path / "run").step == 24


def test_a_run_that_ends_worse_than_knowing_nothing_says_so(tmp_path: Path) -> None:
    listener = Listener()
    ended = go(tmp_path / "run", model="gpt", lr=10.0, steps=12, evaluate_every=1000, progress=listener)
    assert listener.said == [f"warning: {ended.warning}"]
    assert ended.warning.startswith("this model is worse than an untrained one: held-out loss ")
    assert ended.warning.endswith("start again with a lower learning rate, for example --set lr=0.01")
    assert go(tmp_path / "calm", model="gpt", lr=1e-3, steps=4).warning == ""


def test_where_a_fresh_model_does_not_fit_beside_the_trained_one_the_run_ends_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models, evaluate = [], passes.evaluate

    def cramped(job: Any, **more: Any) -> HeldOutScore:
        models.append(job.model)
        if job.model is not models[0]:
            raise torch.OutOfMemoryError("no room")
        return evaluate(job, **more)

    monkeypatch.setattr(passes, "evaluate", cramped)
    ended = go(tmp_path / "run", model="gpt", lr=10.0, steps=12, evaluate_every=1000)
    assert models[-1] is not models[0] and ended.warning == ""


@pytest.mark.parametrize("lr", [0.0, -1.0])
def test_rates_that_cannot_train_are_refused(lr: float) -> None:
    with pytest.raises(ConfigError, match="above 0"):
        Training(lr=lr)


def test_a_warm_up_longer_than_the_run_works(tmp_path: Path) -> None:
    go(tmp_path / "run", warmup=1000, steps=3)
    rates = [line["lr"] for line in lines(tmp_path / "run")]
    assert len(rates) == 3 and all(0 < rate < 6e-3 / 100 for rate in rates)


def test_a_full_disk_for_metrics_costs_one_warning(tmp_path: Path, whole: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: Any) -> None:
        raise StorageError("no space: needs 100 bytes, has 0 bytes")

    listener = Listener()
    monkeypatch.setattr(store, "append_line", full)
    ended = go(tmp_path / "run", progress=listener)
    assert same(ended, whole["swift"][1])
    assert [said for said in listener.said if "metrics are not being written: no space" in said] == listener.said[:1]
    assert len(listener.said) <= 2


def test_metrics_are_on_disk_before_the_manifest_of_a_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []

    def recorded(name: str, path_of: Callable[..., str]) -> None:
        call = getattr(os, name)

        def wrapped(*args: Any) -> Any:
            calls.append(f"{name} {Path(path_of(*args)).name}")
            return call(*args)

        monkeypatch.setattr(os, name, wrapped)

    recorded("write", lambda file, data: os.readlink(f"/proc/self/fd/{file}"))
    recorded("fsync", lambda file: os.readlink(f"/proc/self/fd/{file}"))
    recorded("replace", lambda source, target: str(target))
    go(tmp_path / "run", steps=4, checkpoint_every=2)
    manifests = [i for i, call in enumerate(calls) if call == "replace manifest.json"]
    assert len(manifests) == 2
    for manifest in manifests:
        before = calls[:manifest]
        written = max(i for i, call in enumerate(before) if call == "write metrics.jsonl")
        assert before[written + 1 : written + 3] == ["fsync metrics.jsonl", "fsync run"]


def test_damaged_lines_of_the_metrics_cost_one_warning_and_not_the_run(tmp_path: Path, whole: Any) -> None:
    with pytest.raises(Interrupted):
        go(tmp_path / "run", stop_in=6)
    path = tmp_path / "run" / "metrics.jsonl"
    noted = path.read_text().splitlines()
    noted[1], noted[3], noted[4] = noted[1][:20], noted[3].replace('"step"', '"stdp"'), "\0" * 30
    path.write_text("\n".join(noted) + "\n")
    listener = Listener()
    assert same(go(tmp_path / "run", resume=True, progress=listener), whole["swift"][1])
    warned = "warning: metrics.jsonl is damaged in 2 lines, the first is line 2, left out; the weights are not affected"
    assert [said for said in listener.said if "metrics" in said] == [warned]
    assert [line["step"] for line in lines(tmp_path / "run")] == [1, 3, 6, 7, 8, 9, 10]


def test_a_line_damaged_while_the_run_goes_on_does_not_keep_it_from_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, drawn = tmp_path / "run" / "metrics.jsonl", []

    def damage(step: int) -> None:
        if step == 2:
            path.write_bytes(b"\xff\xfe" + path.read_bytes()[2:])

    monkeypatch.setattr("weft.runs.training.loss_curve", lambda rows, **more: drawn.extend(rows) or b"a picture")
    weft.fit(LANGUAGE_MODELS["gpt"](SIZE, vocab=VOCAB), NextToken.Config(), Text(during=damage), out=tmp_path / "run",
             steps=4, batch=BATCH, quiet=True)  # fmt: skip
    assert [row["step"] for row in drawn] == [2, 3, 4]


def test_a_checkpoint_that_cannot_be_saved_is_tried_again_later(
    tmp_path: Path, whole: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    saves, save = iter([False, True, True, True, True]), checkpoint.save_checkpoint

    def sometimes(*args: Any, **more: Any) -> Path:
        if not next(saves):
            raise StorageError("no space: needs 1 MB, has 0 bytes")
        return save(*args, **more)

    monkeypatch.setattr("weft.training.checkpoint.save_checkpoint", sometimes)
    listener = Listener()
    assert same(go(tmp_path / "run", checkpoint_every=4, progress=listener), whole["swift"][1])
    assert listener.said[0].startswith("warning: no checkpoint at step 4: no space")


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files go."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    return place


@pytest.mark.parametrize("parent_too", [False, True])
def test_a_run_whose_folder_vanished_is_saved_elsewhere_and_goes_on_there(
    tmp_path: Path, whole: Any, nowhere: Path, parent_too: bool
) -> None:
    home = tmp_path / "runs"
    home.mkdir()

    def vanish(step: int) -> None:
        if step == 5:
            shutil.rmtree(home / "run")
            if parent_too:  # and a file stands where the folder of runs was
                home.rmdir()
                home.write_text("")

    stop = StopRequest()
    with pytest.raises(StorageError) as error:
        go(home / "run", source=Text(during=vanish), steps=STEPS)
    assert error.value.exit_code == 74 and "--resume --out" in error.value.fix and stop.asked is None
    place = (nowhere if parent_too else home) / "run-rescued-1"
    assert str(place) in error.value.fix
    assert same(go(place, resume=True), whole["swift"][1])


def test_a_run_refuses_to_go_on_with_other_data_or_settings(tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        go(tmp_path / "run", stop_in=2)
    with pytest.raises(DataError, match="the data has changed since this run began"):
        go(tmp_path / "run", resume=True, source=Text(fingerprint="another text"))
    with pytest.raises(ConfigError, match="the training differs"):
        go(tmp_path / "run", resume=True, lr=1e-3)
    with pytest.raises(ConfigError, match="the model differs"):
        go(tmp_path / "run", resume=True, model="gpt")


def test_a_folder_in_use_is_refused_and_says_by_whom(tmp_path: Path) -> None:
    refused = []

    def second(step: int) -> None:
        if step == 1:
            with pytest.raises(WeftError, match="in use by pid") as error:
                go(tmp_path / "run", resume=True)
            refused.append(error)

    go(tmp_path / "run", source=Text(during=second), steps=3)
    assert refused


def test_a_start_that_is_refused_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.training.claim.require_space", lambda *_: (_ for _ in ()).throw(StorageError("no space")))
    with pytest.raises(StorageError):
        go(tmp_path / "deep" / "run")
    monkeypatch.undo()
    monkeypatch.setattr(store, "probe", lambda *_: (_ for _ in ()).throw(StorageError("read-only")))
    with pytest.raises(StorageError, match="read-only"):
        go(tmp_path / "deep" / "run")
    assert list(tmp_path.iterdir()) == []


def test_the_first_checkpoint_of_a_new_run_does_not_prune_an_old_one(tmp_path: Path) -> None:
    go(tmp_path / "run", steps=3)
    with pytest.raises(WeftError, match="a run is already here"):
        go(tmp_path / "run", steps=1)
    (tmp_path / "run" / "config.json").unlink()
    with pytest.raises(WeftError, match="the folder is not empty"):
        go(tmp_path / "run", steps=1)
    assert checkpoint.latest(tmp_path / "run").step == 3


def test_a_run_by_minutes_ends_in_time(tmp_path: Path) -> None:
    ended = go(tmp_path / "run", budget=Budget(minutes=0.05))
    assert 1.5 < ended.seconds < 6 and ended.steps == len(lines(tmp_path / "run"))


def test_the_end_of_a_run_by_minutes_follows_the_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps that take half a second each, where a tenth was measured: the run ends in time, with fewer steps."""
    ticks: Iterator[float] = (n * 0.25 for n in range(10**6))

    class Slow(loop.Clock):
        def now(self) -> float:
            return next(ticks)

    monkeypatch.setattr(loop, "Clock", Slow)
    monkeypatch.setattr("weft.training.run.step_seconds", lambda *_, **more: 0.1)
    ended = go(tmp_path / "run", budget=Budget(minutes=0.5))
    assert 28 <= ended.seconds <= 33 and ended.steps < 60
    rates = [line["lr"] for line in lines(tmp_path / "run")]
    assert rates[3:] == sorted(rates[3:], reverse=True) and rates[-1] < 0.1 * max(rates)


def test_numbers_too_small_for_all_their_digits_are_part_of_what_a_checkpoint_says_of_the_machine() -> None:
    before = environment()
    if not torch.set_flush_denormal(True):
        pytest.skip("this processor cannot flush them")
    try:
        now = environment()
    finally:
        torch.set_flush_denormal(False)
    assert environment() == before
    assert environment_differences(before, now) == ["denormals was kept, is flushed"]
    earlier = {name: value for name, value in before.items() if name != "denormals"}
    assert environment_differences(earlier, now) == []


def test_steps_and_samples_are_counted_beyond_32_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, begin = 2**32, loop.Fit.__init__

    def late(fit: Any, job: Any, state: Any, saved: Any = None) -> None:
        if saved is None:
            state.step = first
        begin(fit, job, state, saved)

    monkeypatch.setattr(loop.Fit, "__init__", late)
    go(tmp_path / "whole", steps=first + 3, record_samples=True)
    with pytest.raises(Interrupted):
        go(tmp_path / "parts", steps=first + 3, record_samples=True, stop_in=first + 1)
    go(tmp_path / "parts", steps=first + 3, record_samples=True, resume=True)
    for name in ("whole", "parts"):
        assert [line["step"] for line in lines(tmp_path / name)] == [first + 1, first + 2, first + 3]
        assert lines(tmp_path / name)[0]["samples"] == [first * BATCH + i for i in range(BATCH)]
    assert numbers(tmp_path / "whole") == numbers(tmp_path / "parts")
