"""fit-field: learn a picture, or values at places, as a function of coordinates. Coordinates in, values out."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import final

from weft.batches.source import Source
from weft.domains.places import fitted
from weft.domains.places import recipe as recipes
from weft.domains.places.cards import FIT_FIELD
from weft.domains.places.codec import ColourCodec, PlaceCodec
from weft.domains.places.dataset import PlaceData
from weft.domains.places.encoded import HANDFUL, EncodedPlaces
from weft.domains.places.reading.rows import PlaceRows
from weft.domains.places.settings import PlaceTraining
from weft.domains.places.views import pictures
from weft.inspect.study import Study
from weft.inspect.views import View
from weft.modalities.points import PointEmbed
from weft.models.stream import Model, Stream
from weft.objectives import Number, Objective
from weft.tasks.asks import Answer, Asks, Given, Gives, Use, Ways, only_one
from weft.tasks.baselines import Baseline
from weft.tasks.codec import Codecs
from weft.tasks.labels import labelling
from weft.tasks.labels.label import LabelCodec
from weft.tasks.labels.task import LabelTask
from weft.tasks.parts import End, Parts
from weft.tasks.request import Draft, Listen, Loaded, Measured, Prediction
from weft.tasks.table_inputs import InputColumn, InputRow
from weft.training.progress import Progress

FieldDraft = Draft[PlaceData, EncodedPlaces, PlaceTraining]


@final
class FitField(LabelTask[PlaceData, EncodedPlaces, PlaceTraining]):
    """A field: values as a function of the place."""

    card = FIT_FIELD
    parts = (Parts({"place": End.of(PlaceCodec), "label": End.of(LabelCodec)}, (Stream,), PointEmbed),)
    recipe = recipes.RECIPE
    unit = "place"
    thing = "a place"
    slow_rows = False
    asks = (Asks("place", "a place", (".csv", ".tsv", ".jsonl"), may_lack=True),)
    Predict = fitted.AskField
    Look = pictures.LookAtField

    def codecs(self, data: PlaceData, training: PlaceTraining, known: Codecs) -> Codecs:
        return {"place": fitted.place_codec(data, known), "label": fitted.label_codec(data, known)}

    def encode(
        self,
        data: PlaceData,
        codecs: Codecs,
        training: PlaceTraining,
        known: Model.Config | None,
        progress: Progress,
    ) -> EncodedPlaces:
        return EncodedPlaces.of(data, fitted.place_of(codecs), labelling.codec_of(codecs))

    def sized(self, draft: FieldDraft) -> tuple[Stream.Config, PlaceTraining]:
        return recipes.new_field(draft)

    def objective(self, encoded: EncodedPlaces, codecs: Codecs, training: PlaceTraining) -> Objective.Config:
        label = labelling.codec_of(codecs)
        return Number.Config() if isinstance(label, ColourCodec) else labelling.objective(label)

    def source(self, encoded: EncodedPlaces, codecs: Codecs, model: Model.Config, training: PlaceTraining) -> Source:
        return encoded.source(training.seed)

    def batch_in_words(self, training: PlaceTraining, source: Source) -> str:
        return f"batches of {HANDFUL * training.batch:,} places"

    def illustrate(self, encoded: EncodedPlaces, model: Model.Config) -> Callable[[Model], Mapping[str, bytes]] | None:
        return pictures.growing(encoded)

    def ability(self, run: Loaded) -> str:
        return fitted.ability(run)

    def facts(self, run: Loaded) -> Mapping[str, str]:
        return recipes.field_facts(run)

    def gives(self, run: Loaded) -> Gives:
        label = labelling.codec_of(run.codecs)
        found = labelling.gives(label, fitted.WRITES)
        return replace(found, columns=fitted.COLOURS[label.outputs]) if isinstance(label, ColourCodec) else found

    def columns(self, run: Loaded, use: Use) -> tuple[InputColumn, ...]:
        return fitted.columns(run)

    def from_row(self, run: Loaded, row: InputRow, ways: Ways) -> Given:
        return fitted.place_in_row(run, row)

    def input_cells(self, run: Loaded, one: Given) -> dict[str, float]:
        codec = run.codec("place", PlaceCodec)
        return dict(zip(codec.axes, fitted.place_of_input(codec, one), strict=True))

    def cells(self, prediction: Prediction) -> Sequence[Prediction]:
        return [fitted.cells(prediction)]

    def opened(self, run: Loaded, words: Sequence[object], ways: Ways) -> Iterator[Given]:
        return fitted.opened_places(run, words)

    def predict(
        self, run: Loaded, inputs: Sequence[Given], how: fitted.AskField, listen: Listen | None
    ) -> list[Answer]:
        return fitted.predicted(run, inputs, how)

    def shown(self, prediction: Prediction) -> str:
        return fitted.in_a_line(prediction)

    def held_out(self, run: Loaded, sources: Sequence[str]) -> PlaceRows:
        return fitted.given_places(run, sources, self.read_by(run))

    def measure(self, run: Loaded, held_out: PlaceRows, progress: Progress, seconds: float | None = None) -> Measured:
        return fitted.measured(run, held_out, fitted.known_places(self, run), progress)

    def baselines(self, run: Loaded, data: PlaceData, held_out: PlaceRows, measured: Measured) -> Iterator[Baseline]:
        return iter(())  # `measure` has them

    def usual_answer(self, data: PlaceData, codecs: Codecs) -> str | None:
        return None

    def look(self, run: Loaded, inputs: Sequence[Given], how: pictures.LookAtField) -> View:
        return pictures.looked(run, inputs, how, lambda: fitted.known_places(self, run))

    def study(self, run: Loaded, inputs: Sequence[Given], how: pictures.LookAtField) -> Study:
        return fitted.study_value(run, only_one(inputs, "a place"))
