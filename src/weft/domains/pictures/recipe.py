"""Models for pictures: sizes that suit a budget, and the settings that go with them. Reads no files and trains nothing.

What it costs to learn from a picture is counted on a model whose weights are on no device at all.
"""

import math
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any, TypeVar

import torch
from torch.utils.flop_counter import FlopCounterMode

from weft.domains.pictures.dataset import PictureData
from weft.domains.pictures.encoded.seen import SeenPictures
from weft.domains.pictures.settings import PICTURES, Augment, HidingTraining, PictureTraining, ViewsTraining
from weft.errors import WeftError
from weft.modalities.image import Picture, PictureEmbed
from weft.models.backbone import backbone_name, embed_of
from weft.models.stream import Stream
from weft.models.zoo.vision import (
    RESNETS,
    VISION_MODELS,
    VisionSize,
    autoencoder,
    mae,
    resnet,
    scale_mae,
    small_net,
    vit,
)
from weft.tasks.recipe import OF_A_TRUNK, MinEpochs, Recipe, heads_for
from weft.tasks.request import Draft, Loaded, Request
from weft.tasks.settings.limits import with_settings


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


def labelled_cost(backbone: Stream.Config, training: PictureTraining) -> float:
    """Of a picture with its label."""
    return operations(backbone)


def hiding_cost(encoder: Stream.Config, training: HidingTraining) -> float:
    """Of a picture of which a share is hidden and filled in: the encoder reads what is shown alone."""
    shown = max(1, round((1 - training.hide) * math.prod(embed_of(encoder).grid)))
    with torch.device("meta"):
        model, places = autoencoder(encoder).build(), torch.empty(2, shown, dtype=torch.long)
    return 3 * forward_operations(lambda picture: model(picture, places), embed_of(encoder))


def views_cost(student: Stream.Config, training: ViewsTraining) -> float:
    """Of two wide views and some near ones; the teacher only goes forwards, over all tokens, which is a third."""
    wide, near = operations(student), operations(student, part=0.5)
    return 2 * wide + 2 * operations(student, training=False) + training.near * near


USUAL, LARGE = 64, 224  # pixels along a side: of runs in minutes, and of the presets with patches of 16 pixels
PATCHES_PER_SIDE = 8  # where the plan decides
ENOUGH = 400_000  # pictures that are enough where data is plenty
MOVES = ("shift", "zoom", "flip", "turn", "strong", "erase", "mixup", "cutmix")  # changes of where things are, or which
BLENDS = ("mixup", "cutmix")  # of two pictures
MOST_VERSIONS = 4  # of each picture, whose features are kept
FEATURE_SHARE = 0.4  # of a run by minutes, that computing features may take
MOST_FEATURE_BYTES = 2 * 2**30  # of all features, in memory and on disk
MEDIUM_FROM, HEAVY_FROM = 12, 150  # epochs from which pictures are changed more, or they are learned by heart
EXCEPT_SIZE = (*OF_A_TRUNK, "patch", "summary", "drop")
OF_A_PICTURE = (*EXCEPT_SIZE, "size")
KEPT = ("size", "patch", "summary", "dim", "depth", "heads")

