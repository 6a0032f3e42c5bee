"""Runs in processes of their own: killed, stopped, locked, moved; and what is found afterwards."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from helpers import processes
from helpers.commands import TINY, Weft, lines, text
from safetensors.torch import load_file

STEPS = 12
TRAIN = ("train", "book.txt", *TINY, "--set", "lr=6e-3", "--set", "dropout=0.1", "--set", "evaluate_every=4", "--set",
         "checkpoint_every=3", "--steps", str(STEPS))  # fmt: skip
RESUME = ("train", "--resume", "--out", "run")


def kill(where: str, count: int, number: str = "SIGKILL") -> str:
    """Code that has the process signal itself in a call of a function, the `count`-th time, before it does anything."""
    module, _, name = where.rpartition(".")
    home, _, owner = module.partition(":")
    return f"""
import importlib, os, signal
home = importlib.import_module({home!r})
home = getattr(home, {owner!r}) if {owner!r} else home
before, calls = getattr(home, {name!r}), []
def signalling(*args, **more):
    calls.append(1)
    if len(calls) == {count}:
        os.kill(os.getpid(), signal.{number})
    return before(*args, **more)
setattr(home, {name!r}, signalling)
"""


def weights(run: Path) -> dict[str, torch.Tensor]:
    return load_file(run / "model.safetensors")


def same(a: Path, b: Path) -> bool:
    """The same weights bit for bit, and the same metrics but for the clock."""
    one, other = weights(a), weights(b)
    drop = [[{k: v for k, v in line.items() if k != "seconds"} for line in lines(run)] for run in (a, b)]
    return one.keys() == other.keys() and all(torch.equal(one[k], other[k]) for k in one) and drop[0] == drop[1]


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run that was never stopped."""
    folder = tmp_path_factory.mktemp("straight")
    (folder / "book.txt").write_text(text())
    done = Weft(folder, folder)(*TRAIN, "--out", "run")
    assert done.code == 0, done.err
    assert [line["step"] for line in lines(folder / "run")] == list(range(1, STEPS + 1))
    return folder / "run"


@pytest.mark.parametrize(
    ("where", "count"),
    [
        ("weft.training.loop:Fit.step", 5),  # between two checkpoints
        ("weft.training.optimizer:Optimizer.apply", 7),  # the loss is known, the weights are not changed
        ("weft.training.passes.evaluate", 2),  # in an evaluation, next to a checkpoint
        ("weft.storage.store.write_file", 12),  # in the middle of a checkpoint
        ("weft.training.checkpoint._commit", 3),  # before a checkpoint has its name
        ("weft.runs.training.finish", 1),  # trained, not measured
        ("weft.storage.tensors.write_tensors", 1),  # measured, the weights are not in place
    ],
)
def test_a_killed_run_goes_on_and_ends_as_if_it_had_not_been(
    weft: Weft, straight: Path, where: str, count: int
) -> None:
    run = weft.folder / "run"
    assert weft(*TRAIN, "--out", "run", before=kill(where, count)).code == -signal.SIGKILL
    assert not (run / "model.safetensors").exists()
    done = weft(*RESUME)
    assert done.code == 0, done.err
    assert same(run, straight)
    left = [path.name for path in run.rglob("*") if ".tmp-" in path.name or path.name == ".lock"]
    assert left == [], "litter after a successful run"


@pytest.mark.parametrize(
    ("where", "count"),
    [
        ("weft.storage.store.remove_folder", 3),  # in the last prune
        ("weft.storage.lock:RunLock._release", 1),  # all is written
    ],
)
def test_what_a_kill_leaves_is_swept_by_the_next_command(weft: Weft, where: str, count: int) -> None:
    run = weft.folder / "run"
    assert weft(*TRAIN, "--out", "run", before=kill(where, count)).code == -signal.SIGKILL
    (run / ".tmp-0123456789ab").write_bytes(b"half a file")
    left = [run / ".lock", run / ".tmp-0123456789ab", *run.glob("checkpoints/.tmp-step-*")]
    assert (run / ".lock").exists() and len(left) == (2 if count == 1 else 3)
    assert weft("predict", "run", "The", "--json").json["predictions"]
    assert all(path.exists() for path in left), "someone may be writing"
    for path in left:
        os.utime(path, (0, 0))
    done = weft("predict", "run", "The", "--json")
    assert done.json["predictions"] and done.err == ""
    assert [path.name for path in run.rglob("*") if ".tmp-" in path.name or path.name == ".lock"] == []


