"""Models that write about pictures: sizes that suit a budget, and the settings that go with them. Pure arithmetic."""

from dataclasses import replace

from weft.codecs import Codec, Codecs, TextCodec
from weft.data.datasets.pictures import PictureData
from weft.data.encoded.captions import SeenCaptions
from weft.errors import ConfigError
from weft.modalities import tokenizer_making as tokenizers
from weft.modalities.encoding import ended
from weft.models.seq2seq import Seq2Seq
from weft.models.stream import Stream
from weft.models.zoo import Size
from weft.models.zoo.captioning import CAPTION_ENCODERS, CAPTION_MODELS
from weft.models.zoo.vision import VisionSize
from weft.tasks.recipes.picture_costs import operations
from weft.tasks.recipes.pictures import AT_LARGE_SIZE, KEPT, OF_A_PICTURE, PRESETS, VIT
from weft.tasks.recipes.recipe import Recipe, heads_for
from weft.tasks.request import Draft, Loaded, Request
from weft.tasks.settings import CaptionTraining, SizedTraining

USUAL_TOKENS, USUAL_VOCAB = 16, 1024  # of a caption, and of a vocabulary, where the size of a model is decided
USUAL_LAYERS, HEAD_DIM = 2, 32  # of a decoder beside an encoder that has no layers; the width of its heads
LADDER_OF = {"swift": "vit-hybrid", "transformer": "vit", "cnn-transformer": "vit-hybrid"}
WITHOUT = ("flip", "colour", "strong", "mixup", "cutmix")  # captions tell left from right, and red from green

CAPTIONING: Recipe[VisionSize] = Recipe(
    models=CAPTION_ENCODERS,
    presets=PRESETS,
    default="swift",
    rates={
        "swift": {"lr": 1e-2, "matrix_lr": 3.0, "table_decay": 0.1},
        "transformer": {"lr": VIT["lr"], "matrix_lr": VIT["matrix_lr"]},
        "cnn-transformer": {"lr": VIT["lr"], "matrix_lr": VIT["matrix_lr"]},
    },
    of_preset={},
    preset_settings=AT_LARGE_SIZE,
    fixed=(*OF_A_PICTURE, "context"),
    kept=KEPT,
    frozen=("source",),
)
CaptionDraft = Draft[PictureData, SeenCaptions, CaptionTraining]


def caption_codec(data: PictureData, training: CaptionTraining, known: Codecs) -> Codec:
    """The codec of captions: that of the run to start from, or one learned from the captions to train on."""
    if "caption" in known:
        return known["caption"]
    texts = [text for captions in data.train.captions for text in captions]
    kind, characters = training.tokenizer or "bpe", sum(map(len, texts))
    vocab = training.vocab or (tokenizers.vocabulary_of_pairs(characters) if kind == "bpe" else None)
    return TextCodec.learn(ended(texts), kind, vocab, characters=characters, role="caption")


def writer_name(request: Request) -> str:
    """The name of the model that is asked for; an encoder of another task gets any decoder."""
    if request.origin is not None and not isinstance(request.origin.model, Seq2Seq):
        request = replace(request, origin=None)
    return CAPTIONING.model_name(request)


def refuse_summary(request: Request) -> None:
    """A decoder needs no summary."""
    if "summary" in request.settings:
        problem = "the decoder reads all of the encoder's tokens, not a summary of them"
        raise ConfigError(problem, where="--set summary", fix="leave it out")


def refuse_tokenizer(request: Request) -> None:
    """A writer that goes on has its tokenizer."""
    fixed = [name for name in ("tokenizer", "vocab") if name in request.settings]
    if fixed:
        problem = f"{', '.join(fixed)}: the tokenizer is that of the run to start from"
        raise ConfigError(problem, where="--from", fix="leave it out")


def writer_size(encoder: Stream.Config, training: SizedTraining, context: int) -> Size:
    """The decoder's sizes: the encoder's, as far as it has them."""
    blocks = encoder.trunk.all_blocks()
    heads = getattr(blocks[0].mix, "heads", None) if blocks else None
    if heads is None or encoder.dim // heads % 2:  # positions by turns need an even width
        heads = heads_for(encoder.dim, HEAD_DIM, even=True)
    depth = training.depth or len(blocks) or USUAL_LAYERS
    return Size(dim=encoder.dim, depth=depth, heads=heads, context=context)


def caption_cost(encoder: Stream.Config, training: CaptionTraining) -> float:
    """Floating-point operations to learn from a picture and the captions of one visit.

    A decoder has 16 D^2 weights a layer and those of its output, for each token.
    """
    size = writer_size(encoder, training, 1)
    weights = 16 * size.depth * size.dim**2 + size.dim * (training.vocab or USUAL_VOCAB)
    return operations(encoder) + 6 * weights * USUAL_TOKENS * training.visit


def with_writer(encoder: Stream.Config, name: str, draft: CaptionDraft) -> Seq2Seq.Config:
    """A new decoder beside an encoder."""
    size = writer_size(encoder, draft.training, draft.encoded.context)
    vocab = draft.encoded.text.tokenizer.size
    return CAPTION_MODELS[name](encoder, size, vocab=vocab, dropout=draft.training.dropout or 0.0)


def caption_facts(run: Loaded) -> dict[str, str]:
    """How much there was to learn from, for a model card."""
    amount = run.data.amount
    pictures = f"{amount('pictures')} to train on with {amount('captions')} captions, {amount('held_out')} held out"
    return {"pictures": pictures}
