"""Kills: a training run is killed (SIGKILL) at every call that changes the disk, resumed, and must end the same.

The calls are counted in a run that is not killed; those within a save of a checkpoint are a kind of their own.
"""

import json
import os
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

from helpers import trials

import weft
from campaigns.judging import warm
from campaigns.saves import at_call
from campaigns.tally import Tally
from weft.errors import WeftError
from weft.training.leftovers import STALE

SETTINGS: dict[str, Any] = {**trials.TINY, "baselines": False, **trials.TRIALS["language-model"].settings, "steps": 8,
                            "checkpoint_every": 2, "dropout": 0.1, "quiet": True}  # fmt: skip
SAVE, ELSEWHERE = "inside a save of a checkpoint", "elsewhere in a run"


def train(out: Path) -> None:
    weft.train(trials.DATA / "book.txt", out=out, **SETTINGS)


def kills(count: int | None, place: Path, *, first: int = 1) -> Tally:
    """Kill at `count` calls, evenly spread over the run from the call `first` on; at every call where that is None."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    with (
        mock.patch("weft.domains.texts.language_model.SAMPLE", 5),
        mock.patch("weft.runs.training.loss_curve", _no_picture),
    ):
        warm([lambda: train(place / "warm")], place)  # first: some libraries write files when they are used first
        kinds = _calls(place / "straight")
        tally = Tally()
        step = 1 if count is None else max(1, len(kinds) // count)
        for number in range(first, len(kinds) + 1, step):
            shutil.rmtree(place / "run", ignore_errors=True)
            problem = _killed(place, number)
            tally.count(kinds[number - 1], None if problem is None else f"at call {number}: {problem}")
    shutil.rmtree(place)
    return tally


def _no_picture(*args: Any, **more: Any) -> bytes:
    return b"a picture"


def _calls(run: Path) -> list[str]:
    """Train a run that is not killed; the kind of each call that changes the disk, in order."""
    from weft.training import checkpoint

    kinds: list[str] = []
    inside: list[str] = []

    def saving(*args: Any, before: Callable[..., Any] = checkpoint.save_checkpoint, **more: Any) -> Any:
        inside.append("a save")
        try:
            return before(*args, **more)
        finally:
            inside.pop()

    def note(name: str) -> None:
        kinds.append(SAVE if inside else ELSEWHERE)

    with mock.patch.object(checkpoint, "save_checkpoint", saving), at_call(0, lambda name: None, every=note):
        train(run)
    return kinds


def _in_child(act: Callable[[], None]) -> int:
    """The exit code of a process that does something; 1 where it raised, below 0 where a signal ended it."""
    child = os.fork()
    if child == 0:
        try:
            act()
            os._exit(0)
        except BaseException:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _killed(place: Path, number: int) -> str | None:
    """Kill a run at a call and resume it; what is then wrong, in words."""
    run = place / "run"

    def until_killed() -> None:
        with at_call(number, lambda name: os.kill(os.getpid(), signal.SIGKILL)):
            train(run)

    code = _in_child(until_killed)
    if code != -signal.SIGKILL:
        return f"it was not killed: exit code {code}"
    if not (run / "config.json").exists():  # nothing had begun
        shutil.rmtree(run, ignore_errors=True)
        code = _in_child(lambda: train(run))
    else:
        code = _in_child(lambda: _resume(run))
    if code:
        return f"it does not go on: exit code {code}"
    return _different(run, place / "straight")


def _resume(run: Path) -> None:
    try:
        weft.train(out=run, resume=True, quiet=True)
    except WeftError as error:
        os.write(2, f"{error}\n".encode())
        raise


def _different(run: Path, straight: Path) -> str | None:
    if (run / "model.safetensors").read_bytes() != (straight / "model.safetensors").read_bytes():
        return "other weights"
    lines = [[_timeless(line) for line in (one / "metrics.jsonl").read_text().splitlines()] for one in (run, straight)]
    if lines[0] != lines[1]:
        return "other metrics"
    if _left(run):  # killed when all was written: what is fresh may be someone's, and is swept when it is an hour old
        for path in _left(run):
            hour_ago = time.time() - STALE
            os.utime(path, (hour_ago, hour_ago))
        weft.load(run)
    return f"left behind: {_left(run)}" if _left(run) else None


def _left(run: Path) -> list[Path]:
    return [path for path in run.rglob("*") if ".tmp-" in path.name or path.name == ".lock"]


def _timeless(line: str) -> dict[str, Any]:
    return {key: value for key, value in json.loads(line).items() if key != "seconds"}
