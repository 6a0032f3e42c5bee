"""Planning an encoder–decoder: what the user left open is decided here. Reads no files and trains nothing."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from weft.config import from_json
from weft.errors import ConfigError
from weft.models.seq2seq import Seq2Seq
from weft.models.stream import Stream
from weft.models.zoo import Size
from weft.models.zoo.translation import TRANSLATION_MODELS
from weft.tasks.pair_data import ReadPairs
from weft.tasks.planning import (
    OF_A_READER,
    Catalogue,
    RowTraining,
    choose_budget,
    fitted,
    model_line,
    training_line,
    work_of,
)
from weft.tasks.sizing import nearest_rung
from weft.tasks.task import Request, with_settings
from weft.training.run import Budget

EFFICIENCY = 0.5  # the share of the bare matrix-multiply rate that a training step reaches
RATIO = 1.5  # target tokens seen for each weight of the trunks
FEW_STEPS, MANY_STEPS = 500, 8000  # fewer than so many are too few to learn in; more learn as much from larger bundles
LADDER = (
    Size(dim=64, depth=1, heads=2, context=128),
    Size(dim=96, depth=2, heads=3, context=128),
    Size(dim=128, depth=2, heads=4, context=128),
    Size(dim=160, depth=2, heads=5, context=128),
    Size(dim=192, depth=2, heads=6, context=128),
    Size(dim=224, depth=3, heads=7, context=128),
    Size(dim=256, depth=3, heads=8, context=128),
    Size(dim=320, depth=4, heads=10, context=128),
    Size(dim=384, depth=5, heads=12, context=128),
    Size(dim=512, depth=6, heads=16, context=128),
)
PRESETS = {
    "tiny": Size(dim=64, depth=2, heads=2, context=128),
    "small": Size(dim=256, depth=3, heads=4, context=128),
    "base": Size(dim=512, depth=6, heads=8, context=256),
    "big": Size(dim=1024, depth=6, heads=16, context=256),
}
PAPER = {"optimizer": "adamw", "schedule": "inverse-sqrt", "weight_decay": 0.0, "smoothing": 0.1, "average": 5,
         "dropout": 0.1, "tokens": 4096}  # fmt: skip
PAPER_WARMUP = 4000
CATALOGUE = Catalogue(
    models=TRANSLATION_MODELS,
    presets=PRESETS,
    default="swift",
    recipes={
        "swift": {"lr": 5e-2, "matrix_lr": 0.6, "table_decay": 0.1},
        "transformer": PAPER,
        "lstm": {"lr": 3e-2, "matrix_lr": 1.0},
        "lstm-attention": {"lr": 3e-2, "matrix_lr": 1.0},
    },
    of_preset={"base": "transformer", "big": "transformer"},
)
KEPT = (*OF_A_READER, "tokens", "source", "target", "smoothing")  # taken over from the run to start from


class PairTraining(RowTraining):
    """Settings of an encoder–decoder's training."""

    batch: int = 1
    micro: int | None = 1
    tokens: int | None = None
    smoothing: float = 0.0
    source: str | None = None
    target: str | None = None

    about = {
        **RowTraining.about,
        "depth": "number of layers on each side",
        "batch": "bundles of sentences in a step, each of so many `tokens`",
        "micro": "bundles computed at once",
        "tokens": "tokens in a bundle of sentences of like length, on the longer side, padding included",
        "smoothing": "share of belief given to all tokens alike, in training",
        "source": "the column, field or language to translate from; its name, or its number from 1",
        "target": "the one to translate to",
    }

    def check(self) -> None:
        super().check()
        if self.tokens is not None and not 1 <= self.tokens <= 2**24:
            raise ConfigError(f"expected from 1 to {2**24}, found {self.tokens}", where="tokens")
        if not 0 <= self.smoothing < 1:
            raise ConfigError(f"must be at least 0 and below 1, found {self.smoothing}", where="smoothing")


@dataclass(frozen=True)
class Sized:
    """A size, the tokens of a bundle that go with it, dropout, and the steps that the work is good for."""

    size: Size
    tokens: int
    dropout: float
    steps: float


def trunk_weights(size: Size) -> float:
    """Weights in the matrices of both trunks: 12 D^2 a layer of the encoder, 16 D^2 of the decoder."""
    return 28 * size.depth * size.dim**2


def step_operations(size: Size, vocab: int) -> float:
    """Floating-point operations to train on one target token and the source token beside it."""
    return 6 * (trunk_weights(size) + size.dim * vocab)


