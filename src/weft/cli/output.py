"""What the commands print: results on stdout, everything else on stderr."""

import json
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from weft.config import Config, field_types
from weft.errors import STEERING, WeftError, harmless
from weft.requirements import check_requirements

Report = Mapping[str, Any]


def prepare(*, computes: bool = False) -> None:
    """Before a command begins: quiet libraries, streams that take any text, and, where it computes, all it stands on."""
    warnings.filterwarnings("ignore")
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    if computes:
        check_requirements()


def say(text: str) -> None:
    """A line for people, on stderr."""
    if sys.stderr is not None:
        try:
            print(harmless(text), file=sys.stderr, flush=True)
        except (OSError, ValueError):
            return


def complain(error: WeftError, code: int, as_json: bool) -> None:
    """An error, in words on stderr; who asked for JSON gets an object too."""
    say(f"weft: {error}")
    if as_json:
        emit({"error": {"problem": error.problem, "where": error.where, "fix": error.fix, "exit_code": code}})


def emit(report: Report) -> None:
    """One JSON object on stdout, without a character that could steer a terminal."""
    if sys.stdout is None:
        return
    ascii_only = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "") != "utf8"
    text = json.dumps(report, ensure_ascii=ascii_only, allow_nan=False)
    print(STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text), flush=True)


def trained(report: Report, as_json: bool) -> None:
    """The result of `weft train`."""
    if as_json:
        emit(report)
        return
    from weft.amounts import duration

    measures = ", ".join(f"{name} {value:.4g}" for name, value in report["metrics"].items())
    print(f"trained in {duration(report['seconds'])}, {report['steps']:,} steps; held out: {measures}")
    if report.get("sample"):
        print("\n" + "\n".join(f"  | {line}" for line in harmless(report["sample"]).splitlines()) + "\n")
    print(harmless(f"run folder: {report['run']}"))


def shown(report: Report, as_json: bool) -> None:
    """The result of `weft demo`."""
    if as_json:
        emit(report)
        return
    trained(report, False)
    print("\nit translates sentences that it never saw:\n")
    for one in report["predictions"]:
        print(harmless(f"  {one['source']}\n  {one['text']}\n"))
    exact, error = report["metrics"]["exact"], report["alignment_error_rate"]
    print(f"{exact:.1%} of the unseen sentences are exactly right; alignment error rate {error:.3f}")
    print(f"what it looked at: {report['picture']}")
    say(f'\nyour turn:  weft predict {report["run"]} "The old doctor does not see the red car."\n'
        f'            weft look {report["run"]} "The old doctor does not see the red car." -o red-car.png\n'
        "            weft train your-pairs.tsv")  # fmt: skip


def imported(report: Report, remarks: Sequence[str], as_json: bool) -> None:
    """The result of `weft import`."""
    for remark in remarks:
        say(f"note: {remark}")
    if as_json:
        emit({**report, "remarks": list(remarks)})
        return
    task = report["task"] or "none of weft's tasks uses it yet"
    print(harmless(f"imported a {report['model']} of {report['parameters']:,} parameters; task: {task}"))
    print(harmless(f"run folder: {report['run']}"))


def exported(report: Report, as_json: bool) -> None:
    """The result of `weft export`."""
    if as_json:
        emit(report)
        return
    print(harmless(f"wrote {report['folder']} as {report['model_type']}"))
    if report["to"] != "word2vec":
        print(f"opened there in a fresh process, its values differ by {report['difference']:.2g} at most")


def embedded(report: Report, as_json: bool) -> None:
    """The result of `weft embed`."""
    if as_json:
        emit(report)
        return
    for asked in (queries := report.get("queries", ())):
        if len(queries) > 1:
            print(harmless(f"{asked['query']}:"))
        for one in asked["nearest"]:
            print(harmless(f"{one['similarity']:.3f}  {one['input']}"))
    if str(report.get("output", "")).endswith(".npy"):
        say(harmless(f"wrote {report['output']}: {report['count']:,} vectors of {report['width']} numbers"))
    elif "output" in report:
        say(harmless(f"wrote {report['output']}"))


def souped(report: Report, how: Report, as_json: bool) -> None:
    """The result of `weft soup`."""
    if as_json:
        emit({**report, "soup": dict(how)})
        return
    kept = f"{how['kind']} soup of {len(how['chosen'])}"
    print(f"kept the {kept}: {how['measure']} {how['gain']:+.4g} beside the best member")
    print(harmless(f"run folder: {report['run']}"))


class LiveText:
    """Text shown as it is written."""

    def __init__(self, first: str):
        self.first, self.started = first, False

    def __call__(self, row: int, text: str) -> None:
        if not self.started:
            self.started = True
            sys.stdout.write(harmless(self.first))
        sys.stdout.write(harmless(text))
        sys.stdout.flush()


def predicted(
    report: Report, shown: Callable[[dict[str, Any]], str], as_json: bool, path: Path | None, stream: LiveText | None
) -> None:
    """The result of `weft predict`; `shown` makes text of a prediction."""
    found = report["predictions"]
    texts = _texts(found, shown)
    if path is not None:
        from weft.storage.store import write_file

        write_file(path, (_lines(found) if path.suffix == ".jsonl" else texts + "\n").encode("utf-8", "replace"))
        say(f"wrote {path}")
    if as_json:
        emit(report)
    elif stream is not None:
        print() if stream.started else print(harmless(stream.first))
    elif path is None:
        print(harmless(texts))
    for one in found:
        for key, what in (("unread", "tokens at its start do not fit the model's context, and were not read"),
                          ("unread_end", "tokens at its end do not fit the model's context, and were not read"),
                          ("unknown", "characters are not in the model's vocabulary, and were not read"),
                          ("cut", "the answer was still going on at its longest length, and is cut")):  # fmt: skip
            if key in one:
                amount = "" if one[key] is True else f"{one[key]} "
                say(f"warning: {one.get('prompt', one.get('source', one.get('input')))!r:.40}: {amount}{what}")


