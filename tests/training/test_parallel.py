"""Several processes hold and compute the weights of one model: the losses of one process, whatever the model."""

import signal
import time
from pathlib import Path

import pytest
import torch
from helpers.commands import TINY, Weft, lines
from helpers.trials import TRIALS
from safetensors.torch import load_file
from training.test_world import HANGS, TRAIN, close, start, together

TASKS = [name for name in TRIALS if name != "graph"]  # one graph is one sample
STILL = {"dropout": 0.0, "drop": 0.0, "strength": "none", "smoothing": 0.0}  # of what chance draws


EXACT = {"model": 1e-5, "average": 1e-5, "optimizer": 1e-4}  # of the largest number; sums are added in another order


def words(name: str) -> list[str]:
    """The command that trains a task for four steps, without what chance draws."""
    trial = TRIALS[name]
    said = {"dim": 16, "depth": 2, "heads": 1, "evaluate_every": 100, "precision": "fp32", "baselines": "false"}
    said |= {**trial.settings, **{key: STILL[key] for key in trial.drawn if key in STILL}, "batch": 4}
    if name == "embed-words":
        said = {key: said[key] for key in said if key not in ("depth", "heads")}
    model = said.pop("model", None)
    told = (word for key, value in said.items() if value is not None for word in ("--set", f"{key}={value}"))
    command = ["train", *map(str, trial.data), "--task", name, "--steps", "4", *told]
    return [*command, *(["--model", str(model)] if model else [])]


STOPS = """
from weft.training import loop
step = loop.Fit.step
def stopping(fit):
    if fit.state.step == {}: fit.job.stop.asked = 'SIGTERM'
    return step(fit)
loop.Fit.step = stopping
"""


def losses(run: Path) -> list[float]:
    return [line["loss"] for line in lines(run)]


MESSAGES = """
import torch.distributed as dist
from weft.training import loop, parallel, shares
sent = []
def noted(name, *places):
    was = getattr(places[0], name)
    def call(*given, **more):
        sent.append(f"{name} {str(given[0].dtype)[6:]}")
        return was(*given, **more)
    for place in places: setattr(place, name, call)
for name in ("all_reduce", "broadcast", "all_to_all_single"): noted(name, dist)
for name in ("gather_all", "add_and_scatter"): noted(name, shares, parallel)
step = loop.Fit.step
def stepping(fit):
    sent.clear()
    line = step(fit)
    open("sent", "w").write(chr(10).join(sent))
    return line
loop.Fit.step = stepping
"""


SENT = {
    # gradients, numbers of the step, updates of Muon
    "replicate": ["all_reduce float32", "all_reduce float64", "gather_all float32"],
    # weights, gradients, numbers of the step, matrices for Muon there and back
    "shard": ["gather_all float32", "add_and_scatter float32", "all_reduce float64"]
    + 2 * ["all_to_all_single float32"],
}


@pytest.mark.slow
@pytest.mark.parametrize("mode", SENT)
def test_a_step_of_a_small_model_sends_its_gradients_at_once_and_its_numbers_at_once(weft: Weft, mode: str) -> None:
    done = together(weft, *TRAIN, "--steps", "3", "--set", f"parallel={mode}", before={0: MESSAGES})
    assert [one.code for one in done] == [0, 0], done[0].err
    assert (weft.folder / "sent").read_text().splitlines() == SENT[mode]


APART = "from weft.training import owners; owners.MOST_FILLED = 0"


def test_updates_that_each_owner_sends_by_itself_are_those_of_one_process(weft: Weft) -> None:
    assert weft(*TRAIN, "--steps", "4", "--out", "alone").code == 0
    done = together(weft, *TRAIN, "--steps", "4", "--out", "run", before={0: MESSAGES + APART, 1: APART})
    assert [one.code for one in done] == [0, 0], done[0].err + done[1].err
    sent = (weft.folder / "sent").read_text().splitlines()
    assert sent == [*SENT["replicate"][:2], "broadcast float32", "broadcast float32"]
    assert losses(weft.folder / "run") == pytest.approx(losses(weft.folder / "alone"), rel=1e-6)
    assert close(weft.folder / "run", weft.folder / "alone")


