"""Models that write about pictures, put together: an encoder and a decoder, each new or from another run."""

from dataclasses import replace
from functools import partial

from weft.domains.captions.decoders import (
    WHERE,
    encoder_alone,
    language_model,
    size_of_language,
    suited_writer,
    with_language,
)
from weft.domains.captions.recipe.captioners import (
    CAPTIONING,
    LITTLE_DROPOUT,
    LITTLE_EPOCHS,
    LITTLE_SMOOTHING,
    WITHOUT,
    CaptionDraft,
    caption_cost,
    compared,
    is_little,
    new_encoder,
    new_writer_size,
    on_features,
    refuse_tokenizer,
    refuse_unfit,
    writer_name,
    writer_size,
)
from weft.domains.captions.settings import CaptionTraining
from weft.domains.pictures.recipe import continued_backbone, decided
from weft.models.dual_encoder import DualEncoder
from weft.models.seq2seq import Seq2Seq
from weft.models.stream import Model, Stream
from weft.models.zoo import Size
from weft.models.zoo.captioning import CAPTION_MODELS
from weft.tasks.finetuning import partly_new_rates, with_lora
from weft.tasks.recipe import with_model_settings
from weft.tasks.request import Loaded, Request


def taken_over(request: Request) -> Request:
    """The request; where a captioner gets another decoder, or has none, the run to start from is its encoder alone."""
    origin = request.origin
    if request.decoder is not None and request.model is None:
        request = replace(request, model=suited_writer(request.decoder))
    if origin is not None and isinstance(origin.model, DualEncoder):
        return replace(request, origin=encoder_alone(origin))
    if origin is None or not isinstance(origin.model, Seq2Seq):
        return request
    if request.decoder is None and request.model in (None, origin.config.get("model_name")):
        return request
    return replace(request, origin=encoder_alone(origin))


def new_captioner(draft: CaptionDraft) -> tuple[Model.Config, CaptionTraining]:
    """A model that suits data and budget, and the settings with everything decided."""
    name, request = CAPTIONING.model_name(draft.request), draft.request
    refuse_unfit(request, name)
    known = _language_size(request, draft.encoded.context)
    encoder = new_encoder(draft, name, known)
    model = with_model_settings(with_decoder(encoder, name, draft), request)
    training = decided(draft, encoder, partial(caption_cost, name=name, decoder=known), WITHOUT)
    if request.decoder is not None:
        training = partly_new_rates(training, CAPTIONING, request, name)
    return model, compared(training, name, draft)


def continued_captioner(draft: CaptionDraft, origin: Loaded) -> tuple[Model.Config, CaptionTraining]:
    """The same model; or the encoder of another run, with a decoder that is new or begins with a language model."""
    name, request = writer_name(draft.request), draft.request
    refuse_unfit(request, name)
    encoder = continued_backbone(origin, draft, draft.training.drop)
    cost = partial(caption_cost, name=name, decoder=_language_size(request, draft.encoded.context))
    training = compared(decided(draft, encoder, cost, WITHOUT), name, draft)
    if isinstance(origin.model, Seq2Seq):
        refuse_tokenizer(request, "context", "size")
        return with_lora(origin.model.config.replace(source=encoder), training), compared(training, name, draft)
    encoder = with_lora(encoder.replace(head=None, outputs=None), training)
    training = partly_new_rates(training, CAPTIONING, request, name)
    if is_little(draft):
        usual = {"smoothing": LITTLE_SMOOTHING, "most_epochs": LITTLE_EPOCHS}
        training = training.replace(**{name: value for name, value in usual.items() if name not in request.settings})
    return on_features(with_decoder(encoder, name, draft), draft), compared(training, name, draft)


def with_decoder(encoder: Stream.Config, name: str, draft: CaptionDraft) -> Seq2Seq.Config:
    """A decoder beside an encoder: new, or a language model that learns to read the encoder's tokens."""
    context, run, started = draft.encoded.context, draft.request.decoder, draft.request.origin is not None
    dropout = LITTLE_DROPOUT if started and is_little(draft) else draft.training.dropout or 0.0
    if run is None:
        usual = writer_size(encoder, draft.training, context, name)
        size = new_writer_size(encoder, draft, name) if started else usual
        vocab = draft.encoded.text.tokenizer.size
        return CAPTION_MODELS[name](encoder, size, vocab=vocab, dropout=dropout)
    refuse_tokenizer(draft.request, where=WHERE, whose="the language model")
    language = language_model(run)
    size = size_of_language(language, context)
    made = CAPTION_MODELS[name](encoder, size, vocab=language.embed.size, dropout=dropout)
    return with_language(made, language, context, dropout)


def _language_size(request: Request, context: int) -> Size | None:
    """The size of the language model that the decoder begins with, where there is one."""
    return None if request.decoder is None else size_of_language(language_model(request.decoder), context)
