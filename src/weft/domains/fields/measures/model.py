"""How good a model of fields is: forecasts by lead and filled gaps, beside the baselines of a weather centre.

`Baselines` are all baselines of held-out fields at once; the rows of the model are added to them.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from weft.domains.fields.measures.baselines import Launch, forecast_baselines, launches, new_scores, reached, scale_of
from weft.domains.fields.measures.gap_baselines import FILLED, MOST_GAP_FIELDS, GapField, gap_baselines, gap_fields
from weft.domains.fields.measures.scores import FieldScores, Forecast
from weft.domains.fields.predictor import FieldPredictor
from weft.domains.fields.reading.gaps import hidden_at
from weft.domains.fields.reading.grid import FieldSpan
from weft.domains.fields.views.series import FieldSeries
from weft.domains.fields.views.sheets import filling_sheet, forecast_sheet
from weft.domains.fields.views.skill import LayerSkill, skill_chart
from weft.errors import DataError, WeftError
from weft.modalities.climate import Climate
from weft.objectives.measures.tallies import Tally, root
from weft.tasks.baselines import Baseline
from weft.tasks.request import Measured
from weft.training.progress import Progress, counter

WORDS = {
    "persistence": "persistence",
    "climatology": "the climatology",
    "monthly": "the mean of the month",
    "damped": "damped persistence",
    "recent": "damped persistence from recent years",
    "linear": "a linear inverse model",
}
BANDS = {"90° to 30° N": (30.0, 90.1), "30° N to 30° S": (-30.0, 30.0), "30° to 90° S": (-90.1, -30.0)}
MOST_STARTS = 365  # forecasts that baselines are measured on


@dataclass(frozen=True)
class Baselines:
    """The forecasts and gap fields that are scored, and the scores of every baseline on them by name."""

    launches: Sequence[Launch]
    forecasts: dict[str, FieldScores]  # persistence, climatology, monthly, damped; recent, linear
    gaps: Sequence[GapField]
    filled: dict[str, FieldScores]  # interpolation, climatology, dineof
    scale: np.ndarray  # V: what the errors of each layer are divided by where layers are added up

    def metrics(self, lead: int = 1) -> dict[str, float]:
        """The rmse of each baseline: `persistence_rmse`, `climatology_rmse`, `damped_rmse` … of forecasts at one lead;
        `interpolation_rmse` and `dineof_rmse` of filled gaps.
        """
        forecasts = {name: scores for name, scores in self.forecasts.items() if lead in scores.leads}
        filled = {name: scores for name, scores in self.filled.items() if name != "climatology" and scores.leads}
        return {f"{name}_rmse": scores.of(lead, self.scale)["rmse"] for name, scores in forecasts.items()} | {
            f"{name}_rmse": scores.of(FILLED, self.scale)["rmse"] for name, scores in filled.items()
        }

    def by_lead(self, measure: str = "rmse") -> dict[str, dict[int, float]]:
        """One measure of every baseline's forecasts by lead: what a chart of skill shows."""
        return {
            name: {lead: scores.of(lead, self.scale)[measure] for lead in scores.leads}
            for name, scores in self.forecasts.items()
        }


def baselines_of(
    stretch: FieldSpan,
    climate: Climate,
    *,
    leads: int,
    history: int = 1,
    recent: Climate | None = None,
    train: FieldSpan | None = None,
    most: tuple[int, int] = (MOST_STARTS, MOST_GAP_FIELDS),
    progress: Callable[[int, int], None] | None = None,
) -> Baselines:
    """The scores of every baseline on some held-out fields; some need the fields to train on beside them.

    `climate` is that of all years alike, `recent` that of a model.
    `history` is the number of fields that a model starts from: baselines start where it does.
    `most` bounds the forecasts and the fields with gaps, which are then spread evenly.
    """
    chosen = launches(stretch, leads, history, most[0])
    gaps = [gap for gap in gap_fields(stretch, most[1]) if gap.hidden.any()]
    return Baselines(
        launches=chosen,
        forecasts=forecast_baselines(stretch, climate, chosen, recent=recent, train=train, progress=progress),
        gaps=gaps,
        filled=gap_baselines(stretch, climate, gaps, train, progress) if gaps else {},
        scale=scale_of(stretch.fields.layers, stretch.fields.grid, climate),
    )


MOST_FORECASTS = 100  # that are measured, spread evenly
FEWEST = 6  # of both, however short the time
TRIED = 2  # forecasts whose time tells how many there is time for
DINEOF_VALUES_A_SECOND = 3e5  # of the matrix that it decomposes: it is left out of a run that has no time for it