def go_on(weft: Weft, size: int, mode: str, until: int | None) -> None:
    """Go on with the run in some processes, to a step or to the end."""
    stop = {0: STOPS.format(until - 1)} if until else {}
    done = together(weft, "train", "--resume", "--out", "run", "--set", f"parallel={mode}", size=size, before=stop)
    assert [one.code for one in done] == [75 if until else 0] * size, [one.err for one in done]


@pytest.mark.slow
def test_a_run_that_shares_weights_goes_on_in_any_number_of_processes_and_answers_in_between(weft: Weft) -> None:
    command = (*TRAIN[:-2], "--set", "warmup=2", "--set", "average=2", "--steps", "8")
    alone = weft(*command, "--out", "alone")
    assert alone.code == 0, alone.err
    begun = together(weft, *command, "--out", "run", "--set", "parallel=shard", before={1: STOPS.format(2)})
    assert [one.code for one in begun] == [75, 75], begun[0].err + begun[1].err
    run = weft.folder / "run"
    (held,) = (run / "checkpoints").iterdir()
    assert len(list(held.glob("shard-0000?-*.safetensors"))) == 2 and not (held / "model.safetensors").exists()
    assert weft("predict", "run", "The", "--json").json["predictions"]
    go_on(weft, 1, "shard", 5)
    assert (run / "checkpoints" / "00000005" / "model.safetensors").exists()
    go_on(weft, 2, "shard", 6)
    go_on(weft, 2, "replicate", 7)
    go_on(weft, 2, "shard", None)
    assert losses(run) == pytest.approx(losses(weft.folder / "alone"), rel=1e-6)
    assert close(run, weft.folder / "alone")
    assert (run / "model.safetensors").exists()


def kept(run: Path, group: str) -> dict[str, torch.Tensor]:
    """A group of tensors of the last checkpoint, which one process wrote."""
    *_, last = sorted((run / "checkpoints").iterdir())
    return load_file(last / f"{group}.safetensors")


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["replicate", "shard"])
def test_one_two_four_and_one_process_in_turn_train_the_run_of_one(weft: Weft, mode: str) -> None:
    """In the middle of an epoch, with dropout: samples, losses, weights and the memory of the optimizer."""
    still = [word if word != "dropout=0" else "dropout=0.1" for word in TRAIN]
    command = (*still, "--set", "optimizer=adamw", "--set", "average=2")
    done = weft(*command, "--steps", "8", "--out", "alone")
    assert done.code == 0, done.err
    begun = together(weft, *command, "--steps", "8", "--out", "run", size=1, before={0: STOPS.format(2)})
    assert begun[0].code == 75, begun[0].err
    for size, until in ((2, 4), (4, 6), (1, None)):
        go_on(weft, size, mode, until)
    run, alone = weft.folder / "run", weft.folder / "alone"
    assert [line["samples"] for line in lines(run)] == [line["samples"] for line in lines(alone)]
    assert losses(run) == pytest.approx(losses(alone), rel=1e-6)
    for group in ("model", "optimizer", "average"):
        ours, theirs = kept(run, group), kept(alone, group)
        assert ours.keys() == theirs.keys()
        apart = {name: float((ours[name] - theirs[name]).abs().max() / theirs[name].abs().max()) for name in ours}
        assert max(apart.values()) <= EXACT[group], apart


KILLED = """
import os, signal
from weft.training import loop
step = loop.Fit.step
def killed(fit):
    if fit.state.step == 5: os.kill(os.getpid(), signal.SIGKILL)
    return step(fit)
loop.Fit.step = killed
"""


