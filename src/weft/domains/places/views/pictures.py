"""Looks into fitted fields: around a place, the position code as pictures, the errors, the field as it is learned."""

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

import numpy as np

from weft.config import Config
from weft.domains.places.codec import ColourCodec, PlaceCodec
from weft.domains.places.encoded import EncodedPlaces
from weft.domains.places.fitted import AskField, in_a_line, place_of_input, predicted
from weft.domains.places.rasters import Raster, values_at
from weft.domains.places.reading.rows import PlaceRows
from weft.domains.places.views.panels import FieldView, Panel, animation
from weft.errors import ConfigError, DataError
from weft.inspect.figures import coloured, png_of
from weft.inspect.views import LookedAnswer
from weft.models.stream import Model, Stream
from weft.tasks.asks import Given, Spot, only_one
from weft.tasks.labels.classes import ClassCodec
from weft.tasks.labels.label import LabelCodec
from weft.tasks.labels.numbers import NumberCodec
from weft.tasks.request import Loaded, Prediction

KINDS = ("codes", "errors")
CHANNELS = 12  # of a code that are shown
CODE_SIDE = 96  # cells along the longer side of a channel
MOST_ERRORS = 200_000  # places at which errors are drawn


class LookAtField(Config):
    """Settings of a look."""

    what: str | None = None

    about: ClassVar[Mapping[str, str]] = {
        "what": "draw codes (channels of the position encoding) or errors (prediction minus data) instead of a place"
    }

    def check(self) -> None:
        if self.what is not None and self.what not in KINDS:
            raise ConfigError(f"expected {' or '.join(KINDS)}, found {self.what!r}", where="what")


def looked(run: Loaded, inputs: Sequence[Given], how: LookAtField, known: Callable[[], PlaceRows | None]) -> FieldView:
    """The field around a place, or what was asked for instead."""
    codec, label, model = run.codec("place", PlaceCodec), run.codec("label", LabelCodec), run.stream
    if how.what == "codes":
        return code_view(codec, model)
    if how.what == "errors":
        rows = known()
        if rows is None:
            problem = "the data of this run is gone or has changed since it was trained"
            raise DataError(problem, where=str(run.folder.path), fix="look at a place instead")
        return error_view(codec, label, model, rows)
    return place_view(run, codec, label, model, place_of_input(codec, only_one(inputs, "a place")))


def place_view(run: Loaded, codec: PlaceCodec, label: LabelCodec, model: Stream, place: list[float]) -> FieldView:
    """The field with a place marked, and how alike the codes of all other places are to its own."""
    raster, near = Raster.usual(codec), Raster.usual(codec, CODE_SIDE)
    (answered,) = predicted(run, [Given(Spot(tuple(place)))], AskField(top=3))
    answer = answered.values
    mark = raster.marked(place)
    alike = _alike(codec, near, model, place)
    shown = (
        field_panel(raster, label, model, mark),
        Panel("similarity of position codes to that of the place", alike, -1.0, 1.0, signed=True, mark=mark),
    )
    at = ", ".join(f"{axis} {value:g}" for axis, value in zip(codec.axes, place, strict=True))
    words = f"at {at}: {in_a_line(answer)}"
    title = "the field, and how far a place's code reaches"
    return FieldView(title, shown, words, {"prediction": answer}, answer=_answer(answer))


def _answer(prediction: Prediction) -> LookedAnswer:
    """The value at a place, its colour, or the likeliest classes."""
    if "probabilities" in prediction:
        return LookedAnswer(tuple(prediction["probabilities"].items()), "class")
    if "colour" in prediction:
        return LookedAnswer(((" ".join(map(str, prediction["colour"])), None),), "colour")
    return LookedAnswer(((f"{prediction['value']:g}", None),), "value")


def _alike(codec: PlaceCodec, raster: Raster, model: Stream, place: list[float]) -> np.ndarray:
    """(Y, X) the cosine of each cell's code with that of a place."""
    import torch

    embed = model.embed
    with torch.inference_mode():
        at = torch.from_numpy(codec.encode(np.array([place]))).to(next(model.parameters()).device)
        own = embed.code(embed.coords(at))[0, 0].cpu().numpy()
    codes = raster.codes(model)
    size = np.linalg.norm(codes, axis=-1) * np.linalg.norm(own)
    return codes @ own / np.maximum(size, 1e-12)


