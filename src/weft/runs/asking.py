"""From inputs to answers: what users name is opened here and nowhere else, settings are checked, answers come in order.

given -> ask -> Answer, and `written` for the files that a user asked for. Who has values already, as a server does,
calls `checked` and `ask` alone: these open nothing and write nothing.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from weft.config import Config
from weft.errors import ConfigError, Interrupted, StorageError, WeftError
from weft.files.decoding import read_text, reading_as
from weft.files.documents import Document, units
from weft.files.finding import ending
from weft.files.ways import read_options
from weft.files.writing import refuse_output, write_made
from weft.generate.stopping import Stop, Stopped, never, stopped_by
from weft.inspect.views import View
from weft.tasks.asks import Answer, Given, Use, Ways
from weft.tasks.request import Embedded, Listen, Prediction
from weft.tasks.settings.limits import with_settings

if TYPE_CHECKING:
    from weft.runs.run import Run

NOT_OF_AN_INPUT = (ConfigError, StorageError, Interrupted)  # errors that every input would meet
LONGEST_NAME = 1024  # characters, beyond which a text is no name of a file
READING = ("outside", "encoding")  # settings of how files are read

A = TypeVar("A")


class NoSettings(Config):
    """What can be set where there is nothing to set."""


# Opened


def given(run: "Run", words: Iterable[object], *, ways: Ways = Ways()) -> Iterator[Given]:
    """The inputs that words stand for: names, patterns, folders, tables, lines; or values in Python.

    What cannot be opened is an input with an error in place of its value.
    """
    task, named = run.task, list(words)
    for setting in ("output", "out"):
        check_output(run, getattr(ways.how, setting, None), named, f"--set {setting}")
    asks = task.embeds if ways.use == "embed" else task.asks
    if ways.lines and any(one.lines for one in asks):
        named = [line for one in named for line in _lines(one, ways)]
    groups: Iterable[Sequence[object]] = task.together(named)
    if not named and any(one.may_lack for one in asks):
        groups = [()]
    for group in groups:
        try:
            with run.used(outside=ways.outside, encoding=ways.encoding):
                found = list(task.opened(run.loaded, group, ways))
        except NOT_OF_AN_INPUT:
            raise
        except WeftError as error:
            found = [Given(error, ", ".join(_name(one) for one in group))]
        yield from found


def document(run: "Run", path: str | Path, *, ways: Ways = Ways()) -> Document | None:
    """A file whose texts are to be predicted in place; None where the task knows no such documents."""
    if not run.task.documents or not ending(Path(path), run.task.documents):
        return None
    with run.used(outside=ways.outside, encoding=ways.encoding):
        return units(path)


def lines_of(path: str | Path, encoding: str | None = None) -> list[str]:
    """The lines of a file of text, UTF-8 where no encoding is named."""
    with reading_as(encoding):
        return "".join(read_text(path)).splitlines()


def _lines(one: object, ways: Ways) -> list[object]:
    """The lines of a file that say something; what is no name of a file stays as it is."""
    if not isinstance(one, str) or len(one) >= LONGEST_NAME or not Path(one).is_file():
        return [one]
    return [line for line in lines_of(one, ways.encoding) if line.strip()]


def _name(one: object) -> str:
    return str(one) if isinstance(one, str | Path) else "input"


# Checked


def check_output(run: "Run", output: str | Path | None, words: Iterable[object], option: str = "--output") -> None:
    """Refuse, before anything is computed, to write over an input that is named or into the run."""
    endings = [end for one in (*run.task.asks, *run.task.embeds) for end in one.endings]
    refuse_output(output, words, [run.folder], endings=endings, option=option)


def checked(run: "Run", use: Use, settings: Mapping[str, Any], *, files: bool) -> Config:
    """The settings of a use as a config. Without `files`, settings that name a file or how it is read are refused."""
    task, said = run.task, dict(settings)
    kind: type[Config] = {"predict": task.Predict, "look": task.Look, "embed": task.Embed}[use] or NoSettings
    refused = () if files else (*READING, *getattr(kind, "names_files", ()))
    for name in said:
        if name.split(".")[0] in refused:
            problem = f"{name!r:.60} names a file or says how files are read, and here no file is opened or written"
            raise ConfigError(problem, where=name[:60], fix="leave it out")
    read_options(said)
    usual = kind() if use == "look" or kind is NoSettings else run.loaded.usual(kind, use)
    return with_settings(usual, said)


# Asked


def ask(
    run: "Run",
    inputs: Iterable[Given],
    how: Config,
    *,
    listen: Listen | None = None,
    stop: Stop = never,
    rows: int | None = None,
) -> Iterator[Answer]:
    """Answers in the order of inputs, `rows` of which are computed at once (None: all). Nothing is opened or written.

    A bad input is an answer with an error; where all answers go into one file, it is raised. Once `stop()` is true the
    work ends after the present step, of generation too, and so it does when the generator is closed.
    """
    waiting, first = iter(inputs), 0
    while True:
        some = list(waiting if rows is None else islice(waiting, rows))
        if stop() or (not some and (first or not any(one.may_lack for one in run.task.asks))):
            return
        try:
            with stopped_by(stop):
                found = _answered(run, some, how, _heard(listen, first * getattr(how, "samples", 1)))
        except Stopped:
            return
        for one in found:
            yield replace(one, input=first + one.input)
        first += len(some)
        if rows is None or not some:
            return


def answers(run: "Run", inputs: Sequence[Given], how: Config, *, listen: Listen | None = None) -> list[Answer]:
    """Answers to inputs that are computed at once; the error of a bad one is raised."""
    _refuse_bad(inputs)
    if not inputs and not any(one.may_lack for one in run.task.asks):
        return []
    with run.used():
        return run.task.predict(run.loaded, inputs, how, listen)


def _answered(run: "Run", inputs: Sequence[Given], how: Config, listen: Listen | None) -> list[Answer]:
    """Answers to a batch, with errors for its bad inputs."""
    if getattr(how, "output", None) is not None or not inputs:
        return answers(run, inputs, how, listen=listen)
    found: list[Answer] = []

    def compute(first: int, some: Sequence[Given]) -> list[Answer]:
        return answers(run, some, how, listen=_heard(listen, first * getattr(how, "samples", 1)))

    for first, part in parted(compute, inputs):
        if isinstance(part, WeftError):
            found.append(Answer(first, error=part))
        else:
            found += [replace(one, input=first + one.input) for one in part]
    return found


def embedded(run: "Run", inputs: Sequence[Given], how: Config) -> Embedded:
    """Vectors of inputs; the error of a bad one is raised."""
    _refuse_bad(inputs)
    with run.used():
        return run.task.embedded(run.loaded, inputs, how)


def look(run: "Run", inputs: Sequence[Given], how: Config) -> View:
    """What the model does inside with an input; without any, what it learned from all of them."""
    _refuse_bad(inputs)
    with run.used():
        return run.task.look(run.loaded, inputs, how)


def parted(
    compute: Callable[[int, Sequence[Given]], A], inputs: Sequence[Given]
) -> Iterator[tuple[int, A | WeftError]]:
    """What is computed of all inputs at once where none is bad; else of parts, each with the number of its first input.

    `compute` takes that number and the inputs.

    Where some are bad, halves are tried apart, and halves of those: few bad ones among many cost little. An error that
    every input would meet is raised.
    """
    waiting = [(0, list(inputs))]
    while waiting:
        first, some = waiting.pop(0)
        try:
            yield first, compute(first, some)
        except NOT_OF_AN_INPUT:
            raise
        except WeftError as error:
            if len(some) < 2:
                yield first, error
            else:
                half = len(some) // 2
                waiting[:0] = [(first, some[:half]), (first + half, some[half:])]


def _refuse_bad(inputs: Sequence[Given]) -> None:
    for one in inputs:
        if isinstance(one.value, WeftError):
            raise one.value


def _heard(listen: Listen | None, before: int) -> Listen | None:
    """The same listener, for rows that stand behind others."""
    return None if listen is None else lambda row, text: listen(before + row, text)


def predicted(
    run: "Run", words: Sequence[object], settings: Mapping[str, Any], *, listen: Listen | None = None
) -> tuple[list[Prediction], list[tuple[str, WeftError]]]:
    """The predictions for what a user names, with the files asked for; and the inputs that failed, with their errors.

    An error that no prediction goes with is raised.
    """
    ways, how = read_options(dict(settings)), checked(run, "predict", settings, files=True)
    with run.used(**ways):
        inputs = list(given(run, words, ways=Ways("predict", how, **ways)))
        found = list(ask(run, inputs, how, listen=listen))
    failed = [(inputs[one.input].name, one.error) for one in found if one.error is not None]
    if failed and len(failed) == len(found):
        raise failed[0][1]
    written(found, how)
    return [one.values for one in found if one.error is None], failed


# Written


def written(answers: Iterable[Answer], how: Config) -> None:
    """Write the files that a user asked for: that of the setting `output`, and those that the answers name."""
    if (folder := getattr(how, "out", None)) is not None:
        Path(folder).mkdir(parents=True, exist_ok=True)
    for answer in answers:
        for name, content in answer.files.items():
            if name in (getattr(how, "output", None), answer.values.get("output")):
                write_made(Path(name), content())
