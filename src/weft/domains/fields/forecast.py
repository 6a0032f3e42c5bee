"""forecast: learn how fields on a grid change. netCDF or zarr in, a model that forecasts and fills gaps out."""

from collections.abc import Iterator, Mapping, Sequence
from typing import final

from weft.batches.ahead import Ahead
from weft.batches.source import Source
from weft.config import from_json
from weft.domains.fields import forecasting, output
from weft.domains.fields import recipe as recipes
from weft.domains.fields.cards import FORECAST
from weft.domains.fields.codec.anomalies import FieldCodec
from weft.domains.fields.dataset import FieldData
from weft.domains.fields.encoded.hiding import Hiding
from weft.domains.fields.encoded.learning import learned_codec
from weft.domains.fields.encoded.seen import SeenFields
from weft.domains.fields.encoded.windows import FieldWindows
from weft.domains.fields.measures.model import measured_model
from weft.domains.fields.reading.grid import FieldSpan
from weft.domains.fields.settings import ForecastTraining
from weft.domains.fields.views.attention import LookAtPlace
from weft.errors import DataError
from weft.files.grid_formats import NETCDF
from weft.inspect.study import Study
from weft.inspect.views import View
from weft.modalities.field import FieldEmbed
from weft.models.stream import Model, Stream
from weft.objectives.hidden_cells import HiddenCells
from weft.tasks.asks import Answer, Asks, Given, Gives, Opened, Ways, only_one
from weft.tasks.codec import Codecs
from weft.tasks.finetuning import decided as with_head_lr
from weft.tasks.finetuning import with_lora
from weft.tasks.parts import End, Parts
from weft.tasks.request import Listen, Loaded, Measured, Prediction
from weft.tasks.task import Task
from weft.training.progress import Progress

HISTORY, AHEAD = 6, 6  # fields of a window, where the user does not say
LONGEST_SHARE = 0.25  # of the fields to train on, of a window


@final
class ForecastFields(Task[FieldData, SeenFields, ForecastTraining]):
    """A transformer over neighbourhoods in space and time, which gives every hidden value with a spread."""

    card = FORECAST
    parts = (Parts({"field": End.of(FieldCodec)}, (Stream,), FieldEmbed),)
    recipe = recipes.FORECASTING
    unit = "cell"
    asks = (Asks("file", "fields", NETCDF, may_lack=True),)  # the run's own fields go on where none are given
    slow_rows = False  # `measure` itself keeps to the time
    Predict, Look = forecasting.Forecasting, LookAtPlace

    def codecs(self, data: FieldData, training: ForecastTraining, known: Codecs) -> Codecs:
        if isinstance(codec := known.get("field"), FieldCodec):
            _same_fields(codec, data)
            return {"field": codec}
        most = max(1, int(LONGEST_SHARE * len(data.train)))
        history, ahead = training.history or min(HISTORY, most), training.ahead or min(AHEAD, most)
        return {"field": learned_codec(data.train, history, ahead)}

    def encode(
        self,
        data: FieldData,
        codecs: Codecs,
        training: ForecastTraining,
        known: Model.Config | None,
        progress: Progress,
    ) -> SeenFields:
        codec = codecs["field"]
        assert isinstance(codec, FieldCodec)
        return SeenFields(data, codec)

    def sized(self, draft: recipes.ForecastDraft) -> tuple[Model.Config, ForecastTraining]:
        model = recipes.new_model(draft, self.recipe.model_name(draft.request))
        return model, recipes.decided(draft.training, model, draft.encoded.codec)

    def continued(self, draft: recipes.ForecastDraft, origin: Loaded) -> tuple[Model.Config, ForecastTraining]:
        model = origin.model.config
        assert isinstance(model, Stream.Config)
        training = recipes.decided(draft.training, model, draft.encoded.codec)
        return with_lora(model, training), with_head_lr(training, same_head=True)

    def objective(self, encoded: SeenFields, codecs: Codecs, training: ForecastTraining) -> HiddenCells.Config:
        return HiddenCells.Config()

    def source(self, encoded: SeenFields, codecs: Codecs, model: Model.Config, training: ForecastTraining) -> Source:
        data, config = encoded.data, encoded.codec.config
        shape = (len(config.layers), config.times, len(config.y), len(config.x))
        hiding = Hiding(shape, config.history, training.hide, patch=training.patch or 4)
        return Ahead(
            FieldWindows(
                data.train, data.held_out, encoded.codec, hiding, fingerprint=data.fingerprint, seed=training.seed
            )
        )

    def batch_in_words(self, training: ForecastTraining, source: Source) -> str:
        return f"batches of {training.batch} windows"

    def ability(self, run: Loaded) -> str:
        return "Forecasts fields and fills their gaps"

    def facts(self, run: Loaded) -> Mapping[str, str]:
        return recipes.field_facts(run)

    def gives(self, run: Loaded) -> Gives:
        return Gives("fields", endings=output.FILES, columns=("made", "times", "layers"))

    def opened(self, run: Loaded, words: Sequence[object], ways: Ways) -> Iterator[Given]:
        if not words and ways.use == "predict" and ways.how not in (None, self.Predict()):
            yield Given(Opened(self._own(run).held_out), run.data.described)
        yield from forecasting.opened_fields(run, words)

    def predict(
        self, run: Loaded, inputs: Sequence[Given], how: forecasting.Forecasting, listen: Listen | None
    ) -> list[Answer]:
        output.check_named(how.output, len(inputs))
        return [forecasting.answer(run, number, one, how) for number, one in enumerate(inputs)]

    def shown(self, prediction: Prediction) -> str:
        return output.in_words(prediction)

    def held_out(self, run: Loaded, sources: Sequence[str]) -> FieldSpan:
        return forecasting.given_fields(run, sources)

    def measure(self, run: Loaded, held_out: FieldSpan, progress: Progress, seconds: float | None = None) -> Measured:
        train = FieldSpan(held_out.fields, 0, held_out.start) if held_out.start else self._trained_on(run)
        return measured_model(forecasting.predictor_of(run), held_out, train, progress, seconds)

    def look(self, run: Loaded, inputs: Sequence[Given], how: LookAtPlace) -> View:
        with forecasting.fields_of(run, only_one(inputs, "fields")) as stretch:
            return forecasting.place_view(run, stretch, how)

    def study(self, run: Loaded, inputs: Sequence[Given], how: LookAtPlace) -> Study:
        with forecasting.fields_of(run, only_one(inputs, "fields")) as stretch:
            return forecasting.study_place(run, stretch, how)

    def _own(self, run: Loaded) -> FieldData:
        """The run's own data."""
        training = from_json(run.config["training"], ForecastTraining)
        return self.card.reader.read(run.data.sources, run.data.valid, training)

    def _trained_on(self, run: Loaded) -> FieldSpan | None:
        """The fields that the run was trained on, where they are still there."""
        try:
            return self._own(run).train
        except DataError:
            return None


def _same_fields(codec: FieldCodec, data: FieldData) -> None:
    layers = tuple(layer.name for layer in data.fields.layers)
    if forecasting.grid_of(codec).same(data.fields.grid) and layers == tuple(
        x.name for x in forecasting.layers_of(codec)
    ):
        return
    problem = "the run to start from has other layers or another grid"
    raise DataError(problem, where="--from", fix="start from a run on fields like these, or leave out --from")
