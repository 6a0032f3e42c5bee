"""All baselines of held-out fields at once: a task adds the rows of its model."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from weft.domains.fields.measures.baselines import Launch, forecast_baselines, launches, scale_of
from weft.domains.fields.measures.gap_baselines import FILLED, GapField, gap_baselines, gap_fields
from weft.domains.fields.measures.scores import FieldScores
from weft.domains.fields.reading.grid import FieldSpan
from weft.modalities.climate import Climate

MOST_STARTS, MOST_GAP_FIELDS = 365, 24


@dataclass(frozen=True)
class Baselines:
    """The forecasts and gap fields that are scored, and the scores of every baseline on them by name."""

    launches: Sequence[Launch]
    forecasts: dict[str, FieldScores]  # persistence, climatology, monthly, damped
    gaps: Sequence[GapField]
    filled: dict[str, FieldScores]  # interpolation, climatology, dineof
    scale: np.ndarray  # V: what the errors of each layer are divided by where layers are added up

    def metrics(self, lead: int = 1) -> dict[str, float]:
        """The rmse of each baseline: `persistence_rmse`, `climatology_rmse`, `monthly_rmse`, `damped_rmse` of forecasts
        at one lead; `interpolation_rmse` and `dineof_rmse` of filled gaps.
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
    train: FieldSpan | None = None,
    most: tuple[int, int] = (MOST_STARTS, MOST_GAP_FIELDS),
    progress: Callable[[int, int], None] | None = None,
) -> Baselines:
    """The scores of every baseline on some held-out fields; DINEOF needs the fields to train on beside them.

    `history` is the number of fields that a model starts from: baselines start where it does.
    `most` bounds the forecasts and the fields with gaps, which are then spread evenly.
    """
    chosen = launches(stretch, leads, history, most[0])
    gaps = [gap for gap in gap_fields(stretch, most[1]) if gap.hidden.any()]
    return Baselines(
        launches=chosen,
        forecasts=forecast_baselines(stretch, climate, chosen, progress),
        gaps=gaps,
        filled=gap_baselines(stretch, climate, gaps, train, progress) if gaps else {},
        scale=scale_of(stretch.fields.layers, stretch.fields.grid, climate),
    )
