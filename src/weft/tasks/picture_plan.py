"""Planning a model for pictures: what the user left open is decided here. Reads no files and trains nothing."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import torch
from torch.utils.flop_counter import FlopCounterMode

from weft.data.images.augment import Augment
from weft.errors import ConfigError, WeftError
from weft.modalities.image import Picture, PictureEmbed
from weft.models.stream import Model, Stream
from weft.models.zoo.vision import RESNETS, VISION_MODELS, Sight, VisionSize, mae, resnet, scale_mae, small_net, vit
from weft.tasks.planning import (
    OF_A_TRUNK,
    Catalogue,
    SizedTraining,
    choose_budget,
    model_line,
    training_line,
    within,
    work_of,
)
from weft.tasks.sizing import largest_rung
from weft.tasks.task import Request, with_settings
from weft.training.schedule import Budget

USUAL, LARGE = 64, 224  # pixels: of runs in minutes, and of the presets at patch 16
OF_A_PICTURE = (*OF_A_TRUNK, "patch", "size", "summary", "drop")

PRESETS: dict[str, VisionSize] = {
    "mini": VisionSize(dim=96, depth=4, heads=3, patch=4, net=small_net(16)),
    "thumbnail": VisionSize(dim=192, depth=6, heads=3, patch=4, net=small_net(40)),
    "tiny": VisionSize(dim=192, depth=12, heads=3, net=RESNETS["resnet18"]),
    "small": VisionSize(dim=384, depth=12, heads=6, net=RESNETS["resnet34"]),
    "base": VisionSize(dim=768, depth=12, heads=12, net=RESNETS["resnet50"]),
    "large": VisionSize(dim=1024, depth=24, heads=16, net=RESNETS["resnet50"]),
}
SMALL_PRESETS = ("mini", "thumbnail")  # for pictures of 28 to 64 pixels
LADDERS: dict[str, tuple[VisionSize, ...]] = {
    "vit": (
        VisionSize(dim=64, depth=3, heads=2),
        VisionSize(dim=96, depth=4, heads=3),
        VisionSize(dim=128, depth=6, heads=4),
        VisionSize(dim=192, depth=6, heads=6),
        VisionSize(dim=256, depth=8, heads=8),
        VisionSize(dim=384, depth=12, heads=6),
    ),
    "vit-hybrid": (
        VisionSize(dim=64, depth=2, heads=2, net=small_net(12, (0, 1, 0))),
        VisionSize(dim=96, depth=2, heads=3, net=small_net(16, (0, 1, 0))),
        VisionSize(dim=128, depth=3, heads=4, net=small_net(24, (0, 1, 0))),
        VisionSize(dim=192, depth=4, heads=6, net=small_net(32, (0, 1, 0))),
        VisionSize(dim=256, depth=6, heads=8, net=small_net(48, (1, 1, 0))),
    ),
    "resnet": (
        VisionSize(dim=1, depth=0, net=small_net(12)),
        VisionSize(dim=1, depth=0, net=small_net(16)),
        VisionSize(dim=1, depth=0, net=small_net(24)),
        VisionSize(dim=1, depth=0, net=small_net(32)),
        VisionSize(dim=1, depth=0, net=small_net(48)),
        VisionSize(dim=1, depth=0, net=small_net(64, (1, 1, 1, 1))),
    ),
}
OFTEN = (12, 150)  # rounds from which pictures are learned by heart unless they are changed more, and much more
ACROSS = 8  # patches along the side of a picture
EFFICIENCY = 0.5  # the share of the bare matrix-multiply rate that a training step reaches
ROUNDS = {"vit": 25, "vit-hybrid": 12, "resnet": 8}  # epochs that a model should see in its budget
ENOUGH = 400_000  # pictures that are enough where data is plenty

CATALOGUE = Catalogue(
    models=VISION_MODELS,
    presets=PRESETS,
    default="resnet",
    recipes={
        "vit": {"lr": 3e-3, "matrix_lr": 4.0, "weight_decay": 0.1, "drop": 0.5},
        "vit-hybrid": {"lr": 1e-2, "matrix_lr": 3.0, "weight_decay": 0.1},
        "resnet": {"lr": 1e-2, "matrix_lr": 5.0, "weight_decay": 0.1},
    },
    of_preset=dict.fromkeys(PRESETS, "vit"),
    of_model=OF_A_PICTURE,
)


HIDING = Catalogue(
    models={"mae": mae, "scale-mae": scale_mae},
    presets=PRESETS,
    default="mae",
    recipes={name: {"lr": 3e-3, "matrix_lr": 4.0, "weight_decay": 0.1} for name in ("mae", "scale-mae")},
    of_preset={},
    of_model=OF_A_PICTURE,
)
TEACHING = Catalogue(
    models={"dino": vit},
    presets=PRESETS,
    default="dino",
    recipes={"dino": {"lr": 2e-3, "matrix_lr": 3.0, "weight_decay": 0.1}},
    of_preset={},
    of_model=OF_A_PICTURE,
)


class PictureTraining(SizedTraining):
    """Settings of a training on pictures."""

    batch: int = 64
    size: int | None = None
    patch: int | None = None
    summary: Literal["class", "mean"] | None = None
    drop: float = 0.0
    smoothing: float = 0.0
    strength: Literal["auto", "none", "light", "medium", "heavy"] = "auto"
    augment: Augment = Augment()
    skip: float | None = None
    freeze: bool = False

    about = {
        **SizedTraining.about,
        "size": "side in pixels at which pictures are read; small ones of one shape are read as they are",
        "patch": "side of a patch in pixels",
        "summary": "class (a class token tells the answer) or mean (of all tokens)",
        "drop": "share of a picture's tokens left out in training",
        "smoothing": "share of belief given to all classes alike, in training",
        "strength": "of augmentation: auto (by the number of rounds), none, light, medium or heavy",
        "skip": "bad pictures to leave out before the data is refused: a number, or a share below 1",
        "freeze": "with --from: train the head alone, on features that stay as they are",
    }

    def check(self) -> None:
        super().check()
        for name, most in (("size", 4096), ("patch", 512)):
            within(self, name, 1, most)
        for name in ("smoothing", "drop"):
            if not 0 <= getattr(self, name) < 1:
                raise ConfigError(f"must be at least 0 and below 1, found {getattr(self, name)}", where=name)

    @property
    def allowed(self) -> int | float | None:
        """`skip` as the reader takes it."""
        return self.skip if self.skip is None or self.skip < 1 else int(self.skip)


def usual_size(request: Request) -> int:
    """The side of pictures that are neither small nor of one shape, unless the user sets it."""
    return LARGE if request.preset is not None and request.preset not in SMALL_PRESETS else USUAL


def budget_for(request: Request, pictures: int, size: int) -> Budget:
    """The user's, or some minutes that suit the number of pictures and their pixels."""
    return choose_budget(request, min(20.0, max(1.0, pictures * size**2 / 2e6)))


