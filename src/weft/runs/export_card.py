"""The README.md of a run that was written for another tool."""

from collections.abc import Mapping

from weft.tasks.outgoing import Outgoing
from weft.tasks.request import Loaded
from weft.version import VERSION


def export_card(run: Loaded, found: Outgoing, kind: str, difference: float, tried: int) -> str:
    """What was written, how it was proved and what the run reached, as the text of the file."""
    metrics: Mapping[str, float] = run.config.get("result", {}).get("metrics", {})
    lines = [
        f"# {run.folder.path.absolute().name}",
        "",
        f"Written by weft {VERSION} from a run of the task {run.config.get('task') or 'none'}, as {kind}.",
        "",
        "Opened again by the other tool in a fresh process, its values differ from the run's "
        f"by {difference:.2g} at most.",
    ]
    if tried:
        things = "pictures" if "picture" in run.codecs else "texts"
        lines += ["", f"{tried} {things} were tried as they are: all came back with the run's own answers."]
    if found.unit is not None:
        lines += ["", "It gives numbers in the unit of the data that it learned from; nothing is left to be scaled."]
    for remark in found.remarks:
        lines += ["", remark]
    if metrics:
        lines += ["", "| measured on held-out data | value |", "|---|---|"]
        lines += [f"| {name} | {value:.4g} |" for name, value in metrics.items()]
    return "\n".join([*lines, ""])
