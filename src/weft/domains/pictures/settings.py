"""Settings of trainings on pictures alone or with labels."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from weft.domains.pictures.reading.settings import Augment
from weft.tasks.settings.limits import share, within
from weft.tasks.settings.sized import LABELS, SMOOTHING, RowTraining


class PictureTraining(RowTraining):
    """Settings of a training on pictures."""

    batch: int = 64
    size: int | None = None
    patch: int | None = None
    summary: Literal["class", "mean"] | None = None
    drop: float = 0.0
    smoothing: float = 0.0
    strength: Literal["auto", "none", "light", "medium", "heavy"] = "auto"
    augment: Augment = Augment()

    about: ClassVar[Mapping[str, str]] = {
        **RowTraining.about,
        "size": "image size: pictures are scaled to this side in pixels; small ones of equal size are read as they are",
        "patch": "patch size: the side of a patch in pixels",
        "summary": "pooling: class (a class token stands for the picture) or mean (the average of all tokens)",
        "drop": "patch dropout: the share of a picture's tokens left out in training",
        "smoothing": SMOOTHING.format("classes"),
        "strength": "data augmentation: auto (chosen by the number of epochs), none, light, medium or heavy",
    }

    def check(self) -> None:
        super().check()
        for name, most in (("size", 4096), ("patch", 512)):
            within(self, name, 1, most)
        share(self, "smoothing")
        share(self, "drop")


class PictureLabelTraining(PictureTraining):
    """Settings of a training on labelled pictures."""

    labels: Literal["classes", "numbers"] | None = None

    about: ClassVar[Mapping[str, str]] = {
        **PictureTraining.about,
        "labels": LABELS,
    }


class HidingTraining(PictureTraining):
    """Settings of a training that hides patches."""

    hide: float = 0.75
    even: bool = False

    about: ClassVar[Mapping[str, str]] = {
        **PictureTraining.about,
        "hide": "mask ratio: the share of the patches that are hidden (masked)",
        "even": "normalise pixels of each patch before the loss (norm_pix_loss): often a better start for classifiers",
    }


class ViewsTraining(PictureTraining):
    """Settings of a training on several views of each picture."""

    near: int = 4

    about: ClassVar[Mapping[str, str]] = {
        **PictureTraining.about,
        "near": "local crops: views of small parts of each picture, beside two views of most of it (global crops)",
    }
