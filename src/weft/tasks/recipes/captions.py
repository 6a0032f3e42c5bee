"""Models that write about pictures: sizes that suit a budget, and the settings that go with them. Pure arithmetic."""

from dataclasses import replace
from functools import partial

from weft.codecs import Codec, Codecs, TextCodec
from weft.data.datasets.pictures import PictureData
from weft.data.encoded.captions import SeenCaptions
from weft.errors import ConfigError
from weft.modalities import tokenizer_making as tokenizers
from weft.modalities.encoding import ended
from weft.models.seq2seq import Seq2Seq
from weft.models.stream import Model, Stream
from weft.models.zoo import Size
from weft.models.zoo.captioning import CAPTION_ENCODERS, CAPTION_MODELS
from weft.models.zoo.vision import VisionSize
from weft.tasks.decoders import WHERE, encoder_alone, language_model, size_of_language, with_language
from weft.tasks.finetuning import partly_new_rates, with_lora
from weft.tasks.planning import with_model_settings
from weft.tasks.recipes.picture_costs import operations
from weft.tasks.recipes.pictures import (
    AT_LARGE_SIZE,
    KEPT,
    OF_A_PICTURE,
    PRESETS,
    VIT,
    Cost,
    continued_backbone,
    decided,
    new_backbone,
)
from weft.tasks.recipes.recipe import Recipe, heads_for
from weft.tasks.request import Draft, Loaded, Request
from weft.tasks.settings import CaptionTraining

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
    fixed=OF_A_PICTURE,
    kept=KEPT,
    frozen=("source",),
)
CaptionDraft = Draft[PictureData, SeenCaptions, CaptionTraining]


def caption_codec(data: PictureData, training: CaptionTraining, known: Codecs) -> Codec:
    """The codec of captions: that of a language model or of the run to start from, or one learned from the captions."""
    language = known.get("text")
    if isinstance(language, TextCodec):
        return language.in_role("caption")
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
    """A decoder that goes on has its tokenizer."""
    if fixed := [name for name in ("tokenizer", "vocab") if name in request.settings]:
        where, whose = ("--from", "the run to start from") if request.decoder is None else (WHERE, "the language model")
        raise ConfigError(f"{', '.join(fixed)}: the tokenizer is that of {whose}", where=where, fix="leave it out")
    if request.decoder is None and "context" in request.settings:
        problem = "context: the decoder is that of the run to start from"
        raise ConfigError(problem, where="--from", fix="leave it out")


def taken_over(request: Request) -> Request:
    """The request; of a captioner that gets another decoder, the run to start from is the encoder alone."""
    origin = request.origin
    if origin is None or not isinstance(origin.model, Seq2Seq):
        return request
    if request.decoder is None and request.model in (None, origin.config.get("model_name")):
        return request
    return replace(request, origin=encoder_alone(origin))


def writer_size(encoder: Stream.Config, training: CaptionTraining, context: int) -> Size:
    """The decoder's sizes: the encoder's, as far as it has them."""
    blocks = encoder.trunk.all_blocks()
    heads = getattr(blocks[0].mix, "heads", None) if blocks else None
    if heads is None or encoder.dim // heads % 2:  # positions by turns need an even width
        heads = heads_for(encoder.dim, HEAD_DIM, even=True)
    depth = training.depth or len(blocks) or USUAL_LAYERS
    return Size(dim=encoder.dim, depth=depth, heads=heads, context=context)


def caption_cost(encoder: Stream.Config, training: CaptionTraining, language: Stream.Config | None = None) -> float:
    """Floating-point operations to learn from a picture and the captions of one visit.

    A decoder has 16 D^2 weights a layer and those of its output, for each token; `language` is one that it begins with.
    """
    size = writer_size(encoder, training, 1) if language is None else size_of_language(language, 1)
    weights = 16 * size.depth * size.dim**2 + size.dim * (training.vocab or USUAL_VOCAB)
    return operations(encoder) + 6 * weights * USUAL_TOKENS * training.visit


def cost_of(request: Request) -> Cost[CaptionTraining]:
    """`caption_cost` with the decoder that is asked for."""
    return partial(caption_cost, language=None if request.decoder is None else language_model(request.decoder))


def with_writer(encoder: Stream.Config, name: str, draft: CaptionDraft) -> Seq2Seq.Config:
    """A new decoder beside an encoder, or one that begins with a language model."""
    context, dropout, run = draft.encoded.context, draft.training.dropout or 0.0, draft.request.decoder
    if run is None:
        size, vocab = writer_size(encoder, draft.training, context), draft.encoded.text.tokenizer.size
        return CAPTION_MODELS[name](encoder, size, vocab=vocab, dropout=dropout)
    refuse_tokenizer(draft.request)
    language = language_model(run)
    size = size_of_language(language, context)
    made = CAPTION_MODELS[name](encoder, size, vocab=language.embed.size, dropout=dropout)
    return with_language(made, language, context, dropout)


def new_captioner(draft: CaptionDraft) -> tuple[Model.Config, CaptionTraining]:
    """A model that suits data and budget, and the settings with everything decided."""
    refuse_summary(draft.request)
    name, cost = CAPTIONING.model_name(draft.request), cost_of(draft.request)
    encoder = new_backbone(draft, CAPTIONING, None, cost, LADDER_OF[name])
    model = with_model_settings(with_writer(encoder, name, draft), draft.request)
    training = decided(draft, encoder, cost, WITHOUT)
    return model, training if draft.request.decoder is None else _rates(training, draft.request, name)


def continued_captioner(draft: CaptionDraft, origin: Loaded) -> tuple[Model.Config, CaptionTraining]:
    """The same model; or the encoder of another run, with a decoder that is new or begins with a language model."""
    name, request = writer_name(draft.request), draft.request
    encoder = continued_backbone(origin, draft.training, draft.training.drop)
    training = decided(draft, encoder, cost_of(request), WITHOUT)
    if isinstance(origin.model, Seq2Seq):
        refuse_tokenizer(request)
        return with_lora(origin.model.config.replace(source=encoder), training), training
    encoder = with_lora(encoder.replace(head=None, outputs=None), training)
    return with_writer(encoder, name, draft), _rates(training, request, name)


def _rates(training: CaptionTraining, request: Request, name: str) -> CaptionTraining:
    return partly_new_rates(training, CAPTIONING, request, name)


def caption_facts(run: Loaded) -> dict[str, str]:
    """How much there was to learn from, for a model card."""
    amount = run.data.amount
    pictures = f"{amount('pictures')} to train on with {amount('captions')} captions, {amount('held_out')} held out"
    return {"pictures": pictures}
