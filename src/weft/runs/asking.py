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
from weft.core.changes import active, changed
from weft.errors import ConfigError, WeftError
from weft.files.decoding import check_encoding, read_text
from weft.files.documents import Document, units
from weft.files.finding import ending
from weft.files.names import LONGEST_NAME
from weft.files.table_writing import plain
from weft.files.tables import is_table
from weft.files.ways import WAYS, read_options
from weft.files.writing import refuse_output, write_made
from weft.generate.stopping import Stop, Stopped, never, stopped_by
from weft.inspect.document import LookDocument
from weft.inspect.studied import studied
from weft.inspect.study import Study
from weft.inspect.views import View
from weft.tasks.asks import NOT_OF_AN_INPUT, Answer, Given, Use, Ways
from weft.tasks.request import Embedded, Listen, Prediction
from weft.tasks.settings.limits import with_settings

if TYPE_CHECKING:
    from weft.runs.run import Run


A = TypeVar("A")


class NoSettings(Config):
    """What can be set where there is nothing to set."""


# Opened


def given(run: "Run", words: Iterable[object], *, ways: Ways = Ways()) -> Iterator[Given]:
    """The inputs that words stand for: names, patterns, folders, tables, lines; or values in Python.

    Where a task asks for texts, a string is a text and a `Path` is a file: a table, of which each row is an input, or
    lines. What cannot be opened is an input with an error in place of its value.
    """
    task, named = run.task, list(words)
    for setting in ("output", "out"):
        check_output(run, getattr(ways.how, setting, None), named, f"--set {setting}")
    groups: Iterable[Sequence[object]] = task.together(named)
    if not named and any(one.may_lack for one in task.asks):
        groups = [()]
    for group in groups:
        found = _opened(run, group, ways)
        while True:
            try:
                with run.used(**ways.reading):
                    one = next(found, None)
            except NOT_OF_AN_INPUT:
                raise
            except WeftError as error:
                yield Given(error, ", ".join(_name(one) for one in group))
                break
            if one is None:
                break
            yield one


def _opened(run: "Run", group: Sequence[object], ways: Ways) -> Iterator[Given]:
    """The inputs that a group of words stands for: the rows of a table, the lines of a file, or what the task opens."""
    task, only = run.task, group[0] if len(group) == 1 else None
    if isinstance(only, WeftError):
        raise only
    texts = takes_texts(run, ways.use)
    rows = task.in_file(run.loaded, only, ways) if isinstance(only, Path) else None
    if rows is None and (table := table_at(only, texts)):
        rows = task.in_table(run.loaded, table, ways)
    if rows is not None:
        yield from rows
    elif texts and isinstance(only, Path):
        for line in filter(str.strip, each_line(only, ways.encoding)):
            yield from task.opened(run.loaded, [line], ways)
    else:
        yield from task.opened(run.loaded, group, ways)


def takes_texts(run: "Run", use: Use) -> bool:
    """Whether a string is a text for a run's task, and not the name of something."""
    asks = run.task.embeds if use == "embed" and run.task.embeds else run.task.asks
    return asks[0].kind == "text"


def table_at(word: object, texts: bool) -> Path | None:
    """The table that a word names: a `Path`, or a string where strings are not `texts`; None where it names none."""
    names = isinstance(word, Path) or (isinstance(word, str) and not texts and len(word) < LONGEST_NAME)
    if not names:
        return None
    path = Path(word)  # type: ignore[arg-type]
    try:
        return path if path.is_file() and is_table(path) else None
    except (OSError, ValueError):  # with signs that no name has
        return None


def document(run: "Run", path: str | Path, *, ways: Ways = Ways()) -> Document | None:
    """A file whose texts are to be predicted in place; None where the task knows no such documents."""
    if not run.task.documents or not ending(Path(path), run.task.documents):
        return None
    with run.used(**ways.reading):
        return units(path)


def lines_of(path: str | Path, encoding: str | None = None) -> list[str]:
    """The lines of a file of text, UTF-8 where no encoding is named."""
    return list(each_line(path, encoding))


def each_line(path: str | Path, encoding: str | None = None) -> Iterator[str]:
    """The same, one by one, of a file that may be larger than memory."""
    if encoding is not None:
        check_encoding(encoding)
    last = ""
    for piece in read_text(path, encoding):
        *lines, last = (last + piece).splitlines(keepends=True)
        yield from (line.splitlines()[0] for line in lines)
    yield from last.splitlines()


def _name(one: object) -> str:
    return one.where if isinstance(one, WeftError) else str(one) if isinstance(one, str | Path) else "input"


# Checked


