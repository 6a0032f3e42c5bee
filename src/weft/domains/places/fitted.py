"""What is done with a fitted field: its codecs, values at places, tables and pictures, measures beside baselines."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch

from weft.domains.places.codec import ColourCodec, PlaceCodec
from weft.domains.places.dataset import PlaceData
from weft.domains.places.rasters import Raster, values_at
from weft.domains.places.reading.rows import PlaceRows, read_places
from weft.domains.places.reading.tables import Coordinates, place_role, read_coordinates
from weft.domains.places.settings import PlaceTraining
from weft.errors import ConfigError, DataError, WeftError
from weft.files.dataset import as_learned
from weft.inspect.figures import png_of
from weft.inspect.study import Study, stream_study
from weft.modalities.points import Points
from weft.models.stream import Stream
from weft.objectives.measures.nearest import asked_within, nearest_classes, nearest_numbers, neighbours, psnr
from weft.objectives.measures.tallies import Tally, ratio
from weft.tasks.asks import Answer, Content, Given, Spot, in_a_file, unlike
from weft.tasks.baselines import Baseline
from weft.tasks.codec import Codecs, codec_at
from weft.tasks.labels import labelling
from weft.tasks.labels.classes import ClassCodec
from weft.tasks.labels.label import LabelCodec
from weft.tasks.labels.numbers import NumberCodec
from weft.tasks.request import Loaded, Measured, Prediction
from weft.tasks.table_inputs import InputColumn, InputRow
from weft.training.progress import Progress, counter

if TYPE_CHECKING:
    from weft.tasks.task import Task

WRITES = (".png", ".csv", ".tsv")
COLOURS = {1: ("grey",), 3: ("red", "green", "blue")}  # columns of a table, by the channels of a picture


class AskField(labelling.TopLabels):
    """Settings of a prediction."""

    size: str | None = None
    output: str | None = None

    names_files: ClassVar[tuple[str, ...]] = ("output",)
    about: ClassVar[Mapping[str, str]] = {
        **labelling.TopLabels.about,
        "size": "draw the whole field with this width and height in pixels, as in 2048x1536",
        "output": "the .png for the whole field, or the .csv or .tsv for values at places",
    }

    def check(self) -> None:
        super().check()
        if self.output is not None and Path(self.output).suffix.lower() not in WRITES:
            raise ConfigError(f"expected one of {', '.join(WRITES)}, found {self.output!r}", where="output")


# The two ends


def place_of(codecs: Codecs) -> PlaceCodec:
    """The codec of the places."""
    return codec_at(codecs, "place", PlaceCodec)


def place_codec(data: PlaceData, known: Codecs) -> PlaceCodec:
    """The codec of the data's places; that of a run to start from is kept."""
    found, before = data.found, known.get("place")
    if isinstance(before, PlaceCodec):
        if before.axes != found.axes or before.config.picture != (found.kind == "colours"):
            problem = f"the run to start from knows places by {list(before.axes)}, the data has {list(found.axes)}"
            raise WeftError(problem, where="--from", fix="leave out --from")
        return before
    picture = found.kind == "colours"
    return PlaceCodec.of(found.rows.where, found.axes, cells=found.cells, dates=found.dates, picture=picture)


def label_codec(data: PlaceData, known: Codecs) -> LabelCodec:
    """The codec of the data's values."""
    if data.kind == "colours":
        return ColourCodec(ColourCodec.Config(channels=data.train.values.shape[1]))
    return labelling.learned(data.kind, data.classes, data.train.values, known)  # type: ignore[arg-type]


def ability(run: Loaded) -> str:
    """What the model does, in the first words of a sentence."""
    label = run.codec("label", LabelCodec)
    if isinstance(label, ColourCodec):
        return "Gives the colour of a picture at any place in it"
    return labelling.ability(label, f"a place ({', '.join(place_of(run.codecs).axes)})")


# Predicted


def columns(run: Loaded) -> tuple[InputColumn, ...]:
    """The columns of a table that coordinates are read from, as training took them."""
    axes = run.codec("place", PlaceCodec).axes
    known = run.data.columns[:-1] if len(run.data.columns) == len(axes) + 1 else [None] * len(axes)
    columns = [InputColumn(place_role(axis), f"{axis}_column", name) for axis, name in zip(axes, known, strict=True)]
    return tuple(replace(one, known=None) if one.role.means(one.known or "") else one for one in columns)


def place_in_row(run: Loaded, row: InputRow) -> Given:
    """The place in a row of a table."""
    place = Coordinates(row.table, [one or 0 for one in row.places], run.codec("place", PlaceCodec).axes).of(row.row)
    return Given(Spot(place), _named(place))


def opened_places(run: Loaded, words: Sequence[object]) -> Iterator[Given]:
    """The places that a user asks for, one by one."""
    codec = run.codec("place", PlaceCodec)
    for one in words:
        if isinstance(one, str):
            yield Given(one, one)
        else:
            place = tuple(codec.place(one))
            yield Given(Spot(place), _named(place))