def test_nothing_is_swept_from_a_folder_that_is_no_run(weft: Weft) -> None:
    for name in (".lock", ".tmp-0123456789ab"):
        (weft.folder / name).write_text("of another program")
    assert "not a run" in weft.refused_here("predict", ".", "The")
    assert (weft.folder / ".lock").read_text() == "of another program"


def test_what_a_run_in_training_has_there_is_not_swept(weft: Weft) -> None:
    run = weft.folder / "run"
    slow = "from weft.training import checkpoint\nimport time\ncheckpoint._commit = lambda *paths: time.sleep(1000)\n"
    job = weft.start(*TRAIN, "--out", "run", before=slow)
    job.until(lambda: list(run.glob("checkpoints/.tmp-step-*/manifest.json")))
    assert "this run has no weights yet" in weft("predict", "run", "The").err
    assert list(run.glob("checkpoints/.tmp-step-*/manifest.json")) and (run / ".lock").exists()
    job.signal(signal.SIGKILL)
    job.wait()


def test_a_run_killed_twice_and_resumed_with_the_same_words_ends_the_same(weft: Weft, straight: Path) -> None:
    weft(*TRAIN, "--out", "run", before=kill("weft.training.loop:Fit.step", 5))
    done = weft(*TRAIN, "--out", "run", "--resume", before=kill("weft.training.loop:Fit.step", 5))
    assert done.code == -signal.SIGKILL and "resuming from step 3" in done.err
    assert weft(*TRAIN, "--out", "run", "--resume").code == 0
    assert same(weft.folder / "run", straight)


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP"])
def test_a_signal_lets_the_step_finish_and_saves(weft: Weft, straight: Path, name: str) -> None:
    done = weft(*TRAIN, "--out", "run", before=kill("weft.training.passes.accumulate", 5, name))
    assert done.code == 75, done.err
    assert done.err.endswith(
        f"weft: stopped by {name} at step 5, and saved\n  -> go on with: weft train --resume --out run\n"
    )
    assert weft(*RESUME).code == 0
    assert same(weft.folder / "run", straight)


@pytest.mark.parametrize(
    "where",
    ["weft.domains.texts.encoded.running.encode_pieces", "weft.runs.training.claim",
     "weft.training.folder:RunFolder.write_config", "weft.training.run.build"],
)  # fmt: skip
def test_a_signal_before_the_first_step_ends_at_once_and_leaves_nothing(weft: Weft, where: str) -> None:
    before = kill(where, 1, "SIGTERM")
    assert "before training began: nothing to save" in weft.refused(*TRAIN, "--out", "run", before=before, code=75)


def test_a_signal_while_the_run_is_measured_says_that_the_weights_are_saved(weft: Weft, straight: Path) -> None:
    where = "weft.runs.training.finish"
    done = weft(*TRAIN, "--out", "run", before=kill(where, 1, "SIGTERM"))
    assert done.code == 75 and "after the last step, and saved" in done.err
    assert "go on with: weft train --resume --out run" in done.err
    assert weft(*RESUME).code == 0 and same(weft.folder / "run", straight)


@pytest.mark.parametrize("pause", [0.0, 0.02, 0.1])
def test_a_second_signal_leaves_at_once_and_damages_nothing(weft: Weft, straight: Path, pause: float) -> None:
    slow = "import weft.storage.store as store, time\nwrite = store.write_all\n" \
        "def slowly(file, data): time.sleep(0.02); write(file, data)\nstore.write_all = slowly\n"  # fmt: skip
    job = weft.start(*TRAIN, "--out", "run", before=slow)
    job.until(lambda: len(lines(weft.folder / "run")) >= 4)
    job.signal(signal.SIGTERM)
    time.sleep(pause)
    job.signal(signal.SIGINT)
    assert job.wait().code in (128 + signal.SIGINT, 128 + signal.SIGTERM, 75)
    done = weft(*RESUME)
    assert done.code == 0, done.err
    assert same(weft.folder / "run", straight)


