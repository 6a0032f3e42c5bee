"""Planning a text encoder: what the user left open is decided here. Reads no files and trains nothing."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor

from weft.config import field_types, from_json
from weft.core import LowRank
from weft.core.heads import Head
from weft.errors import ConfigError, WeftError
from weft.modalities.text import TextEmbed
from weft.models.adapted import has_adapters, merged, with_adapters
from weft.models.stream import Model, Stream
from weft.models.zoo import ENCODER_MODELS, Size
from weft.models.zoo.encoders import Wanted
from weft.tasks.planning import (
    FOREIGN,
    Catalogue,
    RowTraining,
    choose_budget,
    fitted,
    model_line,
    training_line,
    within,
    work_of,
)
from weft.tasks.sizing import largest_rung
from weft.tasks.task import Loaded, Request, with_settings
from weft.tasks.text_plan import shape
from weft.training.precision import Weights
from weft.training.schedule import Budget

EFFICIENCY = 0.4  # the share of the bare matrix-multiply rate that a training step reaches
ROUNDS = 12  # through the data that a model should make in its budget
RUNNING = 4.0  # tokens of running text seen for each weight of the trunk, where blanks are learned
LADDER = (
    Size(dim=64, depth=2, heads=2, context=128),
    Size(dim=96, depth=2, heads=3, context=128),
    Size(dim=128, depth=2, heads=4, context=128),
    Size(dim=192, depth=3, heads=6, context=128),
    Size(dim=256, depth=4, heads=8, context=128),
    Size(dim=384, depth=6, heads=12, context=128),
    Size(dim=512, depth=8, heads=16, context=256),
)
PRESETS = {
    "tiny": Size(dim=64, depth=2, heads=2, context=128),
    "mini": Size(dim=256, depth=4, heads=4, context=256),
    "small": Size(dim=512, depth=4, heads=8, context=512),
    "base": Size(dim=768, depth=12, heads=12, context=512),
    "large": Size(dim=1024, depth=24, heads=16, context=512),
}
CATALOGUE = Catalogue(
    models=ENCODER_MODELS,
    presets=PRESETS,
    default="swift",
    recipes={
        "swift": {"lr": 1e-2, "matrix_lr": 1.0, "table_decay": 0.25, "weight_decay": 0.1},
        "bert": {"lr": 1e-3, "optimizer": "adamw", "weight_decay": 0.01},
    },
    of_preset={"small": "bert", "base": "bert", "large": "bert"},
)
LEARNED = 0.1  # of the usual rate, for tables of a run of weft's that have learned already; its matrices bear more
BEAR = 3.0  # times that
TUNED = 0.027  # the rate of AdamW for such weights, times their width: 7e-5 for MiniLM, 3.5e-5 for BERT
NEW_HEAD = 10.0  # times that for a head that begins anew
ROOM = (
    64  # tokens that a model reads at least, and twice what the data has: texts in use are longer and less well known
)
FASTER = 10.0  # for adapters and heads alone, beside weights of another library that stay as they are
FEWER = 16  # texts in a step where the model is large for its minutes: more steps count for more than calm ones
KEPT = ("dim", "depth", "heads", "context", "tokenizer", "vocab")  # taken over from the run to start from


class EncoderTraining(RowTraining):
    """Settings of the training of a model that reads whole texts."""

    batch: int = 1
    micro: int | None = 1
    patience: int | None = 4
    tokens: int | None = None
    rows: int = 32
    summary: Literal["class", "mean"] | None = None
    freeze: bool = False
    lora: int | None = None

    about = {
        **RowTraining.about,
        "batch": "bundles of texts in a step, each of so many `tokens` and `rows`",
        "micro": "bundles computed at once",
        "tokens": "the most tokens in a bundle of texts of like length, padding included",
        "rows": "the most texts in a bundle",
        "summary": "class (the first token tells the answer) or mean (of all tokens)",
        "freeze": "with --from: train the head alone, on features that stay as they are",
        "lora": "with --from: train small matrices of this rank beside those of the trunk, which stay as they are",
    }

    def check(self) -> None:
        super().check()
        within(self, "tokens", 1, 2**24)
        within(self, "rows", 1, 2**16)
        within(self, "lora", 1, 1024)
        if self.freeze and self.lora is not None:
            raise ConfigError("either the trunk is frozen, or small matrices learn beside it", where="freeze")

    @property
    def frozen(self) -> tuple[str, ...]:
        """The parts of the model that learn nothing."""
        return ("embed", "trunk") if self.freeze else ("embed",) if self.lora is not None else ()


@dataclass(frozen=True)
class Wish:
    """What a task wants of an encoder: its head, and how much there is to learn from."""

    head: Wanted
    outputs: int | None
    vocab: int
    tokens: int  # in the data, marks included
    longest: int  # tokens of a text, marks included
    running: bool = False  # the data is running text, in windows, rather than texts of their own


def first_settings(request: Request, kind: type[Any]) -> Any:
    """The settings before anything is known of the data."""
    if request.origin is None:
        settings = CATALOGUE.first_settings(request, kind, ())
        for name in ("freeze", "lora"):
            if getattr(settings, name):
                fix = "add --from RUN"
                raise WeftError(
                    "there is no run to start from, and nothing learned to keep", where=f"--set {name}", fix=fix
                )
        return settings
    was = request.origin.config["training"]
    recipe = _tuning(request.origin, kind)
    settings = kind(**recipe).replace(**{key: was[key] for key in KEPT if key in was})
    settings = with_settings(settings, request.training_settings)
    if "lr" not in request.settings and (settings.freeze or settings.lora) and settings.optimizer == "adamw":
        settings = settings.replace(lr=FASTER * settings.lr)
    return settings


def _tuning(origin: Loaded, kind: type[Any]) -> dict[str, Any]:
    """The recipe for weights that have learned already: by Muon at a lower rate, by AdamW at one for their width."""
    own = CATALOGUE.recipes.get(str(origin.config.get("model_name")))
    if own is not None and own.get("optimizer", "muon") == "muon":
        return {**own, "lr": LEARNED * own["lr"], "matrix_lr": BEAR * own["matrix_lr"]}
    rate = float(f"{TUNED / origin.model.backbone()[0].dim:.2g}")
    return {**FOREIGN, "lr": rate, **({"rows": FEWER} if "rows" in field_types(kind) else {})}


def model_name(request: Request) -> str:
    """The name of the model that is asked for, given or inherited."""
    if request.origin is None:
        return CATALOGUE.model_name(request)
    was = str(request.origin.config.get("model_name"))
    if request.model not in (None, was):
        raise WeftError(f"the run to start from is a {was}, not a {request.model}", where="--model", fix="leave it out")
    return was


def choose_encoder(
    request: Request, settings: Any, wish: Wish, budget: Budget, *, same: bool = False
) -> tuple[Stream.Config, Any]:
    """The model's config, and the settings with everything decided; `same`: the head to start from is the one wanted."""
    if request.origin is not None:
        config = _continued(request.origin.model, settings, wish, same)
        if not (same or settings.head_lr or settings.frozen) and settings.optimizer == "adamw":
            settings = settings.replace(head_lr=NEW_HEAD)
        return config, settings.replace(tokens=settings.tokens or 4096)
    name = model_name(request)
    size = PRESETS[request.preset] if request.preset is not None else _sized(request, settings, wish, budget)
    size = fitted(
        replace(size, context=size.context if wish.running else min(512, max(ROOM, 2 * wish.longest))), settings
    )
    dropout = settings.dropout if settings.dropout is not None else 0.1
    more: dict[str, Any] = {} if settings.summary is None else {"summary": settings.summary}
    config = ENCODER_MODELS[name](
        size, vocab=wish.vocab, head=wish.head, outputs=wish.outputs, dropout=dropout,
        **({"summary": "mean"} if wish.head == "pooled" and name == "swift" else {}) | more,
    )  # fmt: skip
    config = with_settings(config, request.model_settings, prefix="model.")
    settings = settings.replace(
        dim=config.dim, depth=len(config.trunk.all_blocks()), heads=size.heads, context=embed_of(config).context,
        dropout=dropout, tokens=settings.tokens or 4096,
    )  # fmt: skip
    return config, settings