NETS = {
    "tiny": small_net(12),
    "mini": small_net(16),
    "thumbnail": small_net(40),
    "small": RESNETS["resnet34"],
    "base": RESNETS["resnet50"],
    "large": RESNETS["resnet50"],
}  # the convolutional network of each preset
PRESETS = {name: VisionSize(one.dim, one.depth, one.heads, one.patch, NETS[name]) for name, one in PICTURES.items()}
AT_LARGE_SIZE = {name: {"size": LARGE} for name in ("small", "base", "large")}
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
LADDERS["dino"] = tuple(
    replace(size, heads=size.dim // 16) for size in LADDERS["vit"]
)  # many heads: each its own parts
LADDERS["grounded"] = LADDERS["vit-hybrid"]  # a picture whose features are read by a text
MIN_EPOCHS = {
    "vit": MinEpochs(25, ENOUGH),
    "dino": MinEpochs(25, ENOUGH),
    "vit-hybrid": MinEpochs(12, ENOUGH),
    "grounded": MinEpochs(25, ENOUGH),
    "resnet": MinEpochs(8, ENOUGH),
}
VIT = {"lr": 3e-3, "matrix_lr": 4.0, "weight_decay": 0.1}

CLASSIFYING = Recipe(
    models=VISION_MODELS,
    presets=PRESETS,
    default="resnet",
    rates={
        "vit": {**VIT, "drop": 0.5},
        "vit-hybrid": {"lr": 1e-2, "matrix_lr": 3.0, "weight_decay": 0.1},
        "resnet": {"lr": 1e-2, "matrix_lr": 5.0, "weight_decay": 0.1},
    },
    preset_settings=AT_LARGE_SIZE,
    fixed=EXCEPT_SIZE,
    kept=KEPT,
)
HIDING = Recipe(
    models={"mae": mae, "scale-mae": scale_mae},
    presets=PRESETS,
    default="mae",
    rates={"mae": VIT, "scale-mae": VIT},
    preset_settings=AT_LARGE_SIZE,
    fixed=OF_A_PICTURE,
    kept=KEPT,
    frozen=("encoder",),
)
DISTILLING = Recipe(
    models={"dino": vit},
    presets=PRESETS,
    default="dino",
    rates={"dino": {"lr": 2e-3, "matrix_lr": 3.0, "weight_decay": 0.1, "drop": 0.5, "near": 2}},
    preset_settings=AT_LARGE_SIZE,
    fixed=OF_A_PICTURE,
    kept=KEPT,
    frozen=("student",),
)

T = TypeVar("T", bound=PictureTraining)
PictureDraft = Draft[PictureData, Any, T]
Cost = Callable[[Stream.Config, T], float]  # floating-point operations to learn from one picture


def new_backbone(
    draft: PictureDraft[T], recipe: Recipe[VisionSize], outputs: int | None, cost: Cost[T], ladder: str = "vit"
) -> Stream.Config:
    """A backbone that suits data and budget; `outputs` is the size of its head, None where it has none."""
    make = backbone_maker(draft, recipe.models[recipe.model_name(draft.request)], outputs)
    return make(choose_size(draft, ladder, lambda size: cost(make(size), draft.training)))


def backbone_maker(
    draft: PictureDraft[T], build: Callable[..., Stream.Config], outputs: int | None
) -> Callable[[VisionSize], Stream.Config]:
    """The function from a size to a backbone, all else being known."""
    training = draft.training
    more: dict[str, Any] = {"outputs": outputs, "dropout": training.dropout or 0.0, "drop": training.drop}
    if training.summary is not None:
        if outputs is None:
            problem = "a model that learns without labels has a class token"
            raise WeftError(problem, where="--set summary", fix="leave it out")
        more["summary"] = training.summary
    if build is resnet and training.summary == "class":
        raise WeftError("a resnet has no class token", where="--set summary", fix="leave it out")
    return lambda size: build(size, draft.encoded.sight, **more)


def choose_size(draft: PictureDraft[T], ladder: str, cost: Callable[[VisionSize], float]) -> VisionSize:
    """The preset's, or the largest rung of a ladder that sees the pictures often enough; with the user's numbers."""
    patch, preset = max(1, round(draft.encoded.codec.config.size / PATCHES_PER_SIDE)), draft.request.preset
    if preset is not None:
        size = PRESETS[preset]
        return _with_own_numbers(replace(size, patch=patch) if preset == "tiny" else size, draft.training)
    rungs = [_with_own_numbers(replace(size, patch=patch), draft.training) for size in LADDERS[ladder]]
    pictures = len(draft.encoded.train)
    rule = MIN_EPOCHS[ladder]
    return draft.sizing.choose(rungs, cost, pictures, lambda some, seen: rule.choose(some, seen, pictures))


def _with_own_numbers(size: VisionSize, training: PictureTraining) -> VisionSize:
    names = ("dim", "depth", "heads", "patch")
    given = {name: value for name in names if (value := getattr(training, name)) is not None}
    if "dim" in given and "heads" not in given:
        given["heads"] = heads_for(given["dim"], size.dim // size.heads)
    size = replace(size, **given)
    size.check()
    return size


def decided(draft: PictureDraft[T], backbone: Stream.Config, cost: Cost[T], without: Collection[str] = ()) -> T:
    """The settings with all decided for a backbone; `without` are changes that would alter what a picture means."""
    seen: SeenPictures = draft.encoded
    versions = kept_versions(draft, backbone)
    without = (*without, *BLENDS) if versions else without
    strength, how = augmentation(draft, epochs(draft, backbone, cost), without)
    blocks = backbone.trunk.all_blocks()
    return draft.training.replace(
        dim=backbone.dim,
        depth=len(blocks) or None,
        heads=getattr(blocks[0].mix, "heads", None) if blocks else None,
        patch=getattr(backbone.embed, "patch", None),
        size=seen.codec.config.size,
        summary="class" if embed_of(backbone).class_tokens else "mean",
        dropout=draft.training.dropout or 0.0,
        drop=embed_of(backbone).drop,
        strength=strength,
        versions=versions,
        augment=how,
    )


def kept_versions(draft: PictureDraft[T], backbone: Stream.Config) -> int:
    """How many versions of each picture a frozen encoder reads once: the user's number, or what time and room allow.

    None where even one of each takes too much of either: features are then computed in every step.
    """
    training, seen = draft.training, draft.encoded
    if "versions" in draft.request.settings or not training.freeze:
        return training.versions
    tokens = math.prod(embed_of(backbone).grid) + embed_of(backbone).class_tokens
    room = MOST_FEATURE_BYTES // (len(seen.train) * tokens * backbone.dim * 2)
    often = epochs(draft, backbone, lambda backbone, training: operations(backbone, training=False))
    return int(min(MOST_VERSIONS, room, FEATURE_SHARE * often if draft.budget.seconds else often))


def epochs(draft: PictureDraft[T], backbone: Stream.Config, cost: Cost[T]) -> float:
    """About how often each picture will be seen."""
    budget, pictures = draft.budget, len(draft.encoded.train)
    if budget.epochs is not None:
        return budget.epochs
    if budget.steps is not None:
        return budget.steps * draft.training.batch / pictures
    return draft.sizing.operations / cost(backbone, draft.training) / pictures


def augmentation(draft: PictureDraft[T], epochs: float, without: Collection[str]) -> tuple[str, Augment]:
    """How strongly pictures are changed in training, and how. Grey ones are not mirrored: most are letters.

    Views of one picture always differ in light and colour, or its tint is all that a model learns of it.
    """
    strength, views = draft.training.strength, isinstance(draft.training, ViewsTraining)
    if strength == "auto":
        strength = "light" if epochs < MEDIUM_FROM and not views else "medium" if epochs < HEAVY_FROM else "heavy"
    how = Augment.none() if strength == "none" else getattr(Augment, strength)(flip=True)
    without = (*without, *(["flip"] if draft.encoded.sight.channels == 1 else []), *(MOVES if draft.data.still else []))
    how = how.replace(**{name: getattr(Augment.none(), name) for name in without})
    for name, value in draft.request.settings.items():
        if name.startswith("augment."):
            how = with_settings(how, {name.removeprefix("augment."): value}, prefix="augment.")
    return strength, how


def continued_name(recipe: Recipe[VisionSize], request: Request) -> str:
    """The name of the model that is asked for; with --from, that of the backbone, for what it is."""
    if request.origin is None:
        return recipe.model_name(request)
    name = backbone_name(request.origin.model.backbone()[0])
    if request.model not in (None, name):
        problem = f"the run to start from is a {name}, not a {request.model}"
        raise WeftError(problem, where="--model", fix="leave it out")
    return name


def continued_backbone(origin: Loaded, draft: PictureDraft[T], drop: float) -> Stream.Config:
    """The backbone of another run made ready; `drop` is the share of its tokens that are left out in training."""
    backbone = origin.model.backbone()[0]
    if draft.training.lora and not backbone.trunk.all_blocks():
        problem = "this model has no attention layers, which LoRA needs"
        raise WeftError(problem, where="--set lora", fix="leave it out, or use --set freeze=true")
    return _at_size(backbone.replace(embed=embed_of(backbone).replace(drop=drop)), draft)


def _at_size(backbone: Stream.Config, draft: PictureDraft[T]) -> Stream.Config:
    """A backbone for pictures of the size that is asked for, where it has learned no places."""
    if "size" not in draft.request.settings:
        return backbone
    embed, size = embed_of(backbone), draft.encoded.codec.config.size
    if embed.place is not None:
        problem = f"the model has learned places for pictures of {embed.grid[0] * embed.stride} pixels"
        raise WeftError(problem, where="--set size", fix="leave it out")
    side = -(-size // embed.stride)
    return backbone.replace(embed=embed.replace(grid=(side, side)))


def batch_in_words(training: PictureTraining) -> str:
    """The size of a step, and how pictures are changed."""
    how = training.augment
    named = [name if isinstance(v, bool) else f"{name} {v:g}" for name in Augment.about if (v := getattr(how, name))]
    changes = f"{training.strength} augmentation ({', '.join(named)})" if named else "no augmentation"
    if not training.versions:
        return f"batch {training.batch}, {changes}"
    more = training.versions - 1
    which = f"each picture and {more} of its changes by {changes}" if more else "each picture"
    return f"batch {training.batch}, on features of the frozen encoder, computed once for {which}"


def picture_facts(run: Loaded) -> dict[str, str]:
    """How much there was to learn from, for a model card."""
    return {"pictures": f"{run.data.amount('pictures')} to train on, {run.data.amount('held_out')} held out"}
