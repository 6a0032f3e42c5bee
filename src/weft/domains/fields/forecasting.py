"""What is done with a model of fields: forecasts, gaps filled, states between; and what a place read."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np
from torch import Tensor

from weft.config import Config
from weft.domains.fields.codec.anomalies import FieldCodec
from weft.domains.fields.encoded.windows import WindowReader
from weft.domains.fields.output import Made, as_prediction, labels_of, made_content
from weft.domains.fields.predictor import FieldPredictor
from weft.domains.fields.reading.cells import EARTH_RADIUS_KM, find_place
from weft.domains.fields.reading.following import following
from weft.domains.fields.reading.grid import FieldGrid, FieldLayer, FieldSpan
from weft.domains.fields.reading.measured import measured_fields
from weft.domains.fields.recipe import embed_of
from weft.domains.fields.views.attention import LookAtPlace, look_at_place, rows_of
from weft.domains.fields.views.place_view import PlaceView
from weft.errors import ConfigError, WeftError
from weft.inspect.study import Study
from weft.inspect.views import LookedAnswer
from weft.modalities.field import FieldEmbed
from weft.models.stream import Stream
from weft.tasks.asks import Answer, Content, Given, Opened, in_a_file, unlike
from weft.tasks.request import Loaded
from weft.tokens import Tokens
from weft.training.progress import Progress, counter

MOST_SAID = 6  # layers whose forecast a look tells
USUAL_MEMBERS = 8  # of an ensemble, where a forecast is rolled forward


class Forecasting(Config):
    """Settings of a prediction."""

    steps: int = 6
    members: int | None = None
    fill: bool = False
    between: bool = False
    variable: str | None = None
    seed: int = 0
    output: str | None = None

    names_files: ClassVar[tuple[str, ...]] = ("output",)
    about: ClassVar[Mapping[str, str]] = {
        "steps": "fields to forecast after the last one",
        "members": "ensemble size: forecasts that differ at random, each of them written; by default 8 are computed "
        "for the spread where a forecast is rolled forward",
        "fill": "fill the gaps (missing values) of all fields, instead of a forecast",
        "between": "interpolate in time: the fields half-way between consecutive ones, instead of a forecast",
        "variable": "the variable that is drawn in a .png or .gif; by default the first",
        "seed": "random seed of the members",
        "output": "the file to write: .nc or .zarr with all values, .png with maps, .gif with an animation",
    }

    def check(self) -> None:
        for name, most in (("steps", 10_000), ("members", 1000)):
            value = getattr(self, name)
            if value is not None and not 1 <= value <= most:
                raise ConfigError(f"expected from 1 to {most}, found {value}", where=name)
        if self.fill and self.between:
            raise ConfigError("fill and between cannot be used together", where="fill")


def predictor_of(run: Loaded) -> FieldPredictor:
    """The run's model and codec, ready to predict."""
    if not isinstance(run.model, Stream):
        raise WeftError("this model predicts no fields", where=str(run.folder.path))
    return FieldPredictor(run.model, run.codec("field", FieldCodec))


def layers_of(codec: FieldCodec) -> tuple[FieldLayer, ...]:
    """The layers that a model was trained on."""
    return tuple(FieldLayer(one.variable, one.level, one.units, one.title) for one in codec.config.layers)


def grid_of(codec: FieldCodec) -> FieldGrid:
    """The cells that a model was trained on."""
    config = codec.config
    return FieldGrid(np.array(config.y), np.array(config.x), "sphere" if config.sphere else "plane", config.wraps)


def given_fields(run: Loaded, sources: Sequence[str | Path]) -> FieldSpan:
    """The fields of a user's files, in the order and on the grid of the run's."""
    codec = run.codec("field", FieldCodec)
    return measured_fields([str(one) for one in sources], layers_of(codec), grid_of(codec), codec.config.step)


def opened_fields(run: Loaded, words: Sequence[object]) -> Iterator[Given]:
    """The fields that a user names, by a file, a zarr store, a folder or a pattern each."""
    for one in words:
        if not isinstance(one, str | Path):
            raise WeftError(f"expected the name of a file, found {type(one).__name__}", where="weft predict")
        yield Given(Opened(given_fields(run, [one])), str(one))


@contextmanager
def fields_of(run: Loaded, one: Given) -> Iterator[FieldSpan]:
    """The fields of an input, to be read within this block: opened already, or bytes of a file."""
    if isinstance(one.value, Opened) and isinstance(one.value.what, FieldSpan):
        yield one.value.what
    elif isinstance(one.value, Content):
        with in_a_file(one, one.value) as path:
            yield given_fields(run, [path])
    else:
        raise unlike(one, "fields: the bytes of a netCDF file")


