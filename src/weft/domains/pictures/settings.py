"""Settings of trainings on pictures alone or with labels, and of the pictures that people hand over."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

from weft.config import Config, at_least
from weft.errors import ConfigError
from weft.tasks.preset import Preset
from weft.tasks.settings.limits import share, within
from weft.tasks.settings.sized import LABELS, SMOOTHING, RowTraining

PATCHES = ", patches of {patch} pixels"


@dataclass(frozen=True)
class PicturePreset(Preset):
    """A size with the side of a patch in pixels."""

    patch: int = 16


PICTURES = {
    "tiny": PicturePreset(dim=64, depth=2, heads=2, note=": trains in seconds"),
    "mini": PicturePreset(dim=96, depth=4, heads=3, patch=4, note=f"{PATCHES}; for pictures of 28 to 64 pixels"),
    "thumbnail": PicturePreset(dim=192, depth=6, heads=3, patch=4, note=f"{PATCHES}; for pictures of 28 to 64 pixels"),
    "small": PicturePreset(dim=384, depth=12, heads=6, note=f"{PATCHES} (ViT-S; as resnet, ResNet-34)"),
    "base": PicturePreset(dim=768, depth=12, heads=12, note=f"{PATCHES} (ViT-B; as resnet, ResNet-50)"),
    "large": PicturePreset(dim=1024, depth=24, heads=16, note=f"{PATCHES} (ViT-L; as resnet, ResNet-50)"),
}


# What `strong` draws from. The order is part of what a key means: new ones go to the end.
OPERATIONS = (
    "turn",
    "shear",
    "across",
    "down",
    "brightness",
    "contrast",
    "saturation",
    "posterise",
    "solarise",
    "equalise",
    "autocontrast",
    "invert",
    "sharpness",
)


class Augment(Config):
    """How pictures are changed at random while a model trains. Zero of everything leaves them as they are.

    `mixup` and `cutmix` blend a picture, and its label, with another; where both are set each picture takes one of
    the two. All others change the picture alone.
    """

    shift: float = 0.0
    zoom: float = 0.0
    flip: bool = False
    turn: float = 0.0
    colour: float = 0.0
    strong: int = 0
    erase: float = 0.0
    mixup: float = 0.0
    cutmix: float = 0.0

    about: ClassVar[Mapping[str, str]] = {
        "shift": "move by whole pixels, up to this share of the side; edges are mirrored",
        "zoom": "random crop: keep a random part of the picture, at least 1 - zoom of its area",
        "flip": "mirror left and right at random (horizontal flip); not for digits or text",
        "turn": "rotate and shear by up to this number of degrees",
        "colour": "colour jitter: change brightness, contrast, saturation and hue by up to this share",
        "strong": f"RandAugment: number of further random changes to each picture, out of {', '.join(OPERATIONS)}",
        "erase": "how often a rectangle is replaced by noise",
        "mixup": "blend two pictures, by shares drawn from Beta(mixup, mixup); 0 is off",
        "cutmix": "paste a rectangle of another picture, its area drawn from Beta(cutmix, cutmix); 0 is off",
    }

    @classmethod
    def none(cls) -> Self:
        """Pictures as they are."""
        return cls()

    @classmethod
    def light(cls, flip: bool) -> Self:
        """Small moves by whole pixels: no pixel is ever blurred."""
        return cls(shift=0.125, flip=flip)

    @classmethod
    def medium(cls, flip: bool) -> Self:
        """For some thousands of pictures: crops, small turns, other light."""
        return cls(zoom=0.4, flip=flip, turn=5.0, colour=0.2)

    @classmethod
    def heavy(cls, flip: bool) -> Self:
        """For long training: everything, about as much as vision transformers are given on large collections."""
        return cls(zoom=0.6, flip=flip, turn=8.0, colour=0.3, strong=2, erase=0.25, mixup=0.2, cutmix=1.0)

    def check(self) -> None:
        at_least(self, 0, "shift", "zoom", "turn", "colour", "strong", "erase", "mixup", "cutmix")
        limits = {"shift": 1, "zoom": 0.99, "turn": 180, "colour": 1, "strong": len(OPERATIONS), "erase": 1}
        for name, most in limits.items():
            if getattr(self, name) > most:
                raise ConfigError(f"must be at most {most}, found {getattr(self, name)}", where=f"Augment.{name}")
        for name in ("mixup", "cutmix"):
            if 0 < getattr(self, name) < 0.01 or getattr(self, name) > 100:
                raise ConfigError(
                    f"must be 0 or from 0.01 to 100, found {getattr(self, name)}", where=f"Augment.{name}"
                )


class PictureTraining(RowTraining):
    """Settings of a training on pictures."""

    batch: int = 64
    size: int | None = None
    patch: int | None = None
    summary: Literal["class", "mean"] | None = None
    drop: float = 0.0
    smoothing: float = 0.0
    strength: Literal["auto", "none", "light", "medium", "heavy"] = "auto"
    versions: int = 0
    augment: Augment = Augment()

    about: ClassVar[Mapping[str, str]] = {
        **RowTraining.about,
        "size": "image size: pictures are scaled to this side in pixels; small ones of equal size are read as they are",
        "patch": "patch size: the side of a patch in pixels",
        "summary": "pooling: class (a class token stands for the picture) or mean (the average of all tokens)",
        "drop": "patch dropout: the share of a picture's tokens left out in training",
        "smoothing": SMOOTHING.format("classes"),
        "strength": "data augmentation: auto (chosen by the number of epochs), none, light, medium or heavy",
        "versions": "with freeze: augmented versions of each picture whose features are computed once and kept in the "
        "run, the picture itself among them; 0 computes features in every step",
    }

    def check(self) -> None:
        super().check()
        for name, most in (("size", 4096), ("patch", 512)):
            within(self, name, 1, most)
        within(self, "versions", 0, 1000)
        if self.versions and not self.freeze:
            raise ConfigError("features are kept of a frozen encoder alone", where="versions", fix="--set freeze=true")
        share(self, "smoothing")
        share(self, "drop")


class PictureLabelTraining(PictureTraining):
    """Settings of a training on labelled pictures."""

    labels: Literal["classes", "numbers"] | None = None
    label_column: str | None = None

    about: ClassVar[Mapping[str, str]] = {
        **PictureTraining.about,
        "labels": LABELS,
        "label_column": "in a table of pictures: the column of the labels, by its name or number",
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


class Ground(Config):
    """What a user may say of the pictures that are handed over."""

    metres: float | None = None

    about: ClassVar[Mapping[str, str]] = {
        "metres": "ground sample distance: metres on the ground per pixel, for models with places in metres"
    }

    def check(self) -> None:
        super().check()
        if self.metres is not None and not 0 < self.metres < math.inf:
            raise ConfigError(f"must be above 0, found {self.metres}", where="metres")
