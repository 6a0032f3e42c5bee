"""Planning a language model: what the user left open is decided here. Reads no files and trains nothing."""

from collections.abc import Mapping
from dataclasses import replace

from weft.config import from_json
from weft.errors import ConfigError
from weft.models.stream import Stream
from weft.models.zoo import LANGUAGE_MODELS, PRESETS
from weft.tasks import sizing
from weft.tasks.planning import (
    OF_A_READER,
    Catalogue,
    RunningTraining,
    choose_budget,
    fitted,
    model_line,
    training_line,
    work_of,
)
from weft.tasks.task import Request, with_settings
from weft.tasks.text_data import Read, described
from weft.training.progress import count
from weft.training.run import Budget

KEPT = (*OF_A_READER, "batch")  # settings that a run takes over from the one it starts from
CATALOGUE = Catalogue(
    models=LANGUAGE_MODELS,
    presets=PRESETS,
    default="swift",
    recipes={
        "swift": {"lr": 3e-2, "matrix_lr": 1.0, "table_decay": 0.25},
        "gpt": {"lr": 1e-2, "matrix_lr": 2.5},
        "llama": {"lr": 2e-2, "matrix_lr": 1.25},
        "lstm": {"lr": 1e-2, "matrix_lr": 2.5},
    },
    of_preset={},
)


class TextTraining(RunningTraining):
    """Settings of a language model's training."""


def budget_for(request: Request, read: Read) -> Budget:
    """The user's, or some minutes that suit the amount of text."""
    return choose_budget(request, min(10.0, max(1.0, read.corpus.bytes / 2e5)))


def choose_model(
    request: Request, settings: TextTraining, read: Read, budget: Budget
) -> tuple[Stream.Config, TextTraining]:
    """The model's config, and the settings with everything decided."""
    if request.origin is not None:
        return from_json(request.origin.config["model"], Stream.Config), settings
    vocab, tokens = read.tokenizer.size, len(read.train)
    if request.preset is not None:
        sized = sizing.with_batch(PRESETS[request.preset], 0.0, tokens)
    else:
        sized = sizing.for_budget(work_of(request, settings, budget), vocab, tokens)
    short = replace(sized.size, context=max(2, min(sized.size.context, tokens - 1)))
    size = fitted(short, settings)
    dropout = sized.dropout if settings.dropout is None else settings.dropout
    config = LANGUAGE_MODELS[CATALOGUE.model_name(request)](size, vocab=vocab, dropout=dropout)
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
    return {
        "data": described(read.corpus),
        "tokens": f"{read.tokenizer.kind}, vocabulary {read.tokenizer.size}; {count(len(read.train))} to train on",
        "held out": f"{read.rule.partition(':')[0]} ({count(len(read.valid))} tokens)",
        "model": model_line(request, CATALOGUE.model_name(request), shape(config), config),
        "training": training_line(request, settings, budget, f"batch {settings.batch}"),
    }
