"""What the commands print: results on stdout, everything else on stderr."""

import json
import sys
import textwrap
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.errors import STEERING, WeftError, harmless
from weft.requirements import check_requirements

if TYPE_CHECKING:
    from weft.runs.answered import Answered
    from weft.runs.conversation import Conversation

LINE = 80  # columns of a terminal
Report = Mapping[str, Any]


def prepare(*, computes: bool = False) -> None:
    """Before a command begins: quiet libraries, streams that take any text; where it computes, its requirements."""
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


def checked(found: Any, as_json: bool, path: Path | None) -> None:
    """The result of `weft check`."""
    if path is not None:
        from weft.files.writing import write_made

        kind = path.suffix.lower()
        if kind not in (".png", ".svg"):
            raise WeftError(f"a sheet cannot be written as {kind or 'a file without an ending'}", where=f"-o {path}",
                            fix="use .png or .svg")  # fmt: skip
        write_made(path, found.sheet(kind[1:]))
        say(f"wrote {path}")
    if as_json:
        emit(found.to_json())
        return
    from weft.cli.checked import report

    print(report(found))


def planned(found: Any, as_json: bool) -> None:
    """The result of `weft plan`."""
    if as_json:
        emit(found.to_json())
        return
    for title, text in found.lines.items():
        print(harmless(f"  {title:<10} {text}"))


def trained(report: Report, as_json: bool) -> None:
    """The result of `weft train`."""
    if as_json:
        emit(report)
        return
    from weft.amounts import counted, duration
    from weft.cli.measured import beside

    measures = ", ".join(f"{name} {value:.4g}" for name, value in report["metrics"].items())
    steps = counted(report["steps"], "step")
    print(f"trained in {duration(report['seconds'])}, {steps}; held out: {measures}")
    for line in beside(report):
        print(harmless(line))
    if report.get("sample"):
        print("\n" + "\n".join(f"  | {line}" for line in harmless(report["sample"]).splitlines()) + "\n")
    print(harmless(f"run folder: {report['run']}"))
    _say_next(report)


def _say_next(report: Report) -> None:
    """What can be done with a run now, as commands."""
    import shlex

    from weft.domains.registry import card_named

    run, card = shlex.quote(str(report["run"])), card_named(str(report["task"]))
    given = f"{shlex.quote(str(report.get('example') or card.example))} {card.asks}".rstrip()
    look = [f"weft look {run} {given} -o look.png"] if card.task.Look else []
    for title, command in zip(
        ("next:", "", ""), [f"weft predict {run} {given}", *look, f"weft evaluate {run}"], strict=False
    ):
        say(f"{title:<6}{command}")


