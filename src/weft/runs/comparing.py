"""Runs side by side: the settings in which they differ, their measures, and their curves in one picture."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from weft.errors import WeftError
from weft.runs.finding import require_run
from weft.runs.listing import IMPORTED, ListedRun, describe
from weft.training.folder import RunFolder

Interval = tuple[float, float]
NOT_SETTINGS = ("type",)


@dataclass(frozen=True)
class Comparison:
    """`settings` and `metrics` have a value for each run, in the order of `runs`; None where a run has none."""

    runs: tuple[str, ...]
    settings: Mapping[str, tuple[Any, ...]]
    metrics: Mapping[str, tuple[float | None, ...]]
    intervals: Mapping[str, tuple[Interval | None, ...]]
    remarks: tuple[str, ...] = ()
    curves: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=dict)  # minutes and held-out loss

    def to_json(self) -> dict[str, Any]:
        """The comparison as `weft runs compare --json` gives it."""
        return {"runs": list(self.runs), "settings": self.settings, "metrics": self.metrics,
                "intervals": self.intervals, "remarks": list(self.remarks), "curves": self.curves}  # fmt: skip

    def picture(self, format: str = "png") -> bytes:
        """The curves of all runs."""
        from weft.inspect.curves import lines

        if not any(self.curves.values()):
            raise WeftError("none of these runs has measured a loss yet", where="weft runs compare")
        return lines(self.curves, x="minutes of training", y="held-out loss", format=format)  # type: ignore[arg-type]


def compare(runs: Sequence[str | Path], data: Sequence[str] = ()) -> Comparison:
    """The runs beside each other; with `data`, all are measured on it now."""
    if len(runs) < 2:
        raise WeftError("nothing to compare with", where="weft runs compare", fix="name two runs or more")
    folders = [RunFolder(require_run(run)) for run in runs]
    configs, entries = [folder.config() for folder in folders], [describe(folder.path) for folder in folders]
    names = _names([entry.run for entry in entries])
    measured = [_measured(folder, data) for folder in folders] if data else [(e.metrics, e.intervals) for e in entries]
    metrics, intervals = [found[0] for found in measured], [found[1] for found in measured]
    measures = list(dict.fromkeys(name for one in metrics for name in one))
    return Comparison(
        runs=names,
        settings=_differing([_settings(config, entry) for config, entry in zip(configs, entries, strict=True)]),
        metrics={name: tuple(one.get(name) for one in metrics) for name in measures},
        intervals={name: tuple(one.get(name) for one in intervals) for name in measures},
        remarks=() if data else _remarks(configs, entries),
        curves={name: _curve(folder) for name, folder in zip(names, folders, strict=True)},
    )


def _measured(folder: RunFolder, data: Sequence[str]) -> tuple[Mapping[str, float], Mapping[str, Interval]]:
    from weft.runs import load

    report = load(folder.path).evaluate(list(data))
    return report["metrics"], {name: tuple(ends) for name, ends in report.get("intervals", {}).items()}


def _settings(config: Mapping[str, Any], entry: ListedRun) -> dict[str, Any]:
    """All that was chosen for a run, by name; those of a part under its name, as in augment.flip."""
    found: dict[str, Any] = {"task": entry.task, "model": entry.model, "data": entry.data, "from": config.get("from"),
                             "preset": config.get("preset"), "steps made": entry.steps,
                             "parameters": (config.get("result") or {}).get("parameters")}  # fmt: skip
    found |= {f"--{name}": value for name, value in (config.get("budget") or {}).items()}

    def add(values: Mapping[str, Any], path: str) -> None:
        for name, value in values.items():
            if isinstance(value, Mapping):
                add(value, f"{path}{name}.")
            elif name not in NOT_SETTINGS:
                found[f"{path}{name}"] = value

    add(config.get("training") or {}, "")
    return found


def _differing(settings: Sequence[Mapping[str, Any]]) -> dict[str, tuple[Any, ...]]:
    names = dict.fromkeys(name for one in settings for name in one)
    rows = {name: tuple(one.get(name) for one in settings) for name in names}
    return {name: row for name, row in rows.items() if any(value != row[0] for value in row)}


def _remarks(configs: Sequence[Mapping[str, Any]], entries: Sequence[ListedRun]) -> tuple[str, ...]:
    """What makes the measures of these runs hard to compare."""
    found = []
    if len({entry.task for entry in entries}) > 1:
        found.append("the runs have learned different tasks: measures of the same name may mean different things")
    elif len({config.get("fingerprint") for config in configs}) > 1:
        found.append("the runs were measured on different held-out data: --data FILE measures all on the same")
    imported = [entry.run for entry in entries if not entry.metrics and entry.state == IMPORTED]
    waiting = [entry.run for entry in entries if not entry.metrics and entry.state != IMPORTED]
    if imported:
        found.append(f"imported and not measured: {', '.join(imported)}; --data FILE measures them")
    if waiting:
        found.append(f"not measured yet, because not finished: {', '.join(waiting)}")
    return tuple(found)


def _curve(folder: RunFolder) -> list[tuple[float, float]]:
    """Minutes and held-out loss; the time of a line is that of its step."""
    try:
        lines = folder.metrics()
    except WeftError:
        return []
    return [
        (line.get("seconds", 0.0) / 60, line["held_out"]) for line in lines if isinstance(line.get("held_out"), float)
    ]


def _names(paths: Sequence[str]) -> tuple[str, ...]:
    """Short names that differ: the last part of a path where that is enough."""
    last = [Path(path).name for path in paths]
    return tuple(last) if len(set(last)) == len(last) else tuple(paths)
