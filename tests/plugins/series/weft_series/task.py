"""classify-series: learn labels of time series. Series with classes or numbers in, a model that labels new ones out."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import final

import numpy as np
import torch

from weft.batches.source import Source
from weft.core import Attention, Block, Mlp, Pooled, Trunk
from weft.core.heads import summary
from weft.errors import DataError
from weft.files.bad_rows import BadRows
from weft.files.known_roles import LABEL, TEXT
from weft.files.tables import as_cell, open_table
from weft.generate.compute import Compute
from weft.inspect.reading import ReadingView
from weft.models.stream import Model, Stream
from weft.models.zoo import Size
from weft.position import Rotary
from weft.tasks.asks import Answer, Asks, Given, Ways, only_text, texts_of
from weft.tasks.codec import Codecs, codec_at
from weft.tasks.labels import labelling
from weft.tasks.labels.label import LabelCodec
from weft.tasks.labels.labelling import Labelling
from weft.tasks.labels.rows import EncodedRows
from weft.tasks.labels.task import LabelTask
from weft.tasks.parts import End, Parts
from weft.tasks.recipe import OF_A_TRUNK, Recipe, sized, with_model_settings, with_own_numbers
from weft.tasks.request import Draft, Embedded, Listen, Loaded, Measured
from weft.tasks.table_inputs import InputRow, InputTable
from weft.training.progress import Progress
from weft_series.cards import CLASSIFY_SERIES, PRESETS, SeriesTraining
from weft_series.reading import Series, SeriesData, numbers_in, read_series
from weft_series.token import SeriesBatch, SeriesCodec, SeriesEmbed

EncodedSeries = EncodedRows[SeriesBatch]


def transformer(size: Size, patch: int, outputs: int, dropout: float) -> Stream.Config:
    """A transformer over all patches of a series, and one answer from their mean."""
    mix = Attention.Config(heads=size.heads, turn=Rotary.Config())
    block = Block.Config(mix=mix, transform=Mlp.Config(activation="gelu"), dropout=dropout)
    trunk, embed = Trunk.Config(depth=size.depth, block=block), SeriesEmbed.Config(patch=patch)
    return Stream.Config(dim=size.dim, embed=embed, trunk=trunk, head=Pooled.Config(), outputs=outputs)


@final
class ClassifySeries(LabelTask[SeriesData, EncodedSeries, SeriesTraining]):
    """A class or a number for each series."""

    card = CLASSIFY_SERIES
    parts = (Parts({"series": End.of(SeriesCodec), "label": End.of(LabelCodec)}, (Stream,), SeriesEmbed),)
    recipe = Recipe(
        models={"transformer": transformer},
        presets={name: sized(preset) for name, preset in PRESETS.items()},
        default="transformer",
        rates={"transformer": {"lr": 3e-3, "optimizer": "adamw", "weight_decay": 0.1}},
        fixed=(*OF_A_TRUNK, "patch"),
        kept=(*OF_A_TRUNK, "patch"),
    )
    unit, thing = "series", "a series of numbers"
    asks = embeds = (Asks("text", "numbers with commas between them", lines=True),)
    Embed = Compute

    def codecs(self, data: SeriesData, training: SeriesTraining, known: Codecs) -> Codecs:
        series = known.get("series") or SeriesCodec.of(one.values for one in data.train)
        return {"series": series, "label": labelling.learned_from(data, known)}

    def encode(
        self, data: SeriesData, codecs: Codecs, training: SeriesTraining, known: Model.Config | None, progress: Progress
    ) -> EncodedSeries:
        series, label = codec_at(codecs, "series", SeriesCodec), codec_at(codecs, "label", LabelCodec)
        return EncodedSeries.of(data, lambda rows: series.encode(one.values for one in rows), label, SeriesBatch.of)

    def sized(self, draft: Draft[SeriesData, EncodedSeries, SeriesTraining]) -> tuple[Model.Config, SeriesTraining]:
        training, outputs = draft.training, draft.codec("label", LabelCodec).outputs
        size = with_own_numbers(self.recipe.presets[draft.request.preset or "small"], training)
        config = transformer(size, training.patch, outputs, training.dropout or 0.0)
        return with_model_settings(config, draft.request), training

    def source(self, encoded: EncodedSeries, codecs: Codecs, model: Model.Config, training: SeriesTraining) -> Source:
        return encoded.source(seed=training.seed)

    def in_table(self, run: Loaded, path: Path, ways: Ways) -> Iterator[Given] | None:
        table = open_table(path, [LABEL, TEXT])
        texts = bool(TEXT.by_name(table.names))
        return super().in_table(run, path, ways) if texts else InputTable(table, (), ()).inputs(_series_in)

    def predict(self, run: Loaded, inputs: Sequence[Given], how: Labelling, listen: Listen | None) -> list[Answer]:
        texts, label = texts_of(inputs), run.codec("label", LabelCodec)
        values = _computed(run, map(numbers_in, texts), run.computing(how.precision).stream)
        found = labelling.predictions(label, values, texts, how.top, how.choices)
        return [Answer(i, one) for i, one in enumerate(found)]

    def embedded(self, run: Loaded, inputs: Sequence[Given], how: Compute) -> Embedded:
        texts, model = texts_of(inputs), run.computing(how.precision).stream
        vectors = _computed(run, map(numbers_in, texts), lambda raw: summary(model.encode(raw), first=False))
        return Embedded(texts, vectors.numpy())

    def held_out(self, run: Loaded, sources: Sequence[str]) -> list[Series]:
        return read_series(sources, BadRows(run.training(SeriesTraining).allowed))

    def measure(
        self, run: Loaded, held_out: list[Series], progress: Progress, seconds: float | None = None
    ) -> Measured:
        values, names = _computed(run, (one.values for one in held_out), run.stream), [one.name for one in held_out]
        truth = [one.label for one in held_out]
        return labelling.measured(run.codec("label", LabelCodec), values, truth, names, called="series")

    def look(self, run: Loaded, inputs: Sequence[Given], how: object) -> ReadingView:
        text, patch = only_text(inputs), run.stream.embed.patch
        series = numbers_in(text)
        named = [" ".join(f"{one:g}" for one in series[i : i + patch]) for i in range(0, len(series), patch)]
        raw = SeriesBatch.of(run.codec("series", SeriesCodec).encode([series]))
        answer = labelling.answer(run.codec("label", LabelCodec), _computed(run, [series], run.stream))
        return ReadingView(run.stream, raw, named, text, answer=answer)


def _series_in(row: InputRow) -> Given:
    """The series in a row of a table as training reads it: all numbers but the label."""
    places = [i for i in range(len(row.table.columns)) if i not in LABEL.by_name(row.table.names)[:1]]
    text = ", ".join(as_cell(row.table.value(row.row, place)) for place in places).rstrip(", ")
    return Given(text, text)


@torch.inference_mode()
def _computed(run: Loaded, series: Iterable[np.ndarray], compute: Callable[..., torch.Tensor]) -> torch.Tensor:
    """What a model makes of each series."""
    device = next(run.stream.eval().parameters()).device
    rows = run.codec("series", SeriesCodec).encode(series)
    if not rows:
        raise DataError("no series was given", fix=f"give one: {CLASSIFY_SERIES.example}")
    return torch.cat([compute(SeriesBatch.of([row]).to(device)).float().cpu() for row in rows])