def predicted(run: Loaded, inputs: Sequence[Given], how: AskField) -> list[Answer]:
    """The value at each place asked for, or the whole field as a picture."""
    codec, label = run.codec("place", PlaceCodec), run.codec("label", LabelCodec)
    kind = Path(how.output or "").suffix.lower()
    if how.size is not None or (kind == ".png" and not inputs):
        return [_drawn(run, how)]
    asked = [(number, place, name) for number, one in enumerate(inputs) for place, name in _places_of(run, codec, one)]
    if not asked:
        return []
    places = np.array([place for _, place, _ in asked], np.float64).reshape(len(asked), len(codec.axes))
    values = values_at(run.stream, codec.encode(places))
    found = labelling.predictions(label, values, [name for *_, name in asked], how.top, how.choices)
    if kind == ".png":
        raise ConfigError(
            "a picture is of the whole field", where="output", fix="leave the places out, or write a .csv"
        )
    name, separator = how.output or "values.csv", "\t" if kind == ".tsv" else ","
    answers = [Answer(number, one) for (number, _, _), one in zip(asked, found, strict=True)]
    answers[0] = replace(answers[0], files={name: lambda: _table(codec, places, found, separator).encode()})
    return answers


def place_of_input(codec: PlaceCodec, one: Given) -> list[float]:
    """The coordinates of one place, given in numbers or in words."""
    if isinstance(one.value, Spot):
        return codec.place(list(one.value.coordinates))
    if isinstance(one.value, str):
        return codec.place(one.value)
    raise unlike(one, "a place")


def _places_of(run: Loaded, codec: PlaceCodec, one: Given) -> Iterator[tuple[Sequence[float], str]]:
    """The places of an input, each with a name: one, or those of a table."""
    if isinstance(one.value, Content):
        with in_a_file(one, one.value) as path:
            yield from ((place, _named(place)) for place in _in_table(run, codec, path))
    else:
        place = place_of_input(codec, one)
        yield place, one.name or _named(place)


def _named(place: Sequence[float]) -> str:
    return ", ".join(f"{value:g}" for value in place)


def _in_table(run: Loaded, codec: PlaceCodec, path: Path) -> list[tuple[float, ...]]:
    """The places of a table, which needs no values; a bad row is named."""
    training = as_learned(run.training(PlaceTraining), run.data.taken)
    return [tuple(row) for row in read_coordinates(path, training, codec.axes).tolist()]


def _drawn(run: Loaded, how: AskField) -> Answer:
    """The whole field as a PNG."""
    codec, label = run.codec("place", PlaceCodec), run.codec("label", LabelCodec)
    raster = Raster.usual(codec, 1024) if how.size is None else Raster.asked(codec, how.size)
    size = f"{raster.width}x{raster.height}"
    path = Path(how.output or f"{run.folder.path.absolute().name}-{size}.png")
    if path.suffix.lower() != ".png":
        raise ConfigError(f"a field is drawn as .png, found {path.name!r}", where="output")
    pixels = raster.pixels(label, raster.values(run.stream))
    return Answer(0, {"input": size, "output": str(path)}, {str(path): partial(png_of, pixels)})


