"""Links: a run of somebody else's holds links to elsewhere. Nothing outside the run may change, whatever is done.

Where links are planted is found by watching: the interpreter reports every path in a run that weft opens for writing,
makes, renames or deletes during all the commands. A link is planted at each, and at each folder on the way to it.
"""

import contextlib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from campaigns.judging import warm
from campaigns.tally import Tally

FIXTURES = Path(__file__).parents[1] / "fixtures"
DATA, LM = FIXTURES / "data", "language-model-sealed"
HOUR = 3700.0  # seconds after which what a killed process left is swept away
LEFT = (".lock", ".tmp-0123456789ab", "checkpoints/.tmp-step-9-0123456789ab")  # names of which weft sweeps
RANDOM = re.compile(r"(^|/)(\.tmp-[0-9a-f]{12}|\.tmp-step-\d+-[0-9a-f]{12}|\d+\.old-[0-9a-f]{12}|events\.out\..*)(/|$)")
KINDS = ("to a file", "to a folder", "to nothing", "to what was there, moved away")
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CHANGES = ("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.truncate", "os.link", "os.symlink", "shutil.rmtree")
UNPLANTED = "there was nothing to move away"
CODES = (0, 2, 74, 75)  # done, or refused in words

_seen: list[str] | None = None  # paths that are changed, while they are watched


@dataclass(frozen=True)
class Command:
    """What is done with a run: which fixture it is, and the words behind `weft`."""

    fixture: str
    words: tuple[str, ...]
    checkpoints: bool = False  # a finished run that still has its checkpoints


COMMANDS = {
    "train": Command("", ("train", "book.txt", "--out", "run", "--steps", "2", "--set", "dim=8", "--set", "depth=1",
                          "--set", "heads=1", "--set", "tensorboard=true")),
    "train --resume": Command(f"begun/{LM}", ("train", "book.txt", "--resume", "--out", "run")),
    "predict": Command(f"finished/{LM}", ("predict", "run", "The", "--set", "max_tokens=2"), True),
    "evaluate": Command("finished/classify-images", ("evaluate", "run", "sides.npz")),
    "look": Command(f"finished/{LM}", ("look", "run", "The weaver", "-o", "look.svg"), True),
    "embed": Command(f"finished/{LM}", ("embed", "run", "The weaver", "-o", "vectors.npy"), True),
    "runs clean": Command(f"finished/{LM}", ("runs", "clean", "run"), True),
    "runs verify": Command(f"finished/{LM}", ("runs", "verify", "run"), True),
    "export": Command("finished/classify-images", ("export", "run", "--out", "exported")),
    "soup": Command(f"finished/{LM}", ("soup", "run", "other", "--data", "book.txt", "--out", "souped"), True),
}  # fmt: skip


def _report(event: str, args: tuple[Any, ...]) -> None:
    if _seen is None:
        return
    if event == "open" and isinstance(args[0], str | bytes | os.PathLike) and args[2] & WRITING:
        _seen.append(os.fsdecode(args[0]))
    elif event in CHANGES:
        _seen.extend(os.fsdecode(arg) for arg in args[:2] if isinstance(arg, str | bytes | os.PathLike))


sys.addaudithook(_report)


def prepare(place: Path, command: Command) -> None:
    """The working folder of a command: `run`, its data, and `outside`, of which nothing may change."""
    for name in ("book.txt", "sides.npz"):
        shutil.copy(DATA / name, place / name)
    (place / "outside").mkdir()
    if not command.fixture:
        (place / "run").mkdir()
        return
    for name in ("run", "other"):
        shutil.copytree(FIXTURES / command.fixture, place / name)
        if command.checkpoints:
            shutil.copytree(FIXTURES / "begun" / LM / "checkpoints", place / name / "checkpoints")


def perform(place: Path, command: Command) -> tuple[int, str]:
    """Do it, in this process; the exit code, and what was said on stderr."""
    from weft.cli.app import run

    with (
        contextlib.chdir(place),
        tempfile.TemporaryFile("w+") as said,
        open(os.devnull, "w") as quiet,
        contextlib.redirect_stderr(said),
        contextlib.redirect_stdout(quiet),
        mock.patch("weft.runs.exporting.prove", lambda *args: 0.0),  # which takes a process of its own
    ):
        code = run(command.words)
        said.seek(0)
        return code, said.read()


