"""What is done with a run once it is trained: its own held-out data, an evaluation, the words of its model card."""

import shlex
from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from weft.errors import DataError, WeftError
from weft.files.finding import require_data
from weft.files.ways import read_options, reading
from weft.models.describing import in_words
from weft.tasks.baselines import advice, compared, missing_noted, most_rows
from weft.tasks.measuring import final_seconds, rows_in_time, spread
from weft.tasks.planning import AnyData, AnyTask, training_of
from weft.tasks.request import Loaded, Measured
from weft.training.card import finite
from weft.training.progress import Progress


@dataclass(frozen=True)
class Ending:
    """What is said of a run that is trained: measures, and words and facts for the model card."""

    measured: Measured
    summary: str
    use: str  # a command that uses the run
    facts: Mapping[str, str]
    sample: str = ""
    example: str = ""  # an input to try


def evaluate(
    task: AnyTask,
    run: Loaded,
    sources: Sequence[str],
    progress: Progress,
    trained: Loaded | None = None,
    options: Sequence[str] = (),
) -> tuple[Measured, str]:
    """How well a run does on data, by default on its own held-out part; and what was measured on.

    With `trained`, the run as it was trained, plain methods are fitted on its data and measured beside it. `options`
    are the settings in the words of the command line, for the command that measures on other data.
    """
    own = None if sources else own_data(task, run, options)
    if own is None:
        held, what = task.held_out(run, sources), ", ".join(sources)
    else:
        held, what = own.held_out, f"held out: {own.rule}"
    measured = _finite(task.measure(run, held, progress))
    if trained is not None:
        measured = beside(task, run, own or _trained_on(task, trained), held, measured)
    return measured, what


def _trained_on(task: AnyTask, run: Loaded) -> AnyData | None:
    """The data that a run was trained on, read as it was then; None where it is gone or has changed."""
    try:
        with reading(**read_options(dict(run.config.get("training") or {}))):
            return own_data(task, run)
    except WeftError:
        return None


def beside(
    task: AnyTask, run: Loaded, data: AnyData | None, held_out: Any, measured: Measured, seconds: float | None = None
) -> Measured:
    """The measures with those of plain methods on the same examples, and which won."""
    found, remarks, most = list(measured.baselines), list[str](), most_rows(seconds)
    rows_measured = held_out if measured.rows is None else measured.rows
    if data is None:
        gone = "the data that this run was trained on is gone or has changed: no plain method was fitted on it"
        remarks += [] if found else [gone]
        found += task.kept_baselines(run, rows_measured)
    else:
        rows = len(data.train) if isinstance(data.train, Sized) else 0
        if rows > most:
            data = replace(data, train=spread(data.train, most))
            remarks.append(f"plain methods were fitted on {most:,} of {rows:,} rows, spread evenly")
        with missing_noted(remarks):
            for one in task.baselines(run, data, rows_measured, measured):
                found.append(one)
    helps = advice(
        run.data.amounts.get("train"), begun=bool(run.config.get("from")), starts_from=bool(task.starts_from)
    )
    return replace(measured, more={**measured.more, **compared(measured.tally, found, helps, remarks)})


def own_data(task: AnyTask, run: Loaded, options: Sequence[str] = ()) -> Any:
    """The data that a run was trained on, if it is still what it was; a refusal names a command with these options."""
    where = str(run.folder.path)
    if run.imported:
        problem = "this model was not trained here, and nothing was held out"
        raise DataError(problem, where=where, fix="name the data to evaluate on")
    training = training_of(task, run.config, f"{where}/config.json")
    elsewhere = " ".join(["weft evaluate", shlex.quote(where), "NEW/PATH", *options])
    require_data(run.data.sources, where, elsewhere)
    data = task.card.reader.read(run.data.sources, run.data.valid, training)
    if data.fingerprint != run.config["fingerprint"]:
        problem = "the data of this run has changed since it was trained"
        raise DataError(problem, where=where, fix=f"name the data to measure on: {elsewhere}")
    return data


def finish(task: AnyTask, run: Loaded, data: AnyData, progress: Progress) -> Ending:
    """Measure a run that was just trained, on what was held out of its data."""
    seconds, quiet = final_seconds(run.config), Progress(quiet=True)
    limit = seconds if task.slow_rows else None
    held, part = rows_in_time(data.held_out, limit, lambda rows: task.measure(run, rows, quiet))
    measured = _finite(task.measure(run, held, progress, seconds))
    if run.config.get("baselines", True):
        measured = beside(task, run, data, held, measured, seconds)
    part = {**part, **{name: text for name, text in measured.more.items() if name == "part"}}
    for text in part.values():
        progress.say(text)
    example = data.example() or task.card.example
    use = f"weft predict {shlex.quote(str(run.folder.path))} {shlex.quote(example)} {task.card.asks}".rstrip()
    return Ending(
        measured=measured,
        summary=f"{task.ability(run)}: trained by weft on {run.data.described}.",
        use=use,
        facts={
            "model": f"{run.config['model_name']}, {in_words(run.model.config)}",
            **({"chosen": run.config["race"]["said"]} if "race" in run.config else {}),
            **_beginnings(run),
            **task.facts(run),
            "held out": "; ".join([run.data.rule, *part.values()]),
            "seed": str(run.config["training"]["seed"]),
        },
        sample=task.example(run, measured),
        example=example,
    )


def _beginnings(run: Loaded) -> dict[str, str]:
    """The runs whose weights a run began with, in words."""
    ends = {"from": "", "decoder": " for the decoder"}
    known = run.config.get("began_with", {})
    words = [f"{Path(one['run']).name} ({one['task']}, {one['model']}){ends[word]}" for word, one in known.items()]
    return {"began with": "; ".join(words)} if words else {}


def _finite(measured: Measured) -> Measured:
    return replace(measured, metrics=finite(measured.metrics))