def predicted(run: Loaded, stretch: FieldSpan, how: Forecasting, progress: Progress) -> Made:
    """The fields that are asked for."""
    predictor, fields = predictor_of(run), stretch.fields
    if how.fill or how.between:
        count = counter(progress, len(stretch), "fields")
        if how.fill:
            found: list[tuple[float, np.ndarray, np.ndarray]] = list(predictor.filled(stretch, count=count))
            days, word = fields.times.days[[int(at) for at, _, _ in found]], "gaps filled"
        else:
            if len(stretch) < 2:
                raise WeftError("one field alone has nothing to interpolate with", where="--set between")
            found = list(predictor.between(stretch, count))
            if not found:
                raise WeftError("no two fields are one time step apart", where="--set between")
            places = np.array([at for at, _, _ in found])
            days, word = np.interp(places, np.arange(len(fields)), fields.times.days), "states between"
        progress.stop()
        return Made(np.stack([v for _, v, _ in found]), np.stack([s for _, _, s in found]), days, word)
    codec, end = predictor.codec, stretch.stop - 1
    members = how.members or (USUAL_MEMBERS if how.steps > codec.config.ahead else 1)
    rolled = predictor.roll(stretch, end, how.steps, members=members, seed=how.seed)
    note = ""
    if rolled.diverged is not None:
        note = f"the forecast diverged at step {rolled.diverged}: it ends before it"
        progress.say(f"warning: {note}")
    if not len(rolled.mean):
        raise WeftError(
            "the forecast diverged at its first step",
            where=str(run.folder.path),
            fix="train again with a lower learning rate, for example --set lr=1e-3",
        )
    days = following(fields, end, len(rolled.mean)).days
    return Made(rolled.mean, rolled.spread, days, "forecast", rolled.members if how.members else None, note)


def study_place(run: Loaded, stretch: FieldSpan, how: LookAtPlace) -> Study:
    """The study of a forecast at a place: the values are all cells of the field of one variable, as anomalies."""
    predictor, fields = predictor_of(run), stretch.fields
    end, lead = _end_and_lead(predictor, stretch, how)
    codec, config, model = predictor.codec, predictor.codec.config, predictor.model
    values, season, hour = WindowReader(FieldSpan(fields, 0, end + 1), codec).read(end)
    steps = np.arange(1 - config.history, config.ahead + 1)
    raw = codec.window(values[None], np.isfinite(values)[None], season[None], hour[None], steps[None])
    raw, step, grid, head = raw.to(predictor.device), config.history + lead - 1, grid_of(codec), model.head
    layer, embed = rows_of(layers_of(codec), how.variable)[0], model.embed
    place = find_place(how.at or f"{grid.y[len(grid.y) // 2]},{grid.x[len(grid.x) // 2]}", grid)
    assert isinstance(embed, FieldEmbed) and head is not None

    def read(tokens: Tokens, _: int | None) -> Tensor:
        return embed.distribution(raw, head(tokens)).mean[:, layer, step].flatten(1)

    cells = [f"{grid.y[n // grid.shape[1]]:g},{grid.x[n % grid.shape[1]]:g}" for n in range(math.prod(grid.shape))]
    variables, times, rows, columns = embed.config.grid(grid.shape)
    names = [
        f"{layers_of(codec)[v].name} {t + 1} at {r + 1},{c + 1}"
        for v in range(variables)
        for t in range(times)
        for r in range(rows)
        for c in range(columns)
    ]
    return Study(
        model=model.eval(),
        stream="",
        embed=lambda: embed(raw),
        memory=lambda: None,
        read=read,
        label=lambda i: f"{layers_of(codec)[layer].name} at {cells[i]}",
        tokens={"": tuple(names)},
        answer=place.row * grid.shape[1] + place.column,
        kind="number",
        distances=lambda: token_distances(grid, embed.config.patch, (variables * times, rows, columns)),
    )


def token_distances(grid: FieldGrid, patch: int, shape: tuple[int, int, int]) -> tuple[np.ndarray, str]:
    """Between the middles of all tokens: kilometres on a sphere, steps of the grid elsewhere.

    `shape` is the number of tokens at one place, and of their rows and columns.
    """
    same, rows, columns = shape
    sides = ((grid.y, rows), (grid.x, columns))
    if grid.surface != "sphere":
        y, x = (np.arange(count) * patch * 1.0 for _, count in sides)
        flat = np.stack(np.meshgrid(y, x, indexing="ij"), -1).reshape(-1, 2)
        far, unit = np.sqrt(((flat[:, None] - flat[None]) ** 2).sum(-1)), "cells"
    else:
        lat, lon = (np.radians([np.mean(axis[i * patch : (i + 1) * patch]) for i in range(n)]) for axis, n in sides)
        up, around = (one.ravel() for one in np.meshgrid(lat, lon, indexing="ij"))
        points = np.stack([np.cos(up) * np.cos(around), np.cos(up) * np.sin(around), np.sin(up)], -1)
        chords = np.sqrt(((points[:, None] - points[None]) ** 2).sum(-1))
        far, unit = 2 * EARTH_RADIUS_KM * np.arcsin(np.clip(chords / 2, 0, 1)), "km"
    return np.tile(far, (same, same)), unit


