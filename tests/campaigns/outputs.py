"""Outputs: every command that writes for a user is given an output of every kind.

What can be written into is written, and stays what it is: a link, a device, a pipe. What would cost an input or a
run is refused. Nothing else changes, and nothing is left behind.
"""

import contextlib
import os
import shutil
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from campaigns.judging import warm
from campaigns.links import DATA, FIXTURES, LM, Command, in_child, perform, state
from campaigns.tally import Tally

OUT, IN = "OUT", "IN"  # stand for the names in the words of a command
COMMANDS = {
    ".txt": Command(f"finished/{LM}", ("predict", "run", "--input", IN, "--output", OUT, "--set", "max_tokens=2")),
    ".jsonl": Command(f"finished/{LM}", ("predict", "run", "--input", IN, "--output", OUT, "--set", "max_tokens=2")),
    ".png": Command("finished/classify-images", ("look", "run", IN, "-o", OUT)),
    ".svg": Command("finished/classify-images", ("look", "run", IN, "-o", OUT)),
    ".html": Command("finished/classify-images", ("look", "run", IN, "-o", OUT)),
    ".npy": Command(f"finished/{LM}", ("embed", "run", IN, "-o", OUT)),
    " of curves.svg": Command(f"finished/{LM}", ("runs", "compare", "run", "other", "--data", IN, "-o", OUT)),
    " of data.png": Command(f"finished/{LM}", ("check", IN, "-o", OUT)),
}
Kind = Callable[[Path, str], str]  # makes an output of a kind in a folder; its name


def _file(home: Path, end: str) -> str:
    (home / f"out{end}").write_bytes(b"old")
    return f"out{end}"


def _link(home: Path, end: str, to: str) -> str:
    (home / f"out{end}").symlink_to(to)
    return f"out{end}"


def _linked_file(home: Path, end: str) -> str:
    (home / "away").write_bytes(b"old")
    return _link(home, end, "away")


def _device(home: Path, end: str) -> str:
    os.mknod(home / f"out{end}", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    return f"out{end}"


def _pipe(home: Path, end: str) -> str:
    os.mkfifo(home / f"out{end}")
    return f"out{end}"


def _hard(home: Path, end: str) -> str:
    os.link(home / f"in{end}", home / f"out{end}")
    return f"out{end}"


def _in_linked(home: Path, end: str, folder: str) -> str:
    (home / "place").symlink_to(folder)
    return f"place/{'in' if folder == '.' else 'new'}{end}"


def _folder(home: Path, end: str) -> str:
    (home / f"out{end}").mkdir()
    return f"out{end}"


WRITTEN: dict[str, Kind] = {
    "a new file": lambda home, end: f"out{end}",
    "a file that is there": _file,
    "a link to a file": _linked_file,
    "a link to nothing": lambda home, end: _link(home, end, "away"),
    "a device": _device,
    "a pipe": _pipe,
}
REFUSED: dict[str, Kind] = {
    "the input": lambda home, end: f"in{end}",
    "the input by a longer way": lambda home, end: f"run/../in{end}",
    "a link to the input": lambda home, end: _link(home, end, f"in{end}"),
    "another name of the input (hard link)": _hard,
    "the input, in a folder that is a link": lambda home, end: _in_linked(home, end, "."),
    "a new file in the run": lambda home, end: f"run/new{end}",
    "a new file in the run, which is reached by a link": lambda home, end: _in_linked(home, end, "run"),
    "a link to the run's weights": lambda home, end: _link(home, end, "run/model.safetensors"),
    "a folder": _folder,
    "a file in a folder that is not there": lambda home, end: f"absent/out{end}",
}


def _runs(home: Path, command: Command) -> None:
    """Two runs, with a curve of the loss."""
    for name in ("run", "other"):
        shutil.copytree(FIXTURES / command.fixture, home / name)
        shutil.copy(FIXTURES / "begun" / LM / "metrics.jsonl", home / name)


def _input(home: Path, end: str, kind: str, command: Command) -> str:
    """Write the input: with the ending of the output where one is to be the other, else with the one that fits."""
    name = {"look": "tile.png", "check": "shapes.zip"}.get(command.words[0], "book.txt")
    mine = f"in{end}" if "input" in kind else name
    shutil.copy(DATA / name, home / mine)
    return mine


def _words(command: Command, given: str, made: str) -> Command:
    words = {IN: given, OUT: made}
    return Command(command.fixture, tuple(words.get(word, word) for word in command.words))


def tried(home: Path, end: str, kind: str) -> str | None:
    """What was wrong, or nothing."""
    command = COMMANDS[end]
    _runs(home, command)
    given = _input(home, end, kind, command)
    made = {**WRITTEN, **REFUSED}[kind](home, end)
    was = os.lstat(home / made).st_mode if os.path.lexists(home / made) else None
    before = state(home)
    heard: list[bytes] = []
    with _reader(home / made, heard):
        code, said = in_child(lambda: perform(home, _words(command, given, made)))
    after = state(home)
    new = {made, "away"} if kind in WRITTEN else set()
    changed = [name for name in {*before, *after} if name != "." and before.get(name) != after.get(name)]
    if wrong := sorted(set(changed) - new):
        return f"changed: {', '.join(wrong)}"
    if kind in REFUSED:
        return None if code in (2, 74) and made in said else f"exit code {code}: {said[-300:]}"
    if code != 0:
        return f"exit code {code}: {said[-300:]}"
    if was is not None and stat.S_IFMT(was) != stat.S_IFMT(os.lstat(home / made).st_mode):
        return "it is no longer what it was"
    if kind == "a pipe":
        return None if heard and heard[0] else "nothing came through the pipe"
    return None if kind == "a device" or (home / made).read_bytes() not in (b"", b"old") else "nothing was written"


@contextlib.contextmanager
def _reader(path: Path, heard: list[bytes]) -> Iterator[None]:
    """Read what comes through, where the path is a pipe."""
    if not (path.exists() and path.is_fifo()):
        yield
        return
    thread = threading.Thread(target=lambda: heard.append(path.read_bytes()))
    thread.start()
    try:
        yield
    finally:
        with contextlib.suppress(OSError):  # nobody has opened it: the reader is let go
            os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
        thread.join()


def outputs(place: Path, *, every: int = 1) -> Tally:
    """Try one in `every`."""
    tally = Tally()
    (place / "warm").mkdir(parents=True)
    warm([], place)
    for end, command in COMMANDS.items():  # what every child would load is loaded before any is made
        home = place / "warm" / end.strip()
        home.mkdir()
        _runs(home, command)
        code, said = perform(home, _words(command, _input(home, end, "", command), f"out{end}"))
        assert code == 0, said
    for number, (end, kind) in enumerate((end, kind) for kind in (*WRITTEN, *REFUSED) for end in COMMANDS):
        if number % every or ("run" in kind and "run" not in COMMANDS[end].words):  # it is of a run that is named
            continue
        home = place / str(number)
        home.mkdir()
        try:
            problem = tried(home, end, kind)
            tally.count(f"{kind}: {'written' if kind in WRITTEN else 'refused'}",
                        None if problem is None else f"{COMMANDS[end].words[0]} {end}: {problem}")  # fmt: skip
        except PermissionError:  # only the administrator makes devices
            if kind != "a device":
                raise
        shutil.rmtree(home)
    return tally