def watched(place: Path, names: Sequence[str] = tuple(COMMANDS)) -> list[str]:
    """Every path in a run that is changed by one of the commands, and the folders on the way; warms up as well."""
    global _seen
    found = set(LEFT)
    for name in names:
        command = COMMANDS[name]
        home = place / name.replace(" ", "-")
        home.mkdir(parents=True)
        prepare(home, command)
        _seen = []
        try:
            code, said = perform(home, command)
            changed = _seen
        finally:
            _seen = None
        assert code == 0, f"{name}: {said}"
        run = os.path.realpath(home / "run")
        for path in changed:
            real = os.path.join(os.path.realpath(home / os.path.dirname(path)), os.path.basename(path))
            if real.startswith(run + os.sep) and not RANDOM.search(inner := os.path.relpath(real, run)):
                found |= {inner, *(str(above) for above in Path(inner).parents if str(above) != ".")}
    return sorted(found)


def plant(run: Path, at: str, kind: str) -> bool:
    """Put a link at a place of the run, to `outside` beside it; False where that cannot be."""
    path, outside = run / at, run.parent / "outside"
    file, folder = outside / "file", outside / "folder"
    file.write_bytes(b'{"step": 1}\n')
    (folder / "00000002").mkdir(parents=True)
    for name in ("manifest.json", "model.safetensors", "00000002/manifest.json", ".tmp-step-9-0123456789ab", "x.png"):
        (folder / name).write_bytes(b"precious")
    target = {"to a file": file, "to a folder": folder, "to nothing": outside / "absent"}.get(kind)
    if target is None:
        if not path.exists():
            return False
        target = outside / "moved"
        shutil.move(path, target)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.symlink_to(target)
    with contextlib.suppress(OSError, NotImplementedError):
        os.utime(path, (os.stat(run).st_mtime - HOUR,) * 2, follow_symlinks=False)
    return True


def state(folder: Path) -> dict[str, Any]:
    """All that is in a folder: what it is, when it was changed, what it holds."""
    found: dict[str, Any] = {}
    for path in (folder, *sorted(folder.rglob("*"))):
        now = path.lstat()
        found[str(path.relative_to(folder))] = (
            now.st_mode,
            now.st_mtime_ns,
            path.read_bytes() if path.is_file() else b"",
        )
    return found


def tried(place: Path, command: Command, at: str, kind: str) -> str | None:
    """What was wrong, or nothing; `UNPLANTED` where no such link can stand there."""
    prepare(place, command)
    if not plant(place / "run", at, kind):
        return UNPLANTED
    before = state(place / "outside")
    code, said = in_child(lambda: perform(place, command))
    after = state(place / "outside")
    changed = [name for name in {*before, *after} if before.get(name) != after.get(name)]
    if changed:
        return f"changed outside: {', '.join(sorted(changed))}"
    if code not in CODES:
        return f"exit code {code}: {said[-300:]}"
    return None if code == 0 or "run" in said else f"refused without a name: {said[-300:]}"


def in_child(use: Callable[[], tuple[int, str]]) -> tuple[int, str]:
    """The exit code and the words of a command, in a process of its own."""
    with tempfile.TemporaryFile() as told:
        child = os.fork()
        if child == 0:
            code, said = 70, ""
            try:
                code, said = use()
            except BaseException as error:
                said = f"{type(error).__name__}: {error}"
            told.write(said.encode("utf-8", "backslashreplace"))
            told.flush()
            os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        told.seek(0)
        return code, told.read().decode()


def links(
    place: Path,
    *,
    names: Sequence[str] = tuple(COMMANDS),
    every: int = 1,
    count: int = 0,
    tell: Callable[[str], None] = lambda line: None,
) -> Tally:
    """Try one in `every`, or about `count`, of all commands of these names with a link of every kind at every place."""
    tally = Tally()
    place.mkdir(parents=True, exist_ok=True)
    warm([], place)
    places = watched(place / "watched", names)
    tell(f"{len(places)} places: {', '.join(places)}")
    every = max(1, len(names) * len(places) * len(KINDS) // count) if count else every
    for number, (name, at, kind) in enumerate((name, at, kind) for name in names for at in places for kind in KINDS):
        if number % every:
            continue
        home = place / str(number)
        home.mkdir()
        problem = tried(home, COMMANDS[name], at, kind)
        shutil.rmtree(home)
        if problem == UNPLANTED:
            continue
        if problem is not None:
            tell(f"{name}, {at}, {kind}: {problem}")
        tally.count(f"a link {kind}", None if problem is None else f"{name}, {at}: {problem}")
    return tally