def _end_and_lead(predictor: FieldPredictor, stretch: FieldSpan, how: LookAtPlace) -> tuple[int, int]:
    """The number of the last known field, from 0, and how many steps ahead the forecast is."""
    fields, config = stretch.fields, predictor.codec.config
    end = len(fields) - 1 if how.time is None else how.time - 1
    if not 0 <= end < len(fields):
        raise ConfigError(f"expected from 1 to {len(fields)}, found {how.time}", where="time")
    lead = config.ahead if how.ahead is None else how.ahead
    if not 1 <= lead <= config.ahead:
        raise ConfigError(f"expected from 1 to {config.ahead} steps, found {how.ahead}", where="ahead")
    return end, lead


def place_view(run: Loaded, stretch: FieldSpan, how: LookAtPlace) -> PlaceView:
    """What a place read to forecast the fields that follow the last one, or the one that is named."""
    predictor, fields = predictor_of(run), stretch.fields
    end, lead = _end_and_lead(predictor, stretch, how)
    codec, config = predictor.codec, predictor.codec.config
    values, season, hour = WindowReader(FieldSpan(fields, 0, end + 1), codec).read(end)
    steps = np.arange(1 - config.history, config.ahead + 1)
    raw = codec.window(values[None], np.isfinite(values)[None], season[None], hour[None], steps[None])
    known = fields.times.days[max(0, end + 1 - config.history) : end + 1]
    before = known[0] - fields.times.step * np.arange(config.history - len(known), 0, -1)
    labels = labels_of(fields, np.concatenate([before, known, following(fields, end, config.ahead).days]))
    window, step = raw.to(predictor.device), config.history + lead - 1
    seen = look_at_place(predictor.model, window, grid_of(codec), layers_of(codec), labels, how, step)
    if embed_of(predictor.model.config).span > 1:
        place = (rows_of(layers_of(codec), how.variable), step, seen.reading.place.row, seen.reading.place.column)
        changes = _changes(predictor, (values, season, hour), place)
        timed = replace(seen.reading, changes=tuple(zip(labels[: config.history], changes, strict=True)))
        seen = PlaceView(timed, heads=seen.heads)
    rolled = predictor.roll(FieldSpan(fields, 0, end + 1), end, lead)
    said = []
    for number, layer in enumerate(layers_of(codec)):
        if len(rolled.mean) and how.variable in (None, layer.variable, layer.name):
            value, spread = (
                x[-1, number, seen.reading.place.row, seen.reading.place.column] for x in (rolled.mean, rolled.spread)
            )
            said.append((f"{layer.name} {value:.4g} ± {spread:.2g} {layer.units}".strip(), None))
    when = labels[config.history + len(rolled.mean) - 1]
    answer = LookedAnswer(tuple(said[:MOST_SAID]), f"forecast for {when}") if said else None
    return PlaceView(seen.reading, answer, seen.heads)


def _changes(
    predictor: FieldPredictor,
    window: tuple[np.ndarray, np.ndarray, np.ndarray],
    place: tuple[list[int], int, int, int],
) -> list[float]:
    """How much the forecast of some layers at a step and cell changes where one known time alone is hidden."""
    values, season, hour = window
    rows, step, row, column = place
    shown = np.repeat(np.isfinite(values)[None], predictor.codec.config.history + 1, 0)
    for time in range(len(shown) - 1):
        shown[time + 1, :, time] = False
    everything = (np.repeat(part[None], len(shown), 0) for part in (season, hour))
    mean, _ = predictor.predict(np.repeat(values[None], len(shown), 0), shown, *everything)
    found = mean[:, rows, step, row, column]
    return np.abs(found[1:] - found[0]).mean(1).tolist()


def answer(run: Loaded, number: int, one: Given, how: Forecasting) -> Answer:
    """What is asked of the fields of an input: in a few plain values, and as files."""
    output = None if how.output is None else Path(how.output)
    with fields_of(run, one) as stretch:
        made = predicted(run, stretch, how, Progress(quiet=output is None))
        values = as_prediction(one.name, stretch.fields, made, output)

    def content(ending: str) -> Callable[[], bytes]:
        def give() -> bytes:
            with fields_of(run, one) as stretch:
                return made_content(ending, stretch.fields, made, how.variable)

        return give

    names = [str(output)] if output is not None else [f"forecast{ending}" for ending in (".nc", ".png", ".gif")]
    return Answer(number, values, {name: content(Path(name).suffix.lower()) for name in names})
