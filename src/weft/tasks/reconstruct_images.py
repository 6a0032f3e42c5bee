"""Reconstruct pictures: hide most of each, learn to fill it in (MAE). No labels are needed; classifiers start from here."""

import math
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch

from weft.config import from_json
from weft.data.images.frames import by_shape
from weft.data.images.reading import read_images
from weft.data.images.views import PlainPictures
from weft.data.source import Source
from weft.data.survey import NO, Judgement, Survey
from weft.errors import ConfigError
from weft.inspect.figures import png_of
from weft.inspect.sheets import reconstructions, veiled
from weft.modalities.image import Picture, paste
from weft.models.autoencoder import Autoencoder
from weft.models.stream import Model, Stream
from weft.models.zoo.vision import autoencoder
from weft.objectives.reconstruct import Reconstruct, draw_shown
from weft.storage.store import write_file
from weft.tasks.picture_data import PictureData, Seen
from weft.tasks.picture_input import Ground, as_read, frames_for, given_pictures
from weft.tasks.picture_plan import HIDING, PictureTraining, embed_of, forward_operations, shape
from weft.tasks.pictures import PictureTask
from weft.tasks.task import Ending, Loaded, Measured, with_settings
from weft.training.card import finite
from weft.training.progress import Progress
from weft.training.run import Outcome

SHOWN = 8  # pictures in the sheet of a run
SHARES = (0.25, 0.5, 0.75)  # of hidden patches, at which a run is measured
BATCH = 64  # pictures computed at once


class HidingTraining(PictureTraining):
    """Settings of a training that hides patches."""

    hide: float = 0.75
    even: bool = False

    about = {
        **PictureTraining.about,
        "hide": "share of the patches that are hidden",
        "even": "score patches brought to mean 0 and spread 1 each: often better to start classifiers from",
    }


class Filling(Ground):
    """Settings of a prediction."""

    hide: float = 0.75
    seed: int = 0
    out: str = "."

    about: ClassVar[Mapping[str, str]] = {
        "hide": "share of the patches that are hidden; 0 fills in missing pixels alone",
        "seed": "another seed hides others",
        "out": "the folder for the pictures that are filled in",
        **Ground.about,
    }

    def check(self) -> None:
        super().check()
        if not 0 <= self.hide < 1:
            raise ConfigError(f"must be at least 0 and below 1, found {self.hide}", where="hide")


class ReconstructImages(PictureTask):
    """Fills in what is hidden or missing."""

    name = "reconstruct-images"
    summary = "learn to fill in hidden parts of pictures"
    files = "a folder (or .zip, .tar) of pictures, classes or not; .csv with path (and metres_per_pixel); .npz with x"
    models = {
        "mae": "masked autoencoder: a transformer over the visible patches, and a small one that fills in",
        "scale-mae": "the same with places in metres on the ground, for pictures of several scales",
    }
    settings = HidingTraining
    use = Filling
    catalogue = HIDING
    takes = ("reconstruct-images",)

    def judge(self, survey: Survey) -> Judgement:
        return NO  # pictures are for classifying, unless someone asks for this

    def wrapped(self, backbone: Stream.Config, data: PictureData, settings: PictureTraining) -> Model.Config:
        return autoencoder(backbone)

    def cost(self, backbone: Stream.Config, settings: PictureTraining) -> float:
        assert isinstance(settings, HidingTraining)
        kept = max(1, round((1 - settings.hide) * math.prod(embed_of(backbone).grid)))
        with torch.device("meta"):
            model, shown = autoencoder(backbone).build(), torch.empty(2, kept, dtype=torch.long)
        return 3 * forward_operations(lambda picture: model(picture, shown), embed_of(backbone))

    def objective(self, settings: PictureTraining) -> Reconstruct.Config:
        assert isinstance(settings, HidingTraining)
        return Reconstruct.Config(hide=settings.hide, even=settings.even)

    def source(self, data: PictureData, seen: Seen, settings: PictureTraining, stride: int) -> Source:
        return PlainPictures(
            seen.train,
            seen.held_out,
            how=settings.augment,
            stride=stride,
            fingerprint=data.fingerprint,
            seed=settings.seed,
        )

    def illustrations(self, seen: Seen, stride: int) -> Callable[[Model], Mapping[str, bytes]]:
        _rows, picture = next(by_shape(seen.held_out, stride, SHOWN))

        def draw(model: Model) -> Mapping[str, bytes]:
            assert isinstance(model, Autoencoder)
            return {"reconstructions.png": sheet(model, picture)}

        return draw

    def finish(self, run: Loaded, outcome: Outcome, progress: Progress) -> Ending:
        data = run.config["data"]
        measured = self.evaluate(run, (), progress)
        backbone = _model(run).config.encoder
        return Ending(
            metrics=measured.metrics,
            summary=f"Fills in hidden parts of pictures: trained by weft on {data['described']}.",
            use=f"weft predict {shlex.quote(str(run.folder.path))} picture.jpg",
            facts={
                "model": f"{run.config['model_name']}, {shape(backbone)}",
                "pictures": f"{data['pictures']:,} to train on, {data['held_out']:,} held out",
                "held out": data["rule"],
                "seed": str(run.config["training"]["seed"]),
            },
            unit="patch",
            pictures=measured.pictures,
        )

    def predict(
        self, run: Loaded, inputs: Sequence[Any], settings: Mapping[str, Any], listen: Callable[[int, str], None] | None
    ) -> list[dict[str, Any]]:
        how, model = with_settings(Filling(), settings), _model(run)
        names, pictures = given_pictures(run, inputs)
        Path(how.out).mkdir(parents=True, exist_ok=True)
        found = []
        for name, picture in zip(names, pictures, strict=True):
            read = as_read(run, picture, embed_of(model.config.encoder), how)
            filled, shown = fill(model, read, how.hide, seed=how.seed)
            path = Path(how.out) / f"{Path(name).stem}-filled.png"
            write_file(path, png_of(_bytes(filled)[0]))
            error = rmse(model, read, filled, shown)
            found.append({"input": name, "output": str(path), **({} if error is None else {"rmse": round(error, 3)})})
        return found

    def shown(self, prediction: Mapping[str, Any]) -> str:
        error = f" (error on what was hidden: {prediction['rmse']:.1f} of 255)" if "rmse" in prediction else ""
        return f"{prediction['input']} -> {prediction['output']}{error}"

    def evaluate(self, run: Loaded, data: Sequence[str], progress: Progress) -> Measured:
        if data:
            found = read_images(data, labels=False, skip=from_json(run.config["training"], HidingTraining).allowed)
            album, what = found.held_out or found.train, ", ".join(data)
        else:
            album, what = self.own_data(run)
        model, frames = _model(run), frames_for(run, album)
        stride = embed_of(model.config.encoder).stride
        objective = from_json(run.config["objective"], Reconstruct.Config).build()
        total, seen, errors = 0.0, 0, {share: [0.0, 0] for share in SHARES}
        with torch.inference_mode():
            for _, picture in by_shape(frames, stride, BATCH):
                loss = objective(model.eval(), picture)
                total, seen = total + float(loss.total), seen + loss.count
                for share, sums in errors.items():
                    filled, shown = fill(model, picture, share)
                    error = rmse(model, picture, filled, shown)
                    sums[0] += 0.0 if error is None else error**2 * len(picture)
                    sums[1] += 0 if error is None else len(picture)
            first = next(by_shape(frames, stride, SHOWN))[1]
            pictures = {"reconstructions.png": sheet(model, first)}
        by_share = {
            f"rmse_{share:.0%}_hidden".replace("%", ""): (s / max(1, n)) ** 0.5 for share, (s, n) in errors.items()
        }
        return Measured(what, len(album), finite({"loss": total / max(1, seen), **by_share}), {}, pictures)


