"""Predicted fields as files to keep, as a few plain values, and in words. Knows no model."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from weft.domains.fields.reading.calendars import times_of
from weft.domains.fields.reading.conventions import convention_of
from weft.domains.fields.reading.grid import Fields
from weft.domains.fields.reading.writing import FieldsToWrite, check_output, fields_content
from weft.domains.fields.views.film import forecast_film
from weft.domains.fields.views.series import FieldSeries
from weft.domains.fields.views.sheets import filling_sheet, forecast_sheet
from weft.errors import WeftError
from weft.tasks.request import Prediction

FILES = (".nc", ".nc4", ".zarr", ".png", ".gif")  # that can be written


@dataclass(frozen=True)
class Made:
    """Predicted fields: values and spreads (n V Y X) at some days, with a word for how they came about."""

    values: np.ndarray
    spread: np.ndarray
    days: np.ndarray
    word: str
    members: np.ndarray | None = None
    note: str = ""


def labels_of(fields: Fields, days: np.ndarray) -> tuple[str, ...]:
    """Times as people read them, in the calendar of some fields."""
    return times_of(days, convention_of(fields).clock).labels


def check_named(output: str | None, inputs: int) -> Path | None:
    """The file to write, refused before anything is computed where it cannot be written."""
    if output is None:
        return None
    if inputs > 1:
        fix = "name one file, or a folder or pattern (in quotes) of files that follow each other"
        raise WeftError(f"{inputs} inputs cannot be written to one file", where=f"--output {output}", fix=fix)
    path = Path(output)
    if path.suffix.lower() not in (".png", ".gif"):
        check_output(path)
    return path


def made_content(kind: str, fields: Fields, made: Made, variable: str | None) -> bytes:
    """Predicted fields as a file has them: values, maps or an animation, by the ending of its name."""
    if kind not in (".png", ".gif"):
        values = made.values if made.members is None else made.members
        return fields_content(kind, fields, FieldsToWrite(values, made.days, made.spread, made.word))
    names = [layer.name for layer in fields.layers]
    place = (
        0 if variable is None else next((i for i, n in enumerate(names) if variable in (n, n.split(" at ")[0])), None)
    )
    if place is None:
        raise WeftError(
            f"there is no variable {variable!r}", where="--set variable", fix=f"there are {', '.join(names)}"
        )
    labels = labels_of(fields, made.days)
    series = FieldSeries(fields.layers[place], fields.grid, labels)
    values, spread = made.values[:, place], made.spread[:, place]
    if kind == ".gif":
        return forecast_film(series, values)
    if made.word == "gaps filled":
        given = np.stack([fields.read(at, at + 1)[0, place] for at in range(len(fields))])
        return filling_sheet(series, given, values)
    return forecast_sheet(series, values, spread=spread)


def as_prediction(name: str, fields: Fields, made: Made, output: Path | None) -> Prediction:
    """Predicted fields in a few plain values: their times, and the mean and spread of each layer over the area."""
    weights = fields.grid.weights[:, None]

    def over_area(values: np.ndarray) -> list[float | None]:
        known = np.where(np.isfinite(values), weights, 0.0)
        total = known.sum((1, 2))
        mean = (known * np.nan_to_num(values)).sum((1, 2)) / np.where(total > 0, total, 1)
        return [round(float(m), 4) if t > 0 else None for m, t in zip(mean, total, strict=True)]

    layers = {
        layer.name: {"units": layer.units, "mean": over_area(made.values[:, i]), "spread": over_area(made.spread[:, i])}
        for i, layer in enumerate(fields.layers)
    }
    found: Prediction = {
        "input": name,
        "made": made.word,
        "times": list(labels_of(fields, made.days)),
        "layers": layers,
    }
    return found | ({} if output is None else {"output": str(output)}) | ({"note": made.note} if made.note else {})


def in_words(prediction: Prediction) -> str:
    """A prediction as lines for people."""
    times = prediction["times"]
    head = f"{prediction['input']}: {prediction['made']}, {len(times)} fields {times[0]} … {times[-1]}"
    lines = [head + (f" -> {prediction['output']}" if "output" in prediction else "")]
    for name, layer in prediction["layers"].items():
        means = [f"{one:.4g}" for one in layer["mean"][:6] if one is not None]
        more = ", …" if len(layer["mean"]) > 6 else ""
        lines.append(f"  {name}: mean over the area {', '.join(means)}{more} {layer['units']}".rstrip())
    return "\n".join(lines)
