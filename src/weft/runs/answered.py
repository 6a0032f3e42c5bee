"""Answers to what a user names, as they come: as objects, as the rows of a table, or written to a file that grows.

A file that is not finished lies beside its name as `.part`, and is gone on with by `--resume` (storage/growing).
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from weft.amounts import counted
from weft.errors import WeftError
from weft.files.table_writing import TableWriter, whole_lines
from weft.files.writing import plain_place, write_made
from weft.runs.answer_table import AnswerTable
from weft.runs.asking import ask, ways_of, with_row, written
from weft.runs.many import ManyInputs, Shard
from weft.runs.run import refuse_headless
from weft.runs.shards import ShardRecord, check_joins, write_record
from weft.storage.growing import GrowingFile
from weft.tasks.asks import Answer, Given
from weft.tasks.request import Listen, Prediction
from weft.training.progress import Progress

if TYPE_CHECKING:
    from weft.runs.run import Run

Failures = list[tuple[str, WeftError]]
MOST_FAILURES = 1000  # that are kept to be named; the others are counted
Heard = Callable[[Prediction], None]


class Answered:
    """The answers to what a user names, as they come; `failed` fills with the inputs that could not be used.

    `said` are the settings in the user's words, by which a file is known again that is gone on with.
    """

    def __init__(
        self,
        run: "Run",
        words: Sequence[object],
        settings: Mapping[str, Any],
        listen: Listen | None = None,
        *,
        shard: Shard = Shard(),
        said: Sequence[str] = (),
    ):
        self.run, self.words, self.settings, self.listen = run, words, settings, listen
        self.shard, self.said = shard, said
        self.failed: Failures = []  # the first of them
        self.count = self.all_failed = 0  # inputs that were answered; that failed, in earlier processes too
        self._error: WeftError | None = None  # of the first input that failed

    def __iter__(self) -> Iterator[Answer]:
        """Each answer once, with the files written that it names; where every input fails, the first error."""
        return chain.from_iterable(self._batches(self._inputs()))

    def _inputs(self) -> ManyInputs:
        ways, self._how = ways_of(self.run, "predict", self.settings)
        refuse_headless(self.run.loaded)
        return ManyInputs(self.run, self.words, ways, self.shard)

    def _batches(self, inputs: ManyInputs) -> Iterator[list[Answer]]:
        """The answers to each batch of inputs."""
        if getattr(self._how, "output", None) is not None:  # all answers go into one file
            inputs.at_once = None
        none: list[list[Given]] = [] if inputs.first is not None else [[]]  # there may be an answer without an input
        number = inputs.begun
        for some in chain(inputs.batches(), none):
            heard = _behind(self.listen, number * getattr(self._how, "samples", 1))
            found = list(ask(self.run, some, self._how, listen=heard))
            for one in found:
                if one.error is not None:
                    self.all_failed += 1
                    self.failed += [_placed(one)] if len(self.failed) < MOST_FAILURES else []
                    self._error = self._error or self.failed[0][1]
                else:
                    self.count += 1
                    written([one], self._how)
            number += len(some)
            yield found
        if self._error is not None and not self.count:
            raise self._error

    def predictions(self) -> list[Prediction]:
        """All answers as `--json` gives them, each with the row of its table."""
        return [with_row(one.values, one.given) for one in self if one.error is None]

    def table(self, heard: Heard = lambda values: None) -> tuple[AnswerTable, Iterator[tuple[Any, ...]]]:
        """The answers as a table and its rows, as they come; `heard` gets the values of each answer."""
        inputs = self._inputs()
        table = AnswerTable(self.run, inputs.first)
        return table, chain.from_iterable(table.rows(_hearing(some, heard)) for some in self._batches(inputs))

    def write(self, path: Path, heard: Heard, *, table: bool = True, resume: bool = False) -> list[str]:
        """Write the answers as they come, as a table or as texts; the file has its name once it is whole.

        What to tell people of it.
        """
        inputs = self._inputs()
        sink: Sink = TableSink(self.run, path, inputs.first) if table else TextSink(self.run, path)
        place = plain_place(path)
        if place is None:
            if resume or self.shard.of > 1:
                what = "--resume" if resume else "--shard"
                raise WeftError("needs a plain file to write to", where=what, fix="name a file with --output")
            write_made(path, sink.whole(chain.from_iterable(self._heard_batches(inputs, heard))))
        else:
            self._grow(place, inputs, sink, heard, resume)
        return [*sink.remarks, f"wrote {path}: {counted(sink.count, sink.unit)}"]

    def _heard_batches(self, inputs: ManyInputs, heard: Heard) -> Iterator[list[Answer]]:
        return (_hearing(some, heard) for some in self._batches(inputs))

    def _grow(self, place: Path, inputs: ManyInputs, sink: "Sink", heard: Heard, resume: bool) -> None:
        """Write what is still to be done behind what is there."""
        if self.shard.of > 1:
            check_joins(place)
        about = inputs.about("predict", self.said, place)
        with GrowingFile(place, about, resume=resume) as file:
            if file.state is None:
                file.add(sink.head())
            else:
                self._restore(file.state, inputs, sink)
            try:
                for some in self._heard_batches(inputs, heard):
                    file.add(b"".join(sink.pieces(some)))
                    inputs.begun += len({one.input for one in some})
                    if file.due():
                        file.keep(self._state(inputs, sink))
            except BaseException:
                if not self.count:  # every input failed
                    file.remove()
                elif file.state is not None:
                    what = counted(file.state["inputs"], "input")
                    Progress().say(f"{what} answered so far: {file.part}; the same command with --resume goes on")
                raise
            file.keep(self._state(inputs, sink))
            if self.shard.of > 1:
                more = {"names": list(sink.names)}
                record = ShardRecord(about, file.size, file.crc, len(sink.head()), 0, sink.count, self.all_failed, more)
                write_record(place, record)
            file.finish(content=None if file.whole else sink.made(file.bytes_so_far))

    def _state(self, inputs: ManyInputs, sink: "Sink") -> dict[str, Any]:
        error = self._error and {"problem": self._error.problem, "where": self._error.where, "fix": self._error.fix}
        return {"inputs": inputs.begun, "answered": self.count, "failed": self.all_failed, "error": error,
                "made": sink.state()}  # fmt: skip

    def _restore(self, state: Mapping[str, Any], inputs: ManyInputs, sink: "Sink") -> None:
        """Go on where an earlier process kept a state."""
        inputs.begun, self.count, self.all_failed = state["inputs"], state["answered"], state["failed"]
        error = state["error"]
        self._error = error and WeftError(error["problem"], where=error["where"], fix=error["fix"])
        sink.restore(state["made"])


class Sink(Protocol):
    """How answers become the bytes of a file: pieces that are staged, and what is made of them at the end."""

    unit: str

    @property
    def count(self) -> int:
        """Rows or answers so far."""

    @property
    def names(self) -> Sequence[str]:
        """The columns of a table; none of texts."""

    @property
    def remarks(self) -> list[str]:
        """What to tell people of the file."""

    def head(self) -> bytes:
        """What is staged before all pieces."""

    def pieces(self, answers: Iterable[Answer]) -> Iterator[bytes]:
        """The bytes of some answers."""

    def made(self, staged: Callable[[], Iterator[bytes]]) -> Iterator[bytes] | None:
        """The content of the file, of what was staged; None where that is the file already."""

    def whole(self, answers: Iterable[Answer]) -> Iterator[bytes]:
        """The content of the file, of all answers: for devices and pipes."""

    def state(self) -> dict[str, Any]:
        """What is needed to go on."""

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a state."""


