"""Encoders of texts: sizes that suit a budget, the settings that go with them, and heads on what was learned before."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from torch import Tensor

from weft.core.heads import Head
from weft.domains.texts.codec.text import TextCodec
from weft.domains.texts.encoded.whole_texts import TextAmount
from weft.domains.texts.recipe.language import trunk_weights
from weft.domains.texts.settings import ENCODER, HIDDEN_SHARE, EncoderTraining
from weft.errors import WeftError
from weft.modalities import tokenizer_making as tokenizers
from weft.modalities.spelling import Spelling, spelled
from weft.modalities.text import TextEmbed
from weft.modalities.tokenizer import Tokenizer
from weft.models.backbone import context_of
from weft.models.stream import Model, Stream
from weft.models.zoo import ENCODER_MODELS, Size
from weft.models.zoo.encoders import Wanted
from weft.tasks.codec import Codecs
from weft.tasks.finetuning import decided, with_lora
from weft.tasks.recipe import (
    MinEpochs,
    Recipe,
    TokensPerWeight,
    check_vocabulary,
    sized,
    with_model_settings,
    with_own_numbers,
)
from weft.tasks.request import Draft, Loaded
from weft.tasks.sizing import Sizing

MIN_EPOCHS = MinEpochs(6)  # the largest model that reaches this many epochs is chosen
OF_RUNNING_TEXT = TokensPerWeight(2.0, at_least=True)  # tokens seen for each weight of the trunk, to learn blanks
USUAL_LENGTH = 64  # tokens of a text when the cost of attention is computed
LADDER = (
    Size(dim=64, depth=2, heads=2, context=128),
    Size(dim=96, depth=2, heads=3, context=128),
    Size(dim=128, depth=2, heads=4, context=128),
    Size(dim=192, depth=3, heads=6, context=128),
    Size(dim=256, depth=4, heads=8, context=128),
    Size(dim=384, depth=6, heads=12, context=128),
    Size(dim=512, depth=8, heads=16, context=256),
)
TAGGER = LADDER[2]  # of few sentences; a smaller one tags worse
TAG_WEIGHTS = 32  # of a tagger's trunk for each token of the data, at most: more learn few sentences by heart
PRESETS = {name: sized(preset) for name, preset in ENCODER.items()}
RECIPE = Recipe(
    models=ENCODER_MODELS,
    presets=PRESETS,
    default="swift",
    rates={
        "swift": {"lr": 1e-2, "matrix_lr": 1.0, "table_decay": 0.25, "weight_decay": 0.1},
        "bert": {"lr": 1e-3, "optimizer": "adamw", "weight_decay": 0.01},
    },
    efficiency=0.2,
)
LEAST_CONTEXT, MOST_CONTEXT = 64, 512  # unless the user sets a context; in between, twice a long text of the data
USUAL_DROPOUT = 0.1
TAG_DROPOUT = 0.3  # of taggers, whose words are known by their letters too
TOKEN_DROPOUT = 0.4  # share of the tokens of a tagger that training leaves to their letters and their neighbours
TAG_TABLE_DECAY = 2.0  # what few words have in common is kept, what one of them has is forgotten
SPELLING = Spelling.Config()
USUAL_TOKENS = 4096  # the most tokens in a micro-batch
T = TypeVar("T", bound=EncoderTraining)


@dataclass(frozen=True)
class EncoderWanted:
    """What a task wants of an encoder: a head with its outputs, for the tokens and the amount of its texts."""

    head: Wanted
    outputs: int | None
    tokenizer: Tokenizer
    amount: TextAmount

    @property
    def running(self) -> bool:
        """Whether blanks in running text are learned, in windows, rather than texts read whole."""
        return self.head == "fill"


def size_of(texts: Iterable[str]) -> tuple[int, int]:
    """Bytes and characters of texts."""
    bytes, characters = 0, 0
    for text in texts:
        bytes += len(text.encode("utf-8", "replace"))
        characters += len(text)
    return bytes, characters


def text_codec(
    pieces: Iterable[str | None], size: tuple[int, int], training: EncoderTraining, known: Codecs, *, mask: bool = False
) -> TextCodec:
    """The codec of texts that are read whole, learned from a stream unless known; `size` is its bytes and characters.

    The default is word pieces, so that a token says something by itself.
    """
    if "text" in known:
        codec = known["text"]
        assert isinstance(codec, TextCodec)
        return codec.in_role("whole")
    kind = training.tokenizer or "bpe"
    vocab = training.vocab or (tokenizers.vocabulary_of_texts(size[0]) if kind == "bpe" else None)
    return TextCodec.learn(pieces, kind, vocab, characters=size[1], mask=mask, symbols=training.symbols)


def step_operations(size: Size, wanted: EncoderWanted) -> float:
    """Floating-point operations to train on one token."""
    # Of running text, hidden tokens alone have logits.
    logits = HIDDEN_SHARE * size.dim * wanted.tokenizer.size if wanted.running else 0
    return 6 * (trunk_weights(size) + logits) + 12 * size.depth * size.dim * USUAL_LENGTH


def for_budget(sizing: Sizing, wanted: EncoderWanted) -> Size:
    """The largest size that sees the data often enough, or running text as far as its weights are worth."""
    tokens = wanted.amount.tokens

    def rule(ladder: Sequence[Size], seen: Callable[[Size], float]) -> Size:
        if wanted.running:
            return OF_RUNNING_TEXT.choose(ladder, seen, trunk_weights)
        if wanted.head == "tags":
            most = max(TAG_WEIGHTS * tokens, trunk_weights(TAGGER))
            ladder = [size for size in ladder if trunk_weights(size) <= most]
        return MIN_EPOCHS.choose(ladder, seen, tokens)

    return sizing.choose(LADDER, lambda size: step_operations(size, wanted), tokens, rule)


def new_encoder(draft: Draft[Any, Any, T], wanted: EncoderWanted) -> tuple[Stream.Config, T]:
    """A model for texts, and the settings with everything decided.

    Texts in use are longer and of rarer words than those learned from, so there is room for twice their length.
    """
    request, training = draft.request, draft.training
    name = RECIPE.model_name(request)
    size = PRESETS.get(request.preset or "") or for_budget(draft.sizing, wanted)
    if not wanted.running:
        size = replace(size, context=min(MOST_CONTEXT, max(LEAST_CONTEXT, 2 * wanted.amount.longest)))
    size = with_own_numbers(size, training)
    by_letters = wanted.head == "tags" and name == "swift" and wanted.tokenizer.kind not in ("bytes", "characters")
    usual = TAG_DROPOUT if by_letters else USUAL_DROPOUT
    dropout = usual if training.dropout is None else training.dropout
    summary = training.summary or ("mean" if wanted.head == "pooled" and name == "swift" else "class")
    if by_letters and "table_decay" not in request.settings:
        training = training.replace(table_decay=TAG_TABLE_DECAY)
    more = {"spelling": SPELLING, "token_dropout": TOKEN_DROPOUT} if by_letters else {}
    config = ENCODER_MODELS[name](
        size,
        vocab=wanted.tokenizer.size,
        head=wanted.head,
        outputs=wanted.outputs,
        dropout=dropout,
        summary=summary,
        **more,
    )
    config = with_model_settings(config, request)
    check_vocabulary(config, wanted.tokenizer.size)
    return config, training.replace(
        dim=config.dim,
        depth=len(config.trunk.all_blocks()),
        heads=size.heads,
        context=context_of(config),
        dropout=dropout,
        tokenizer=training.tokenizer or wanted.tokenizer.kind,
        tokens=training.tokens or USUAL_TOKENS,
    )


def letters(codec: TextCodec, model: Model.Config) -> Mapping[str, Tensor]:
    """What the tokenizer says of the letters of tokens, where a model reads them."""
    embed = model.reader().embed
    if not isinstance(embed, TextEmbed.Config) or embed.spelling is None:
        return {}
    return {f"embed.spelling.{name}": table for name, table in spelled(embed.spelling, codec.tokenizer).items()}


def continued_encoder(
    origin: Loaded, training: T, wanted: EncoderWanted, *, same_head: bool
) -> tuple[Stream.Config, T]:
    """The backbone of a trained model with the head that is wanted now, and the settings with everything decided."""
    backbone = origin.model.backbone()[0]
    if not isinstance(backbone.embed, TextEmbed.Config):
        raise WeftError("the run to start from does not read text", where="--from")
    head = backbone.head if same_head or wanted.running else new_head(backbone, training, wanted)
    config = with_lora(backbone.replace(head=head, outputs=wanted.outputs), training)
    training = decided(training, same_head=same_head)
    kind, tokens = training.tokenizer or wanted.tokenizer.kind, training.tokens or USUAL_TOKENS
    return config, training.replace(tokenizer=kind, tokens=tokens)


def new_head(backbone: Stream.Config, training: EncoderTraining, wanted: EncoderWanted) -> Head.Config | None:
    """The head that the zoo would give such a model.

    The mean of all tokens says more than a first token that was never asked for a summary.
    """
    size = Size(dim=backbone.dim, depth=1, heads=1, context=context_of(backbone))
    summary = training.summary or "mean"
    make = ENCODER_MODELS["bert" if summary == "class" else "swift"]
    return make(size, vocab=wanted.tokenizer.size, head=wanted.head, outputs=wanted.outputs, summary=summary).head


def keeps_head(origin: Loaded, codecs: Codecs, end: str) -> bool:
    """Whether the head of the run to start from answers what is asked now; `end` names the codec of the answers."""
    return codecs[end].same(origin.codecs.get(end))


def text_facts(run: Loaded, things: str) -> dict[str, str]:
    """How much there was to learn from, for a model card."""
    rows = f"{run.data.amount('train')} to train on, {run.data.amount('held_out')} held out"
    return {things: rows, "tokens": run.codec("text", TextCodec).in_words()}
