"""Tables that commands print about runs. They fit the terminal: long cells are broken into lines."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from weft.amounts import amount, duration
from weft.errors import harmless

if TYPE_CHECKING:
    from weft.runs.cleaning import Cleaned, CleanedPrepared
    from weft.runs.comparing import Comparison, Interval
    from weft.runs.listing import ListedRun
    from weft.runs.sweep import Sweep
    from weft.runs.verifying import Verified

MEASURES = 2  # of a run, in the table of all runs
PART, LONGEST_CELL = 1000, 200  # rows of a long table that are printed together; characters of a cell
WIDE = 160  # columns where the output is no terminal


def runs(entries: "Sequence[ListedRun]") -> None:
    """The result of `weft runs`."""
    if not entries:
        print("no runs here yet: weft train FILE makes one")
        return
    rows = [
        [entry.run, entry.task, entry.model, entry.data, _state(entry), _measures(entry),
         duration(entry.seconds) if entry.steps else "", amount(entry.bytes)]
        for entry in entries
    ]  # fmt: skip
    show(["run", "task", "model", "data", "state", "held out", "time", "size"], rows, right=(6, 7))


def comparison(found: "Comparison") -> None:
    """The result of `weft runs compare`."""
    if found.settings:
        show(["setting", *found.runs], [[name, *map(_plain, row)] for name, row in found.settings.items()])
    else:
        print("the same settings in all of these runs")
    rows = [
        [name, *(_measure(value, ends) for value, ends in zip(values, found.intervals[name], strict=True))]
        for name, values in found.metrics.items()
    ]
    if rows:
        print()
        show(["measure", *found.runs], rows)
    for remark in found.remarks:
        print(f"note: {harmless(remark)}")


def swept(done: "Sweep") -> None:
    """The result of a sweep."""
    rows = [[str(one.round), *one.words.values(), f"{one.metrics[done.measure]:.4g}", one.run] for one in done.runs]
    show(["round", *done.best.words, done.measure, "run folder"], rows)
    chosen = ", ".join(f"{name}={value}" for name, value in done.best.words.items())
    print(harmless(f"\nbest: {chosen}\nrun folder: {done.best.run}"))


def answers(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Answers to the rows of a table, in parts of as many rows as are answered together."""
    waiting = iter(rows)
    while some := list(islice(waiting, PART)):
        show(names, [[_cell(value) for value in row] for row in some])


def cleaned(found: "Sequence[Cleaned]", *, dry: bool) -> None:
    """The result of `weft runs clean`."""
    would = "would remove" if dry else "removed"
    for one in found:
        if one.kept:
            print(harmless(f"{one.run}: not changed ({one.kept})"))
        elif one.checkpoints or one.features:
            kinds = {"checkpoints": one.checkpoints, "features": one.features}
            what = " and ".join(name for name, count in kinds.items() if count)
            print(harmless(f"{one.run}: {would} {amount(one.bytes)} of {what}"))
    print(f"{would} {amount(sum(one.bytes for one in found))} in all")


def cleaned_data(found: "CleanedPrepared", *, asked: bool, dry: bool) -> None:
    """What `weft runs clean` says of prepared data."""
    if found.entries:
        does = "not removed (--prepared removes it)" if not asked else "would be removed" if dry else "removed"
        print(harmless(f"prepared data in {found.folder}: {amount(found.bytes)}, {does}"))


def verified(found: "Mapping[str, Verified]") -> None:
    """The result of `weft runs verify`."""
    for run, one in found.items():
        if not one.sealed:
            print(harmless(f"{run}: written by an earlier version of weft without checksums: cannot be checked"))
            continue
        print(harmless(f"{run}: {'unchanged' if one.whole else 'changed'}"))
        for name, what in {**one.refused, **one.changed}.items():
            print(harmless(f"  {name}: {what}"))
        for name, what in one.checkpoints.items():
            print(harmless(f"  checkpoints/{name}: {what}"))


def show(head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> None:
    """Print a table; columns numbered in `right` are set to the right."""
    import sys

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for i, name in enumerate(head):
        table.add_column(Text(harmless(name)), justify="right" if i in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(harmless(cell)) for cell in row))
    terminal = sys.stdout is not None and sys.stdout.isatty()
    Console(file=sys.stdout, width=None if terminal else WIDE, highlight=False).print(table)


def _state(entry: "ListedRun") -> str:
    from weft.runs.listing import DAMAGED, STOPPED, TRAINING

    if entry.state == DAMAGED:
        return f"damaged: {entry.problem}"
    return f"{entry.state}, step {entry.steps:,}" if entry.state in (STOPPED, TRAINING) else entry.state


def _measures(entry: "ListedRun") -> str:
    return ", ".join(f"{name} {value:.4g}" for name, value in list(entry.metrics.items())[:MEASURES])


def _measure(value: float | None, ends: "Interval | None") -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" + (f" ({ends[0]:.4g} to {ends[1]:.4g})" if ends else "")


def _cell(value: Any) -> str:
    """A cell as people read it: a number in few digits, a long text cut."""
    if isinstance(value, float):
        return f"{value:.4g}"
    text = "" if value is None else " ".join(str(value).split())
    return text if len(text) <= LONGEST_CELL else text[: LONGEST_CELL - 1] + "…"


def _plain(value: Any) -> str:
    return "-" if value is None else f"{value:,}" if type(value) is int else str(value)