def _table(codec: PlaceCodec, places: np.ndarray, found: Sequence[Prediction], separator: str) -> str:
    """Places with their values, a line each."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=separator, lineterminator="\n")
    writer.writerow([*codec.axes, *cells(found[0])])
    writer.writerows([*map(_short, place), *cells(one).values()] for place, one in zip(places, found, strict=True))
    return buffer.getvalue()


def _short(value: float) -> str:
    return f"{value:.10g}"


def cells(one: Prediction) -> dict[str, Any]:
    """A prediction as columns."""
    if "output" in one:
        return one
    if "colour" in one:
        names = COLOURS[len(one["colour"])]
        return dict(zip(names, one["colour"], strict=True))
    if "value" in one:
        return {"value": one["value"]}
    return {name: labelling.cells(one)[name] for name in ("label", "probability")}


def in_a_line(prediction: Prediction) -> str:
    """A prediction as plain text."""
    if "output" in prediction:
        return f"{prediction['input']} -> {prediction['output']}"
    if "colour" in prediction:
        return f"{' '.join(map(str, prediction['colour']))}\t{prediction['input']}"
    return labelling.in_a_line(prediction)


def study_value(run: Loaded, one: Given) -> Study:
    """The study of the value at one place, of a colour its first channel; on the scale that is learned."""
    codec, label, model = run.codec("place", PlaceCodec), run.codec("label", LabelCodec), run.stream
    place = place_of_input(codec, one)
    at = torch.from_numpy(codec.encode(np.array([place]))).to(next(model.parameters()).device)
    names = COLOURS[label.outputs] if isinstance(label, ColourCodec) else ()
    how = {"kind": "number", "label": lambda n: f"{names[n]} from -1 to 1"} if names else labelling.studied(label)
    return stream_study(model, Points(at), names=[_named(place)], **how)


# Measured


def given_places(run: Loaded, sources: Sequence[str], asked: PlaceTraining) -> PlaceRows:
    """Places that a user names to measure on, read by these settings."""
    codec, label = run.codec("place", PlaceCodec), run.codec("label", LabelCodec)
    if not isinstance(label, ColourCodec):
        asked = asked.replace(labels="numbers" if isinstance(label, NumberCodec) else "classes")
    found = read_places(sources, asked, learn=False)
    if found.axes != codec.axes or (found.kind == "colours") != isinstance(label, ColourCodec):
        problem = f"its places are known by {list(found.axes)} and its values are {found.kind}"
        raise DataError(problem, where=", ".join(sources), fix=f"name data with {list(codec.axes)}, as it was learned")
    if isinstance(label, ColourCodec) and found.rows.values.shape[1] != label.outputs:
        problem = f"a picture of {found.rows.values.shape[1]} channels, expected {label.outputs}"
        raise DataError(problem, where=", ".join(sources), fix="name a picture of the same kind")
    return found.rows


def known_places(task: "Task[Any, Any, Any]", run: Loaded) -> PlaceRows | None:
    """The places that the run learned from, for baselines; None where they are gone or changed."""
    from weft.tasks.using import own_data

    try:
        found: PlaceRows = own_data(task, run).train
    except DataError:
        return None
    return found


def measured(run: Loaded, held_out: PlaceRows, known: PlaceRows | None, progress: Progress) -> Measured:
    """How well the field is known at held-out places, beside the nearest known places and a constant."""
    codec, label = run.codec("place", PlaceCodec), run.codec("label", LabelCodec)
    truth: Any = held_out.values if isinstance(label, ColourCodec) else held_out.values.tolist()
    label.encode(truth)  # refuses unknown classes before anything is computed
    values = values_at(run.stream, codec.encode(held_out.where), counter(progress, len(held_out), "places"))
    progress.stop()
    if isinstance(label, ColourCodec):
        found = Measured(len(held_out), {"psnr": psnr(label.restored(values), held_out.values)})
    else:
        names = [", ".join(f"{value:g}" for value in place) for place in held_out.where]
        found = labelling.measured(label, values, truth, names, called="place")
    plain: tuple[Baseline, ...] = ()
    if known is not None:
        some = asked_within(len(held_out), len(known))
        plain = baselines(codec, label, known, held_out.take(some))
        found = replace(found, tally=_tally(label, _answers(label, values[some]), held_out.take(some)), baselines=plain)
    beside = {f"{one.name}_{one.tally.measure}": one.tally.value for one in plain}

    def pictures() -> dict[str, bytes]:
        field = {"field.png": png_of(_usual_picture(codec, label, run.stream))} if len(codec.axes) > 1 else {}
        return {**found.pictures(), **field}

    return replace(found, metrics={**found.metrics, **beside}, pictures=pictures)


def _usual_picture(codec: PlaceCodec, label: LabelCodec, model: Stream) -> np.ndarray:
    raster = Raster.usual(codec, 512)
    return raster.pixels(label, raster.values(model))


def baselines(codec: PlaceCodec, label: LabelCodec, known: PlaceRows, asked: PlaceRows) -> tuple[Baseline, ...]:
    """The nearest known places, and one answer everywhere."""
    rows, weights = neighbours(codec.apart(known.where), codec.apart(asked.where))
    if isinstance(label, ClassCodec):
        learned = label.encode(known.values.tolist())
        near = nearest_classes(rows, weights, learned, label.outputs)
        constant = np.bincount(learned, minlength=label.outputs).argmax()
    else:
        near, constant = nearest_numbers(rows, weights, known.values), known.values.astype(np.float64).mean(0)
    everywhere = np.broadcast_to(constant, near.shape)
    return (
        Baseline("nearest", "the nearest known places", _tally(label, near, asked)),
        Baseline("constant", "one answer everywhere", _tally(label, everywhere, asked)),
    )


def _answers(label: LabelCodec, values: torch.Tensor) -> np.ndarray:
    """What the model says at places: numbers of classes, numbers or colours."""
    if isinstance(label, ClassCodec):
        return values.argmax(1).numpy()
    restored = label.restored(values if isinstance(label, ColourCodec) else values[:, 0])  # type: ignore[attr-defined]
    return np.asarray(restored)


def _tally(label: LabelCodec, answers: np.ndarray, asked: PlaceRows) -> Tally:
    if isinstance(label, ClassCodec):
        return Tally.shares("accuracy", answers == label.encode(asked.values.tolist()))
    errors = answers.astype(np.float64) - asked.values.astype(np.float64)
    tally = Tally.errors("rmse", errors)
    return Tally("psnr", tally.rows, _psnr) if isinstance(label, ColourCodec) else tally


def _psnr(sums: np.ndarray) -> np.ndarray:
    return 10 * np.log10(255.0**2 / np.maximum(ratio(sums), 1e-12))