def shown(report: Report, as_json: bool) -> None:
    """The result of `weft demo`."""
    if as_json:
        emit(report)
        return
    trained(report, False)
    print("\ntranslations of sentences that it never saw:\n")
    for one in report["predictions"]:
        print(harmless(f"  {one['source']}\n  {one['text']}\n"))
    exact, error = report["metrics"]["exact"], report["alignment_error_rate"]
    print(f"{exact:.1%} of the unseen sentences are exactly right; alignment error rate {error:.3f}")
    print(f"its attention, drawn: {report['picture']}")
    say(f'\nnow try:    weft predict {report["run"]} "The old doctor does not see the red car."\n'
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
        print(f"opened there in a fresh process, its outputs differ from weft's by {report['difference']:.2g} at most")


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
    print(f"kept the {kept}: {how['measure']} {how['gain']:+.4g} compared with the best run")
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


def answered(found: "Answered", path: Path | None, as_json: bool, *, table: bool, resume: bool) -> list[dict[str, Any]]:
    """The answers of `weft predict` written to a file, or as a table printed; with JSON, the predictions."""
    predictions: list[dict[str, Any]] = []
    warned: dict[str, int] = {}

    def heard(one: dict[str, Any]) -> None:
        predictions.extend([one] if as_json else [])
        for key in UNREAD:
            warned[key] = warned.get(key, 0) + (key in one)
        if not table and found.count <= NAMED:
            _warn(one)

    if path is not None:
        for line in found.write(path, heard, table=table, resume=resume):
            say(line if line.startswith("wrote ") else f"note: {line}")
    elif as_json:
        return found.predictions()
    else:
        from weft.cli.text_tables import answers

        made, rows = found.table(heard)
        answers(made.names, rows)
        for line in made.remarks:
            say(f"note: {line}")
    for key, count in warned.items():
        if count and (table or found.count > NAMED):
            say(f"warning: {count:,} {'rows' if table else 'answers'}: {UNREAD[key]}")
    return predictions


NAMED = 200  # answers, beyond which warnings are counted and not made for each
UNREAD = {
    "unread": "tokens at its start do not fit the model's context, and were not read",
    "unread_end": "tokens at its end do not fit the model's context, and were not read",
    "unknown": "characters are not in the model's vocabulary, and were not read",
    "alike": "is the mean cosine of all words: the vectors have learned nothing yet; more text, or more time, helps",
    "cut": "the answer reached its longest length and is cut off (--set max_tokens=N)",
}


def predicted(report: Report, shown: Callable[[dict[str, Any]], str], as_json: bool, stream: LiveText | None) -> None:
    """The result of `weft predict`; `shown` makes text of a prediction."""
    found = report["predictions"]
    if as_json:
        emit(report)
    elif stream is not None:
        print() if stream.started else print(harmless(stream.first))
    else:
        print(harmless(_texts(found, shown)))
    for one in found:
        _warn(one)


def _warn(one: Mapping[str, Any]) -> None:
    """Say what of an input was not read."""
    for key, what in UNREAD.items():
        if key in one:
            amount = "" if one[key] is True else f"{one[key]} "
            say(f"warning: {one.get('prompt', one.get('source', one.get('input')))!r:.40}: {amount}{what}")


def failures(failed: Sequence[tuple[str, WeftError]], count: int) -> Report:
    """What a report says of inputs that could not be used; the first are named on stderr too."""
    if not count:
        return {}
    from weft.amounts import counted

    for _, error in failed:
        say(f"weft: {error}")
    if count > len(failed):
        say(f"and {count - len(failed):,} more")
    say(f"{counted(count, 'input')} could not be used; the others are answered")
    return {"failed": [{"input": name, "problem": error.problem, "fix": error.fix} for name, error in failed]}


def document(text: str, path: Path | None) -> None:
    """A document whose texts were predicted."""
    if path is None:
        sys.stdout.write(harmless(text))
        return
    from weft.files.writing import write_made

    write_made(path, text.encode("utf-8", "replace"))
    say(f"wrote {path}")


def looked(report: Report, view: Any, as_json: bool, path: Path | None) -> None:
    """The result of `weft look`."""
    if path is not None:
        view.save(path)
        say(f"wrote {path}")
        note = view.note()
        if note and path.suffix.lower() in (".png", ".gif"):
            say(f"warning: {note}")
    if as_json:
        emit(report)
    elif path is None:
        looks = [view, *([] if view.second is None else [view.second])]
        print(harmless("\n\n".join(one.text() for one in looks)))


def _texts(found: Sequence[dict[str, Any]], shown: Callable[[dict[str, Any]], str]) -> str:
    """Predictions as text; those of several lines are kept apart."""
    texts = [shown(one) for one in found]
    several = any("\n" in text for text in texts)
    return ("\n----\n" if several else "\n").join(texts)


def evaluated(report: Report, as_json: bool) -> None:
    """The result of `weft evaluate`."""
    if as_json:
        emit(report)
        return
    from weft.cli.measured import evaluation

    print(harmless("\n".join(evaluation(report))))
    if report.get("left_out_long"):
        say(f"warning: {report['left_out_long']:,} inputs are longer than the model's context and were left out")
    if report.get("unknown"):
        say(f"warning: {report['unknown']:,} characters are not in the model's vocabulary")


def examined(report: Report, as_json: bool) -> None:
    """The result of `weft doctor`."""
    if as_json:
        emit(report)
        return
    for name, value in report.items():
        if name != "advice":
            print(
                textwrap.fill(
                    str(value),
                    LINE,
                    initial_indent=f"  {name:<22} ",
                    subsequent_indent=" " * 25,
                    break_on_hyphens=False,
                )
            )
    print()
    for line in report["advice"]:
        print(textwrap.fill(line, LINE, initial_indent="  - ", subsequent_indent="    "))


def talk(conversation: "Conversation") -> None:
    """Read what a person says, line by line, and print what the model answers as it comes, until the input ends."""
    person, forgotten = sys.stdin is not None and sys.stdin.isatty(), 0
    while True:
        try:
            text = input("> " if person else "")
        except (EOFError, KeyboardInterrupt):
            print(file=sys.stderr)
            return
        if not text.strip():
            continue
        try:
            conversation.answer(text, listen=lambda piece: print(harmless(piece), end="", flush=True))
        except KeyboardInterrupt:
            pass
        except WeftError as error:
            say(str(error))
        print(flush=True)
        if conversation.forgotten > forgotten:
            say(f"(the first {conversation.forgotten} turns no longer fit into the model's context)")
        forgotten = conversation.forgotten
