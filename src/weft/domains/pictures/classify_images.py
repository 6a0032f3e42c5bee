"""classify-images: learn to tell what is in a picture. Pictures with labels in, a model that labels new ones out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, final

from weft.batches.samples import wanted
from weft.batches.source import Source
from weft.core import Pooled
from weft.domains.pictures import given as pictures
from weft.domains.pictures import recipe as recipes
from weft.domains.pictures.baselines import MOST_PICTURES, picture_baselines
from weft.domains.pictures.cards import CLASSIFY_IMAGES
from weft.domains.pictures.codec import PictureCodec
from weft.domains.pictures.dataset import PictureData
from weft.domains.pictures.encoded.batches import labelled_pictures
from weft.domains.pictures.encoded.seen import SeenPictures
from weft.domains.pictures.exchange import picture_codec_of, picture_proof, picture_settings, with_pictures
from weft.domains.pictures.reading.album import Album
from weft.domains.pictures.recipe import labelled_cost
from weft.domains.pictures.settings import Ground, PictureLabelTraining
from weft.domains.pictures.studies import study_picture
from weft.domains.pictures.views.vision import LookAtPicture
from weft.inspect.study import Study
from weft.inspect.views import View
from weft.interop import Imported
from weft.modalities.image import PictureEmbed
from weft.models.backbone import embed_of
from weft.models.stream import Model, Stream
from weft.objectives.objective import Objective
from weft.tasks.adopting import Adopted, label_codec, label_objective
from weft.tasks.asks import Answer, Given, Ways
from weft.tasks.baselines import Baseline
from weft.tasks.codec import Codecs
from weft.tasks.finetuning import decided as with_head_lr
from weft.tasks.finetuning import with_lora
from weft.tasks.labels import labelling
from weft.tasks.labels.baselines import LabelTarget
from weft.tasks.labels.classes import ClassCodec
from weft.tasks.labels.label import LabelCodec
from weft.tasks.labels.task import LabelTask
from weft.tasks.measuring import spread
from weft.tasks.outgoing import Outgoing, with_labels
from weft.tasks.parts import End, Parts
from weft.tasks.proof import Proof
from weft.tasks.recipe import with_model_settings
from weft.tasks.request import Draft, Embedded, Listen, Loaded, Measured, Request
from weft.tasks.table_inputs import InputRow
from weft.training.progress import Progress

MISTAKES = 24  # shown in the contact sheet
LabelDraft = Draft[PictureData, SeenPictures, PictureLabelTraining]


@final
class ClassifyImages(LabelTask[PictureData, SeenPictures, PictureLabelTraining]):
    """Vision Transformers and residual networks; labels are classes, or numbers."""

    card = CLASSIFY_IMAGES
    parts = (Parts({"picture": End.of(PictureCodec), "label": End.of(LabelCodec)}, (Stream,), PictureEmbed),)
    recipe = recipes.CLASSIFYING
    unit = "picture"
    thing = "a picture"
    starts_from = ("reconstruct-images", "distill-images", "caption")
    asks = (pictures.PICTURES,)
    embeds = (pictures.PICTURE,)
    Embed = pictures.Seeing
    Look = LookAtPicture

    class Predict(Ground, labelling.Labelling):
        """Settings of a prediction."""

        about: ClassVar[Mapping[str, str]] = {**labelling.Labelling.about, **Ground.about}

    def codecs(self, data: PictureData, training: PictureLabelTraining, known: Codecs) -> Codecs:
        album, kind = data.train, data.kind or "classes"
        label = labelling.learned(kind, album.classes, album.labels or (), known)
        return {"picture": pictures.picture_codec(data, training, known, aspect=False), "label": label}

    def encode(
        self,
        data: PictureData,
        codecs: Codecs,
        training: PictureLabelTraining,
        known: Model.Config | None,
        progress: Progress,
    ) -> SeenPictures:
        return pictures.seen_pictures(data, codecs, known, progress)

    def sized(self, draft: LabelDraft) -> tuple[Model.Config, PictureLabelTraining]:
        name = self.recipe.model_name(draft.request)
        outputs = labelling.codec_of(draft.codecs).outputs
        backbone = recipes.new_backbone(draft, self.recipe, outputs, labelled_cost, name)
        return with_model_settings(backbone, draft.request), self._decided(draft, backbone)

    def continued(self, draft: LabelDraft, origin: Loaded) -> tuple[Model.Config, PictureLabelTraining]:
        drop = self.recipe.rates[self.model_name(draft.request)].get("drop", 0.0)
        backbone = recipes.continued_backbone(origin, draft, drop)
        same = draft.codecs["label"].same(origin.codecs.get("label"))
        if not same:
            head = Pooled.Config(first=embed_of(backbone).class_tokens > 0, norm=getattr(backbone.head, "norm", None))
            backbone = backbone.replace(head=head, outputs=labelling.codec_of(draft.codecs).outputs)
        return with_lora(backbone, draft.training), with_head_lr(self._decided(draft, backbone), same_head=same)

    def _decided(self, draft: LabelDraft, backbone: Stream.Config) -> PictureLabelTraining:
        return recipes.decided(draft, backbone, labelled_cost).replace(labels=draft.data.kind)

    def model_name(self, request: Request) -> str:
        return recipes.continued_name(self.recipe, request)

    def objective(self, encoded: SeenPictures, codecs: Codecs, training: PictureLabelTraining) -> Objective.Config:
        return labelling.objective(labelling.codec_of(codecs), smoothing=training.smoothing)

    def source(
        self, encoded: SeenPictures, codecs: Codecs, model: Model.Config, training: PictureLabelTraining
    ) -> Source:
        codec, data = labelling.codec_of(codecs), encoded.data
        train, held = (wanted(codec.encode(album.labels or (), data.rule)) for album in (data.train, data.held_out))
        how, stride = training.augment, embed_of(model).stride
        source = labelled_pictures(encoded, train, held, how=how, stride=stride, seed=training.seed)
        return pictures.read_ahead(source, encoded)

    def batch_in_words(self, training: PictureLabelTraining, source: Source) -> str:
        return recipes.batch_in_words(training)

    def facts(self, run: Loaded) -> Mapping[str, str]:
        codec = labelling.codec_of(run.codecs)
        kind = f"{len(codec.names)} classes" if isinstance(codec, ClassCodec) else "numbers"
        return {"labels": kind, **recipes.picture_facts(run)}

    def opened(self, run: Loaded, words: Sequence[object], ways: Ways) -> Iterator[Given]:
        return pictures.opened_pictures(words)

    def from_row(self, run: Loaded, row: InputRow, ways: Ways) -> Given:
        return pictures.with_scale(super().from_row(run, row, ways), row)

    def predict(self, run: Loaded, inputs: Sequence[Given], how: Predict, listen: Listen | None) -> list[Answer]:
        run, (names, frames) = run.computing(how.precision), pictures.given_pictures(run, inputs, how)
        values = pictures.values_of(run, frames, pictures.classifier_of(run))
        codec = labelling.at_threshold(labelling.codec_of(run.codecs), how.threshold)
        found = labelling.predictions(codec, values, names, how.top, how.choices)
        return [Answer(i, one) for i, one in enumerate(found)]

    def embedded(self, run: Loaded, inputs: Sequence[Given], how: pictures.Seeing) -> Embedded:
        return pictures.picture_vectors(run, inputs, how)

    def held_out(self, run: Loaded, sources: Sequence[str]) -> Album:
        return pictures.measured_album(sources, self.read_by(run), labels=True)

    def measure(self, run: Loaded, held_out: Album, progress: Progress, seconds: float | None = None) -> Measured:
        codec, true, frames = labelling.codec_of(run.codecs), held_out.labels or (), pictures.frames_for(run, held_out)
        codec.encode(true)  # refuses unknown labels before anything is computed
        values = pictures.values_of(run, frames, pictures.classifier_of(run), progress)
        found = labelling.measured(codec, values, true, held_out.names, called="picture")
        wrong = labelling.surest_mistakes(codec, values, true, MISTAKES)
        return replace(found, pictures=lambda: {**found.pictures(), **pictures.mistakes(frames, wrong)})

    def labels(self, rows: Album) -> Sequence[str]:
        return rows.labels or ()

    def learned_baselines(self, run: Loaded, target: LabelTarget, train: Album, held_out: Album) -> Iterator[Baseline]:
        return picture_baselines(run, target, train, held_out)

    def baselines(self, run: Loaded, data: PictureData, held_out: Album, measured: Measured) -> Iterator[Baseline]:
        few = spread(data.train, MOST_PICTURES) if len(data.train) > MOST_PICTURES else data.train
        return super().baselines(run, replace(data, train=few), held_out, measured)

    def look(self, run: Loaded, inputs: Sequence[Given], how: LookAtPicture) -> View:
        return pictures.look_at_picture(run, inputs, how, labelling.codec_of(run.codecs))

    def study(self, run: Loaded, inputs: Sequence[Given], how: LookAtPicture) -> Study:
        return study_picture(run, inputs, how, labelling.codec_of(run.codecs))

    def adopted(self, model: Imported) -> Adopted:
        label = label_codec(model)
        codecs = {**({} if label is None else {"label": label}), **picture_codec_of(model)}
        return Adopted(codecs, label_objective(label), picture_settings(model))

    def outgoing(self, run: Loaded) -> Outgoing:
        return with_pictures(with_labels(run), run)

    def proof(self, run: Loaded, tolerance: float) -> Proof | None:
        return picture_proof(self, run, tolerance)
