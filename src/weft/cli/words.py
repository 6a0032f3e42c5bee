"""What commands share: options that many have, numbers and settings as they are typed, lines that come in."""

import importlib.util
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from weft.config import parse
from weft.errors import WeftError

if TYPE_CHECKING:
    from weft.runs import Run
    from weft.tasks.asks import Use

EXAMPLE_WIDTH = 74  # of 80 columns, six of which are the margin of help pages


def number(kind: type, option: str) -> Callable[[str], Any]:
    """Numbers as `--set` and config files have them: 010, 0x10, 1_000 and nan are refused."""
    return lambda text: parse(str(text), kind, where=option)


def examples(*lines: str) -> str:
    """Lines for the end of a help page: commands, each with words about it behind two spaces or more."""
    return "\b\nExamples:\n" + "\n".join(f"  {part}" for line in lines for part in _fitting(line))


def _fitting(line: str) -> list[str]:
    """An example in lines that fit a terminal: words that do not fit behind a command stand below it."""
    if len(line) <= EXAMPLE_WIDTH:
        return [line]
    command, *about = re.split(r" {2,}", line.strip())
    parts = [command]
    while len(parts[-1]) > EXAMPLE_WIDTH:
        cut = parts[-1].rfind(" --", 8, EXAMPLE_WIDTH - 2)
        parts[-1:] = [parts[-1][:cut] + " \\", "    " + parts[-1][cut + 1 :]]
    return parts + [f"    {text}" for words in about for text in textwrap.wrap(words, EXAMPLE_WIDTH - 4)]


Json = Annotated[bool, typer.Option("--json", help="Print the result as one JSON object on stdout.")]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="A setting; may be repeated. `weft tasks TASK` lists all settings."
    ),
]
RunFolder = Annotated[str, typer.Argument(metavar="RUN", help="The folder of a run, e.g. runs/book-1.")]
Broken = Annotated[
    bool, typer.Option("--broken", help="Use the model even if weights are NaN or infinite, or files have changed.")
]
Device = Annotated[
    str,
    typer.Option("--device", metavar="NAME", help="Where to compute: cpu, cuda, mps, or auto: a GPU if there is one."),
]
AsText = Annotated[bool, typer.Option("--text", help="Take every INPUT as a text, even the name of a file.")]
Resume = Annotated[
    bool, typer.Option("--resume", help="Go on with an output that was stopped, or begin where there is none.")
]
Sharded = Annotated[
    str | None, typer.Option("--shard", metavar="I/N", help="Answer part I of N of all inputs: one for each machine.")
]
Join = Annotated[
    bool, typer.Option("--join", help="Join the files that --shard wrote, which are named in place of inputs.")
]
Out = Annotated[
    str | None, typer.Option(metavar="RUN", help="The run folder to write; runs/<name>-<number> by default.")
]


def require_serving(where: str) -> None:
    """Refuse what needs the extra `serve` where its libraries are not installed."""
    lacking = [name for name in ("starlette", "uvicorn", "h11") if importlib.util.find_spec(name) is None]
    if lacking:
        problem = f"{' and '.join(lacking)} not installed" if len(lacking) > 1 else f"{lacking[0]} is not installed"
        raise WeftError(problem, where=where, fix="pip install 'weft[serve]'")


def settings_of(
    pairs: list[str] | None, call: Callable[..., Any], options: dict[str, Any] | None = None
) -> dict[str, Any]:
    """The settings of a command. What has an option of its own, or is an argument of the call, is not a setting."""
    settings = {name: value for name, value in (options or {}).items() if value is not None}
    words = {name.strip("_") for name, p in inspect.signature(call).parameters.items() if p.kind != p.VAR_KEYWORD}
    for pair in pairs or ():
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise WeftError(f"expected NAME=VALUE, found {pair!r}", where="--set", fix="for example --set lr=1e-3")
        if name in settings:
            raise WeftError(f"{name} is given twice", where="--set")
        if name.strip("_") in words:
            raise WeftError(f"{name} is not a setting", where="--set", fix=f"give it as --{name.strip('_')}")
        settings[name] = value
    return settings


@contextmanager
def changed_by(run: "Run", settings: dict[str, Any]) -> Iterator[None]:
    """Changes the run's model as settings say (without, scaled, …), which are taken out of all settings.

    A change that no pass came to is refused when the work is done.
    """
    from weft.inspect.change_words import taken, words_of

    changes = taken(settings).found()
    if not changes:
        yield
        return
    with run.changed(*changes) as found:
        yield
    if found.unmet:
        problem = "nothing of this input went through the part that is changed"
        raise WeftError(problem, where=f"--set {words_of(found.unmet[0])}", fix="name another stream or layer")


def load_run(folder: str, *, broken: bool = False, device: str = "auto") -> "Run":
    """The run that a command uses. One that is not there is refused before torch is loaded."""
    from weft.requirements import check_requirements
    from weft.runs.finding import require_run

    require_run(folder)
    check_requirements()
    from weft.runs import load
    from weft.training.devices import pick_device

    pick_device(device, "--device")
    return load(folder, broken=broken, device=device)


def lines_in(path: Path, encoding: str | None = None) -> list[str]:
    """The lines of a text file, UTF-8 where no encoding is named; or, for the name -, those that are piped in."""
    if str(path) == "-":
        if sys.stdin is None or sys.stdin.closed:
            raise WeftError(
                "nothing is piped in", where="-", fix="name a file, or pipe lines in: cat FILE | weft COMMAND"
            )
        return sys.stdin.read().splitlines()
    from weft.runs.asking import lines_of

    return lines_of(path, encoding)


def inputs_of(
    run: "Run", use: "Use", words: list[str] | None, file: Path | None, *, text: bool, encoding: str | None = None
) -> list[object]:
    """What words of the command line stand for: texts, files as paths, the lines piped in for -; and those of a file.

    Where the run's task takes no texts, words are names, which it opens itself. What an address names is fetched.
    """
    from weft.files.names import files_named, names_remote_file
    from weft.files.remote import fetched, is_address
    from weft.runs.asking import table_at, takes_texts

    found: list[object] = []
    takes = takes_texts(run, use)
    for word in words or ():
        if word == "-" and not text:
            found += [line for line in lines_in(Path(word), encoding) if line.strip()]
        else:
            try:
                if not text and is_address(word) and (not takes or names_remote_file(word)):
                    (word,) = fetched([word])
                found += (files_named(word) if takes and not text else []) or [word]
            except WeftError as error:
                found.append(error)
    if file is not None:
        by_line = str(file) == "-" or (any(one.lines for one in run.task.asks) and not takes)
        named = by_line and table_at(file, takes) is None
        found += lines_in(file, encoding) if named else [file if takes else str(file)]
    return found


def piped() -> list[str]:
    """The lines that are piped in, those that say something."""
    if sys.stdin is None or sys.stdin.closed or sys.stdin.isatty():
        return []
    return [line for line in sys.stdin.read().splitlines() if line]
