"""reconstruct-images: hide most of each picture and fill it in (MAE). No labels; classifiers start from here."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar, final

import numpy as np
import torch
from jaxtyping import Bool, Float
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
from weft.domains.pictures.reading.album import Album
from weft.domains.pictures.recipe import hiding_cost
from weft.domains.pictures.settings import Ground, HidingTraining
from weft.domains.pictures.views.vision import LookAtPicture
from weft.errors import ConfigError, WeftError
from weft.inspect.figures import png_of
from weft.inspect.sheets import reconstructions, veiled
from weft.inspect.views import View
from weft.interop import Imported
from weft.modalities.image import Picture, PictureEmbed, paste
from weft.models.autoencoder import Autoencoder
from weft.models.backbone import embed_of
from weft.models.stream import Model
from weft.models.zoo.vision import autoencoder
from weft.objectives.measures.tallies import Tally, root
from weft.objectives.reconstruct import Reconstruct, draw_shown
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


@torch.inference_mode()
def fill(
    model: Autoencoder, picture: Picture, hide: float, *, seed: int = 0, alike: bool = False
) -> tuple[Float[Tensor, "B C Y X"], Bool[Tensor, "B 1 Y X"]]:
    """Pictures with what is hidden or missing filled in, from 0 to 1, and which pixels the model was given.

    With `alike` the same patches are hidden in every picture.
    """
    model.eval()
    embed = model.encoder.embed
    shown = draw_shown(model, picture, hide, seed=seed, alike=alike)
    height, width = picture.pixels.shape[2:]
    made = paste(model(picture, shown), height, width, embed.patch) / embed.scale + embed.mean
    seen = _visible(model, picture, shown)
    return torch.where(seen, picture.pixels, made.clamp(0, 1)), seen


def _visible(model: Autoencoder, picture: Picture, shown: Tensor) -> Bool[Tensor, "B 1 Y X"]:
    """Which pixels the model was given."""
    embed, (height, width) = model.encoder.embed, picture.pixels.shape[2:]
    count = embed.coordinates(picture)["row"].shape[1]
    patches = torch.zeros(len(picture), count, dtype=torch.bool, device=shown.device).scatter(1, shown, True)
    readable = embed.readable(picture)
    patches = patches if readable is None else patches & readable
    pixels = paste(patches[..., None].expand(-1, -1, embed.patch**2), height, width, embed.patch)
    return pixels if picture.missing is None else pixels & ~picture.missing


def squared_errors(picture: Picture, filled: Tensor, seen: Tensor) -> list[float | None]:
    """For each picture the mean square error on known pixels that were hidden, in steps of 255; None without any."""
    hidden = ~seen if picture.missing is None else ~seen & ~picture.missing
    squares = (255 * (filled - picture.pixels)) ** 2
    found = [one[mask.expand_as(one)] for one, mask in zip(squares, hidden, strict=True)]
    return [float(wrong.mean()) if len(wrong) else None for wrong in found]


def answers(
    model: Autoencoder, names: Sequence[str], batches: Iterable[tuple[np.ndarray, Picture]], how: Filling
) -> list[Answer]:
    """For each picture the file that it is filled in as, and how wrong that is where the truth is known."""
    found = [Answer(i) for i in range(len(names))]
    for rows, picture in batches:
        filled, seen = fill(model, picture, how.hide, seed=how.seed, alike=True)
        errors = squared_errors(picture, filled, seen)
        for row, pixels, error in zip(rows, as_bytes(filled), errors, strict=True):
            path = str(Path(how.out) / f"{Path(names[row]).stem}-filled.png")
            wrong = {} if error is None else {"rmse": round(error**0.5, 3)}
            values = {"input": names[row], "output": path, **wrong}
            found[row] = Answer(int(row), values, {path: partial(png_of, pixels)})
    return found


@torch.inference_mode()
def sheet(model: Autoencoder, picture: Picture) -> bytes:
    """Some pictures, what was shown of them, and what was made of that."""
    filled, seen = fill(model, picture, 0.75)
    whole, made, shown = as_bytes(picture.pixels), as_bytes(filled), seen[:, 0].cpu().numpy()
    rows = [(whole[i], veiled(whole[i], shown[i]), made[i]) for i in range(len(picture))]
    return reconstructions(rows, ("picture", "shown: a quarter", "filled in"))


def as_bytes(pixels: Float[Tensor, "B C Y X"]) -> np.ndarray:
    """Pictures as files have them: height, width and channels, from 0 to 255."""
    return (255 * pixels.permute(0, 2, 3, 1)).round().byte().cpu().numpy()


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
        return Gives("picture", columns=("output", "rmse"))

    def opened(self, run: Loaded, words: Sequence[object], ways: Ways) -> Iterator[Given]:
        return pictures.opened_pictures(words)

    def from_row(self, run: Loaded, row: InputRow, ways: Ways) -> Given:
        return pictures.with_scale(super().from_row(run, row, ways), row)

    def predict(self, run: Loaded, inputs: Sequence[Given], how: Filling, listen: Listen | None) -> list[Answer]:
        names, frames = pictures.given_pictures(run, inputs, how)
        return answers(_autoencoder(run), names, pictures.in_batches(run, frames), how)

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
        plain = list[float]()
        for _, picture in pictures.in_batches(run, frames, progress):
            loss = objective(model.eval(), picture)
            total, seen = total + float(loss.total), seen + loss.count
            for share, squares in errors.items():
                filled, shown = fill(model, picture, share)
                squares += [one for one in squared_errors(picture, filled, shown) if one is not None]
                if share == SHARES[-1]:
                    mean = _mean_shown(picture, shown)
                    plain += [one for one in squared_errors(picture, mean, shown) if one is not None]
        metrics = {f"rmse_{100 * share:.0f}_hidden": (sum(s) / max(1, len(s))) ** 0.5 for share, s in errors.items()}
        _, first = next(pictures.in_batches(run, frames, at_once=SHOWN))
        name = list(metrics)[-1]
        own, plainly = (
            Tally(name, np.stack([s, np.ones(len(s))], 1), root, lower=True) for s in (errors[SHARES[-1]], plain)
        )
        beside = (Baseline("mean", "the mean of the visible pixels", plainly),) if plain else ()
        found = {"loss": total / max(1, seen), **metrics}
        return Measured(len(held_out), found, {}, lambda: {"reconstructions.png": sheet(model, first)}, own, beside)

    def look(self, run: Loaded, inputs: Sequence[Given], how: LookAtPicture) -> View:
        return pictures.look_at_picture(run, inputs, how)

    def adopted(self, model: Imported) -> Adopted:
        return Adopted(picture_codec_of(model), Reconstruct.Config(), picture_settings(model))

    def outgoing(self, run: Loaded) -> Outgoing:
        return with_pictures(with_labels(run), run)


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
