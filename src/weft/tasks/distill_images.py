"""Distill pictures: a student learns from its own average to see the whole in the part (DINO). No labels are needed."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from weft.config import from_json
from weft.data.images.batches import SCORED
from weft.data.images.reading import read_images
from weft.data.images.views import PictureViews
from weft.data.source import Source
from weft.data.survey import NO, Judgement, Survey
from weft.models.distilled import Distilled, summary
from weft.models.stream import Model, Stream
from weft.models.zoo.vision import distilled
from weft.objectives.distil import Distil
from weft.tasks.picture_data import PictureData, Seen
from weft.tasks.picture_input import Ground, as_read, frames_for, given_pictures
from weft.tasks.picture_plan import TEACHING, PictureTraining, embed_of, operations, shape
from weft.tasks.pictures import PictureTask
from weft.tasks.task import Ending, Loaded, Measured, with_settings
from weft.training.card import finite
from weft.training.progress import Progress
from weft.training.run import Outcome


class ViewsTraining(PictureTraining):
    """Settings of a training on several views of each picture."""

    near: int = 4

    about = {**PictureTraining.about, "near": "views of small parts of each picture, beside two of most of it"}


class Describing(Ground):
    """Settings of a prediction."""


class DistillImages(PictureTask):
    """Vectors in which like pictures are near each other, learned without labels."""

    name = "distill-images"
    summary = "learn what is in pictures without labels, from their parts"
    files = "a folder (or .zip, .tar) of pictures, classes or not; .csv with path; .npz with x"
    models = {"dino": "a vision transformer taught by its own running average, on several views of each picture"}
    settings = ViewsTraining
    use = Describing
    catalogue = TEACHING
    takes = ("distill-images",)

    def judge(self, survey: Survey) -> Judgement:
        return NO  # pictures are for classifying, unless someone asks for this

    def wrapped(self, backbone: Stream.Config, data: PictureData, settings: PictureTraining) -> Model.Config:
        return distilled(backbone)

    def cost(self, backbone: Stream.Config, settings: PictureTraining) -> float:
        assert isinstance(settings, ViewsTraining)
        wide, near = operations(backbone), operations(backbone, part=0.5)
        return 2 * wide + 2 * wide / 3 + settings.near * near  # the teacher goes forwards only, which is a third

    def objective(self, settings: PictureTraining) -> Distil.Config:
        return Distil.Config()

    def source(self, data: PictureData, seen: Seen, settings: PictureTraining, stride: int) -> Source:
        assert isinstance(settings, ViewsTraining)
        return PictureViews(
            seen.train, seen.held_out, near=settings.near, how=settings.augment, stride=stride,
            fingerprint=data.fingerprint, seed=settings.seed,
        )  # fmt: skip

    def finish(self, run: Loaded, outcome: Outcome, progress: Progress) -> Ending:
        data = run.config["data"]
        return Ending(
            metrics=self.evaluate(run, (), progress).metrics,
            summary=f"Learned without labels what is in pictures: trained by weft on {data['described']}.",
            use=f"weft look {shlex.quote(str(run.folder.path))} picture.jpg -o look.png",
            facts={
                "model": f"{run.config['model_name']}, {shape(_model(run).config.student)}",
                "pictures": f"{data['pictures']:,} to train on, {data['held_out']:,} held out",
                "held out": data["rule"],
                "seed": str(run.config["training"]["seed"]),
            },
            unit="view",
        )

    def predict(
        self, run: Loaded, inputs: Sequence[Any], settings: Mapping[str, Any], listen: Callable[[int, str], None] | None
    ) -> list[dict[str, Any]]:
        how = with_settings(Describing(), settings)
        teacher = seer(run)
        names, pictures = given_pictures(run, inputs)
        found = []
        for name, picture in zip(names, pictures, strict=True):
            read = as_read(run, picture, embed_of(teacher.config), how)
            with torch.inference_mode():
                vector = summary(teacher.encode(read))[0]
            found.append({"input": name, "vector": [round(v, 6) for v in vector.tolist()]})
        return found

    def vectors(self, run: Loaded, inputs: Sequence[Any], settings: Mapping[str, Any]) -> np.ndarray:
        return np.array([one["vector"] for one in self.predict(run, inputs, settings, None)], np.float32)

    def shown(self, prediction: Mapping[str, Any]) -> str:
        return f"{prediction['input']}: " + " ".join(f"{v:.4g}" for v in prediction["vector"])

    def evaluate(self, run: Loaded, data: Sequence[str], progress: Progress) -> Measured:
        settings = from_json(run.config["training"], ViewsTraining)
        if data:
            found = read_images(data, labels=False, skip=settings.allowed)
            album, what = found.held_out or found.train, ", ".join(data)
        else:
            album, what = self.own_data(run)
        model, frames = _model(run), frames_for(run, album)
        stride = embed_of(model.config.student).stride
        views = PictureViews(
            frames, frames, near=settings.near, how=settings.augment, stride=stride, fingerprint="", seed=0
        )
        objective, total, seen, entropy = Distil.Config().build(), 0.0, 0, 0.0
        with torch.inference_mode():
            for batch in views.held_out():
                loss = objective(model.eval(), batch)
                total, seen = total + float(loss.total), seen + loss.count
                shares = model.taught(batch.wide[0]).mean(0)
                entropy += float(-(shares * shares.clamp(min=1e-12).log()).sum()) * len(batch)
        metrics = {"loss": total / max(1, seen), "variety": entropy / max(1, len(album))}
        return Measured(what, len(album), finite(metrics), {"batch": SCORED})


def seer(run: Loaded) -> Stream:
    """What gives the vectors: the teacher, or a model that was taught elsewhere."""
    stream = run.model.teacher if isinstance(run.model, Distilled) else run.model
    assert isinstance(stream, Stream)
    return stream.eval()


def _model(run: Loaded) -> Distilled:
    assert isinstance(run.model, Distilled)
    return run.model
