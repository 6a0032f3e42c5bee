"""What the commands print: results on stdout, everything else on stderr."""

import json
import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from weft.config import field_types
from weft.requirements import check_requirements


def prepare() -> None:
    """Before a command computes: are the libraries there, and quiet?"""
    warnings.filterwarnings("ignore")
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    check_requirements()


def say(text: str) -> None:
    """A line for people, on stderr."""
    try:
        print(text, file=sys.stderr, flush=True)
    except (OSError, ValueError):
        return


def complain(text: str) -> None:
    """An error for people, on stderr."""
    say(f"weft: {safe(text)}")


def safe(text: str) -> str:
    """Text without control characters that could steer a terminal."""
    return "".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text)


def emit(report: Mapping[str, Any]) -> None:
    """One JSON object on stdout."""
    print(json.dumps(report, ensure_ascii=False, allow_nan=False))


def trained(report: Mapping[str, Any], as_json: bool) -> None:
    """The result of `weft train`."""
    if as_json:
        emit(report)
        return
    from weft.training.progress import duration

    measures = ", ".join(f"{name} {value:.4g}" for name, value in report["metrics"].items())
    print(f"trained in {duration(report['seconds'])}, {report['steps']} steps; held out: {measures}")
    if report.get("sample"):
        print("\n" + "\n".join(f"  | {line}" for line in safe(report["sample"]).splitlines()) + "\n")
    print(f"run folder: {report['run']}")


class Stream:
    """Text shown as it is written."""

    def __init__(self, inputs: Sequence[str]):
        self.started = False
        self.first = inputs[0]

    def __call__(self, row: int, text: str) -> None:
        if not self.started:
            self.started = True
            sys.stdout.write(safe(self.first))
        sys.stdout.write(safe(text))
        sys.stdout.flush()


def predicted(report: Mapping[str, Any], as_json: bool, path: Path | None, stream: Stream | None) -> None:
    """The result of `weft predict`."""
    found = report["predictions"]
    if path is not None:
        lines = [json.dumps(one, ensure_ascii=False) for one in found] if as_json or path.suffix == ".jsonl" else None
        texts = lines or [one["prompt"] + one["text"] for one in found]
        from weft.training.store import write_file

        write_file(path, ("\n".join(texts) + "\n").encode())
        say(f"wrote {path}")
    if as_json:
        emit(report)
    elif stream is not None:
        print() if stream.started else print(safe(stream.first))
    elif path is None:
        print("\n----\n".join(safe(one["prompt"] + one["text"]) for one in found))


def evaluated(report: Mapping[str, Any], as_json: bool) -> None:
    """The result of `weft evaluate`."""
    if as_json:
        emit(report)
        return
    print(report["data"])
    for name, value in report["metrics"].items():
        print(f"  {name:<14} {value:.4f}")
    print("  over " + ", ".join(f"{report[k]:,} {k}" for k in ("tokens", "bytes") if k in report))


def tasks(chosen: Sequence[Any], full: bool, as_json: bool) -> None:
    """The result of `weft tasks`."""
    if as_json:
        emit({"tasks": [{"task": t.name, "summary": t.summary, "data": t.files, "models": dict(t.models),
                         "presets": dict(t.presets), "settings": _defaults(t.settings), "predict": _defaults(t.use)}
                        for t in chosen]})  # fmt: skip
        return
    for task in chosen:
        print(f"{task.name}: {task.summary}")
        print(f"  data      {task.files}")
        print(f"            without data: {task.sample}")
        if not full:
            print(f"  models    {', '.join(task.models)}")
            print(f"  presets   {', '.join(task.presets)}\n")
            continue
        for title, entries in (("models", task.models), ("presets", task.presets)):
            print(f"\n  {title}")
            for name, text in entries.items():
                print(f"    {name:<14} {text}")
        for title, settings in (("weft train --set", task.settings), ("weft predict --set", task.use)):
            print(f"\n  {title}")
            for name, value in _defaults(settings).items():
                print(f"    {name:<20} {value if value is not None else 'chosen by the plan'}")
    if not full:
        print("weft tasks TASK lists its models, presets and settings")


def examined(report: Mapping[str, Any], as_json: bool) -> None:
    """The result of `weft doctor`."""
    if as_json:
        emit(report)
        return
    for name, value in report.items():
        if name != "advice":
            print(f"  {name:<22} {value}")
    print()
    for line in report["advice"]:
        print(f"  - {line}")


def _defaults(settings: Any) -> dict[str, Any]:
    default = settings()
    return {name: list(v) if isinstance(v := getattr(default, name), tuple) else v for name in field_types(settings)}