class TableSink:
    """Answers as the rows of a table."""

    unit = "row"

    def __init__(self, run: "Run", path: Path, first: Given | None):
        self.writer, self.table = TableWriter(path), AnswerTable(run, first)

    @property
    def count(self) -> int:
        return self.table.count

    @property
    def names(self) -> Sequence[str]:
        return self.table.names

    @property
    def remarks(self) -> list[str]:
        return [*self.table.remarks, *self.writer.remarks]

    def head(self) -> bytes:
        return self.writer.head(self.table.names) if self.writer.appends else b""

    def pieces(self, answers: Iterable[Answer]) -> Iterator[bytes]:
        rows = self.table.rows(answers)
        return self.writer.lines(self.table.names, rows) if self.writer.appends else self.writer.staged(rows)

    def made(self, staged: Callable[[], Iterator[bytes]]) -> Iterator[bytes] | None:
        return self.writer.made(self.table.names, staged())

    def whole(self, answers: Iterable[Answer]) -> Iterator[bytes]:
        return self.writer.chunks(self.table.names, self.table.rows(answers))

    def state(self) -> dict[str, Any]:
        return {"rows": self.table.count, "lost": list(self.table.lost), "counts": dict(self.writer.counts)}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.table.count, self.table.lost = state["rows"], dict.fromkeys(state["lost"])
        self.writer.counts.update(state["counts"])


class TextSink:
    """Answers as lines of JSON, in a .jsonl file; in any other as text: those of several lines are kept apart."""

    unit = "text"
    names: Sequence[str] = ()

    def __init__(self, run: "Run", path: Path):
        self.run, self.objects, self.count, self.several = run, path.suffix == ".jsonl", 0, False
        self.remarks: list[str] = []

    def head(self) -> bytes:
        return b""

    def pieces(self, answers: Iterable[Answer]) -> Iterator[bytes]:
        for one in answers:
            if one.error is None:
                self.count += 1
                yield self._line(with_row(one.values, one.given))

    def _line(self, values: Prediction) -> bytes:
        shown: Any = values
        if not self.objects:
            shown = self.run.task.shown(values)
            self.several = self.several or "\n" in shown
        return (json.dumps(shown, ensure_ascii=False) + "\n").encode("utf-8", "replace")

    def made(self, staged: Callable[[], Iterator[bytes]]) -> Iterator[bytes] | None:
        return None if self.objects else self._texts(whole_lines(staged()))

    def _texts(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        between = b"\n----\n" if self.several else b"\n"
        for number, line in enumerate(lines):
            yield (between if number else b"") + json.loads(line).encode("utf-8", "replace")
        yield b"\n"

    def whole(self, answers: Iterable[Answer]) -> Iterator[bytes]:
        staged = list(self.pieces(answers))
        return iter(staged) if self.objects else self._texts(staged)

    def state(self) -> dict[str, Any]:
        return {"texts": self.count, "several": self.several}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.count, self.several = state["texts"], state["several"]


def _hearing(answers: list[Answer], heard: Heard) -> list[Answer]:
    """The same answers, of which each is heard."""
    for one in answers:
        if one.error is None:
            heard(with_row(one.values, one.given))
    return answers


def _behind(listen: Listen | None, before: int) -> Listen | None:
    """The same listener, for rows that stand behind others."""
    return listen if listen is None or not before else lambda row, text: listen(before + row, text)


def _placed(answer: Answer) -> tuple[str, WeftError]:
    """A failed input's name and its error, which says the row of the table."""
    assert answer.error is not None
    error, one = answer.error, answer.given or Given("")
    if not one.rows or error.where.startswith(one.rows[0].where):
        return one.name, error
    where = one.rows[0].where
    return where, type(error)(error.problem, where=where, fix=error.fix)
