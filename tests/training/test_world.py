"""Several processes train as one: the same samples, nearly the same weights, one writer, one decision."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from helpers import processes
from helpers.commands import TINY, Done, Job, Weft, lines
from safetensors.torch import load_file
from torch.distributed import HashStore

from weft.errors import ConfigError, Interrupted, WeftError
from weft.models.zoo import LANGUAGE_MODELS, Size
from weft.objectives import NextToken
from weft.tasks import sizing
from weft.training import world
from weft.training.launched import launched
from weft.training.schedule import Budget
from weft.training.settings import Training
from weft.training.work import Work
from weft.training.world import World

TRAIN = ("train", "book.txt", *TINY, "--model", "llama", "--set", "lr=3e-3", "--set", "dropout=0", "--set",
         "evaluate_every=1000", "--set", "record_samples=true", "--set", "warmup=2")  # fmt: skip
# A process that writes nothing: whatever it tries to write in a run folder is a fault.
ONLY_READS = """
from weft.storage import store, tensors, lock
def refuse(*args, **more): raise AssertionError(f"a second writer: {args}")
store.write_file = store.append_line = store.make_folder = store.probe = refuse
lock.RunLock.__enter__ = refuse
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(weft: Weft, *words: str, size: int = 2, before: dict[int, str] | None = None) -> list[Job]:
    """The command in several processes, as torchrun would start it."""
    port = str(free_port())
    common = {"WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    codes = before or {}
    return [
        weft.start(*words, env={**common, "RANK": str(rank)}, before=(ONLY_READS if rank else "") + codes.get(rank, ""))
        for rank in range(size)
    ]


def together(weft: Weft, *words: str, size: int = 2, before: dict[int, str] | None = None) -> list[Done]:
    return [job.wait() for job in start(weft, *words, size=size, before=before)]


def weights(run: Path) -> dict[str, torch.Tensor]:
    return load_file(run / "model.safetensors")


def close(a: Path, b: Path) -> bool:
    """Within 1e-5 of the largest weight. The model has no offsets: those of keys learn nothing but noise."""
    one, other = weights(a), weights(b)
    return one.keys() == other.keys() and all((one[k] - other[k]).abs().max() <= 1e-5 * one[k].abs().max() for k in one)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same run in one process."""
    from helpers.commands import text

    folder = tmp_path_factory.mktemp("alone")
    (folder / "book.txt").write_text(text())
    done = Weft(folder, folder)(*TRAIN, "--steps", "8", "--out", "run")
    assert done.code == 0, done.err
    return folder / "run"


def test_two_processes_train_the_weights_of_one_and_only_the_first_writes_and_speaks(weft: Weft, alone: Path) -> None:
    first, second = together(weft, *TRAIN, "--steps", "8")
    assert (first.code, second.code) == (0, 0), first.err + second.err
    assert "run folder: runs/book-1" in first.out
    run = weft.folder / "runs" / "book-1"
    assert [path.name for path in run.parent.iterdir()] == ["book-1"]
    assert close(run, alone)
    assert [line["samples"] for line in lines(run)] == [line["samples"] for line in lines(alone)]
    assert second.err == ""


TERM = """
from weft.objectives import Loss, NextToken, Term
one = NextToken.one
def low(part): return part.given.ids % 7 == 0
def with_term(self, model, part):
    loss, x = one(self, model, part), model.encode(part.given.raw()).x.square().mean(-1)[low(part)]
    return Loss(loss.total, loss.count, terms=(Term("squares", x.sum(), x.numel(), 0.5),))
NextToken.one = with_term
NextToken.counts = lambda self, batch: {"loss": batch.wanted.values.numel(), "squares": int(low(batch).sum())}
"""


def test_a_further_term_of_the_loss_is_divided_by_its_count_in_all_processes(weft: Weft) -> None:
    done = together(weft, *TRAIN, "--steps", "4", "--out", "two", before={0: TERM, 1: TERM})
    assert [one.code for one in done] == [0, 0], done[0].err + done[1].err
    assert weft(*TRAIN, "--steps", "4", "--out", "one", before=TERM).code == 0
    one, two = weft.folder / "one", weft.folder / "two"
    assert close(two, one)
    assert [line["squares"] for line in lines(two)] == pytest.approx([line["squares"] for line in lines(one)], rel=1e-4)


def test_a_finished_run_is_finished_for_all_processes(weft: Weft, alone: Path) -> None:
    done = together(weft, "train", "--resume", "--out", str(alone))
    assert [one.code for one in done] == [0, 0], done
    assert "this run is finished" in done[0].err and done[1].out == done[1].err == ""


def test_a_run_goes_on_in_another_number_of_processes(weft: Weft, alone: Path) -> None:
    stopper = "from weft.training import loop\nstep = loop.Fit.step\n" \
        "def stopping(fit):\n    if fit.state.step == 2: fit.job.stop.asked = 'SIGTERM'\n    return step(fit)\n" \
        "loop.Fit.step = stopping\n"  # fmt: skip
    done = weft(*TRAIN, "--steps", "8", "--out", "run", before=stopper)
    assert done.code == 75, done.err
    resumed = together(weft, "train", "--resume", "--out", "run", before={1: stopper.replace("== 2", "== 5")})
    assert [done.code for done in resumed] == [75, 75], resumed[0].err + resumed[1].err
    assert "stopped by another process at step 6, and saved" in resumed[0].err
    done = weft("train", "--resume", "--out", "run")
    assert done.code == 0, done.err
    run = weft.folder / "run"
    assert close(run, alone)
    assert [line["samples"] for line in lines(run)] == [line["samples"] for line in lines(alone)]


def test_a_signal_to_one_process_stops_all_of_them_and_is_saved_once(weft: Weft) -> None:
    jobs = start(weft, *TRAIN, "--steps", "100000", "--out", "run")
    jobs[0].until(lambda: len(lines(weft.folder / "run")) > 3)
    jobs[1].signal(signal.SIGTERM)
    done = [job.wait() for job in jobs]
    assert [one.code for one in done] == [75, 75], done
    assert "by another process" in done[0].err and "weft train --resume --out run" in done[0].err
    assert len(list((weft.folder / "run" / "checkpoints").iterdir())) == 1


def test_a_number_that_is_not_one_in_one_process_stops_all_in_the_same_step(weft: Weft) -> None:
    poison = "from weft.training import passes\naccumulate = passes.accumulate\n" \
        "def poisoned(job, indices, step, mine):\n    sums = accumulate(job, indices, step, mine)\n" \
        "    sums.total = float('nan') if step == 3 else sums.total\n" \
        "    return sums\npasses.accumulate = poisoned\n"  # fmt: skip
    done = together(weft, *TRAIN, "--steps", "8", "--out", "run", before={1: poison})
    assert [one.code for one in done] == [2, 2], done[0].err + done[1].err
    for one in done:
        assert re.search(r"diverged in step 4: .* \(samples 12 to 15\)", one.err), one.err


@pytest.mark.slow
def test_a_slow_process_is_waited_for_and_named(weft: Weft, alone: Path) -> None:
    """Seconds are made up, so that a busy machine changes nothing."""
    code = (
        "from weft.training import loop\nnote = loop.Slowness.note\n"
        "loop.Slowness.note = lambda self, own: note(self, {})\n"
    )
    first, second = together(weft, *TRAIN, "--steps", "24", before={0: code.format(0.1), 1: code.format(1.0)})
    assert (first.code, second.code) == (0, 0), first.err + second.err
    assert first.err.count("process 1 of 2 is slow, and the others wait for it") == 1 and "is slow" not in second.err


def test_a_batch_that_does_not_divide_is_refused_with_numbers_that_do(weft: Weft) -> None:
    found = sorted(weft.folder.rglob("*"))
    done = together(weft, *TRAIN[:-4], "--steps", "8", "--set", "micro=1", size=3)
    assert done[0].code == 2 and all(one.code != 0 for one in done[1:]), done
    assert "a batch of 4 does not divide among 3 processes" in done[0].err
    assert "--set batch=3 or --set batch=6" in done[0].err
    assert sorted(weft.folder.rglob("*")) == found


def test_a_process_that_dies_takes_the_others_with_it_and_what_was_saved_is_kept(weft: Weft) -> None:
    jobs = start(weft, *TRAIN, "--steps", "100000", "--out", "run", "--set", "checkpoint_every=2")
    jobs[0].until(lambda: len(lines(weft.folder / "run")) > 6)
    jobs[1].signal(signal.SIGKILL)
    done = jobs[0].wait()
    assert done.code == 75 and "another process of this run has ended" in done.err
    assert f"process 1 of 2 (pid {jobs[1].pid} on " in done.err and "saved at step " in done.err
    assert "weft train --resume --out run" in done.err and "Traceback" not in done.err
    jobs[1].wait()
    assert weft("predict", "run", "The", "--json").json["predictions"]


HANGS = """
import time
from weft.training import passes
accumulate = passes.accumulate
def hanging(job, indices, step, mine):
    if step == 2: time.sleep(1000)
    return accumulate(job, indices, step, mine)
passes.accumulate = hanging
"""


HANGS_LATE = """
import time
from weft.training.muon import Muon
orthogonal, steps = Muon._orthogonal, []
def hanging(rule, matrices):
    steps.append(len(matrices))
    if len(steps) == 3: time.sleep(1000)
    return orthogonal(rule, matrices)
Muon._orthogonal = hanging
"""


@pytest.mark.parametrize(("times", "hangs_in"), [(1, HANGS), (2, HANGS), (1, HANGS_LATE)], ids=["", "twice", "update"])
def test_a_process_that_waits_for_one_that_hangs_hears_a_signal_and_saves(
    weft: Weft, times: int, hangs_in: str
) -> None:
    jobs = start(weft, *TRAIN, "--steps", "8", "--out", "run", before={1: hangs_in})
    jobs[0].until(lambda: len(lines(weft.folder / "run")) == 2)
    time.sleep(0.5)
    began = time.monotonic()
    for _ in range(times):
        jobs[0].signal(signal.SIGTERM)
        time.sleep(0.1)
    done = jobs[0].wait()
    jobs[1].signal(signal.SIGKILL)
    assert time.monotonic() - began < 8.0
    if times == 2:
        assert done.code in (75, 128 + signal.SIGTERM), done
        return
    assert done.code == 75, done
    hangs = f"process 1 of 2 (pid {jobs[1].pid} on {socket.gethostname()}), in step 3"
    assert f"stopped by SIGTERM while it waited for {hangs}; saved at step 2" in done.err, done.err
    assert [path.name for path in (weft.folder / "run" / "checkpoints").iterdir()] == ["00000002"]


def test_one_command_begins_a_run_and_goes_on_with_it(weft: Weft, alone: Path) -> None:
    stopper = "from weft.training import loop\nstep = loop.Fit.step\n" \
        "def stopping(fit):\n    if fit.state.step == 2: fit.job.stop.asked = 'SIGTERM'\n    return step(fit)\n" \
        "loop.Fit.step = stopping\n"  # fmt: skip
    command = (*TRAIN, "--steps", "8", "--resume", "--out", "run")
    first = together(weft, *command, before={0: stopper})
    assert [one.code for one in first] == [75, 75], first[0].err + first[1].err
    assert "no run in run yet: beginning one" in first[0].err
    again = together(weft, *command)
    assert [one.code for one in again] == [0, 0], again[0].err + again[1].err
    assert close(weft.folder / "run", alone)
    assert together(weft, *command)[0].code == 0
    assert "name data or a --task too" in weft("train", "--resume", "--out", "nowhere").err


def test_processes_that_cannot_train_together_are_refused_in_one_line(weft: Weft) -> None:
    sweep = together(weft, *TRAIN, "--minutes", "1", "--set", "weight_decay=0.1,0.2")
    assert [one.code for one in sweep] == [2, 2] and "a sweep trains in one process" in sweep[1].err
    slurm = weft.start(*TRAIN, "--steps", "2", env={"SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "4"}).wait()
    assert slurm.code == 2 and "srun has started 4 processes that do not know of each other" in slurm.err
    assert not (weft.folder / "runs").exists()


def test_a_batch_script_is_one_process_whatever_it_asks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    monkeypatch.setenv("SLURM_NTASKS", "4")
    assert launched() == 1
    monkeypatch.setenv("SLURM_STEP_ID", "0")
    with pytest.raises(WeftError, match="srun has started 4"):
        launched()
    monkeypatch.setenv("WORLD_SIZE", "8")
    assert launched() == 8


def elsewhere(weft: Weft, *files: tuple[str, str]) -> str:
    """Code that has a process start in another folder, with these files."""
    (weft.folder / "elsewhere").mkdir()
    for name, content in files:
        (weft.folder / "elsewhere" / name).write_text(content)
    return "import os\nos.chdir('elsewhere')\n"


@pytest.mark.parametrize("content", ["other words, as many as there are " * 100, None], ids=["other data", "no data"])
def test_a_process_with_other_data_is_refused_before_the_first_step_and_all_say_so(
    weft: Weft, content: str | None
) -> None:
    away = elsewhere(weft, *([] if content is None else [("book.txt", content)]))
    found = sorted(weft.folder.rglob("*"))
    run = weft.folder / "run"
    first, second = together(weft, *TRAIN, "--steps", "8", "--out", str(run), before={1: away})
    assert (first.code, second.code) == (2, 2), first.err + second.err
    if content is None:
        assert "\nweft: process 1 of this run refused: book.txt: no such file or folder\n" in first.err
        assert second.err.startswith("weft: book.txt: no such file or folder")
    else:
        for one in (first, second):
            assert (
                "process 1 of 2 differs from the first in its data\n  -> give every process the same files" in one.err
            )
    assert sorted(weft.folder.rglob("*")) == found


def test_a_refusal_of_the_first_process_reaches_the_others_with_its_exit_code(weft: Weft) -> None:
    first, second = together(weft, *TRAIN, "--steps", "8", before={0: elsewhere(weft)})
    assert (first.code, second.code) == (2, 2), first.err + second.err
    assert second.err == "weft: process 0 of this run refused: book.txt: no such file or folder\n"
    full = "from weft.storage import disk\ndisk.free_bytes = lambda path: 1000\n"
    first, second = together(weft, *TRAIN, "--steps", "8", before={0: full})
    assert (first.code, second.code) == (
        74,
        74,
    ) and "process 0 of this run refused: runs: no space: needs" in second.err, second.err


def test_a_port_that_is_taken_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        environment = {"WORLD_SIZE": "2", "RANK": "0", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        with pytest.raises(WeftError) as error:
            World.join(torch.device("cpu"))
    problem = f"MASTER_PORT: port {port} of this machine is taken, and the 2 processes cannot meet"
    assert str(error.value) == f"{problem}\n  -> name another one: torchrun --master-port"


@pytest.mark.parametrize(("count", "size", "expected"), [(8, 2, slice(4, 8)), (3, 3, slice(1, 2)), (4, 1, None)])
def test_every_process_has_its_share(count: int, size: int, expected: slice | None) -> None:
    assert World(min(1, size - 1), size).share(count) == (expected or slice(0, 4))


def test_shares_that_do_not_divide_name_the_nearest_that_do() -> None:
    with pytest.raises(ConfigError, match="a batch of 1 does not divide among 4") as error:
        World(0, 4).share(1)
    assert error.value.fix == "--set batch=4"


def test_several_processes_have_a_larger_model_in_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizing, "product_rate", lambda device, dtype: 1e10)
    by_time, by_steps = ([sizing.Sizing.guessed(budget, 0.5, torch.device("cpu"), "fp32", n) for n in (1.0, 4.0)]
                         for budget in (Budget(minutes=1), Budget(steps=5)))  # fmt: skip
    assert by_time[1].operations == 4 * by_time[0].operations and by_steps[1].operations == by_steps[0].operations


@pytest.mark.parametrize(("cores", "expected"), [(8, 4.0), (2, 2.0), (1, 1.0)])
def test_more_processes_than_processors_compute_no_more(
    monkeypatch: pytest.MonkeyPatch, cores: int, expected: float
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "4")
    assert World(0, 4).computing_at_once == expected
    assert World(0, 4, torch.device("cuda")).computing_at_once == 4.0


@pytest.mark.parametrize("environment", [{}, {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1", "RANK": "x"}])
def test_processes_that_cannot_meet_are_told_why(monkeypatch: pytest.MonkeyPatch, environment: Any) -> None:
    for name in ("MASTER_ADDR", "MASTER_PORT", "RANK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("WORLD_SIZE", "2")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(WeftError, match="cannot meet"):
        World.join(torch.device("cpu"))


@pytest.mark.parametrize("error", [AssertionError(), MemoryError(), RuntimeError("\n"), ValueError("what\nand why")])
def test_an_error_without_words_is_told_by_its_kind(error: Exception) -> None:
    expected = "what" if str(error).strip() else type(error).__name__
    assert world._refusal(error) == {"refusal": expected, "code": 70}
    assert str(world._cannot_meet(2, error)).startswith(f"WORLD_SIZE: the 2 processes cannot meet: {expected}\n")
    with pytest.raises(Interrupted, match="another process of this run has ended: RuntimeError"), World().together():
        raise RuntimeError


def test_every_process_of_a_machine_takes_its_own_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[Any] = []

    def meet(backend: str, **places: Any) -> None:
        taken.append(backend)
        raise RuntimeError("no more is tried here")

    monkeypatch.setattr(torch.cuda, "set_device", taken.append)
    monkeypatch.setattr(world.dist, "init_process_group", meet)
    monkeypatch.setattr(world, "shared_store", lambda: (HashStore(), 0, 4))
    monkeypatch.setenv("WORLD_SIZE", "4")
    for gpus, local, device, expected in ((4, "3", "cuda", [3, "nccl"]), (1, "3", "cuda", ["nccl"]),
                                          (2, "3", "cuda", []), (4, "3", "cpu", ["gloo"])):  # fmt: skip
        monkeypatch.setattr(torch.cuda, "device_count", lambda gpus=gpus: gpus)
        monkeypatch.setenv("LOCAL_RANK", local)
        with pytest.raises(WeftError, match="cannot meet" if expected else "process 3 of this machine has no GPU"):
            World.join(torch.device(device))
        assert taken == expected
        taken.clear()


FIT = """
import sys
import numpy as np
import weft
from weft.batches.windows import TextWindows
from weft.models.zoo import LANGUAGE_MODELS, Size
from weft.objectives import NextToken
ids = np.arange(200, dtype=np.uint16) % 7
model = LANGUAGE_MODELS["gpt"](Size(dim=16, depth=1, heads=2, context=8), vocab=7)
source = TextWindows(ids, ids[:40], context=8, fingerprint="numbers", seed=0)
try:
    weft.fit(model, NextToken.Config(), source, out="run", steps=2, batch=4, precision="fp32", quiet=True)
except weft.WeftError as error:
    sys.exit(str(error))
"""
UNREADABLE = """
from weft.errors import StorageError
from weft.training.folder import RunFolder
def config(folder): raise StorageError("its disk is not there")
RunFolder.config = config
"""


def test_what_a_process_refuses_after_the_first_began_reaches_the_first_in_words(weft: Weft) -> None:
    first, second = together(weft, *TRAIN, "--steps", "8", before={1: UNREADABLE})
    assert (first.code, second.code) == (74, 74), first.err + second.err
    assert "weft: process 1 of this run refused: its disk is not there\n" in first.err


def test_what_a_process_refuses_in_fit_reaches_the_first_in_words(weft: Weft) -> None:
    common = {**os.environ, "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    jobs = [
        processes.start([sys.executable, "-c", (UNREADABLE if rank else "") + FIT], cwd=weft.folder,
                        env={**common, "RANK": str(rank)}, stderr=subprocess.PIPE, text=True)
        for rank in range(2)
    ]  # fmt: skip
    said = [job.communicate(timeout=120)[1] for job in jobs]
    assert said[0] == "process 1 of this run refused: its disk is not there\n"
    assert said[1] == "its disk is not there\n"


@pytest.mark.slow
def test_torchrun_itself(weft: Weft, alone: Path) -> None:
    (weft.folder / "random.py").write_text("raise SystemExit('a file of the current folder stands in for a library')")
    launch = [sys.executable, "-P", "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port",
              str(free_port()), "--no-python", sys.executable, "-P"]  # fmt: skip
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = processes.run([*launch, "-m", "weft", *TRAIN, "--steps", "8", "--json"], cwd=weft.folder, env=environment,
                          capture_output=True, text=True, timeout=300)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 1 and '"steps": 8' in done.stdout
    assert close(weft.folder / "runs" / "book-1", alone)


def test_processes_agree_on_a_model_whose_config_says_2_where_a_file_says_2_0() -> None:
    def identity(ratio: float) -> dict[str, str]:
        model = LANGUAGE_MODELS["llama"](Size(dim=16, depth=1, heads=1, context=8), vocab=9)
        block = model.trunk.block
        block = replace(block, transform=replace(block.transform, ratio=ratio))
        model = replace(model, trunk=replace(model.trunk, block=block))
        source: Any = SimpleNamespace(fingerprint="same")
        return Work(model, NextToken.Config(), source, Training(), Budget(steps=1)).identity()

    assert identity(2) == identity(2.0) != identity(3)
