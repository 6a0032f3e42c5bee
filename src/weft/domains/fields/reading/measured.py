"""A user's file for a trained model: its fields in the model's order of layers, refused where they are others."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from weft.domains.fields.reading.calendars import same_step, step_in_words
from weft.domains.fields.reading.differences import grid_differences, layer_differences, table
from weft.domains.fields.reading.grid import FieldGrid, FieldLayer, Fields, FieldSpan
from weft.domains.fields.reading.scanned import OpenedFields, open_fields
from weft.errors import DataError, listed

FIX = "bring the file to the grid, names and units that the model was trained on"


class ChosenFields(Fields):
    """Some layers of other fields, in an order of their own. `opened` is what was opened, for writing back."""

    def __init__(self, opened: OpenedFields, layers: Sequence[FieldLayer]):
        self.opened, self.grid, self.times, self.layers = opened, opened.grid, opened.times, tuple(layers)
        places = {layer.name: place for place, layer in enumerate(opened.layers)}
        self.order = np.array([places[layer.name] for layer in layers])

    def read(self, start: int, stop: int) -> np.ndarray:
        return self.opened.read(start, stop)[:, self.order]


def measured_fields(
    sources: Sequence[str | Path], layers: Sequence[FieldLayer], grid: FieldGrid, step: float | None = None
) -> FieldSpan:
    """The fields in files, in the order of a model's layers; refused where cells, names, units or the time step differ.

    Variables that the model does not know are left out. Nothing is converted: units must mean the same. `step` is the
    time between two fields in days; one field alone has the model's.
    """
    opened = open_fields(sources, tuple(dict.fromkeys(layer.variable for layer in layers)), strict=False)
    known = {layer.name for layer in layers}
    rows = grid_differences(grid, opened.grid)
    rows += layer_differences(layers, [layer for layer in opened.layers if layer.name in known])
    if step is not None and len(opened) > 1 and not same_step(step, np.array(opened.times.step)):
        rows.append(("fields", step_in_words(step), step_in_words(opened.times.step)))
    others = [layer.name for layer in opened.layers if layer.name not in known]
    if rows:
        if others:
            rows.append(("others", "", listed(others)))
        name = listed([path.name for path in opened.paths])
        raise DataError(f"these are other fields:{table(('the model', name), rows)}", where=name, fix=FIX)
    chosen = ChosenFields(opened, layers)
    if step is not None and len(opened) == 1:
        chosen.times = replace(opened.times, step=step)
    return FieldSpan(chosen, 0, len(opened))
