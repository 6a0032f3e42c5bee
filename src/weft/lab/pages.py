"""What people read of an experiment: lines for the terminal, and a page that needs no network."""

import html
import math
from collections import Counter
from collections.abc import Sequence

from weft.inspect.curves import Bands, Series, lines
from weft.inspect.figures import Format
from weft.json_text import write_json
from weft.lab.running import Result
from weft.lab.verdict import interval

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
STYLE = """
:root { --ink: #1b2733; --edge: #c5ced8; --ground: #fff; color-scheme: light; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8eef4; --edge: #3b4a59; --ground: #111a23; color-scheme: dark } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
body { color: var(--ink); background: var(--ground); }
h1 { font-size: 1.3rem; } figure { margin: 1rem 0; background: #fff; } svg { max-width: 100%; height: auto; }
pre, table { overflow-x: auto; } table { border-collapse: collapse; margin: 1rem 0; display: block; }
td, th { border-bottom: 1px solid var(--edge); padding: .2rem .8rem .2rem 0; text-align: left; }
"""  # the look page's colours


def figure(result: Result, format: Format = "svg") -> bytes:
    """The lines of the outcomes: their mean over seeds, and from the lowest to the highest as a band."""
    claim = result.experiment.claim
    series, bands = _over_seeds(result)
    return lines(series, x=claim.x, y=claim.y, log=claim.log, title=claim.says, bands=bands, format=format)


def _over_seeds(result: Result) -> tuple[Series, Bands]:
    names = result.outcomes[0].lines
    series, bands = {}, {}
    for name in names:
        points = [dict(one.lines[name]) for one in result.outcomes]
        series[name] = [(x, math.fsum(each[x] for each in points) / len(points)) for x in points[0]]
        bands[name] = [(x, min(each[x] for each in points), max(each[x] for each in points)) for x in points[0]]
    return series, bands


def number(result: Result) -> str:
    """The effect with its interval."""
    found = result.verdict
    if found.seeds == 1:
        return f"{found.mean:.3g} (one seed: no interval)"
    return f"{found.mean:.3g} [{found.low:.3g}, {found.high:.3g}] over {found.seeds} seeds"


def repeated(result: Result) -> str:
    """The verdicts of disjoint sets of seeds in words, where there are several sets."""
    counted = Counter(result.sets).most_common()
    said = ", ".join(f"{word} in {count}" for word, count in counted)
    return f"of {len(result.sets)} disjoint sets of {result.experiment.claim.seeds} seeds: {said}" if counted else ""


def told(result: Result) -> list[str]:
    """A few lines for the terminal."""
    claim = result.experiment.claim
    facts = [f"{name} {mean:.3g}" for name, mean, *_ in facts_of(result)]
    return [
        f"{claim.id} {claim.name}: {claim.says} ({claim.source})",
        f"  compared   {claim.compared}",
        f"  measured   {claim.effect}",
        f"  found      {number(result)}",
        *([f"  beside it  {'; '.join(facts)}"] if facts else []),
        f"  verdict    {result.verdict.word}: {claim.rule}",
        *([f"  again      {repeated(result)}"] if result.sets else []),
        *([f"  note       {claim.note}"] if claim.note else []),
        f"  command    {result.command}",
    ]


def facts_of(result: Result) -> list[tuple[str, float, float, float]]:
    """Name, mean and interval of the numbers beside the effect."""
    return [(name, *interval([one.facts[name] for one in result.outcomes])) for name in result.outcomes[0].facts]


def as_json(result: Result) -> dict[str, object]:
    """The result for programs."""
    claim, found = result.experiment.claim, result.verdict
    return {
        "claim": claim.id, "name": claim.name, "says": claim.says, "effect": found.mean,
        "interval": [found.low, found.high] if found.seeds > 1 else None, "seeds": found.seeds, "verdict": found.word,
        "rule": claim.rule, "facts": {name: mean for name, mean, *_ in facts_of(result)},
        "effects": [one.effect for one in result.outcomes], "sets": list(result.sets),
        "seconds": round(result.seconds, 1), "settings": result.settings.to_json(),
        "command": result.command,
    }  # fmt: skip


def web_page(result: Result) -> bytes:
    """The figure, the numbers as a table, the settings, and the command that repeats it."""
    claim = result.experiment.claim
    series, bands = _over_seeds(result)
    rows = [
        (name, f"{x:g}", f"{y:.4g}", f"{low:.4g} to {high:.4g}")
        for name, points in series.items()
        for (x, y), (_, low, high) in zip(points, bands[name], strict=True)
    ]
    facts = [(name, f"{mean:.4g}", f"{low:.4g} to {high:.4g}") for name, mean, low, high in facts_of(result)]
    body = "".join(f"<p>{html.escape(part)}</p>" for part in result.experiment.told.split("\n\n"))
    svg = figure(result).decode("utf-8")
    body += f"<figure>{svg[svg.index('<svg') :]}</figure>"
    again = f" ({repeated(result)})" if result.sets else ""
    body += f"<p><strong>{html.escape(result.verdict.word)}</strong>: {html.escape(number(result) + again)}</p>"
    body += f"<p>Measured: {html.escape(claim.effect)}. Rule: {html.escape(claim.rule)}. {html.escape(claim.note)}</p>"
    body += f"<pre>{html.escape(result.command)}</pre>"
    if facts:
        body += _table(("number", "mean over seeds", "95 % interval"), facts)
    body += _table(("line", claim.x, "mean over seeds", "lowest to highest"), rows)
    body += (
        f"<details><summary>Settings</summary><pre>{html.escape(write_json(result.settings.to_json()))}</pre></details>"
    )
    title = html.escape(f"{claim.id} {claim.name}: {claim.says}")
    head = (
        f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f'<meta name="viewport" content="width=device-width"><title>{title}</title><style>{STYLE}</style>'
    )
    return f'<!doctype html><html lang="en"><head>{head}</head><body><h1>{title}</h1>{body}</body></html>\n'.encode()


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    top = "".join(f"<th scope=col>{html.escape(cell)}</th>" for cell in head)
    lines_ = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{lines_}</tbody></table>"
