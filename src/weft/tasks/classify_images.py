"""Classify pictures: from folders with one sub-folder a class to a model that names the class of a new picture."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from weft.config import from_json
from weft.core import Pooled
from weft.data.images.album import Album
from weft.data.images.batches import LabelledPictures
from weft.data.images.frames import Frames, by_shape
from weft.data.images.reading import read_images
from weft.data.source import Source
from weft.errors import DataError, WeftError
from weft.inspect.confusion import confusion
from weft.inspect.sheets import contact_sheet
from weft.models.stream import Model, Stream
from weft.objectives.classify import Classify
from weft.objectives.measures import class_measures, confusion_counts
from weft.tasks.backbones import backbone_weights
from weft.tasks.picture_data import PictureData, Seen
from weft.tasks.picture_input import Ground, as_read, frames_for, given_pictures
from weft.tasks.picture_plan import PictureTraining, class_numbers, embed_of, shape
from weft.tasks.pictures import PictureTask
from weft.tasks.task import Ending, Loaded, Measured, Request, with_settings
from weft.tasks.text_data import several
from weft.training.card import finite
from weft.training.progress import Progress, counter
from weft.training.run import Outcome

BATCH = 64  # pictures computed at once
MISTAKES = 24  # shown in the contact sheet


class Naming(Ground):
    """Settings of a prediction."""

    top: int = 0

    about = {"top": "so many of the likeliest classes; 0 lists all", **Ground.about}


class ClassifyImages(PictureTask):
    """A class for each picture."""

    name = "classify-images"
    summary = "learn to tell what is in a picture"
    files = (
        "a folder (or .zip, .tar) with one sub-folder of pictures a class; .csv with path,label; "
        ".npz with x and y, or x_train, y_train, x_val, y_val"
    )
    models = {
        "vit": "the Vision Transformer: patches, learned positions, a class token",
        "vit-hybrid": "the same on the features of a small convolutional network",
        "resnet": "a residual convolutional network, no attention",
    }
    use = Naming
    labelled = True
    takes = ("classify-images", "reconstruct-images", "distill-images")

    def wrapped(self, backbone: Stream.Config, data: PictureData, settings: PictureTraining) -> Model.Config:
        return backbone

    def objective(self, settings: PictureTraining) -> Classify.Config:
        return Classify.Config(smoothing=settings.smoothing)

    def source(self, data: PictureData, seen: Seen, settings: PictureTraining, stride: int) -> Source:
        classes = data.train.classes
        return LabelledPictures(
            seen.train,
            class_numbers(data.train.labels or (), classes),
            seen.held_out,
            class_numbers(data.held_out.labels or (), classes),
            how=settings.augment,
            stride=stride,
            fingerprint=data.fingerprint,
            seed=settings.seed,
        )

    def outputs(self, data: PictureData) -> int | None:
        return len(data.train.classes)

    def outgoing(self, backbone: Stream.Config, data: PictureData) -> Stream.Config:
        first = getattr(backbone.embed, "class_tokens", 0) > 0
        return backbone.replace(head=Pooled.Config(first=first), outputs=self.outputs(data))

    def start(self, request: Request, data: PictureData) -> Mapping[str, torch.Tensor]:
        """The backbone's weights; the head's too where the classes are the same."""
        assert request.origin is not None
        weights = backbone_weights(request.origin.model)  # type: ignore[arg-type]
        if request.origin.config["data"].get("classes") == list(data.train.classes):
            return weights
        return {name: t for name, t in weights.items() if not name.startswith("head.")}

    def finish(self, run: Loaded, outcome: Outcome, progress: Progress) -> Ending:
        data = run.config["data"]
        measured = self.evaluate(run, (), progress)
        return Ending(
            metrics=measured.metrics,
            summary=f"Tells {several(data['classes'])} apart: trained by weft on {data['described']}.",
            use=f"weft predict {shlex.quote(str(run.folder.path))} picture.jpg",
            facts={
                "model": f"{run.config['model_name']}, {shape(from_json(run.config['model'], Stream.Config))}",
                "classes": str(len(data["classes"])),
                "pictures": f"{data['pictures']:,} to train on, {data['held_out']:,} held out",
                "held out": data["rule"],
                "seed": str(run.config["training"]["seed"]),
            },
            unit="picture",
            pictures=measured.pictures,
        )

    def predict(
        self, run: Loaded, inputs: Sequence[Any], settings: Mapping[str, Any], listen: Callable[[int, str], None] | None
    ) -> list[dict[str, Any]]:
        how = with_settings(Naming(), settings)
        names, pictures = given_pictures(run, inputs)
        model, classes, found = _model(run), run.config["data"]["classes"], []
        for name, picture in zip(names, pictures, strict=True):
            read = as_read(run, picture, embed_of(model.config), how)
            with torch.inference_mode():
                shares = model(read)[0].softmax(-1).tolist()
            ranked = sorted(zip(classes, shares, strict=True), key=lambda pair: -pair[1])
            listed = {label: round(p, 6) for label, p in ranked[: how.top or None]}
            found.append({"input": name, "label": ranked[0][0], "probabilities": listed})
        return found

    def shown(self, prediction: Mapping[str, Any]) -> str:
        likely = [f"{label} {p:.2f}" for label, p in list(prediction["probabilities"].items())[:3] if p >= 0.005]
        return f"{prediction['input']}: {', '.join(likely)}"

    def evaluate(self, run: Loaded, data: Sequence[str], progress: Progress) -> Measured:
        classes = run.config["data"]["classes"]
        album, what = self.named_data(run, data) if data else self.own_data(run)
        truth = np.array(class_numbers(album.labels or (), classes))
        frames = frames_for(run, album)
        shares = probabilities(_model(run), frames, progress)
        metrics, more = class_measures(shares, truth, classes)
        pictures = {
            "confusion.png": confusion(confusion_counts(shares.argmax(1), truth, len(classes)), classes),
            "mistakes.png": mistakes(shares, truth, classes, frames),
        }
        return Measured(what, len(album), finite(metrics), more, {k: v for k, v in pictures.items() if v})

    def named_data(self, run: Loaded, data: Sequence[str]) -> tuple[Album, str]:
        """Pictures to measure on; of data that holds some out, those."""
        found = read_images(data, labels=True, skip=from_json(run.config["training"], PictureTraining).allowed)
        album, classes = found.held_out or found.train, run.config["data"]["classes"]
        unknown = sorted(set(album.classes) - set(classes))
        if unknown:
            raise DataError(
                f"pictures of {several(unknown)}, which the run never learned",
                where=", ".join(data),
                fix=f"its classes are {', '.join(classes[:20])}",
            )
        return album, ", ".join(data)


@torch.inference_mode()
def probabilities(model: Stream, frames: Frames, progress: Progress) -> np.ndarray:
    """How likely each class is, for each picture."""
    found, done = np.zeros((len(frames), model.config.outputs or 0)), 0
    count = counter(progress, len(frames), "pictures")
    for rows, picture in by_shape(frames, embed_of(model.config).stride, BATCH):
        found[rows] = model(picture).softmax(-1).double().numpy()
        done += len(rows)
        count(done)
    progress.stop()
    return found


def mistakes(shares: np.ndarray, truth: np.ndarray, classes: Sequence[str], frames: Frames) -> bytes:
    """The pictures about which the model was most sure and wrong, as a contact sheet; nothing where there are none."""
    found = shares.argmax(1)
    worst = [int(i) for i in np.argsort(-shares.max(1)) if found[i] != truth[i]][:MISTAKES]
    if not worst:
        return b""
    captions = [f"{classes[truth[i]]}, {shares[i].max():.2f} sure it is {classes[found[i]]}" for i in worst]
    pictures = [one.pixels for one in frames.read(worst)]
    return contact_sheet(pictures, captions, title="the surest mistakes")


def _model(run: Loaded) -> Stream:
    if not isinstance(run.model, Stream):
        raise WeftError("this run holds no classifier", where=str(run.folder.path))
    return run.model
