"""What is done with a run once it is trained: its own held-out data, an evaluation, the words of its model card."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weft.errors import DataError
from weft.files.finding import require_data
from weft.models.describing import in_words
from weft.tasks.measuring import final_seconds, rows_in_time
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


def evaluate(task: AnyTask, run: Loaded, sources: Sequence[str], progress: Progress) -> tuple[Measured, str]:
    """How well a run does on data, by default on its own held-out part; and what was measured on."""
    if sources:
        held, what = task.held_out(run, sources), ", ".join(sources)
    else:
        own = own_data(task, run)
        held, what = own.held_out, f"held out: {own.rule}"
    return _finite(task.measure(run, held, progress)), what


def own_data(task: AnyTask, run: Loaded) -> Any:
    """The data that a run was trained on, if it is still what it was."""
    where = str(run.folder.path)
    if run.imported:
        problem = "this model was not trained here, and nothing was held out"
        raise DataError(problem, where=where, fix="name the data to evaluate on")
    training = training_of(task, run.config, f"{where}/config.json")
    elsewhere = f"weft evaluate {shlex.quote(where)} NEW/PATH"
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
    return Measured(measured.examples, finite(measured.metrics), measured.more, measured.pictures)
