"""Disk faults: a checkpoint is saved again and again, while one call after another that changes the disk fails."""

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import torch

from campaigns.tally import Tally
from weft.errors import StorageError
from weft.training.checkpoint import latest, save_checkpoint

CALLS = ("open", "write", "fsync", "rename", "replace", "mkdir", "unlink", "rmdir")  # what changes a disk
ERRORS = (errno.ENOSPC, errno.EIO, errno.EROFS, errno.EDQUOT)


def contents(step: int) -> tuple[dict[str, dict[str, torch.Tensor]], dict[str, Any]]:
    """What is saved at a step."""
    chance = torch.Generator().manual_seed(step)
    tensors = {
        "model": {"weight": torch.randn(5, 3, generator=chance)},
        "optimizer": {"m": torch.randn(4, generator=chance)},
    }
    return tensors, {"step": step, "note": "é"}


def save(run: Path, step: int) -> None:
    save_checkpoint(run, step, *contents(step), report=lambda line: None)


def begun(place: Path) -> Path:
    """A run folder with the checkpoints of steps 1 and 2."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    save(place, 1)
    save(place, 2)
    return place


def whole(run: Path, steps: set[int]) -> str | None:
    """What is wrong with the newest checkpoint, which must be of one of these steps and as it was saved."""
    found = latest(run, report=lambda line: None)
    if found is None or found.step not in steps:
        return f"the newest is {None if found is None else found.step}"
    tensors, state = contents(found.step)
    same = all(
        torch.equal(found.tensors(stem)[name], one) for stem, group in tensors.items() for name, one in group.items()
    )
    return None if same and found.state() == state else f"step {found.step} is not as it was saved"


@contextmanager
def at_call(
    number: int, act: Callable[[str], None], *, every: Callable[[str], None] = lambda name: None
) -> Iterator[list[str]]:
    """Within this block, of the calls that change a disk, `act` is called before this number, `every` before each.

    Gives the names of the calls so far.
    """
    seen: list[str] = []

    def wrapped(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def instead(*args: Any, **more: Any) -> Any:
            if name == "open" and not args[1] & os.O_CREAT:
                return call(*args, **more)
            seen.append(name)
            every(name)
            if len(seen) == number:
                act(name)
            return call(*args, **more)

        return instead

    with ExitStack() as stack:
        for name in CALLS:
            stack.enter_context(mock.patch.object(os, name, wrapped(name, getattr(os, name))))
        yield seen


def disk_faults(place: Path) -> Tally:
    """Every call of a save fails once with each error; what was saved before is there, and the next save succeeds."""
    tally = Tally()
    for code in ERRORS:
        number = 0
        while True:
            number += 1
            run = begun(place / "run")

            def fail(name: str, code: int = code) -> None:
                raise OSError(code, os.strerror(code))

            raised = None
            with at_call(number, fail) as seen:
                try:
                    save(run, 3)
                except StorageError:
                    pass
                except BaseException as error:
                    raised = f"{type(error).__name__}: {error}"
            if len(seen) < number:
                break
            problem = raised or whole(run, {2, 3})
            if problem is None:
                save(run, 4)
                problem = whole(run, {4})
            tally.count(f"{errno.errorcode[code]} in a call of a save", _told(problem, seen, number))
    return tally


def _told(problem: str | None, seen: list[str], number: int) -> str | None:
    return None if problem is None else f"call {number} ({seen[number - 1]}): {problem}"