def _sized(request: Request, settings: Any, wish: Wish, budget: Budget) -> Size:
    """The largest rung of the ladder that still sees the data often enough, or running text as far as is worth it."""
    work = EFFICIENCY * work_of(request, settings, budget)

    def fits(size: Size) -> bool:
        weights = 12 * size.depth * size.dim**2
        each = 6 * (weights + (0.15 * size.dim * wish.vocab if wish.running else 0)) + 12 * size.depth * size.dim * 64
        seen = work / each
        return seen >= (RUNNING * weights if wish.running else ROUNDS * wish.tokens)

    return largest_rung(LADDER, fits)


def _continued(model: Model, settings: Any, wish: Wish, same: bool) -> Stream.Config:
    """The backbone of a trained model with the head that is wanted now; adapters that it has are folded first."""
    config = with_adapters(model.backbone()[0], None)
    if not isinstance(config.embed, TextEmbed.Config):
        raise WeftError("the run to start from does not read text", where="--from")
    if settings.dropout is not None:
        raise ConfigError("dropout is that of the run to start from", where="--set dropout", fix="leave it out")
    head, outputs = config.head if same else _head(config, settings, wish), wish.outputs
    how = None if settings.lora is None else LowRank.Config(rank=settings.lora, alpha=2.0 * settings.lora)
    return with_adapters(config.replace(head=head, outputs=outputs), how)


