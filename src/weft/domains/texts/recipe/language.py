"""Language models: sizes that reach the lowest held-out loss in a given time. Pure arithmetic.

The rules are fitted to measurements that docs/choices.md describes: at the end of a budget of C floating-point
operations, a model of N weights in its trunk has seen T = C / 6N tokens, and the loss is lowest where T / N is near
a ratio that depends on how much one token says.
"""

from dataclasses import dataclass, replace
from typing import Any

from weft.domains.texts.settings import LANGUAGE, TextTraining
from weft.models.stream import Stream
from weft.models.zoo import LANGUAGE_MODELS, Size
from weft.tasks.recipe import OF_A_READER, Recipe, TokensPerWeight, sized, with_own_numbers
from weft.tasks.request import Draft
from weft.tasks.sizing import Sizing

CHARACTERS, WORD_PIECES = TokensPerWeight(2.4), TokensPerWeight(4.8)  # characters and bytes say less than word pieces
CHARACTERS_VOCAB = 1024
LADDER = (
    Size(dim=64, depth=2, heads=2, context=64),
    Size(dim=96, depth=3, heads=3, context=128),
    Size(dim=128, depth=4, heads=4, context=128),
    Size(dim=160, depth=4, heads=5, context=128),
    Size(dim=192, depth=4, heads=6, context=128),
    Size(dim=256, depth=5, heads=8, context=256),
    Size(dim=320, depth=6, heads=10, context=256),
    Size(dim=384, depth=8, heads=12, context=256),
    Size(dim=512, depth=10, heads=16, context=512),
    Size(dim=768, depth=12, heads=12, context=1024),
)
MOST_CONTEXT = 1024  # that long talks ask for
MANY_STEPS = 4800  # beyond this many steps larger batches learn as much from each token
FEW_EPOCHS, MANY_EPOCHS = 4.8, 18.0  # from which on a text is learned by heart without dropout, or with little
PRESETS = {name: sized(preset) for name, preset in LANGUAGE.items()}
RECIPE = Recipe(
    models=LANGUAGE_MODELS,
    presets=PRESETS,
    default="swift",
    rates={
        "swift": {"lr": 3e-2, "matrix_lr": 1.0, "table_decay": 0.25},
        "gpt": {"lr": 1e-2, "matrix_lr": 2.5},
        "llama": {"lr": 2e-2, "matrix_lr": 1.25},
        "lstm": {"lr": 1e-2, "matrix_lr": 2.5},
    },
    kept=(*OF_A_READER, "batch"),
    frozen=(),
    efficiency=0.3,
)


@dataclass(frozen=True)
class Sized:
    """A size with the batch and dropout that go with it, and the tokens it should see."""

    size: Size
    batch: int
    dropout: float
    tokens: float


def trunk_weights(size: Size) -> float:
    """Weights in the trunk's matrices: 12 D^2 a layer."""
    return 12 * size.depth * size.dim**2


def step_operations(size: Size, vocab: int) -> float:
    """Floating-point operations to train on one token."""
    return 6 * (trunk_weights(size) + size.dim * vocab) + 12 * size.depth * size.dim * size.context


def for_budget(sizing: Sizing, vocab: int, data_tokens: int) -> Sized:
    """The size whose tokens per weight come nearest to the best ratio."""
    rule = CHARACTERS if vocab <= CHARACTERS_VOCAB else WORD_PIECES
    size = sizing.choose(
        LADDER,
        lambda size: step_operations(size, vocab),
        data_tokens,
        lambda ladder, seen: rule.choose(ladder, seen, trunk_weights),
    )
    return with_batch(size, sizing.operations / step_operations(size, vocab), data_tokens)


def with_batch(size: Size, tokens: float, data_tokens: int) -> Sized:
    """Small batches learn more from each token until there are very many steps; repeated data wants dropout."""
    batch = max(4, 2048 // size.context)
    while tokens / (batch * size.context) > MANY_STEPS and batch < 512:
        batch *= 2
    epochs = tokens / max(1, data_tokens)
    return Sized(
        size, batch, dropout=0.0 if epochs < FEW_EPOCHS else 0.1 if epochs < MANY_EPOCHS else 0.2, tokens=tokens
    )


def language_model(
    draft: Draft[Any, Any, TextTraining], *, vocab: int, tokens: int, longest: int = 0
) -> tuple[Stream.Config, TextTraining]:
    """A model for a number of tokens to train on, of which `longest` are read at once, and the settings with it."""
    request, training = draft.request, draft.training
    if request.preset is not None:
        sized = with_batch(PRESETS[request.preset], 0.0, tokens)
    else:
        sized = for_budget(draft.sizing, vocab, tokens)
    context = max(2, min(max(sized.size.context, min(longest, MOST_CONTEXT)), tokens - 1))
    size = with_own_numbers(replace(sized.size, context=context), training)
    dropout = sized.dropout if training.dropout is None else training.dropout
    config = LANGUAGE_MODELS[RECIPE.model_name(request)](size, vocab=vocab, dropout=dropout)
    batch = training.batch if "batch" in request.settings else sized.batch
    return config, training.replace(heads=size.heads, dropout=dropout, batch=batch)