@torch.inference_mode()
def fill(model: Autoencoder, picture: Picture, hide: float, *, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Pictures with what is hidden or missing filled in, from 0 to 1, and which patches were shown."""
    model.eval()
    embed = model.encoder.embed
    shown = draw_shown(model, picture, hide, seed=seed)
    height, width = picture.pixels.shape[2:]
    made = paste(model(picture, shown), height, width, embed.patch) / embed.scale + embed.mean
    seen = visible(model, picture, shown)
    return torch.where(seen, picture.pixels, made.clamp(0, 1)), shown


def visible(model: Autoencoder, picture: Picture, shown: torch.Tensor) -> torch.Tensor:
    """Which pixels the model was given."""
    embed, (height, width) = model.encoder.embed, picture.pixels.shape[2:]
    count = embed.coordinates(picture)["row"].shape[1]
    patches = torch.zeros(len(picture), count, dtype=torch.bool).scatter(1, shown, True)
    readable = embed.readable(picture)
    patches = patches if readable is None else patches & readable
    pixels = paste(patches[..., None].expand(-1, -1, embed.patch**2), height, width, embed.patch)
    return pixels if picture.missing is None else pixels & ~picture.missing


def rmse(model: Autoencoder, picture: Picture, filled: torch.Tensor, shown: torch.Tensor) -> float | None:
    """The root of the mean square error on known pixels that were hidden, in steps of 255; None where there are none."""
    hidden = ~visible(model, picture, shown)
    hidden = hidden if picture.missing is None else hidden & ~picture.missing
    wrong = ((filled - picture.pixels) ** 2)[hidden.expand_as(filled)]
    return None if not len(wrong) else 255 * float(wrong.mean()) ** 0.5


def sheet(model: Autoencoder, picture: Picture) -> bytes:
    """Some pictures, what was shown of them, and what was made of that."""
    rows = []
    filled, shown = fill(model, picture, 0.75)
    seen = visible(model, picture, shown)
    whole, made = _bytes(picture.pixels), _bytes(filled)
    for i in range(len(picture)):
        rows.append((whole[i], veiled(whole[i], seen[i, 0].numpy()), made[i]))
    return reconstructions(rows, ("picture", "shown: a quarter", "filled in"))


def _bytes(pixels: torch.Tensor) -> np.ndarray:
    return (255 * pixels.permute(0, 2, 3, 1)).round().byte().cpu().numpy()


def _model(run: Loaded) -> Autoencoder:
    assert isinstance(run.model, Autoencoder)
    return run.model