@pytest.mark.parametrize("mode", [pytest.param("replicate"), pytest.param("shard", marks=pytest.mark.slow)])
def test_batch_norms_of_a_run_that_was_killed_go_on_from_its_checkpoint(weft: Weft, mode: str) -> None:
    command = ("train", *map(str, TRIALS["classify-images"].data), "--task", "classify-images", "--model", "resnet",
               "--steps", "6", "--set", "batch=4", "--set", "precision=fp32", "--set", "evaluate_every=100",
               "--set", "checkpoint_every=4", "--set", f"parallel={mode}", "--set", "baselines=false")  # fmt: skip
    whole = together(weft, *command, "--out", "whole")
    assert [one.code for one in whole] == [0, 0], whole[0].err
    ended = together(weft, *command, "--out", "run", before={0: KILLED, 1: KILLED})
    assert [one.code for one in ended] == [-signal.SIGKILL] * 2, ended[0].err
    (held,) = (weft.folder / "run" / "checkpoints").iterdir()
    steps = {int(t) for path in held.glob("*model*.safetensors") for name, t in load_file(path).items()
             if name.endswith("num_batches_tracked")}  # fmt: skip
    assert held.name == "00000004" and steps == {4}
    done = together(weft, "train", "--resume", "--out", "run")
    assert [one.code for one in done] == [0, 0], done[0].err
    assert losses(weft.folder / "run") == pytest.approx(losses(weft.folder / "whole"), rel=1e-6)
    assert close(weft.folder / "run", weft.folder / "whole")


DIES = """
import os, signal
from weft.training import checkpoint
write = checkpoint.write_shards
def dying(staged, groups, cut):
    if "step-4-" in staged.name: os.kill(os.getpid(), signal.SIGKILL)
    return write(staged, groups, cut)
checkpoint.write_shards = dying
"""
FULL = """
import errno
import torch.distributed.checkpoint as dcp
writer = dcp.HuggingFaceStorageWriter
class Full(writer):
    def write_data(self, plan, planner):
        if "step-4-" in str(self.path): raise OSError(errno.ENOSPC, "No space left on device", str(self.path))
        return super().write_data(plan, planner)
dcp.HuggingFaceStorageWriter = Full
"""
SHARED = ("--set", "parallel=shard", "--set", "checkpoint_every=2", "--steps", "6", "--out", "run")


def names(run: Path) -> list[str]:
    return sorted(path.name for path in (run / "checkpoints").iterdir())


def test_a_process_killed_while_it_saves_its_part_leaves_the_checkpoint_before(weft: Weft) -> None:
    first, second = together(weft, *TRAIN, *SHARED, before={1: DIES})
    assert (first.code, second.code) == (75, -9), first.err + second.err
    assert "process 1 of 2 (pid " in first.err and "the checkpoint of step 2 is kept" in first.err, first.err
    assert names(weft.folder / "run") == ["00000002"]
    assert weft("predict", "run", "The", "--json").json["predictions"]


def test_shared_weights_learn_as_in_one_process_and_a_disk_that_is_full_for_one_costs_a_warning(weft: Weft) -> None:
    assert weft(*TRAIN, "--steps", "6", "--out", "alone").code == 0
    done = together(weft, *TRAIN, *SHARED, before={1: FULL})
    assert [one.code for one in done] == [0, 0], done[0].err + done[1].err
    assert losses(weft.folder / "run") == pytest.approx(losses(weft.folder / "alone"), rel=1e-6)
    assert close(weft.folder / "run", weft.folder / "alone")
    assert "no checkpoint at step 4: no space" in done[0].err and "training goes on" in done[0].err, done[0].err
    assert names(weft.folder / "run") == ["00000002", "00000006"]


@pytest.mark.slow
def test_a_process_that_waits_for_shared_weights_hears_a_signal_and_says_what_is_kept(weft: Weft) -> None:
    jobs = start(weft, *TRAIN, *SHARED, before={1: HANGS})
    jobs[0].until(lambda: len(lines(weft.folder / "run")) == 2)
    time.sleep(0.5)
    began = time.monotonic()
    jobs[0].signal(signal.SIGTERM)
    done = jobs[0].wait()
    jobs[1].signal(signal.SIGKILL)
    assert time.monotonic() - began < 8.0 and done.code == 75, done
    assert "process 1 of 2 (pid" in done.err and "the checkpoint of step 2 is kept" in done.err, done.err