def _head(config: Stream.Config, settings: Any, wish: Wish) -> Head.Config | None:
    """The head that is wanted: the one there is, or one that the zoo would give such a model.

    The mean of all tokens says more than a first token that was never asked for a summary.
    """
    if wish.head == "fill":
        return config.head
    size = Size(dim=config.dim, depth=1, heads=1, context=embed_of(config).context)
    told = settings.summary or "mean"
    more = {"summary": told} if wish.head == "pooled" else {}
    kind = "bert" if told == "class" else "swift"
    return ENCODER_MODELS[kind](size, vocab=wish.vocab, head=wish.head, outputs=wish.outputs, **more).head


def start_weights(request: Request, same_head: bool) -> Mapping[str, Tensor] | None:
    """The weights to begin with: those of the backbone, and of the head where it stays the same."""
    if request.origin is None:
        return None
    model = request.origin.model
    model = merged(model) if has_adapters(model) else model
    prefix = model.backbone()[1]
    tensors = Weights(model, torch.float32).tensors()
    own = {name.removeprefix(prefix): t for name, t in tensors.items() if name.startswith(prefix)}
    return {name: t for name, t in own.items() if same_head or not name.startswith("head.")}


def embed_of(config: Stream.Config) -> TextEmbed.Config:
    """How a model reads text."""
    assert isinstance(config.embed, TextEmbed.Config)
    return config.embed


def minutes_for(request: Request, tokens: int) -> Budget:
    """The user's, or some minutes that suit the amount of text."""
    return choose_budget(request, min(10.0, max(0.5, tokens / 1e5)))


def plan_lines(request: Request, config: Stream.Config, settings: Any, budget: Budget, batch: str) -> Mapping[str, str]:
    """The plan for people."""
    kept = (
        " (the trunk stays as it is)"
        if settings.freeze
        else f" (LoRA of rank {settings.lora})"
        if settings.lora
        else ""
    )
    return {
        "model": model_line(request, model_name(request), shape(config), config) + kept,
        "training": training_line(request, settings, budget, batch),
    }


def stream_config(config: Mapping[str, Any], where: str) -> Stream.Config:
    """The model of a run."""
    return from_json(config["model"], Stream.Config, where=f"{where}: model")