def check_output(run: "Run", output: str | Path | None, words: Iterable[object], option: str = "--output") -> None:
    """Refuse, before anything is computed, to write over an input that is named or into the run."""
    endings = [end for one in (*run.task.asks, *run.task.embeds) for end in one.endings]
    refuse_output(output, words, [run.folder], endings=endings, option=option)


def checked(run: "Run", use: Use, settings: Mapping[str, Any], *, files: bool) -> Config:
    """The settings of a use as a config. Without `files`, settings that name a file or how it is read are refused."""
    task, said = run.task, dict(settings)
    kind: type[Config] = {"predict": task.Predict, "look": task.Look, "embed": task.Embed}[use] or NoSettings
    columns = [column.setting for column in task.columns(run.loaded, use)]
    refused = () if files else (*WAYS, *columns, *getattr(kind, "names_files", ()))
    for name in said:
        if name.split(".")[0] in refused:
            problem = f"{name!r:.60} names a file or says how files are read, and here no file is opened or written"
            raise ConfigError(problem, where=name[:60], fix="leave it out")
    read_options(said)
    column_options(run, use, said)
    usual = kind() if use == "look" or kind is NoSettings else run.loaded.usual(kind, use)
    return with_settings(usual, said)


def column_options(run: "Run", use: Use, settings: dict[str, Any]) -> dict[str, str]:
    """Take the settings that name columns of tables out of all settings."""
    known = [column.setting for column in run.task.columns(run.loaded, use)]
    return {name: str(settings.pop(name)) for name in known if name in settings}


def ways_of(run: "Run", use: Use, settings: Mapping[str, Any]) -> tuple[Ways, Config]:
    """How the inputs of a use are opened, and its settings, checked."""
    said, how = dict(settings), checked(run, use, settings, files=True)
    return Ways(use, how, **read_options(said), columns=column_options(run, use, said)), how


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
            yield replace(one, input=first + one.input, given=some[one.input] if some else None)
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


def study(run: "Run", inputs: Sequence[Given], how: Config) -> Study:
    """An input as the stream that answers sees it, and its answer."""
    _refuse_bad(inputs)
    with run.used():
        return run.task.study(run.loaded, inputs, how)


NOT_FOLLOWED = "The answer is not followed from layer to layer: {}."


def completed(
    run: "Run", inputs: Sequence[Given], how: Config
) -> Callable[[Callable[[], LookDocument], View | None], LookDocument]:
    """Adds what a study of the input finds to the document of a page, under the changes that hold now.

    A second look of the same model, as it is, gives the input whose parts are put in the place of this one's.
    """
    held = active()

    def complete(make: Callable[[], LookDocument], second: View | None) -> LookDocument:
        again = held.changes if held is not None and active() is None else ()
        with changed(run.model, *again, given=None if held is None else held.given):
            document = make()
            try:
                mine = study(run, inputs, how)
                model, make_study = (None, None) if second is None or second.study is None else second.study
                other = make_study() if make_study is not None and model is run.model else None
                return studied(document, mine, () if held is None else held.changes, other)
            except WeftError as error:  # a model without an answer, or one that cannot be followed
                return replace(document, notes=(*document.notes, NOT_FOLLOWED.format(error.problem)))

    return complete


def picked(inputs: Iterable[Given], row: int | None) -> list[Given]:
    """The inputs of a look: of a table the one of a row, by its number from 1; all others as they are."""
    found = list(inputs)
    if not any(one.rows for one in found):
        if row is not None:
            raise WeftError("only a table has rows", where="--row", fix="leave it out, or name a table")
        return found
    if row is None and len(found) > 1:
        problem = f"a table of {len(found):,} inputs, and one can be looked at"
        raise WeftError(problem, where="weft look", fix=f"say which row: --row 1 … {len(found)}")
    if not 1 <= (row or 1) <= len(found):
        raise WeftError(f"there is no row {row}: the table has {len(found):,} inputs", where="--row")
    return [found[(row or 1) - 1]]


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


def with_row(values: Prediction, one: Given | None) -> Prediction:
    """A prediction with the row of the table that its input was read from, where there is one."""
    if one is None or len(one.rows) != 1:
        return values
    return {**values, "row": plain(one.rows[0].values), "where": one.rows[0].where}


# Written


def written(answers: Iterable[Answer], how: Config) -> None:
    """Write the files that a user asked for: that of the setting `output`, and those that the answers name."""
    if (folder := getattr(how, "out", None)) is not None:
        Path(folder).mkdir(parents=True, exist_ok=True)
    for answer in answers:
        for name, content in answer.files.items():
            if name in (getattr(how, "output", None), answer.values.get("output")):
                write_made(Path(name), content())
