"""What `weft check` prints: a report that people read from top to bottom."""

import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from weft.errors import harmless

if TYPE_CHECKING:
    from weft.runs.checking import Checked

DEFECTS = 20  # that are listed
COLUMNS = 20
USES = 6
WIDE = 100  # characters of a line
DEEP = " " * 6
SURE = {
    "sure": "weft is sure",
    "likely": "weft assumes this, because nothing else fits",
    "asked for": "you named the task",
    "not clear": "weft is not sure",
}


def report(found: "Checked") -> str:
    """The whole report."""
    return harmless("\n".join(_lines(found)))


def _lines(found: "Checked") -> Iterator[str]:
    yield from _field("data", found.files)
    if found.task is None:
        yield from _field(
            "task", f"not clear: {len(found.uses)} tasks are possible" if found.uses else "none that weft knows"
        )
    else:
        yield from _field("task", found.task)
        yield from _field("because", f"weft found {found.why} ({SURE[found.certainty]})")
    yield from (line for note in found.facts.notes for line in _field("holds", note))
    if found.facts.held_out:
        yield from _field("held out", found.facts.held_out)
    if found.scripts:
        yield from _field("scripts", ", ".join(f"{name} {share:.0%}" for name, share in found.scripts.items()))
    yield from _pictures(found.facts.pictures)
    yield from _columns(found)
    yield from _block("first rows", [f"  {row}" for row in found.facts.first_rows])
    yield from _block("what can be learned from it", _uses(found.uses), len(found.uses) - USES)
    yield from _defects(found)
    yield from _block("plan", [f"  {name:<10} {text}" for name, text in found.plan.items()])
    yield from _ending(found)


def _field(name: str, text: str) -> list[str]:
    return textwrap.wrap(text, WIDE, initial_indent=f"{name:<10} ", subsequent_indent=" " * 11, break_long_words=False)


def _block(title: str, lines: Sequence[str], more: int = 0) -> list[str]:
    if not lines:
        return []
    return ["", title, *lines, *([f"  and {more:,} more (--json lists all)"] if more > 0 else [])]


def _pictures(known: dict[str, Any]) -> Iterator[str]:
    if not known:
        return
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in known["kinds"].items())
    yield from _field("pictures", f"{known['count']:,} to train on: {kinds}")
    if "sizes" in known:
        sizes = ", ".join(f"{name} {size}" for name, size in known["sizes"].items())
        grey = f"; {known['grey']:,} in grey" if known["grey"] else ""
        yield from _field("sizes", f"in pixels: {sizes}{grey}")
    if "classes" in known:
        some = list(known["classes"].items())
        told = ", ".join(f"{name} {count:,}" for name, count in some[:8])
        yield from _field("classes", told + (f" and {len(some) - 8} more" if len(some) > 8 else ""))


def _columns(found: "Checked") -> list[str]:
    lines = []
    for column in found.columns[:COLUMNS]:
        role = f" -> {column.role}" if column.role else ""
        name = repr(column.name) if column.name else "(no name)"
        lines.append(
            f"  {column.number:>2} {name}{role}: {column.holds}, {column.different:,} different in {column.rows:,} "
            f"rows, as {column.example!r}"
        )
    return _block("columns", lines, len(found.columns) - COLUMNS)


def _uses(uses: Sequence[dict[str, str]]) -> list[str]:
    lines = []
    for use in uses[:USES]:
        why = f"; weft found {use['why']}" if use["why"] else ""
        lines += [
            f"  {use['command']}",
            *textwrap.wrap(use["learns"] + why, WIDE, initial_indent=DEEP, subsequent_indent=DEEP),
        ]
    return lines


def _defects(found: "Checked") -> Iterator[str]:
    some = [f"  {defect.where}: {defect.problem}" for defect in found.defects[:DEFECTS]]
    yield from _block(f"defects and what was left out: {len(found.defects):,}", some, len(found.defects) - DEFECTS)


def _ending(found: "Checked") -> Iterator[str]:
    yield ""
    if found.refused is None:
        best = next((use["command"] for use in found.uses if use["task"] == found.task), None)
        yield f"nothing was trained; to train: {best}" if best else "nothing was trained"
        return
    where = f"{found.refused['where']}: " if found.refused["where"] else ""
    yield f"weft train would refuse it: {where}{found.refused['problem'].split('; its columns:')[0]}"
    yield f"  -> {found.refused['fix']}"