def measured_model(
    predictor: FieldPredictor, stretch: FieldSpan, train: FieldSpan | None, progress: Progress, seconds: float | None
) -> Measured:
    """Scores of forecasts by lead and of filled gaps, with the baselines beside them."""
    codec = predictor.codec
    forecasts = _affordable(predictor, stretch, seconds)
    if (
        train is not None
        and seconds is not None
        and len(train) * codec.climate.spread.size > DINEOF_VALUES_A_SECOND * seconds
    ):
        train = None
    most = (forecasts, min(MOST_GAP_FIELDS, max(FEWEST, forecasts)))
    known = baselines_of(stretch, codec.normals, leads=codec.config.ahead, recent=codec.climate, train=train, most=most)
    if not known.launches:
        problem = f"{len(stretch)} {'field is' if len(stretch) == 1 else 'fields are'} too few to measure forecasts on"
        raise DataError(problem, where="evaluate", fix="expected at least 2 that follow each other by one step")
    model = forecast_scores(predictor, stretch, known.launches, counter(progress, len(known.launches), "forecasts"))
    progress.stop()
    filled = gap_scores(predictor, stretch, known.gaps)
    first = min(model.leads)
    own = model.of(first, known.scale)
    metrics = {name: own[name] for name in ("rmse", "acc", "crps", "spread_skill")} | known.metrics(first)
    if filled.leads:
        metrics["fill_rmse"] = filled.of(FILLED, known.scale)["rmse"]
    pictures = partial(_pictures, predictor, stretch, model, known)
    tables, (tally, plain) = _tables(model, filled, known, stretch), _beside(model, known, first)
    return Measured(len(known.launches), metrics, tables, pictures, tally, plain)


def _beside(model: FieldScores, known: Baselines, lead: int) -> tuple[Tally, tuple[Baseline, ...]]:
    """The model's rmse at one lead and that of each baseline, start by start, at the starts that all of them have."""
    others = {name: scores for name, scores in known.forecasts.items() if lead in scores.leads}
    starts = sorted(set(model.starts(lead)).intersection(*(scores.starts(lead) for scores in others.values())))

    def tally(scores: FieldScores) -> Tally:
        rows = scores.stacked(lead, starts)
        return Tally(
            "rmse", np.stack([(rows[..., 1] / known.scale**2).sum(1), rows[..., 0].sum(1)], 1), root, lower=True
        )

    return tally(model), tuple(Baseline(name, WORDS[name], tally(scores)) for name, scores in others.items())


def forecast_scores(
    predictor: FieldPredictor, stretch: FieldSpan, chosen: Sequence[Launch], count: Callable[[int], None]
) -> FieldScores:
    """The model's scores at all leads of some launches."""
    scores = new_scores(stretch)
    for done, launch in enumerate(chosen, 1):
        rolled = predictor.roll(stretch, launch.start, launch.last)
        for lead, truth, usual in reached(stretch, predictor.codec.normals, launch):
            if lead <= len(rolled.mean):
                forecast = Forecast(rolled.mean[lead - 1], rolled.spread[lead - 1])
                scores.add(lead, launch.start, truth, forecast, climatology=usual)
        count(done)
    if not scores.leads:
        raise WeftError(
            "all forecasts diverged",
            where="evaluate",
            fix="train again with a lower learning rate, for example --set lr=1e-3",
        )
    return scores


def gap_scores(predictor: FieldPredictor, stretch: FieldSpan, gaps: Sequence[GapField]) -> FieldScores:
    """The model's scores on hidden cells; the fields around each have hidden blocks too."""
    scores, climate, times = new_scores(stretch), predictor.codec.normals, stretch.fields.times
    for gap in gaps:
        forecast = fill_one(predictor, stretch, gap.time)
        usual = climate.mean(times.season[gap.time], times.hour[gap.time])
        scores.add(FILLED, gap.time, gap.truth, forecast, climatology=usual, only=gap.hidden)
    return scores


def fill_one(predictor: FieldPredictor, stretch: FieldSpan, at: int) -> Forecast:
    """One field with blocks hidden in it and in all fields around it, filled."""
    fields = stretch.fields
    mean, spread = predictor.fill(stretch, at, lambda time: hidden_at(fields.read(time, time + 1)[0], time))
    return Forecast(mean, spread)


def _affordable(predictor: FieldPredictor, stretch: FieldSpan, seconds: float | None) -> int:
    """How many forecasts there is time for; half of the time is for gaps and baselines."""
    if seconds is None:
        return MOST_FORECASTS
    tried = launches(stretch, predictor.codec.config.ahead, most=TRIED)
    began = time.monotonic()
    for launch in tried:
        predictor.roll(stretch, launch.start, launch.last)
    each = (time.monotonic() - began) / max(1, len(tried))
    return int(min(MOST_FORECASTS, max(FEWEST, 0.5 * seconds / max(each, 1e-6))))


