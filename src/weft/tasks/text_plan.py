"""Planning a language model: what the user left open is decided here. Reads no files and trains nothing."""

from collections.abc import Mapping
from typing import Any

import torch

from weft.config import from_json
from weft.errors import ConfigError, WeftError, nearest
from weft.models.stream import Stream
from weft.models.zoo import LANGUAGE_MODELS, PRESETS, Size
from weft.tasks import sizing
from weft.tasks.task import Request, with_settings
from weft.tasks.text_data import Read, described
from weft.training.precision import pick_precision, product_rate
from weft.training.progress import count, duration
from weft.training.run import MAX_LAYERS, Budget, size_of
from weft.training.settings import Training

DEFAULT = "swift"
QUICK_STEPS = 150  # of the preset that trains in seconds
# The size of a run by steps or epochs is that of five minutes on a usual processor, so that it is the same everywhere.
USUAL_SECONDS, USUAL_RATE = 300.0, 1e11
RECIPES: dict[str, dict[str, Any]] = {  # the rates at which each model learns fastest: docs/choices.md
    "swift": {"lr": 3e-2, "matrix_lr": 1.0, "table_decay": 0.25},
    "gpt": {"lr": 1e-2, "matrix_lr": 2.5},
    "llama": {"lr": 2e-2, "matrix_lr": 1.25},
    "lstm": {"lr": 1e-2, "matrix_lr": 2.5},
}
OF_THE_MODEL = ("dim", "depth", "heads", "context", "dropout", "tokenizer", "vocab")


class TextTraining(Training):
    """Settings of a language model's training."""

    context: int | None = None
    dropout: float | None = None
    tokenizer: str | None = None
    vocab: int | None = None
    dim: int | None = None
    depth: int | None = None
    heads: int | None = None

    about = {
        **Training.about,
        "context": "tokens that the model reads at once",
        "dropout": "share of values dropped in training",
        "tokenizer": "bytes, characters, bpe or the path of a tokenizer.json",
        "vocab": "size of a bpe vocabulary",
        "dim": "width of the model",
        "depth": "number of layers",
        "heads": "heads of attention in a layer",
    }

    def check(self) -> None:
        super().check()
        for name, most in (("context", 2**20), ("dim", 2**20), ("heads", 2**20), ("depth", MAX_LAYERS)):
            value = getattr(self, name)
            if value is not None and not 1 <= value <= most:
                raise ConfigError(f"expected from 1 to {most}, found {value}", where=name)
        if self.dropout is not None and not 0 <= self.dropout < 1:
            raise ConfigError(f"must be at least 0 and below 1, found {self.dropout}", where="dropout")


def model_name(request: Request) -> str:
    """The name of the model that is asked for, given or inherited."""
    was = None if request.origin is None else request.origin.config.get("model_name")
    name = request.model or was or DEFAULT
    if name not in LANGUAGE_MODELS:
        fix = nearest(name, LANGUAGE_MODELS)
        raise WeftError(f"there is no model {name!r} for this task", where="--model", fix=fix)
    if was is not None and name != was:
        raise WeftError(f"the run to start from is a {was}, not a {name}", where="--model", fix="leave it out")
    return name


def check_request(request: Request) -> None:
    """Refuse what cannot be meant, before any data is read."""
    if request.preset is not None and request.preset not in PRESETS:
        fix = nearest(request.preset, PRESETS)
        raise WeftError(f"there is no preset {request.preset!r}", where="--preset", fix=fix)
    if request.origin is None:
        return
    fixed = [name for name in request.settings if name in OF_THE_MODEL or name.startswith("model.")]
    if fixed or request.preset is not None:
        names = ", ".join([*fixed, *(["preset"] if request.preset else [])])
        raise ConfigError(f"{names}: the model is that of the run to start from", where="--from", fix="leave it out")


def first_settings(request: Request) -> TextTraining:
    """The settings before anything is known of the data; those of the model are of the run to start from, if any."""
    settings = TextTraining(**RECIPES.get(model_name(request), {}))
    if request.origin is not None:
        was = request.origin.config["training"]
        settings = settings.replace(**{name: was[name] for name in (*OF_THE_MODEL, "batch")})
    return with_settings(settings, request.training_settings)