def test_signals_that_were_ignored_stay_ignored(weft: Weft) -> None:
    """As under nohup."""
    ignore = "import signal\nsignal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
    done = weft(*TRAIN, "--out", "run", before=ignore + kill("weft.training.passes.accumulate", 3, "SIGHUP"))
    assert done.code == 0, done.err


@pytest.mark.parametrize("closed", ["stdout", "stderr", "both"])
@pytest.mark.parametrize("stopped", [False, True])
def test_a_reader_that_has_gone_stops_nothing(weft: Weft, straight: Path, closed: str, stopped: bool) -> None:
    """Results and progress go to pipes that nobody reads any more."""
    numbers = {"stdout": (1,), "stderr": (2,), "both": (1, 2)}[closed]
    pipes = f"import os\nread, write = os.pipe()\nos.close(read)\nfor n in {numbers}: os.dup2(write, n)\n" \
        "import sys\nsys.stdout, sys.stderr = (open(n, 'w', closefd=False) for n in (1, 2))\n"  # fmt: skip
    done = weft(*TRAIN, "--out", "run",
                before=pipes + (kill("weft.training.passes.accumulate", 5, "SIGTERM") if stopped else ""))  # fmt: skip
    assert done.code == (75 if stopped else 0)
    assert "Traceback" not in done.err and "BrokenPipe" not in done.err
    assert not stopped or weft(*RESUME).code == 0
    assert same(weft.folder / "run", straight)


def test_a_second_process_is_refused_until_the_first_is_gone(weft: Weft) -> None:
    job = weft.start(*TRAIN, "--out", "run",
                     before="import time\nfrom weft.training import loop\nstep = loop.Fit.step\n"
                     "def slow(fit): time.sleep(0.2); return step(fit)\nloop.Fit.step = slow\n")  # fmt: skip
    job.until(lambda: lines(weft.folder / "run"))
    second = weft("train", "--resume", "--out", "run")
    assert second.code == 2 and f"in use by pid {job.pid} on " in second.err
    other = weft(*TRAIN, "--out", "run")
    assert other.code == 2 and "a run is already here" in other.err
    job.signal(signal.SIGKILL)
    job.wait()
    assert weft(*RESUME).code == 0


def test_two_that_start_at_once_take_different_folders(weft: Weft) -> None:
    jobs = [weft.start(*TRAIN) for _ in range(3)]
    assert [job.wait().code for job in jobs] == [0, 0, 0]
    assert sorted(path.name for path in (weft.folder / "runs").iterdir()) == ["book-1", "book-2", "book-3"]


def test_a_new_run_does_not_start_where_an_old_one_is(weft: Weft) -> None:
    assert weft(*TRAIN, "--out", "run").code == 0
    message = weft.refused_here("train", "book.txt", *TINY, "--steps", "1", "--out", "run")
    assert "a run is already here" in message and "--resume, or choose another --out" in message


