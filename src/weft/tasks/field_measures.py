"""How good a model of fields is: forecasts by lead and filled gaps, beside the baselines of a weather centre."""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from weft.data.grids.gaps import hidden_at
from weft.data.grids.grid import Stretch
from weft.errors import DataError, WeftError
from weft.generate.fields import FieldPredictor
from weft.inspect.fieldseries import FieldSeries
from weft.inspect.fieldsheets import filling_sheet, forecast_sheet
from weft.inspect.skill import LayerSkill, skill_chart
from weft.objectives.measures.field_baselines import (
    Launch,
    baseline_metrics,
    forecast_baselines,
    launches,
    new_scores,
    reached,
    scale_of,
)
from weft.objectives.measures.field_scores import FieldScores, Forecast
from weft.objectives.measures.gap_baselines import FILLED, GapField, gap_baselines, gap_fields
from weft.tasks.request import Measured
from weft.training.progress import Progress, counter

MOST_LAUNCHES, MOST_GAPS = 240, 24  # forecasts and fields with gaps that are measured, spread evenly
FEWEST = 6  # of both, however short the time
TRIED = 2  # forecasts whose time tells how many there is time for


def measured_model(
    predictor: FieldPredictor, stretch: Stretch, train: Stretch | None, progress: Progress, seconds: float | None
) -> Measured:
    """Scores of forecasts by lead and of filled gaps, with the baselines beside them."""
    codec, config = predictor.codec, predictor.codec.config
    chosen = launches(stretch, config.ahead, most=_affordable(predictor, stretch, seconds))
    if not chosen:
        problem = f"{len(stretch)} {'field is' if len(stretch) == 1 else 'fields are'} too few to measure forecasts on"
        raise DataError(problem, where="evaluate", fix="expected at least 2 that follow each other by one step")
    count = counter(progress, len(chosen), "forecasts")
    model = forecast_scores(predictor, stretch, chosen, count)
    progress.stop()
    baselines = forecast_baselines(stretch, codec.climate, chosen)
    scale = scale_of(stretch.fields.layers, stretch.fields.grid, codec.climate)
    first, own = min(model.leads), model.of(min(model.leads), scale)
    metrics = {name: own[name] for name in ("rmse", "acc", "crps")} | baseline_metrics(baselines, first, scale)
    gaps, filled = _gaps(predictor, stretch, train, progress, len(chosen))
    if filled:
        for name, scores in filled.items():
            metrics[
                "fill_rmse" if name == "model" else f"{name}_rmse" if name != "climatology" else "fill_climatology_rmse"
            ] = scores.of(FILLED, scale)["rmse"]
    more = _tables(model, baselines, filled, scale, stretch)
    return Measured(len(chosen), metrics, more, _pictures(predictor, stretch, chosen, model, baselines, gaps))


def forecast_scores(predictor: FieldPredictor, stretch: Stretch, chosen: Sequence[Launch], count: Any) -> FieldScores:
    """The model's scores at all leads of some launches."""
    scores = new_scores(stretch)
    for done, launch in enumerate(chosen, 1):
        rolled = predictor.roll(stretch, launch.start, launch.last)
        for lead, truth, usual in reached(stretch, predictor.codec.climate, launch):
            if lead <= len(rolled.mean):
                forecast = Forecast(rolled.mean[lead - 1], rolled.spread[lead - 1])
                scores.add(lead, launch.start, truth, forecast, climatology=usual)
        count(done)
    if not scores.leads:
        raise WeftError("all forecasts diverged", where="evaluate", fix="train anew with a lower lr")
    return scores


def _affordable(predictor: FieldPredictor, stretch: Stretch, seconds: float | None) -> int:
    """How many forecasts there is time for; half of the time is for gaps and baselines."""
    if seconds is None:
        return MOST_LAUNCHES
    tried = launches(stretch, predictor.codec.config.ahead, most=TRIED)
    began = time.monotonic()
    for launch in tried:
        predictor.roll(stretch, launch.start, launch.last)
    each = (time.monotonic() - began) / max(1, len(tried))
    return int(min(MOST_LAUNCHES, max(FEWEST, 0.5 * seconds / max(each, 1e-6))))