def choose_budget(request: Request, read: Read) -> Budget:
    """The user's, or some minutes that suit the amount of text."""
    if request.budget != Budget():
        return request.budget
    if request.preset == "tiny":
        return Budget(steps=QUICK_STEPS)
    return Budget(minutes=round(min(10.0, max(1.0, read.corpus.bytes / 2e5)), 1))


def choose_model(
    request: Request, settings: TextTraining, read: Read, budget: Budget
) -> tuple[Stream.Config, TextTraining]:
    """The model's config, and the settings with everything decided."""
    if request.origin is not None:
        return from_json(request.origin.config["model"], Stream.Config), settings
    vocab, tokens = read.tokenizer.size, len(read.train)
    if request.preset is not None:
        sized = sizing.with_batch(PRESETS[request.preset], 0.0, tokens)
    elif budget.seconds is not None:
        rate = product_rate(request.device, pick_precision(settings.precision, request.device))
        sized = sizing.for_budget(budget.seconds, rate, vocab, tokens)
    else:
        sized = sizing.for_budget(USUAL_SECONDS, USUAL_RATE, vocab, tokens)
    given = {name: value for name in ("dim", "depth", "heads", "context") if (value := getattr(settings, name))}
    size = _fitted(sized.size, given, tokens)
    size.check()
    dropout = sized.dropout if settings.dropout is None else settings.dropout
    config = LANGUAGE_MODELS[model_name(request)](size, vocab=vocab, dropout=dropout)
    config = with_settings(config, request.model_settings, prefix="model.")
    if config.embed.size != vocab:
        problem = f"the tokenizer has {vocab} tokens, the model {config.embed.size}"
        raise ConfigError(problem, where="--set model.embed.vocab", fix="leave it out, or set vocab with tokenizer=bpe")
    settings = settings.replace(
        dim=config.dim,
        depth=len(config.trunk.all_blocks()),
        heads=size.heads,
        context=context_of(config),
        dropout=dropout,
        tokenizer=settings.tokenizer or read.tokenizer.kind,
        batch=settings.batch if "batch" in request.settings else sized.batch,
    )
    return config, settings


def context_of(config: Stream.Config) -> int:
    """The tokens that a model reads at once."""
    return config.embed.context  # type: ignore[attr-defined]


def shape(config: Stream.Config) -> str:
    """The sizes of a model in words."""
    blocks = config.trunk.all_blocks()
    heads = getattr(blocks[0].mix, "heads", None)
    attention = f"{heads} head{'s' if heads != 1 else ''}, " if heads else ""
    layers = f"{len(blocks)} layer{'s' if len(blocks) != 1 else ''}"
    return f"{layers}, {config.dim} wide, {attention}context {context_of(config)}"


def plan_lines(
    request: Request, read: Read, config: Stream.Config, settings: TextTraining, budget: Budget
) -> Mapping[str, str]:
    """The plan for people."""
    precision = "bf16" if pick_precision(settings.precision, request.device) is torch.bfloat16 else "fp32"
    if budget.minutes is not None:
        length = duration(60 * budget.minutes)
    else:
        length = f"{budget.steps:,} steps" if budget.steps else f"{budget.epochs:g} epochs"
    name, size = model_name(request), size_of(config, training=True)
    start = "" if request.origin is None else f", from {request.origin.folder.path}"
    return {
        "data": described(read.corpus),
        "tokens": f"{read.tokenizer.kind}, vocabulary {read.tokenizer.size}; {count(len(read.train))} to train on",
        "held out": f"{read.rule.partition(':')[0]} ({count(len(read.valid))} tokens)",
        "model": f"{name}, {shape(config)}, {count(size)} parameters{start}",
        "training": f"{length} on {request.device.type} in {precision}, batch {settings.batch}, lr {settings.lr:g}",
    }


def _fitted(size: Size, given: Mapping[str, int], tokens: int) -> Size:
    """A size with the user's numbers in place of its own, and no longer context than there is text."""
    values = {"dim": size.dim, "depth": size.depth, "heads": size.heads, "context": size.context, **given}
    if "dim" in given and "heads" not in given:
        width = max(1, size.dim // size.heads)
        fitting = [h for h in range(1, values["dim"] + 1) if values["dim"] % h == 0 and values["dim"] // h % 2 == 0]
        values["heads"] = min(fitting or [1], key=lambda h: abs(values["dim"] / h - width))
    if "context" not in given:
        values["context"] = max(2, min(values["context"], tokens - 1))
    return Size(**values)