Make = Callable[[VisionSize], Stream.Config]


def choose_size(
    request: Request,
    settings: PictureTraining,
    name: str,
    pictures: int,
    side: int,
    budget: Budget,
    cost: Callable[[VisionSize], float],
) -> VisionSize:
    """The preset's, or the largest rung of the ladder that still sees the pictures often enough; with the user's numbers."""
    if request.preset is not None:
        return _own(PRESETS[request.preset], settings)
    patch = max(1, round(side / ACROSS))
    ladder = [_own(replace(size, patch=patch), settings) for size in LADDERS.get(name, LADDERS["vit"])]
    rounds = ROUNDS.get(name, ROUNDS["vit"])
    work, wanted = EFFICIENCY * work_of(request, settings, budget), min(rounds * pictures, ENOUGH)
    return largest_rung(ladder, lambda size: work / cost(size) >= wanted)


def _own(size: VisionSize, settings: PictureTraining) -> VisionSize:
    given = {
        name: value for name in ("dim", "depth", "heads", "patch") if (value := getattr(settings, name)) is not None
    }
    if "dim" in given and "heads" not in given:
        width = max(1, size.dim // size.heads)
        given["heads"] = min(
            (h for h in range(1, given["dim"] + 1) if given["dim"] % h == 0),
            key=lambda h: abs(given["dim"] / h - width),
        )
    size = replace(size, **given)
    size.check()
    return size


def embed_of(config: Stream.Config) -> PictureEmbed.Config:
    """How a backbone reads pictures."""
    assert isinstance(config.embed, PictureEmbed.Config)
    return config.embed


def backbone_name(config: Stream.Config) -> str:
    """Which of the models that classify pictures a trained backbone is."""
    if getattr(config.embed, "net", None) is None:
        return "vit"
    return "vit-hybrid" if config.trunk.all_blocks() else "resnet"


def operations(config: Stream.Config, *, training: bool = True, part: float = 1.0) -> float:
    """Floating-point operations to train on one picture of the size that the model is made for, or to name one.

    Backwards is twice forwards; tokens that training leaves out cost nothing there. `part` is a share of the sides.
    """
    with torch.device("meta"):
        model = config.build().train(training)
    return (3 if training else 1) * forward_operations(model.encode, embed_of(config), part=part)


def forward_operations(forward: Callable[[Picture], Any], embed: PictureEmbed.Config, *, part: float = 1.0) -> float:
    """Floating-point operations of a pass over one picture, by a model whose weights are on no device at all."""
    shape = (2, embed.channels, *(max(1, round(part * side)) * embed.stride for side in embed.grid))
    with torch.device("meta"), FlopCounterMode(display=False) as counted, torch.no_grad():
        forward(Picture(torch.empty(shape)))
    return counted.get_total_flops() / shape[0]


def decided(
    request: Request,
    settings: PictureTraining,
    config: Stream.Config,
    size: int,
    *,
    rounds: float,
    without: Collection[str],
) -> PictureTraining:
    """The settings with everything decided; `without` are changes that would make pictures mean something else."""
    strength = settings.strength
    if strength == "auto":
        strength = "light" if rounds < OFTEN[0] else "medium" if rounds < OFTEN[1] else "heavy"
    how = Augment.none() if strength == "none" else getattr(Augment, strength)(flip=True)
    how = how.replace(**{name: getattr(Augment.none(), name) for name in without})
    for name, value in request.settings.items():
        if name.startswith("augment."):
            how = with_settings(how, {name.removeprefix("augment."): value}, prefix="augment.")
    blocks = config.trunk.all_blocks()
    return settings.replace(
        dim=config.dim,
        depth=len(blocks) or None,
        heads=getattr(blocks[0].mix, "heads", None) if blocks else None,
        patch=getattr(config.embed, "patch", None),
        size=size,
        summary="class" if getattr(config.embed, "class_tokens", 0) else "mean",
        dropout=settings.dropout or 0.0,
        strength=strength,
        augment=how,
    )


def make_of(build: Callable[..., Stream.Config], settings: PictureTraining, sight: Sight, outputs: int | None) -> Make:
    """The function from a size to a model's config, all else being known."""
    more: dict[str, Any] = {"outputs": outputs, "dropout": settings.dropout or 0.0, "drop": settings.drop}
    if settings.summary is not None:
        if outputs is None:
            raise WeftError(
                "a model that learns without labels has a class token", where="--set summary", fix="leave it out"
            )
        more["summary"] = settings.summary
    if build is resnet and settings.summary == "class":
        raise WeftError("a resnet has no class token", where="--set summary", fix="leave it out")
    return lambda size: build(size, sight, **more)


def shape(config: Stream.Config) -> str:
    """The sizes of a model in words."""
    blocks, embed = config.trunk.all_blocks(), embed_of(config)
    net = getattr(embed, "net", None)
    parts = [] if net is None else [f"convolutions {'-'.join(map(str, net.widths))} wide"]
    if blocks:
        parts.append(f"{len(blocks)} layers, {config.dim} wide, {getattr(blocks[0].mix, 'heads', 1)} heads")
    parts.append(f"{embed.grid[0]} x {embed.grid[1]} tokens of {embed.stride} x {embed.stride} pixels")
    return ", ".join(parts)


def plan_lines(
    request: Request, name: str, shape: str, config: Model.Config, settings: PictureTraining, budget: Budget
) -> Mapping[str, str]:
    """The plan for people."""
    changes = [
        f"{n} {v:g}" if not isinstance(v, bool) else n for n in Augment.about if (v := getattr(settings.augment, n))
    ]
    return {
        "model": model_line(request, name, shape, config),
        "augment": f"{settings.strength}: {', '.join(changes)}" if changes else "none",
        "training": training_line(request, settings, budget, f"batch {settings.batch}"),
    }


def class_numbers(labels: Sequence[str], classes: Sequence[str]) -> list[int]:
    """Labels by their places among the classes."""
    places = {name: i for i, name in enumerate(classes)}
    return [places[label] for label in labels]
