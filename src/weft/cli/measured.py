"""An evaluation in a terminal: measures with intervals, plain methods beside them, classes, confusions, mistakes."""

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from weft.amounts import counted

LINE = 100  # columns of a long sentence
MOST_CLASSES = 12  # whose confusions are shown as a table
MOST_LISTED = 30  # classes whose precision and recall are listed
NAME = 16  # characters of a class in a table
EXCERPT = 60  # characters of what a model was wrong about
Report = Mapping[str, Any]


def evaluation(report: Report) -> Iterator[str]:
    """The lines of a report."""
    yield report["data"]
    intervals = report.get("intervals", {})
    width = max([16, *map(len, report["metrics"]), *map(len, report.get("baselines", ()))])
    for name, value in report["metrics"].items():
        yield f"  {name:<{width}} {value:.4f}{_ends(value, intervals.get(name))}"
    for name, signature in report.get("signatures", {}).items():
        yield f"  {f'{name} signature':<{width}} {signature}"
    yield from (f"  {line}" for line in report.get("looked", ()))
    further = [f"{report[name]:,} {name}" for name in ("tokens", "bytes") if name in report]
    yield "  over " + ", ".join([counted(report["examples"], report.get("counted", "example")), *further])
    yield from beside(report, width)
    yield from _tested(report, width)
    yield from _by_class(report)
    yield from _confused(report)
    yield from _mistaken(report)
    yield from _memorised(report)
    if report.get("pictures"):
        yield "pictures: " + ", ".join(report["pictures"])


def beside(report: Report, width: int = 16) -> Iterator[str]:
    """Plain methods on the same examples, and which won."""
    won, intervals = report.get("comparison"), report.get("baseline_intervals", {})
    if won is not None:
        yield f"plain methods, {won['measure']} on {_same(report)}:"
        for name, metrics in report["baselines"].items():
            value = metrics[won["measure"]]
            yield f"  {name:<{width}} {value:.4f}{_ends(value, intervals.get(name, {}).get(won['measure']))}"
        yield from textwrap.wrap(won["sentence"], LINE)
    for remark in report.get("baseline_remarks", ()):
        yield from textwrap.wrap(f"note: {remark}", LINE)


def _same(report: Report) -> str:
    """What the plain methods were measured on: all that was counted, or the parts that it was scored in."""
    won = report["comparison"]
    own = won.get("counted", "example")
    many, one = report.get("examples", won["examples"]), report.get("counted", own)
    if (many, one) == (won["examples"], own):
        return f"the same {counted(many, one)}"
    return f"the same {counted(many, one)}, in {counted(won['examples'], own if own != one else 'part')}"


def _memorised(report: Report) -> Iterator[str]:
    """What the model knows by heart of its training text."""
    found = report.get("memorised")
    if found:
        yield "known by heart:"
        for sentence in found["sentences"]:
            yield from textwrap.wrap(sentence, LINE, initial_indent="  ", subsequent_indent="  ")
        if found["known"]:
            yield f"  among them: {', '.join(found['known'])}"
        if report.get("card"):
            yield f"  the model card says so: {report['card']}"


def _tested(report: Report, width: int) -> Iterator[str]:
    """The measures on examples that a file names for testing, which neither trained nor chose anything."""
    test = report.get("test")
    if test:
        yield f"test, over {test['examples']:,} examples that chose nothing:"
        for name in report["metrics"]:
            if name in test:
                yield f"  {name:<{width}} {test[name]:.4f}{_ends(test[name], test['intervals'].get(name))}"


def _ends(value: float, ends: list[float] | None) -> str:
    digits = 2 if abs(value) >= 1 else 3
    return "" if ends is None else f"   95 % of resamples from {ends[0]:.{digits}f} to {ends[1]:.{digits}f}"


def _by_class(report: Report) -> Iterator[str]:
    """Precision, recall and F1 of each class; or F1 alone, where no more is known."""
    f1 = report.get("f1")
    if not isinstance(f1, Mapping):
        return
    sides = {name: report[name] for name in ("precision", "recall") if isinstance(report.get(name), Mapping)}
    columns = {**sides, "f1": f1}
    classes = list(dict.fromkeys(name for side in columns.values() for name in side))
    yield f"{'by class':<{NAME + 2}}" + "".join(f" {name:>9}" for name in columns)
    for name in classes[:MOST_LISTED]:
        cells = (f"{side[name]:9.3f}" if name in side else " " * 8 + "–" for side in columns.values())
        yield f"  {_short(name):<{NAME}} " + " ".join(cells)
    if len(classes) > MOST_LISTED:
        yield f"  and {len(classes) - MOST_LISTED} more (--json has them all)"


def _confused(report: Report) -> Iterator[str]:
    """What was said for each class: a table where classes are few, else the commonest confusions."""
    found = report.get("confusion")
    if not found:
        return
    names, counts = found["classes"], found["counts"]
    if len(names) <= MOST_CLASSES:
        wide = max(5, *(min(len(name), 8) for name in names))
        yield f"{'true class, found':<{NAME + 2}}" + "".join(f" {_short(name, wide):>{wide}}" for name in names)
        for name, row in zip(names, counts, strict=True):
            yield f"  {_short(name):<{NAME}}" + "".join(f" {count:>{wide},}" for count in row)
        return
    pairs = [(count, a, b) for a, row in zip(names, counts, strict=True) for count, b in zip(row, names, strict=True)
             if a != b and count]  # fmt: skip
    yield "most often confused"
    for count, a, b in sorted(pairs, key=lambda one: -one[0])[:MOST_CLASSES]:
        yield f"  {count:>6,} of {_short(a)} found as {_short(b)}"


def _mistaken(report: Report) -> Iterator[str]:
    """The mistakes about which the model was most sure."""
    mistakes = report.get("mistakes") or ()
    if mistakes:
        yield "most confident mistakes"
    for one in mistakes:
        what = next(value for key, value in one.items() if key not in ("label", "said", "sure"))
        yield f"  {one['sure']:.2f} {_short(one['said'])}, but is {_short(one['label'])}: {_short(str(what), EXCERPT)}"


def _short(text: str, most: int = NAME) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1] + "…"