def for_work(work: float, vocab: int, data_tokens: int) -> Sized:
    """The rung of the ladder whose tokens per weight come nearest to the best ratio."""

    def seen(size: Size) -> float:
        return EFFICIENCY * work / step_operations(size, vocab)

    size = nearest_rung(LADDER, seen, trunk_weights, RATIO)
    return with_bundles(size, seen(size), data_tokens)


def with_bundles(size: Size, seen: float, data_tokens: int) -> Sized:
    """Larger bundles make each step of the optimizer pay, as long as there are steps enough; repeats want dropout."""
    tokens = 1024 if seen / 2048 < FEW_STEPS else 2048
    while seen / tokens > MANY_STEPS and tokens < 8192:
        tokens *= 2
    epochs = seen / max(1, data_tokens)
    return Sized(size, tokens, 0.0 if epochs < 6 else 0.1 if epochs < 40 else 0.2, seen / tokens)


def budget_for(request: Request, read: ReadPairs) -> Budget:
    """The user's, or some minutes that suit the amount of text."""
    return choose_budget(request, min(20.0, max(1.0, read.data.characters / 5e5)))


def choose_model(
    request: Request, settings: PairTraining, read: ReadPairs, budget: Budget
) -> tuple[Seq2Seq.Config, PairTraining]:
    """The model's config, and the settings with everything decided."""
    if request.origin is not None:
        return from_json(request.origin.config["model"], Seq2Seq.Config), settings
    name, vocab = CATALOGUE.model_name(request), read.tokenizer.size
    work = work_of(request, settings, budget)
    if request.preset is not None:
        size = PRESETS[request.preset]
        sized = with_bundles(size, EFFICIENCY * work / step_operations(size, vocab), read.tokens)
    else:
        sized = for_work(work, vocab, read.tokens)
    size = fitted(replace(sized.size, context=read.context), settings)
    dropout = sized.dropout if settings.dropout is None else settings.dropout
    config = TRANSLATION_MODELS[name](size, vocab=vocab, dropout=dropout)
    config = with_settings(config, request.model_settings, prefix="model.")
    for side, stream in (("source", config.source), ("target", config.target)):
        if stream.embed.size != vocab:
            problem = f"the tokenizer has {vocab} tokens, the {side} side {stream.embed.size}"
            raise ConfigError(problem, where=f"--set model.{side}.embed.vocab", fix="leave it out, or set vocab")
    decided: dict[str, Any] = {
        "dim": config.target.dim,
        "depth": len(config.target.trunk.all_blocks()),
        "heads": size.heads,
        "context": size.context,
        "dropout": dropout,
        "tokenizer": settings.tokenizer or read.tokenizer.kind,
        "tokens": settings.tokens or sized.tokens,
    }
    if name == "transformer":
        decided |= _paper_rate(request, size, _steps(budget, sized, read, decided["tokens"]))
    return config, settings.replace(**decided)


def _steps(budget: Budget, sized: Sized, read: ReadPairs, tokens: int) -> float:
    if budget.epochs is not None:
        return budget.epochs * read.tokens / tokens
    return budget.steps or sized.steps * sized.tokens / tokens


def _paper_rate(request: Request, size: Size, steps: float) -> dict[str, Any]:
    """Lr = D^-0.5 * warmup^-0.5 at its peak, after 4000 steps or an eighth of a shorter run, and never hotter than that."""
    warmup = int(min(PAPER_WARMUP, max(50, steps / 8)))
    rates = {"warmup": warmup, "lr": (size.dim * PAPER_WARMUP) ** -0.5}
    return {name: value for name, value in rates.items() if name not in request.settings}


def context_of(config: Seq2Seq.Config) -> int:
    """The tokens that a model reads at once on each side."""
    return min(config.source.embed.context, config.target.embed.context)  # type: ignore[attr-defined]


def shape(config: Seq2Seq.Config) -> str:
    """The sizes of a model in words."""

    def layers(stream: Stream.Config) -> int:
        return len(stream.trunk.all_blocks())

    heads = getattr(config.source.trunk.all_blocks()[0].mix, "heads", None)
    attention = f", {heads} head{'s' if heads != 1 else ''}" if heads else ""
    return f"{layers(config.source)}+{layers(config.target)} layers, {config.target.dim} wide{attention}"


def plan_lines(
    request: Request, config: Seq2Seq.Config, settings: PairTraining, budget: Budget, real: float
) -> Mapping[str, str]:
    """The plan for people."""
    batch = f"{settings.tokens} tokens a bundle ({real:.0%} real)"
    if settings.batch > 1:
        batch += f", {settings.batch} bundles a step"
    return {
        "model": model_line(request, CATALOGUE.model_name(request), shape(config), config),
        "training": training_line(request, settings, budget, batch),
    }
