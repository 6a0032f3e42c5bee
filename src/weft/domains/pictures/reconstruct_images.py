"""reconstruct-images: hide most of each picture and fill it in (MAE). No labels; classifiers start from here."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import final

import torch

from weft.batches.source import Source
from weft.config import from_json
from weft.domains.pictures import given as pictures
from weft.domains.pictures.cards import RECONSTRUCT_IMAGES
from weft.domains.pictures.codec import PictureCodec
from weft.domains.pictures.dataset.pictures import PictureData
from weft.domains.pictures.encoded.batches import plain_pictures
from weft.domains.pictures.encoded.frames import by_shape
from weft.domains.pictures.encoded.seen import SeenPictures
from weft.domains.pictures.exchange import picture_codec_of, picture_settings, with_pictures
from weft.domains.pictures.filling import Filling, answers, fill, sheet, squared_errors
from weft.domains.pictures.reading.album import Album
from weft.domains.pictures.recipe import sizes as recipes
from weft.domains.pictures.recipe.costs import hiding_cost
from weft.domains.pictures.settings import HidingTraining
from weft.domains.pictures.views.vision import LookAtPicture
from weft.errors import WeftError
from weft.inspect.views import View
from weft.interop import Imported
from weft.modalities.image import PictureEmbed
from weft.models.autoencoder import Autoencoder
from weft.models.backbone import embed_of
from weft.models.stream import Model
from weft.models.zoo.vision import autoencoder
from weft.objectives.reconstruct import Reconstruct
from weft.tasks.adopting import Adopted
from weft.tasks.asks import Answer, Given, Gives, Ways
from weft.tasks.codec import Codecs
from weft.tasks.finetuning import with_lora
from weft.tasks.outgoing import Outgoing, with_labels
from weft.tasks.parts import End, Parts
from weft.tasks.recipe import with_model_settings
from weft.tasks.request import Draft, Embedded, Listen, Loaded, Measured, Prediction
from weft.tasks.task import Task
from weft.training.progress import Progress

SHOWN = 8  # pictures in the sheet of a run
SHARES = (0.25, 0.5, 0.75)  # of hidden patches, at which a run is measured
HidingDraft = Draft[PictureData, SeenPictures, HidingTraining]


@final
class ReconstructImages(Task[PictureData, SeenPictures, HidingTraining]):
    """Masked autoencoders."""

    card = RECONSTRUCT_IMAGES
    parts = (Parts({"picture": End.of(PictureCodec)}, (Autoencoder,), PictureEmbed),)
    recipe = recipes.HIDING
    unit = "patch"
    asks = (pictures.PICTURES,)
    embeds = (pictures.PICTURE,)
    Embed = pictures.Seeing
    Look = LookAtPicture
    Predict = Filling

    def codecs(self, data: PictureData, training: HidingTraining, known: Codecs) -> Codecs:
        return {"picture": pictures.picture_codec(data, training, known)}

    def encode(
        self,
        data: PictureData,
        codecs: Codecs,
        training: HidingTraining,
        known: Model.Config | None,
        progress: Progress,
    ) -> SeenPictures:
        return pictures.seen_pictures(data, codecs, known, progress)

    def sized(self, draft: HidingDraft) -> tuple[Model.Config, HidingTraining]:
        backbone = recipes.new_backbone(draft, self.recipe, None, hiding_cost)
        model = with_model_settings(autoencoder(backbone), draft.request)
        return model, recipes.decided(draft, backbone, hiding_cost)

    def continued(self, draft: HidingDraft, origin: Loaded) -> tuple[Model.Config, HidingTraining]:
        backbone = recipes.continued_backbone(origin, draft.training, 0.0)
        model = _autoencoder(origin).config.replace(encoder=backbone)
        return with_lora(model, draft.training), recipes.decided(draft, backbone, hiding_cost)

    def objective(self, encoded: SeenPictures, codecs: Codecs, training: HidingTraining) -> Reconstruct.Config:
        return Reconstruct.Config(hide=training.hide, even=training.even)

    def source(self, encoded: SeenPictures, codecs: Codecs, model: Model.Config, training: HidingTraining) -> Source:
        source = plain_pictures(encoded, training.augment, embed_of(model).stride, training.seed)
        return pictures.read_ahead(source, encoded)

    def batch_in_words(self, training: HidingTraining, source: Source) -> str:
        return recipes.batch_in_words(training)

    def illustrate(self, encoded: SeenPictures, model: Model.Config) -> Callable[[Model], Mapping[str, bytes]]:
        _, picture = next(by_shape(encoded.held_out, encoded.codec, embed_of(model).stride, SHOWN))

        def draw(model: Model) -> Mapping[str, bytes]:
            assert isinstance(model, Autoencoder)
            return {"reconstructions.png": sheet(model, picture.to(next(model.parameters()).device))}

        return draw

    def ability(self, run: Loaded) -> str:
        return "Fills in hidden parts of pictures"

    def facts(self, run: Loaded) -> Mapping[str, str]:
        return recipes.picture_facts(run)

    def gives(self, run: Loaded) -> Gives:
        return Gives("picture")

    def opened(self, run: Loaded, words: Sequence[object], ways: Ways) -> Iterator[Given]:
        return pictures.opened_pictures(words)

    def predict(self, run: Loaded, inputs: Sequence[Given], how: Filling, listen: Listen | None) -> list[Answer]:
        names, frames = pictures.given_pictures(run, inputs, how)
        return answers(_autoencoder(run), names, pictures.in_batches(run, frames), how)

    def shown(self, prediction: Prediction) -> str:
        error = f" (error on what was hidden: {prediction['rmse']:.1f} of 255)" if "rmse" in prediction else ""
        return f"{prediction['input']} -> {prediction['output']}{error}"

    def embedded(self, run: Loaded, inputs: Sequence[Given], how: pictures.Seeing) -> Embedded:
        return pictures.picture_vectors(run, inputs, how)

    def held_out(self, run: Loaded, sources: Sequence[str]) -> Album:
        return pictures.measured_album(run, sources, labels=False)

    @torch.inference_mode()
    def measure(self, run: Loaded, held_out: Album, progress: Progress, seconds: float | None = None) -> Measured:
        model, frames = _autoencoder(run), pictures.frames_for(run, held_out)
        objective = from_json(run.config["objective"], Reconstruct.Config).build()
        total, seen = 0.0, 0
        errors: dict[float, list[float]] = {share: [] for share in SHARES}
        for _, picture in pictures.in_batches(run, frames, progress):
            loss = objective(model.eval(), picture)
            total, seen = total + float(loss.total), seen + loss.count
            for share, squares in errors.items():
                squares += [one for one in squared_errors(picture, *fill(model, picture, share)) if one is not None]
        metrics = {f"rmse_{100 * share:.0f}_hidden": (sum(s) / max(1, len(s))) ** 0.5 for share, s in errors.items()}
        _, first = next(pictures.in_batches(run, frames, at_once=SHOWN))
        drawn = {"reconstructions.png": sheet(model, first)}
        return Measured(len(held_out), {"loss": total / max(1, seen), **metrics}, {}, drawn)

    def look(self, run: Loaded, inputs: Sequence[Given], how: LookAtPicture) -> View:
        return pictures.look_at_picture(run, inputs, how)

    def adopted(self, model: Imported) -> Adopted:
        return Adopted(picture_codec_of(model), Reconstruct.Config(), picture_settings(model))

    def outgoing(self, run: Loaded) -> Outgoing:
        return with_pictures(with_labels(run), run)


def _autoencoder(run: Loaded) -> Autoencoder:
    if not isinstance(run.model, Autoencoder):
        raise WeftError("this model fills nothing in: it is no autoencoder", where=str(run.folder.path))
    return run.model
