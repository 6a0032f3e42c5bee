"""Models that write about pictures: sizes that suit a budget, and the settings that go with them. Pure arithmetic."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from weft.core import LayerNorm
from weft.domains.captions.encoded.captions import SeenCaptions
from weft.domains.captions.settings import CaptionTraining
from weft.domains.pictures.dataset import PictureData
from weft.domains.pictures.recipe import (
    AT_LARGE_SIZE,
    EXCEPT_SIZE,
    KEPT,
    PRESETS,
    VIT,
    backbone_maker,
    choose_size,
    operations,
)
from weft.domains.texts.codec.text import TextCodec
from weft.errors import ConfigError
from weft.modalities import tokenizer_making as tokenizers
from weft.modalities.encoding import ended
from weft.models.backbone import embed_of
from weft.models.seq2seq import Seq2Seq
from weft.models.stream import Stream
from weft.models.zoo import Size
from weft.models.zoo.captioning import CAPTION_ENCODERS, CAPTION_MODELS, convolutional, features
from weft.models.zoo.vision import VisionSize
from weft.objectives import Contrast, Objective, TargetToken
from weft.position import Add, Grid
from weft.tasks.codec import Codec, Codecs
from weft.tasks.recipe import Recipe, heads_for
from weft.tasks.request import Draft, Loaded, Request
from weft.tasks.settings.sized import SizedTraining

USUAL_TOKENS, USUAL_VOCAB = 16, 1024  # of a caption, and of a vocabulary, where the size of a model is decided
USUAL_LAYERS, HEAD_DIM = 2, 32  # of a decoder beside an encoder that has no layers; the width of its heads
ONE_STREAM_LAYERS = 4  # of the one line that does the work of an encoder and a decoder
RECURRENT = ("show-attend-tell", "cnn-lstm")  # decoders of one layer, where the user does not say otherwise
LADDER_OF = {name: "vit" if name == "transformer" else "vit-hybrid" for name in CAPTION_MODELS}
WITHOUT = ("flip", "colour", "strong", "mixup", "cutmix")  # captions tell left from right, and red from green

CAPTIONING: Recipe[VisionSize] = Recipe(
    models=CAPTION_ENCODERS,
    presets=PRESETS,
    default="show-attend-tell",
    rates={
        "swift": {"lr": 1e-2, "matrix_lr": 3.0, "table_decay": 0.1},
        "transformer": {"lr": VIT["lr"], "matrix_lr": VIT["matrix_lr"]},
        "cnn-transformer": {"lr": VIT["lr"], "matrix_lr": VIT["matrix_lr"]},
        "one-stream": {"lr": VIT["lr"], "matrix_lr": VIT["matrix_lr"]},
        "show-attend-tell": {"lr": 1e-2, "matrix_lr": 3.0},
        "cnn-lstm": {"lr": 1e-2, "matrix_lr": 3.0},
        "coca": {"lr": 1e-2, "matrix_lr": 3.0, "table_decay": 0.1, "batch": 128, "contrast": 1.0},
    },
    preset_settings=AT_LARGE_SIZE,
    fixed=EXCEPT_SIZE,
    kept=(*KEPT, "contrast"),
    frozen=("source",),
)
# The width and layers of a new decoder on a wider encoder, by the most captions that it is for.
NEW_DECODERS = ((50_000, 192, 1), (500_000, 384, 3), (math.inf, 512, 6))
LITTLE = NEW_DECODERS[0][0]  # captions, up to which a decoder on a frozen encoder needs the following
LITTLE_DROPOUT, LITTLE_SMOOTHING, LITTLE_EPOCHS = 0.3, 0.1, 40.0
PLACE_STD = 0.5  # of the places of an encoder's tokens that has none: about as loud as the tokens
CaptionDraft = Draft[PictureData, SeenCaptions, CaptionTraining]


def caption_codec(data: PictureData, training: CaptionTraining, known: Codecs) -> Codec:
    """The codec of captions: that of a language model or of the run to start from, or one learned from the captions."""
    language = known.get("text")
    if isinstance(language, TextCodec):
        return language.in_role("caption")
    if "caption" in known:
        return known["caption"]
    kind = training.tokenizer or "bpe"
    characters = sum(len(text) for captions in data.train.captions for text in captions)
    vocab = training.vocab or (tokenizers.vocabulary_of_pairs(characters) if kind == "bpe" else None)
    texts = (text for captions in data.train.captions for text in captions)
    return TextCodec.learn(ended(texts), kind, vocab, characters=characters, role="caption", symbols=training.symbols)


def writer_name(request: Request) -> str:
    """The name of the model that is asked for; an encoder of another task gets any decoder."""
    if request.origin is not None and not isinstance(request.origin.model, Seq2Seq):
        request = replace(request, origin=None)
    name = CAPTIONING.model_name(request)
    if "contrast" in request.settings and name != "coca":
        problem = f"a {name} does not compare pictures with texts"
        raise ConfigError(problem, where="--set contrast", fix="leave it out, or use --model coca")
    return name


def refuse_unfit(request: Request, name: str) -> None:
    """A decoder needs no summary, coverage is of attention, and coca has a further loss already."""
    if "summary" in request.settings:
        problem = "the decoder reads all of the encoder's tokens, not a summary of them"
        raise ConfigError(problem, where="--set summary", fix="leave it out")
    if "coverage" in request.settings and name in ("cnn-lstm", "coca"):
        why = "has no attention to the picture that could cover it" if name == "cnn-lstm" else "learns without coverage"
        problem = f"a {name} {why}"
        raise ConfigError(problem, where="--set coverage", fix="leave it out, or use --model show-attend-tell")


def refuse_tokenizer(request: Request, *more: str, where: str = "--from", whose: str = "the run to start from") -> None:
    """A decoder that goes on has its tokenizer; `more` are further settings that it has decided."""
    if fixed := [name for name in ("tokenizer", "vocab", *more) if name in request.settings]:
        problem = f"{', '.join(fixed)}: the tokenizer and the decoder are those of {whose}"
        raise ConfigError(problem, where=where, fix="leave it out")


def sizing_encoder(name: str) -> Callable[..., Stream.Config]:
    """The encoder by whose cost the size is chosen: convolutional features are as large whatever stands on them."""
    return features if CAPTION_ENCODERS[name] is convolutional else CAPTION_ENCODERS[name]


def new_encoder(draft: CaptionDraft, name: str, decoder: Size | None = None) -> Stream.Config:
    """An encoder of pictures that suits data and budget, for a decoder of this size where it is known."""
    measured = backbone_maker(draft, sizing_encoder(name), None)
    cost = partial(caption_cost, decoder=decoder)
    size = choose_size(draft, LADDER_OF[name], lambda size: cost(measured(size), draft.training))
    return backbone_maker(draft, CAPTION_ENCODERS[name], None)(size)


def writer_size(encoder: Stream.Config, training: SizedTraining, context: int, name: str = "swift") -> Size:
    """The decoder's sizes: the encoder's, as far as it has them."""
    blocks = encoder.trunk.all_blocks()
    heads = getattr(blocks[0].mix, "heads", None) if blocks else None
    if heads is None or encoder.dim // heads % 2:  # positions by turns need an even width
        heads = heads_for(encoder.dim, HEAD_DIM, even=True)
    usual = ONE_STREAM_LAYERS if name == "one-stream" else USUAL_LAYERS
    depth = training.depth or (1 if name in RECURRENT else len(blocks) or usual)
    return Size(dim=encoder.dim, depth=depth, heads=heads, context=context)


def new_writer_size(encoder: Stream.Config, draft: CaptionDraft, name: str) -> Size:
    """The size of a new decoder on a pretrained encoder: not wider than the captions suffice for."""
    size = writer_size(encoder, draft.training, draft.encoded.context, name)
    captions = len(draft.encoded.captions.rows)
    dim, depth = next((dim, depth) for most, dim, depth in NEW_DECODERS if captions <= most)
    if encoder.dim <= dim:
        return size
    depth = max(depth, 2) if name in ("coca", "one-stream") else 1 if name in RECURRENT else depth
    return Size(dim=dim, depth=depth, heads=heads_for(dim, HEAD_DIM, even=True), context=size.context)


def is_little(draft: CaptionDraft) -> bool:
    """Whether a decoder learns alone, from few captions: it would soon know them by heart."""
    return draft.training.freeze and len(draft.encoded.captions.rows) <= LITTLE


def on_features(model: Seq2Seq.Config, draft: CaptionDraft) -> Seq2Seq.Config:
    """A decoder of another width than its encoder: features are normed and mapped, and have places."""
    if model.source.dim == model.target.dim:
        return model
    embed = embed_of(model)
    code = Grid.Config(rows=embed.grid[0], columns=embed.grid[1], std=PLACE_STD)
    return model.replace(
        bridge=model.target.dim,
        memory_norm=LayerNorm.Config(learned=False),
        memory_dropout=LITTLE_DROPOUT if is_little(draft) else 0.0,
        memory_place=Add.Config(code=code) if embed.place is None else None,
    )


def caption_cost(
    encoder: Stream.Config, training: CaptionTraining, name: str = "swift", decoder: Size | None = None
) -> float:
    """Floating-point operations to learn from a picture and the captions of one visit.

    A decoder has 16 D^2 weights a layer and those of its output, for each token, and in one stream for each patch.
    """
    size = decoder or writer_size(encoder, training, 1, name)
    layers, output = 16 * size.depth * size.dim**2, size.dim * (training.vocab or USUAL_VOCAB)
    seen = math.prod(embed_of(encoder).grid) if name == "one-stream" else 0
    weights = layers * (USUAL_TOKENS + seen) + output * USUAL_TOKENS
    return operations(encoder) + 6 * weights * training.visit


def compared(training: CaptionTraining, name: str, draft: CaptionDraft) -> CaptionTraining:
    """The settings of `coca`: the weight of its contrastive loss and its batch. Other models have no such loss.

    A batch has at most half the pictures: a picture that stood in it twice would be its own negative.
    """
    if name != "coca":
        return training.replace(contrast=None)
    usual = CAPTIONING.rates[name]
    most = max(2, len(draft.encoded.train) // 2)
    batch = training.batch if "batch" in draft.request.settings else min(training.batch, most)
    return training.replace(contrast=training.contrast or usual["contrast"], batch=batch)


def caption_objective(training: CaptionTraining) -> Objective.Config:
    """What is learned: captions, and with `contrast` also which picture a caption belongs to."""
    if training.contrast is None:
        return TargetToken.Config(smoothing=training.smoothing, coverage=training.coverage)
    return Contrast.Config(weight=training.contrast, smoothing=training.smoothing)


def caption_facts(run: Loaded) -> dict[str, str]:
    """How much there was to learn from, for a model card."""
    amount = run.data.amount
    pictures = f"{amount('pictures')} to train on with {amount('captions')} captions, {amount('held_out')} held out"
    return {"pictures": pictures}
