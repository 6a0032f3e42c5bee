"""Encoder–decoders on pairs of texts: sizes that suit a budget, and the settings that go with them. Pure arithmetic."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from weft.batches.like_lengths import LikeLengthSource
from weft.batches.source import Source
from weft.domains.pairs.dataset import PairData
from weft.domains.pairs.encoded import PairIds
from weft.domains.pairs.reading.texts import Pair
from weft.domains.pairs.settings import PAIRS, PairTraining
from weft.domains.texts.codec.text import TextCodec
from weft.files.text_rows import TextRows
from weft.modalities import tokenizer_making as tokenizers
from weft.modalities.encoding import ended
from weft.models.seq2seq import Seq2Seq
from weft.models.zoo import Size
from weft.models.zoo.translation import TRANSLATION_MODELS
from weft.storage.marked import MarkedPieces
from weft.tasks.codec import Codecs
from weft.tasks.recipe import (
    OF_A_READER,
    Dropout,
    Recipe,
    TokensPerWeight,
    check_vocabulary,
    sized,
    with_model_settings,
    with_own_numbers,
)
from weft.tasks.request import Draft, Loaded, Request
from weft.tasks.sizing import Sizing
from weft.training.schedule import Budget

SIZING = TokensPerWeight(0.75)  # target tokens seen for each weight of both trunks
FEW_STEPS, MANY_STEPS = 250, 4000  # fewer are too few to learn in; more learn as much from larger micro-batches
DROPOUT = Dropout((0.0, 0.1, 0.2))
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
PRESETS = {name: sized(preset) for name, preset in PAIRS.items()}
PAPER = {"optimizer": "adamw", "schedule": "inverse-sqrt", "weight_decay": 0.0, "smoothing": 0.1, "average": 5,
         "dropout": 0.1, "tokens": 4096}  # fmt: skip
PAPER_WARMUP = 4000
WARMUP_SHARE, WARMUP_SHARE_OF_MINUTES = 1 / 8, 1 / 4  # of a shorter run; of one by minutes, whose steps are reckoned
RECIPE = Recipe(
    models=TRANSLATION_MODELS,
    presets=PRESETS,
    default="swift",
    rates={
        "swift": {"lr": 5e-2, "matrix_lr": 0.6, "table_decay": 0.1},
        "transformer": PAPER,
        "lstm": {"lr": 3e-2, "matrix_lr": 1.0},
        "lstm-attention": {"lr": 3e-2, "matrix_lr": 1.0},
    },
    kept=(*OF_A_READER, "tokens", "source", "target", "smoothing"),
    frozen=("source",),
    efficiency=0.25,
)
PairDraft = Draft[PairData, PairIds, PairTraining]
Make = Callable[[Size, float], Seq2Seq.Config]
P = TypeVar("P", bound=PairTraining)


@dataclass(frozen=True)
class PairSize:
    """A size, the tokens of a micro-batch that go with it, and the epochs and steps that the budget is good for."""

    size: Size
    tokens: int
    epochs: float
    steps: float


def trunk_weights(size: Size) -> float:
    """Weights in the matrices of both trunks: 12 D^2 a layer of the encoder, 16 D^2 of the decoder."""
    return 28 * size.depth * size.dim**2


def step_operations(size: Size, vocab: int) -> float:
    """Floating-point operations to train on one target token and the source token beside it."""
    return 6 * (trunk_weights(size) + size.dim * vocab)


def for_budget(sizing: Sizing, vocab: int, data_tokens: int) -> PairSize:
    """The size whose tokens per weight come nearest to the best ratio."""
    size = sizing.choose(
        LADDER,
        lambda size: step_operations(size, vocab),
        data_tokens,
        lambda ladder, seen: SIZING.choose(ladder, seen, trunk_weights),
    )
    return with_micro_batches(size, sizing.operations / step_operations(size, vocab), data_tokens)


def with_micro_batches(size: Size, seen: float, data_tokens: int) -> PairSize:
    """Larger micro-batches pay as long as there are steps enough."""
    tokens = 1024 if seen / 2048 < FEW_STEPS else 2048
    while seen / tokens > MANY_STEPS and tokens < 8192:
        tokens *= 2
    return PairSize(size, tokens, seen / max(1, data_tokens), seen / tokens)


def pair_codecs(data: PairData, training: PairTraining, known: Codecs, spelt: Callable[[str], str]) -> Codecs:
    """Source and target over one tokenizer, learned from both sides together unless it is known."""
    if "target" in known:
        return {name: known[name] for name in ("source", "target")}
    kind = training.tokenizer or "bpe"
    vocab = training.vocab or (tokenizers.vocabulary_of_pairs(data.characters) if kind == "bpe" else None)
    if isinstance(data.train, TextRows) and spelt is str:
        characters, pieces = data.characters, _streamed(data, data.train)
    else:
        texts = [text for pair in data.train for text in (pair.source, spelt(pair.target))]
        characters, pieces = sum(map(len, texts)), ended(texts)
    learned = TextCodec.learn(pieces, kind, vocab, characters=characters, symbols=training.symbols)
    return {"source": learned.in_role("source"), "target": learned.in_role("target")}


def _streamed(data: PairData, rows: TextRows[Pair]) -> Iterable[str | None]:
    """Both sides of pairs that are not held in memory, known by what the pairs are."""
    mark = f"both sides of {data.fingerprint}: {data.rule}"
    return MarkedPieces(mark, rows.bytes, lambda: ended(text for pair in rows for text in (pair.source, pair.target)))


def encoder_decoder(
    draft: Draft[PairData, PairIds, P],
    recipe: Recipe[Size] = RECIPE,
    make: Make | None = None,
    shares: Dropout = DROPOUT,
) -> tuple[Seq2Seq.Config, P]:
    """A model for pairs of texts, and the settings with everything decided.

    `make` gives the model of a size, with a share of dropout; by default that of the name which was asked for.
    """
    request, training, encoded = draft.request, draft.training, draft.encoded
    name, vocab = recipe.model_name(request), encoded.given.tokenizer.size
    symbols = vocab if encoded.other_targets is None else encoded.other_targets.size
    if request.preset is not None:
        size = PRESETS[request.preset]
        sized = with_micro_batches(size, draft.sizing.operations / step_operations(size, symbols), encoded.tokens)
    else:
        sized = for_budget(draft.sizing, symbols, encoded.tokens)
    size = with_own_numbers(replace(sized.size, context=encoded.context), training)
    dropout = shares.of(sized.epochs) if training.dropout is None else training.dropout
    made = TRANSLATION_MODELS[name](size, vocab=vocab, dropout=dropout) if make is None else make(size, dropout)
    config = with_model_settings(made, request)
    for side, tokens in (("source", vocab), ("target", symbols)):
        check_vocabulary(getattr(config, side), tokens, f"model.{side}.embed")
    decided: dict[str, Any] = {
        "dim": config.target.dim,
        "depth": len(config.source.trunk.all_blocks()),
        "heads": size.heads,
        "context": size.context,
        "dropout": dropout,
        "tokenizer": training.tokenizer or encoded.given.tokenizer.kind,
        "tokens": training.tokens or sized.tokens,
    }
    if name == "transformer":
        decided |= _paper_rate(request, size, _shorter_warmup(draft.budget, sized, encoded.tokens, decided["tokens"]))
    return config, training.replace(**decided)


def _shorter_warmup(budget: Budget, sized: PairSize, data_tokens: int, tokens: int) -> float:
    """The steps of warmup that are a fixed share of the run."""
    if budget.minutes is not None:
        return WARMUP_SHARE_OF_MINUTES * sized.steps * sized.tokens / tokens
    return WARMUP_SHARE * (budget.steps or (budget.epochs or 0.0) * data_tokens / tokens)


def _paper_rate(request: Request, size: Size, shorter: float) -> dict[str, Any]:
    """Lr = D^-0.5 * warmup^-0.5 at its peak, after 4000 steps or those of a `shorter` run, and never higher."""
    warmup = int(min(PAPER_WARMUP, max(50, shorter)))
    rates = {"warmup": warmup, "lr": (size.dim * PAPER_WARMUP) ** -0.5}
    return {name: value for name, value in rates.items() if name not in request.settings}


def batch_in_words(training: PairTraining, source: Source) -> str:
    """The size of a step: tokens in a micro-batch, and how many of them are padding."""
    assert isinstance(source, LikeLengthSource)
    batch = f"micro-batches of {training.tokens} tokens ({1 - source.real_share:.0%} padding)"
    return batch if training.batch == 1 else f"{batch}, {training.batch} in a step"


def pair_facts(run: Loaded) -> dict[str, str]:
    """How much there was to learn from, for a model card."""
    pairs = f"{run.data.amount('pairs')} ({' -> '.join(run.data.columns)})"
    return {"pairs": pairs, "tokens": run.codec("target", TextCodec).in_words()}