def test_a_finished_run_is_left_as_it_is_and_reports_again(weft: Weft) -> None:
    first = weft(*TRAIN, "--out", "run", "--json")
    again = weft(*TRAIN, "--out", "run", "--resume", "--json")
    assert again.code == 0 and again.json == first.json
    assert "this run is finished; train on from its weights with --from" in again.err


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--set", "lr=1e-4"), "this run began with lr=0.006, not 0.0001"),
        (("--set", "lrr=1e-4"), "unknown setting 'lrr'"),
        (("--steps", "9"), "this run began with steps=12, not 9"),
        (("--minutes", "1"), "this run began with minutes=None, not 1.0"),
        (("--model", "gpt"), "this run began with model=swift, not gpt"),
        (("--set", "model.trunk.depth=3"), "this run began with model.trunk.depth=something else, not 3"),
        (("--valid", "book.txt"), "this run began with valid=None"),
        (("--seed", "1"), "this run began with seed=0, not 1"),
    ],
)
def test_a_resumed_run_refuses_other_settings(weft: Weft, stopped: Path, words: tuple[str, ...], problem: str) -> None:
    weft.folder.joinpath("run").symlink_to(stopped)
    assert problem in weft.refused_here(*RESUME, *words)


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was stopped at step 5."""
    folder = tmp_path_factory.mktemp("stopped")
    (folder / "book.txt").write_text(text())
    weft = Weft(folder, folder)
    assert weft(*TRAIN, "--out", "run", before=kill("weft.training.passes.accumulate", 5, "SIGTERM")).code == 75
    return folder / "run"


def test_a_resumed_run_refuses_other_data(weft: Weft) -> None:
    weft(*TRAIN, "--out", "run", before=kill("weft.training.passes.accumulate", 5, "SIGTERM"))
    with open(weft.folder / "book.txt", "a") as book:
        book.write("One more line.\n")
    message = weft.refused_here(*RESUME)
    assert "the data has changed since this run began" in message and "--from" in message
    (weft.folder / "again.txt").write_text(text())
    assert weft("train", "again.txt", "--resume", "--out", "run").code == 0  # the same text under another name


def test_a_stopped_run_can_be_used_and_says_how_far_it_came(weft: Weft, stopped: Path) -> None:
    weft.folder.joinpath("run").symlink_to(stopped)
    assert weft("predict", "run", "The", "--json").json["predictions"][0]["prompt"] == "The"
    assert weft("evaluate", "run", "book.txt", "--json").json["metrics"]["loss"] > 0


@pytest.mark.parametrize(
    "name", ["ünïcödé λ", "with space", "new\nline", "esc\x1b[31m", "-dash", "q'uote\"", "x" * 255, "a/deep/place"]
)
def test_odd_names_for_a_run_work(weft: Weft, name: str) -> None:
    done = weft(*TRAIN, f"--out={name}", before=kill("weft.training.passes.accumulate", 3, "SIGTERM"))
    assert done.code == 75 and "\x1b" not in done.err, done.err
    done = weft("train", "--resume", f"--out={name}", "--json")
    assert done.code == 0 and done.json["run"] == name, done.err
    assert weft("predict", "--json", "--", name, "The").code == 0


def test_a_name_too_long_is_refused_clearly(weft: Weft) -> None:
    assert "the name is too long" in weft.refused(*TRAIN, "--out", "x" * 256, code=74)


def test_a_run_folder_behind_a_link_works(weft: Weft) -> None:
    (weft.folder / "real").mkdir()
    (weft.folder / "run").symlink_to("real")
    assert weft(*TRAIN, "--out", "run").code == 0
    assert (weft.folder / "real" / "model.safetensors").exists()


def test_a_place_that_cannot_be_written_is_refused_before_training(weft: Weft) -> None:
    """Root may write anywhere, so the place is one where not even root may."""
    message = weft.refused(*TRAIN, "--out", "/proc/sys/weft", code=74)
    assert message.startswith("weft: /proc/sys/weft")
    assert "a file stands where a folder is needed" in weft.refused(*TRAIN, "--out", "book.txt/run", code=74)
    read_only = "import errno, os\nfrom weft.storage import store\n" \
        "def refuse(*args): raise OSError(errno.EROFS, 'Read-only file system')\nstore.os.mkdir = refuse\n"  # fmt: skip
    assert "the file system is read-only" in weft.refused(*TRAIN, "--out", "run", before=read_only, code=74)


@pytest.mark.slow
def test_the_installed_command_can_be_killed_and_resumed(weft: Weft, straight: Path) -> None:
    command = [str(Path(sys.executable).with_name("weft")), *TRAIN, "--out", "run"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = processes.start(command, cwd=weft.folder, env=environment, stderr=subprocess.DEVNULL)
    while process.poll() is None and len(lines(weft.folder / "run")) < 5:
        time.sleep(0.002)
    process.kill()
    process.wait()
    assert processes.run([*command, "--resume"], cwd=weft.folder, env=environment).returncode == 0
    assert same(weft.folder / "run", straight)
