"""The model card: what a run is and how well it does, in words and numbers that were measured."""

from collections.abc import Mapping
from typing import Any

from weft.training.progress import count, duration
from weft.version import VERSION


def model_card(
    name: str,
    *,
    summary: str,
    use: str,
    facts: Mapping[str, str],
    metrics: Mapping[str, float],
    parameters: int,
    steps: int,
    seconds: float,
    sample: str = "",
) -> str:
    """README.md of a run. `use` is the command that uses it."""
    lines = [f"# {name}", "", summary, "", "```", use, "```", "", "## Measured on held-out data", ""]
    lines += ["| measure | value |", "|---|---|"]
    lines += [f"| {measure} | {value:.4g} |" for measure, value in metrics.items()]
    lines += ["", "![loss](loss.png)", "", "## How it was made", "", "| | |", "|---|---|"]
    lines += [f"| {fact} | {value} |" for fact, value in facts.items()]
    lines += [f"| parameters | {parameters:,} ({count(parameters)}) |", f"| steps | {steps:,} |"]
    lines += [f"| time | {duration(seconds)} |", f"| weft | {VERSION} |", ""]
    if sample:
        fence = "`" * 4
        lines += ["## A sample", "", fence, sample.strip("\n"), fence, ""]
    return "\n".join(lines)


def finite(metrics: Mapping[str, Any]) -> dict[str, float]:
    """Metrics as JSON can hold them."""
    return {name: float(f"{value:.6g}") for name, value in metrics.items() if value == value}