def _gaps(
    predictor: FieldPredictor, stretch: Stretch, train: Stretch | None, progress: Progress, forecasts: int
) -> tuple[list[GapField], dict[str, FieldScores]]:
    """Fields with hidden blocks, and the scores of all who fill them; nothing where SciPy is not there."""
    gaps = [gap for gap in gap_fields(stretch, most=min(MOST_GAPS, max(FEWEST, forecasts))) if gap.hidden.any()]
    if not gaps:
        return [], {}
    try:
        baselines = gap_baselines(stretch, predictor.codec.climate, gaps, train)
    except WeftError as error:
        progress.say(f"filled gaps are not measured: {error}")
        return [], {}
    scores, wanted = new_scores(stretch), {gap.time: gap for gap in gaps}
    fields = stretch.fields

    def hide(at: int) -> np.ndarray:
        return hidden_at(fields.read(at, at + 1)[0], at)

    for gap in gaps:
        mean, spread = fill_one(predictor, stretch, gap.time, hide)
        usual = predictor.codec.climate.mean(fields.times.season[gap.time], fields.times.hour[gap.time])
        scores.add(FILLED, gap.time, gap.truth, Forecast(mean, spread), climatology=usual, only=wanted[gap.time].hidden)
    return gaps, {"model": scores, **baselines}


def fill_one(predictor: FieldPredictor, stretch: Stretch, at: int, hide: Any) -> tuple[np.ndarray, np.ndarray]:
    """One field with its gaps, and those that `hide` makes in all fields around it, filled."""
    one = Stretch(stretch.fields, at, at + 1)
    for _, mean, spread in predictor.filled(one, hide):
        return mean, spread
    raise DataError("there is no such field", where=str(at))


def _tables(
    model: FieldScores,
    baselines: dict[str, FieldScores],
    filled: dict[str, FieldScores],
    scale: np.ndarray,
    stretch: Stretch,
) -> dict[str, Any]:
    """All measures by lead and layer, and the ratios to the baselines with their intervals."""
    ratios = {}
    for name, other in baselines.items():
        ratio, interval = model.ratio(other, min(model.leads), scale)
        ratios[name] = {"ratio": ratio, "interval": interval}
    for name, other in filled.items():
        if name != "model":
            ratio, interval = filled["model"].ratio(other, FILLED, scale)
            ratios[f"filled, {name}"] = {"ratio": ratio, "interval": interval}
    same = len({layer.units for layer in stretch.fields.layers}) == 1
    return {
        "unit": stretch.fields.layers[0].units if same else "spreads of each layer's anomalies",
        "by_lead": {"model": model.table(), **{name: one.table() for name, one in baselines.items()}},
        "gaps": {name: one.table()[FILLED] for name, one in filled.items()},
        "ratio_of_rmse": ratios,
    }


def _pictures(
    predictor: FieldPredictor,
    stretch: Stretch,
    chosen: Sequence[Launch],
    model: FieldScores,
    baselines: dict[str, FieldScores],
    gaps: Sequence[GapField],
) -> dict[str, bytes]:
    """Skill by lead; the last whole forecast beside what came; a field with gaps, filled."""
    fields, table = stretch.fields, model.table()
    skills = []
    for layer in fields.layers:
        by = {"model": table, **{name: one.table() for name, one in baselines.items()}}
        rmse, acc = (
            {
                name: [one.get(lead, {}).get(layer.name, {}).get(what, float("nan")) for lead in model.leads]
                for name, one in by.items()
            }
            for what in ("rmse", "acc")
        )
        skills.append(LayerSkill(layer, model.leads, rmse, acc))
    found = {"skill.png": skill_chart(skills)}
    launch = max(chosen, key=lambda one: (one.last, one.start))
    rolled = predictor.roll(stretch, launch.start, launch.last)
    leads = len(rolled.mean)
    truth = fields.read(launch.start + 1, launch.start + 1 + leads)
    series = FieldSeries(
        fields.layers[0], fields.grid, fields.times.labels[launch.start + 1 : launch.start + 1 + leads]
    )
    found["forecast.png"] = forecast_sheet(series, rolled.mean[:, 0], truth=truth[:, 0], spread=rolled.spread[:, 0])
    if gaps:
        gap = gaps[-1]
        mean, _ = fill_one(predictor, stretch, gap.time, lambda at: hidden_at(fields.read(at, at + 1)[0], at))
        series = FieldSeries(fields.layers[0], fields.grid, (fields.times.labels[gap.time],))
        whole = np.where(gap.hidden | ~np.isfinite(gap.truth), mean, gap.truth)
        found["gaps.png"] = filling_sheet(series, gap.shown[:1], whole[:1], truth=gap.truth[:1])
    return found