def _tables(model: FieldScores, filled: FieldScores, known: Baselines, stretch: FieldSpan) -> dict[str, Any]:
    """All measures by lead and layer, and the ratios to the baselines with their intervals."""
    ratios = {name: model.ratio(other, min(model.leads), known.scale) for name, other in known.forecasts.items()}
    if filled.leads:
        ratios |= {f"filled, {name}": filled.ratio(other, FILLED, known.scale) for name, other in known.filled.items()}
    units = {layer.units for layer in stretch.fields.layers}
    gaps = {"model": filled, **known.filled} if filled.leads else {}
    return {
        "unit": units.pop() if len(units) == 1 else "spreads of each layer's anomalies",
        "by_lead": {name: _plain(one.table()) for name, one in {"model": model, **known.forecasts}.items()},
        "gaps": {name: _plain(one.table()[FILLED]) for name, one in gaps.items()},
        "ratio_of_rmse": {
            name: {"ratio": _plain(ratio), "interval": interval} for name, (ratio, interval) in ratios.items()
        },
        "skill": (skill := _skill(model, known, stretch)),
        "looked": _skill_lines(skill),
    }


def _skill(model: FieldScores, known: Baselines, stretch: FieldSpan) -> dict[str, Any]:
    """The rmse over that of damped persistence by lead: of the model, of other methods, and of the model by latitude.

    Where a method is as good as the model, the skill comes from what that method knows.
    """
    damped, grid = known.forecasts["damped"], stretch.fields.grid
    leads = [lead for lead in model.leads if lead in damped.leads]
    methods: dict[str, FieldScores] = {"model": model}
    methods |= {name: scores for name, scores in known.forecasts.items() if name in ("recent", "linear")}
    found: dict[str, Any] = {"over": "damped", "leads": leads, "interval": []}
    for name, scores in methods.items():
        ratios = [scores.ratio(damped, lead, known.scale) for lead in leads]
        found[name] = [_plain(ratio) for ratio, _ in ratios]
        if scores is model:
            found["interval"] = [interval for _, interval in ratios]
    bands: Mapping[str, tuple[float, float]] = BANDS if grid.surface == "sphere" else {}
    inside = {name: (grid.y >= low) & (grid.y < high) for name, (low, high) in bands.items()}

    def ratio(lead: int, rows: np.ndarray) -> float:
        against = damped.rmse_of_rows(lead, rows, known.scale)
        return model.rmse_of_rows(lead, rows, known.scale) / against if against > 0 else float("nan")

    found["by_latitude"] = {
        name: [_plain(ratio(lead, rows)) for lead in leads] for name, rows in inside.items() if rows.any()
    }
    return found


def _skill_lines(skill: Mapping[str, Any]) -> list[str]:
    """The same as a small table in words."""
    rows = {
        "this model": skill["model"],
        **{WORDS[name]: skill[name] for name in ("recent", "linear") if name in skill},
        **{f"this model, {band}": ratios for band, ratios in skill["by_latitude"].items()},
    }
    width = max(map(len, rows))
    lines = [f"{'rmse over damped persistence, by lead':<{width}} " + "".join(f"{n:>7}" for n in skill["leads"])]
    for name, ratios in rows.items():
        lines.append(f"{name:<{width}} " + "".join("      –" if one is None else f"{one:>7.3f}" for one in ratios))
    return lines


def _plain(table: Any) -> Any:
    """A table as JSON has it: None for what cannot be measured, as the correlation of a forecast that never varies."""
    if isinstance(table, dict):
        return {str(name): _plain(part) for name, part in table.items()}
    return table if np.isfinite(table) else None


def _pictures(predictor: FieldPredictor, stretch: FieldSpan, model: FieldScores, known: Baselines) -> dict[str, bytes]:
    """Skill by lead; the last whole forecast beside what came; a field with gaps, filled."""
    fields = stretch.fields
    tables = {"weft": model.table(), **{name: one.table() for name, one in known.forecasts.items()}}

    def by_lead(layer: str, measure: str) -> dict[str, list[float]]:
        nothing = {layer: {measure: float("nan")}}
        return {name: [one.get(lead, nothing)[layer][measure] for lead in model.leads] for name, one in tables.items()}

    skills = [
        LayerSkill(one, model.leads, by_lead(one.name, "rmse"), by_lead(one.name, "acc")) for one in fields.layers
    ]
    found = {"skill.png": skill_chart(skills)}
    launch = max(known.launches, key=lambda one: (one.last, one.start))
    rolled = predictor.roll(stretch, launch.start, launch.last)
    if len(rolled.mean):
        ahead = slice(launch.start + 1, launch.start + 1 + len(rolled.mean))
        series = FieldSeries(fields.layers[0], fields.grid, fields.times.labels[ahead])
        truth = fields.read(ahead.start, ahead.stop)[:, 0]
        found["forecast.png"] = forecast_sheet(series, rolled.mean[:, 0], truth=truth, spread=rolled.spread[:, 0])
    if known.gaps:
        gap = known.gaps[-1]
        mean = fill_one(predictor, stretch, gap.time).mean
        series = FieldSeries(fields.layers[0], fields.grid, (fields.times.labels[gap.time],))
        whole = np.where(gap.hidden | ~np.isfinite(gap.truth), mean, gap.truth)
        found["gaps.png"] = filling_sheet(series, gap.shown[:1], whole[:1], truth=gap.truth[:1])
    return found