def document(text: str, path: Path | None) -> None:
    """A document whose texts were predicted."""
    if path is None:
        sys.stdout.write(harmless(text))
        return
    from weft.storage.store import write_file

    write_file(path, text.encode("utf-8", "replace"))
    say(f"wrote {path}")


def looked(report: Report, view: Any, as_json: bool, path: Path | None) -> None:
    """The result of `weft look`."""
    if path is not None:
        from weft.storage.store import write_file

        kind = path.suffix.lower()
        write_file(path, drawn(view, kind, path))
        say(f"wrote {path}")
        note = view.note()
        if note and kind in (".png", ".gif"):
            say(f"warning: {note}")
    if as_json:
        emit(report)
    elif path is None:
        print(harmless(view.text()))


def drawn(view: Any, kind: str, path: Path) -> bytes:
    """A view as a file of a kind: a page, frames or a picture."""
    if kind == ".html":
        content: bytes = view.page()
    elif kind == ".gif":
        if not hasattr(view, "film"):
            raise WeftError("this look has no frames", where=f"-o {path}", fix="use .png, .svg or .html")
        content = view.film()
    else:
        content = view.picture(kind[1:])
    return content


def _texts(found: Sequence[dict[str, Any]], shown: Callable[[dict[str, Any]], str]) -> str:
    """Predictions as text; those of several lines are kept apart."""
    texts = [shown(one) for one in found]
    several = any("\n" in text for text in texts)
    return ("\n----\n" if several else "\n").join(texts)


def _lines(found: Sequence[Report]) -> str:
    return "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in found)


def evaluated(report: Report, as_json: bool) -> None:
    """The result of `weft evaluate`."""
    if as_json:
        emit(report)
        return
    print(harmless(report["data"]))
    intervals, signatures = report.get("intervals", {}), report.get("signatures", {})
    for name, value in report["metrics"].items():
        low, high = intervals.get(name, (None, None))
        digits = 2 if abs(value) >= 1 else 3
        ends = "" if low is None else f"   95 % of resamples from {low:.{digits}f} to {high:.{digits}f}"
        print(f"  {name:<16} {value:.4f}{ends}")
    for name, signature in signatures.items():
        print(harmless(f"  {name:<16} {signature}"))
    for name, value in report.get("baselines", {}).items():
        print(f"  {name:<16} {value:.4f}   for comparison")
    for line in report.get("looked", ()):
        print(harmless(f"  {line}"))
    counted = {"examples": report["examples"], **{k: report[k] for k in ("tokens", "bytes") if k in report}}
    print("  over " + ", ".join(f"{value:,} {name}" for name, value in counted.items()))
    if report.get("left_out_long"):
        say(f"warning: {report['left_out_long']:,} inputs are longer than the model's context and were left out")
    if report.get("unknown"):
        say(f"warning: {report['unknown']:,} characters are not in the model's vocabulary")


def tasks(chosen: Sequence[Any], full: bool, as_json: bool) -> None:
    """The result of `weft tasks`."""
    if as_json:
        emit({"tasks": [{"task": t.name, "summary": t.summary, "data": t.files, "models": dict(t.models),
                         "presets": dict(t.presets), "settings": _defaults(t.training), "predict": _defaults(t.task.Predict),
                         "evaluate": _defaults(t.task.Evaluate) if t.task.Evaluate else {},
                         "look": _defaults(t.task.Look) if t.task.Look else {}}
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
        used = (
            ("weft train --set", task.training),
            ("weft predict --set", task.task.Predict),
            ("weft evaluate --set", task.task.Evaluate),
            ("weft look --set", task.task.Look),
        )
        for title, settings in used:
            if settings is None:
                continue
            print(f"\n  {title} NAME=VALUE")
            about = _about(settings)
            for name, value in _defaults(settings).items():
                print(f"    {name:<18} {_plain(value):<8} {about.get(name, '')}")
            if settings is task.training:
                print(f"    {'model.PATH':<18} {'-':<8} any part of the model's config: model.trunk.block.mix.heads=8")
    if not full:
        print("weft tasks TASK lists its models, presets and settings")


def examined(report: Report, as_json: bool) -> None:
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
    """All settings with their defaults; those of a part under its name, as in augment.flip."""
    default = settings()
    found: dict[str, Any] = {}
    for name in field_types(settings):
        value = getattr(default, name)
        if isinstance(value, Config):
            found |= {f"{name}.{inner}": own for inner, own in _defaults(type(value)).items()}
        else:
            found[name] = list(value) if isinstance(value, tuple) else value
    return found


def _about(settings: Any) -> dict[str, str]:
    """What each of them means."""
    default, found = settings(), dict(getattr(settings, "about", {}))
    for name in field_types(settings):
        if isinstance(value := getattr(default, name), Config):
            found |= {f"{name}.{inner}": words for inner, words in _about(type(value)).items()}
    return found


def _plain(value: Any) -> str:
    """A default as one would type it; - where there is none."""
    if value is None or value == []:
        return "-"
    return str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)
