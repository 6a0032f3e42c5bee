"""reconstruct-images: hide most of each picture and fill it in (MAE). No labels; classifiers start from here."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import ClassVar, final

import numpy as np
import torch
from torch import Tensor

from weft.batches.source import Source
from weft.config import from_json
from weft.domains.pictures import given as pictures
from weft.domains.pictures import recipe as recipes
from weft.domains.pictures.cards import RECONSTRUCT_IMAGES
from weft.domains.pictures.codec import PictureCodec
from weft.domains.pictures.dataset import PictureData
from weft.domains.pictures.encoded.batches import plain_pictures
from weft.domains.pictures.encoded.frames import by_shape
from weft.domains.pictures.encoded.seen import SeenPictures
from weft.domains.pictures.exchange import picture_codec_of, picture_settings, with_pictures
from weft.domains.pictures.filling import answers, fill, sheet, squared_errors, squared_steps
from weft.domains.pictures.reading.album import Album
from weft.domains.pictures.recipe import hiding_cost
from weft.domains.pictures.settings import Ground, HidingTraining
from weft.domains.pictures.studies import study_patch
from weft.domains.pictures.views.vision import LookAtPicture
from weft.errors import ConfigError, WeftError
from weft.inspect.study import Study
from weft.inspect.views import View
from weft.interop import Imported
from weft.modalities.image import Picture, PictureEmbed
from weft.models.autoencoder import Autoencoder
from weft.models.backbone import embed_of
from weft.models.stream import Model
from weft.models.zoo.vision import autoencoder
from weft.objectives.measures.tallies import Tally, root
from weft.objectives.reconstruct import Reconstruct
from weft.tasks.adopting import Adopted
from weft.tasks.asks import Answer, Given, Gives, Ways
from weft.tasks.baselines import Baseline
from weft.tasks.codec import Codecs
from weft.tasks.finetuning import with_lora
from weft.tasks.outgoing import Outgoing, with_labels
from weft.tasks.parts import End, Parts
from weft.tasks.recipe import with_model_settings
from weft.tasks.request import Draft, Embedded, Listen, Loaded, Measured, Prediction
from weft.tasks.table_inputs import InputRow
from weft.tasks.task import Task
from weft.training.progress import Progress


class Filling(Ground):
    """Settings of a prediction."""

    hide: float = 0.75
    seed: int = 0
    out: str = "."

    names_files: ClassVar[tuple[str, ...]] = ("out",)
    about: ClassVar[Mapping[str, str]] = {
        "hide": "mask ratio: the share of the patches that are hidden; 0 fills in only missing pixels",
        "seed": "random seed; another seed hides other patches",
        "out": "the folder into which the filled-in pictures are written",
        **Ground.about,
    }

    def check(self) -> None:
        super().check()
        if not 0 <= self.hide < 1:
            raise ConfigError(f"must be at least 0 and below 1, found {self.hide}", where="hide")


SHOWN, MOST_SHOWN = 8, 24  # pictures in the sheet of a run: one of each class where there are more than SHOWN
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
        backbone = recipes.continued_backbone(origin, draft, 0.0)
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
        some = encoded.held_out.take(encoded.data.held_out.across_classes(SHOWN, MOST_SHOWN))
        shown = [picture for _, picture in by_shape(some, encoded.codec, embed_of(model).stride, MOST_SHOWN)]

        def draw(model: Model) -> Mapping[str, bytes]:
            assert isinstance(model, Autoencoder)
            device = next(model.parameters()).device
            return {"reconstructions.png": sheet(model, [picture.to(device) for picture in shown])}

        return draw

    def ability(self, run: Loaded) -> str:
        return "Fills in hidden parts of pictures"

    def facts(self, run: Loaded) -> Mapping[str, str]:
        return recipes.picture_facts(run)

    def gives(self, run: Loaded) -> Gives:
        return Gives("picture", columns=("output", "rmse"))

    def opened(self, run: Loaded, words: Sequence[object], ways: Ways) -> Iterator[Given]:
        return pictures.opened_pictures(words)

    def from_row(self, run: Loaded, row: InputRow, ways: Ways) -> Given:
        return pictures.with_scale(super().from_row(run, row, ways), row)

    def predict(self, run: Loaded, inputs: Sequence[Given], how: Filling, listen: Listen | None) -> list[Answer]:
        names, frames = pictures.given_pictures(run, inputs, how)
        assert isinstance(frames.pictures, pictures.Handed)
        batches = pictures.in_batches(run, frames)
        return answers(_autoencoder(run), names, frames.pictures, batches, how.hide, seed=how.seed, out=how.out)

    def shown(self, prediction: Prediction) -> str:
        error = f" (error on what was hidden: {prediction['rmse']:.1f} of 255)" if "rmse" in prediction else ""
        return f"{prediction['input']} -> {prediction['output']}{error}"

    def embedded(self, run: Loaded, inputs: Sequence[Given], how: pictures.Seeing) -> Embedded:
        return pictures.picture_vectors(run, inputs, how)

    def held_out(self, run: Loaded, sources: Sequence[str]) -> Album:
        return pictures.measured_album(sources, self.read_by(run), labels=False)

    @torch.inference_mode()
    def measure(self, run: Loaded, held_out: Album, progress: Progress, seconds: float | None = None) -> Measured:
        model, frames = _autoencoder(run), pictures.frames_for(run, held_out)
        objective = from_json(run.config["objective"], Reconstruct.Config).build()
        total, seen = 0.0, 0
        errors: dict[float, list[float]] = {share: [] for share in SHARES}
        plain, steps = list[float](), np.zeros(2)
        for _, picture in pictures.in_batches(run, frames, progress):
            loss = objective(model.eval(), picture)
            total, seen = total + float(loss.total), seen + loss.count
            for share, squares in errors.items():
                filled, shown = fill(model, picture, share)
                squares += [one for one in squared_errors(picture, filled, shown) if one is not None]
                if share == SHARES[-1]:
                    steps += squared_steps(picture, filled, shown, embed_of(model.config).stride).sum(0)
                    mean = _mean_shown(picture, shown)
                    plain += [one for one in squared_errors(picture, mean, shown) if one is not None]
        metrics = {f"rmse_{100 * share:.0f}_hidden": (sum(s) / max(1, len(s))) ** 0.5 for share, s in errors.items()}
        name = list(metrics)[-1]
        own, plainly = (
            Tally(name, np.stack([s, np.ones(len(s))], 1), root, lower=True) for s in (errors[SHARES[-1]], plain)
        )
        beside = (Baseline("mean", "the mean of the visible pixels", plainly),) if plain else ()
        found = {"loss": total / max(1, seen), **metrics, "sharpness": _sharpness(steps)}

        def drawn() -> Mapping[str, bytes]:
            some = frames.take(held_out.across_classes(SHOWN, MOST_SHOWN))
            return {"reconstructions.png": sheet(model, [one for _, one in pictures.in_batches(run, some)])}

        return Measured(len(held_out), found, {}, drawn, own, beside)

    def look(self, run: Loaded, inputs: Sequence[Given], how: LookAtPicture) -> View:
        return pictures.look_at_picture(run, inputs, how)

    def study(self, run: Loaded, inputs: Sequence[Given], how: LookAtPicture) -> Study:
        return study_patch(_autoencoder(run), run, inputs, how)

    def adopted(self, model: Imported) -> Adopted:
        return Adopted(picture_codec_of(model), Reconstruct.Config(), picture_settings(model))

    def outgoing(self, run: Loaded) -> Outgoing:
        return with_pictures(with_labels(run), run)


def _sharpness(steps: np.ndarray) -> float:
    """The root of squared steps as filled in, over those of the truth; 1 where both are even."""
    made, true = steps
    return float(np.sqrt(made / true)) if true > 0 else float(made == 0)


def _mean_shown(picture: Picture, shown: Tensor) -> Tensor:
    """Pictures with the mean of the pixels that are shown wherever one is hidden."""
    seen = shown if picture.missing is None else shown & ~picture.missing
    counts = seen.sum((2, 3), keepdim=True).clamp(min=1)
    mean = torch.where(seen, picture.pixels, 0).sum((2, 3), keepdim=True) / counts
    return torch.where(shown, picture.pixels, mean.expand_as(picture.pixels))


def _autoencoder(run: Loaded) -> Autoencoder:
    if not isinstance(run.model, Autoencoder):
        raise WeftError("this model fills nothing in: it is no autoencoder", where=str(run.folder.path))
    return run.model
