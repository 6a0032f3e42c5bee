"""The model card: what a run is and how well it does, in words and numbers that were measured."""

from collections.abc import Mapping, Sequence
from typing import Any

from weft.amounts import count, duration
from weft.version import VERSION


def model_card(name: str, result: Mapping[str, Any], *, summary: str, use: str, facts: Mapping[str, str]) -> str:
    """README.md of a run. `result` is what config.json says of how it ended, `use` a command that uses it."""
    lines = [f"# {name}", "", summary, "", "```", use, "```", ""]
    lines += [f"**Warning:** {result['warning']}.", ""] if result.get("warning") else []
    lines += ["## Measured on held-out data", ""]
    lines += ["| measure | value |", "|---|---|"]
    lines += [f"| {measure} | {value:.4g} |" for measure, value in result["metrics"].items()]
    lines += _beside(result)
    lines += ["", "![loss](loss.png)", "", "## How it was made", "", "| | |", "|---|---|"]
    lines += [f"| {fact} | {_cell(value)} |" for fact, value in facts.items()]
    lines += [f"| parameters | {result['parameters']:,} ({count(result['parameters'])}) |"]
    lines += [
        f"| steps | {result['steps']:,} |",
        f"| time | {duration(result['seconds'])} |",
        f"| weft | {VERSION} |",
        "",
    ]
    if result.get("sample"):
        text = result["sample"].strip("\n")
        fence = "`" * max(4, 1 + max((len(run) for run in _runs(text)), default=0))
        lines += ["## A sample", "", fence, text, fence, ""]
    return "\n".join(lines)


def with_section(card: str, title: str, paragraphs: Sequence[str]) -> str:
    """A card with a section at its end, in place of an earlier one of this title."""
    head = f"## {title}\n"
    before, found, after = card.partition(head)
    _, following, rest = after.partition("\n## ")
    section = "\n".join([head, *(f"{text}\n" for text in paragraphs)])
    return f"{before.rstrip()}\n\n{section}" + (f"\n## {rest}" if found and following else "")


def _beside(result: Mapping[str, Any]) -> list[str]:
    """Plain methods on the same examples, and which won."""
    remarks = [f"- {_cell(text)}" for text in result.get("baseline_remarks", ())]
    if "comparison" not in result:
        return ["", *remarks] if remarks else []
    won, intervals = result["comparison"], result["baseline_intervals"]
    rows = []
    for name, metrics in result["baselines"].items():
        value, ends = metrics[won["measure"]], intervals[name][won["measure"]]
        rows.append(f"| {name} | {value:.4g} | {ends[0]:.4g} to {ends[1]:.4g} |")
    title = f"| plain method | {won['measure']} | 95 % interval |"
    sentence = won["sentence"]
    return ["", "## Beside plain methods", "", f"{sentence[:1].upper()}{sentence[1:]}.", "", title, "|---|---|---|",
            *rows, *([""] if remarks else []), *remarks]  # fmt: skip


def finite(metrics: Mapping[str, Any]) -> dict[str, float]:
    """Metrics as JSON can hold them."""
    return {name: float(f"{value:.6g}") for name, value in metrics.items() if value == value}


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _runs(text: str) -> list[str]:
    """The runs of back quotes, which a fence must be longer than."""
    return [run for run in "".join(c if c == "`" else " " for c in text).split() if run]