def test_what_is_said_of_a_way_to_share_that_cannot_be(weft: Weft) -> None:
    assert "add --set parallel=shard" in weft(*TRAIN, "--steps", "2", "--set", "replicas=2").err
    alone = weft(*TRAIN, "--steps", "2", "--set", "parallel=shard")
    assert alone.code == 0 and "this is the only process, and holds all weights" in alone.err, alone.err
    done = together(weft, *TRAIN, "--steps", "2", "--set", "parallel=shard", "--set", "replicas=3")
    assert [one.code for one in done] == [2, 2], done
    assert "2 processes do not divide into 3 replicas" in done[0].err, done[0].err


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
def test_processes_that_replicate_or_share_weights_have_the_losses_of_one(weft: Weft, name: str) -> None:
    alone = weft(*words(name), "--out", "one")
    assert alone.code == 0, alone.err
    found = {}
    for mode in ("replicate", "shard"):
        done = together(weft, *words(name), "--out", mode, "--set", f"parallel={mode}")
        assert [one.code for one in done] == [0, 0], done[0].err + done[1].err
        found[mode] = losses(weft.folder / mode)
    assert found["shard"] == pytest.approx(found["replicate"], rel=1e-6), found
    assert found["replicate"] == pytest.approx(losses(weft.folder / "one"), rel=1e-6), found


WAYS = {
    "tied, in pieces": ("--model", "gpt", "--set", "micro=1"),
    "computed again": ("--model", "llama", "--set", "recompute=true"),
    "tables of rows": ("--model", "swift", "--set", "optimizer=muon"),
    "the same blocks twice": ("--model", "gpt", "--set", "model.trunk.passes=2"),
    "no dropout, AdamW": ("--model", "llama", "--set", "optimizer=adamw", "--set", "weight_decay=0.1"),
}


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_one_two_and_four_processes_have_the_same_losses(weft: Weft, way: str) -> None:
    """Two share weights; four do, in two replicas."""
    command = ("train", "book.txt", *TINY, "--set", "dropout=0", "--steps", "4", *WAYS[way])
    alone = weft(*command, "--out", "one")
    assert alone.code == 0, alone.err
    expected = pytest.approx(losses(weft.folder / "one"), rel=1e-6)
    for size, more in ((2, ("parallel=shard",)), (4, ("parallel=shard", "replicas=2")), (4, ("parallel=replicate",))):
        out = f"{size} {more[-1]}"
        told = (word for one in more for word in ("--set", one))
        done = together(weft, *command, "--out", out, *told, size=size)
        assert [one.code for one in done] == [0] * size, [one.err for one in done]
        assert losses(weft.folder / out) == expected, out
        if "gpt" not in WAYS[way]:  # offsets of keys learn noise alone
            assert close(weft.folder / out, weft.folder / "one"), out


@pytest.mark.slow
def test_adapters_learn_alike_where_frozen_weights_are_shared(weft: Weft) -> None:
    base = ("train", "book.txt", *TINY, "--model", "llama", "--set", "dropout=0", "--steps", "2", "--out", "base")
    assert weft(*base).code == 0
    command = ("train", "book.txt", "--from", "base", "--set", "lora=2", "--set", "batch=4", "--steps", "4")
    assert weft(*command, "--out", "one").code == 0
    done = together(weft, *command, "--out", "two", "--set", "parallel=shard")
    assert [one.code for one in done] == [0, 0], done[0].err + done[1].err
    assert losses(weft.folder / "two") == pytest.approx(losses(weft.folder / "one"), rel=1e-6)


@pytest.mark.slow
def test_rounded_weights_keep_what_is_exact_and_learn_alike(weft: Weft) -> None:
    """In bf16 sums of gradients are made in fp32; the order of sums within a process still differs."""
    command = ("train", "book.txt", *TINY[:10], "--precision", "bf16", "--set", "dropout=0", "--steps", "4")
    for model in ("gpt", "swift"):
        assert weft(*command, "--model", model, "--out", model).code == 0
        for mode in ("replicate", "shard"):
            out = f"{model}-{mode}"
            done = together(weft, *command, "--model", model, "--set", f"parallel={mode}", "--out", out)
            assert [one.code for one in done] == [0, 0], done[0].err + done[1].err
            assert losses(weft.folder / out) == pytest.approx(losses(weft.folder / model), rel=3e-3)