def field_panel(raster: Raster, label: LabelCodec, model: Stream, mark: tuple[float, float] | None = None) -> Panel:
    """The field itself."""
    values = raster.values(model)
    if isinstance(label, NumberCodec):
        return Panel("the field", raster.numbers(label, values), mark=mark)
    return Panel("the field", coloured(raster.pixels(label, values)), mark=mark)


def code_view(codec: PlaceCodec, model: Stream) -> FieldView:
    """Some channels of the position code over the plane or the globe, evenly chosen."""
    raster = Raster.usual(codec, CODE_SIDE)
    codes = raster.codes(model)
    chosen = np.unique(np.linspace(0, codes.shape[-1] - 1, CHANNELS).round().astype(int))
    most = float(np.quantile(np.abs(codes), 0.99))
    shown = tuple(Panel(f"channel {i + 1}", codes[..., i], -most, most, signed=True) for i in chosen)
    kind = type(model.config.embed.code).__qualname__.split(".")[0].lower()  # type: ignore[attr-defined]
    words = f"{len(chosen)} of the {codes.shape[-1]} channels of the position code ({kind})"
    return FieldView(words, shown, words, {"channels": [int(i) + 1 for i in chosen]}, columns=4)


def error_view(codec: PlaceCodec, label: LabelCodec, model: Stream, rows: PlaceRows) -> FieldView:
    """The field, and the mean error in each cell at the places that were learned."""
    rows = rows if len(rows) <= MOST_ERRORS else rows.take(np.linspace(0, len(rows) - 1, MOST_ERRORS).astype(int))
    errors, unit = errors_at(codec, label, model, rows)
    raster = Raster.usual(codec)
    total, count = np.zeros((raster.height, raster.width)), np.zeros((raster.height, raster.width))
    for place, error in zip(rows.where.tolist(), errors.tolist(), strict=True):
        down, across = raster.marked(place)
        cell = min(int(down * raster.height), raster.height - 1), min(int(across * raster.width), raster.width - 1)
        total[cell] += error
        count[cell] += 1
    mean = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    words = f"mean {unit} at {len(rows):,} places that were learned: {errors.mean():.4g}"
    shown = (field_panel(raster, label, model), Panel(f"{unit}; blank: not learned from", mean, 0.0))
    return FieldView(f"the field and its {unit}", shown, words, {"mean": float(errors.mean())})


def errors_at(codec: PlaceCodec, label: LabelCodec, model: Stream, rows: PlaceRows) -> tuple[np.ndarray, str]:
    """How wrong the field is at each place, and what that is called."""
    values = values_at(model, codec.encode(rows.where))
    if isinstance(label, ColourCodec):
        return np.abs(label.restored(values).astype(float) - rows.values).mean(1), "error of 255"
    if isinstance(label, ClassCodec):
        return (values.argmax(-1).numpy() != label.encode(rows.values.tolist())).astype(float), "share of wrong classes"
    assert isinstance(label, NumberCodec)
    return np.abs(label.restored(values[:, 0]).numpy() - rows.values), "absolute error"


def growing(encoded: EncodedPlaces) -> Callable[[Model], Mapping[str, bytes]] | None:
    """Draws the field each time a run looks at its held-out data, and all of these as an animation."""
    if len(encoded.place.axes) < 2:
        return None
    raster, frames, label = Raster.usual(encoded.place), list[np.ndarray](), encoded.label
    span = (
        tuple(np.quantile(encoded.data.train.values, (0.01, 0.99)).tolist()) if isinstance(label, NumberCodec) else None
    )

    def draw(model: Model) -> Mapping[str, bytes]:
        assert isinstance(model, Stream)
        pixels = raster.pixels(label, raster.values(model), span)
        frames.append(np.ascontiguousarray(coloured(pixels)))
        return {"field.png": png_of(pixels), "learning.gif": animation(frames)}

    return draw
