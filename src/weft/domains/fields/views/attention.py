"""What a place on the map read inside a model of fields: one layer and head, their average, or all layers followed."""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import ClassVar

import numpy as np
import torch
from einops import rearrange
from jaxtyping import Float, Int

from weft.config import Config
from weft.core.recording import Reading, record
from weft.domains.fields.reading.cells import find_place
from weft.domains.fields.reading.grid import FieldGrid, FieldLayer
from weft.domains.fields.views.place_reading import PlaceReading
from weft.domains.fields.views.place_view import PlaceView
from weft.errors import ConfigError, WeftError
from weft.inspect.reading import LONG
from weft.inspect.views import AttentionChoice
from weft.inspect.weights import followed, weights_of
from weft.modalities.field import FieldEmbed, FieldWindow
from weft.models.stream import Stream


class LookAtPlace(Config):
    """Settings of a look at what a place read."""

    at: str | None = None
    variable: str | None = None
    time: int | None = None
    ahead: int | None = None
    layer: int | None = None
    head: int | None = None
    through: bool = False

    about: ClassVar[Mapping[str, str]] = {
        "at": "latitude,longitude of the place whose attention is shown, as in 48.2,16.4; else the middle of the grid",
        "variable": "the variable whose attention is shown; by default the average of all",
        "time": "number of the last known field, from 1; by default the last of the file",
        "ahead": "the lead whose forecast is explained: 1 is the next field; by default the farthest. Where a token "
        "holds all times, one attention serves all leads, and only the shares by time differ",
        "layer": "show one layer, counted from 1",
        "head": "show one head, counted from 1",
        "through": "attention rollout: follow attention through all layers",
    }

    def check(self) -> None:
        if self.through and (self.layer or self.head):
            raise ConfigError("attention rollout goes through all layers: layer and head do not apply", where="through")
        if self.at is not None and not re.search(r"\d", self.at):
            raise ConfigError(f"expected latitude,longitude, found {self.at!r}", where="at")


def look_at_place(
    model: Stream,
    raw: FieldWindow,
    grid: FieldGrid,
    layers: tuple[FieldLayer, ...],
    labels: tuple[str, ...],
    how: LookAtPlace,
    step: int = -1,
) -> PlaceView:
    """The share of every patch, variable and time read to predict a window's field (one row) at a place.

    `step` is the number of that field in the window: the last, where none is asked for.
    """
    embed = model.config.embed
    assert isinstance(embed, FieldEmbed.Config)
    place = find_place(how.at or f"{grid.y[len(grid.y) // 2]},{grid.x[len(grid.x) // 2]}", grid)
    readings = attention_of(model, raw)
    AttentionChoice(how.layer, how.head).indices(len(readings), readings[0].q.shape[1])
    shape = embed.grid(grid.shape)
    asking = torch.zeros(shape, dtype=torch.bool)
    asking[
        rows_of(layers, how.variable),
        (step % len(labels)) // embed.span,
        place.row // embed.patch,
        place.column // embed.patch,
    ] = True
    tokens = asking.flatten().nonzero()[:, 0]
    if how.through:
        read = followed(readings, asking.flatten().float().to(raw.values.device) / len(tokens)).cpu().numpy()
    else:
        some = readings if how.layer is None else [readings[how.layer - 1]]
        rows = weights_of([[one] for one in some], queries=tokens.tolist())
        read = (rows if how.head is None else rows[:, how.head - 1, None]).mean((0, 1, 2))
    shares = rearrange(read, "(v t r s) -> v t r s", v=shape[0], t=shape[1], r=shape[2])
    times = [labels[i : i + embed.span] for i in range(0, len(labels), embed.span)]
    named = tuple(one[0] if len(one) == 1 else f"{one[0]} to {one[-1]}" for one in times)
    field = np.where(raw.known.any(2)[0, 0].cpu().numpy(), raw.values[0, 0, step].float().cpu().numpy(), np.nan)
    title = f"what {place.words} read" + (", through all layers" if how.through else _chosen(how))
    asked = torch.zeros(shape, dtype=torch.bool)
    asked[rows_of(layers, how.variable), (step % len(labels)) // embed.span] = True
    few = shape[2] * shape[3] <= LONG
    heads = partial(_by_patch, readings, asked.flatten().nonzero()[:, 0], shape) if few else None
    reading = PlaceReading(shares, place, grid, layers, named, (embed.patch, embed.patch), field, title)
    return PlaceView(reading, heads=heads)


@torch.inference_mode()
def _by_patch(
    readings: Sequence[Reading], asked: Int[torch.Tensor, "A"], shape: tuple[int, ...]
) -> Float[np.ndarray, "L H P P"]:
    """What each patch reads of each, the mean over its tokens that ask, all variables and times."""
    variables, times, rows, columns = shape
    by_place, found = asked.reshape(-1, rows * columns).T.tolist(), []
    for one in readings:
        read = torch.stack([one.weights(queries=tokens)[0].float().mean(1) for tokens in by_place], 1)
        found.append(rearrange(read, "h p (v t q) -> h p v t q", v=variables, t=times).sum((2, 3)))
    return torch.stack(found).cpu().numpy()


def attention_of(model: Stream, raw: FieldWindow) -> list[Reading]:
    """What every layer of attention read, first to last, in one pass."""
    model.eval()
    with torch.inference_mode(), record(model) as recorder:
        model.encode(raw)
    found = [readings[0] for readings in recorder.readings.values()]
    if not found:
        raise WeftError("this model has no attention to look at", where="weft look")
    return found


def rows_of(layers: tuple[FieldLayer, ...], variable: str | None) -> list[int]:
    """The layers of a variable, by its name or that of one of its levels."""
    found = [i for i, one in enumerate(layers) if variable in (None, one.variable, one.name)]
    if not found:
        names = ", ".join(one.name for one in layers)
        raise ConfigError(f"there is no variable {variable!r}", where="variable", fix=f"there are {names}")
    return found


def _chosen(how: LookAtPlace) -> str:
    parts = [f"{name} {number}" for name, number in (("layer", how.layer), ("head", how.head)) if number is not None]
    return f", {' '.join(parts)}" if parts else ""
