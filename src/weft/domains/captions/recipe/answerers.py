"""Models that answer questions about pictures: sizes that suit a budget, and their settings. Pure arithmetic."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from torch import Tensor

from weft.core import Trunk
from weft.domains.captions.codec import UsualAnswers
from weft.domains.captions.encoded.question_ids import TextCodecs
from weft.domains.captions.encoded.questions import SeenQuestions
from weft.domains.captions.recipe import captioners as captions
from weft.domains.captions.recipe.captioners import USUAL_VOCAB, writer_size
from weft.domains.captions.settings import AnswerTraining
from weft.domains.pictures.dataset import PictureData
from weft.domains.pictures.recipe import AT_LARGE_SIZE, EXCEPT_SIZE, KEPT, PRESETS, VIT, operations
from weft.domains.texts.codec.text import TextCodec
from weft.errors import ConfigError
from weft.modalities import tokenizer_making as tokenizers
from weft.modalities.encoding import ended
from weft.modalities.picture_text import PictureTextEmbed
from weft.modalities.text import TextEmbed
from weft.models.backbone import context_of, embed_of
from weft.models.grounded import Grounded
from weft.models.seq2seq import Seq2Seq
from weft.models.stream import Model, Stream
from weft.models.zoo.answering import ANSWER_ENCODERS, ANSWER_MODELS, Words
from weft.models.zoo.vision import VisionSize, vit
from weft.tasks.codec import Codecs
from weft.tasks.labels.label import NamedCodec
from weft.tasks.recipe import Recipe
from weft.tasks.request import Draft, Loaded, Request

USUAL_QUESTION, USUAL_ANSWER = 12, 3  # tokens, where the size of a model is decided
LADDERS = {"swift": "grounded", "joint": "vit-hybrid", "transformer": "vit"}  # of sizes, for the encoder of pictures
WITHOUT = (*captions.WITHOUT, "shift", "zoom", "erase")  # questions ask how many there are, and where

ANSWERING: Recipe[VisionSize] = Recipe(
    models=ANSWER_ENCODERS,
    presets=PRESETS,
    default="swift",
    rates={
        "swift": {"lr": 1e-2, "matrix_lr": 3.0, "weight_decay": 0.4, "table_decay": 0.1},
        "joint": {"lr": VIT["lr"], "matrix_lr": VIT["matrix_lr"]},
        "transformer": {"lr": VIT["lr"], "matrix_lr": VIT["matrix_lr"]},
    },
    preset_settings=AT_LARGE_SIZE,
    fixed=(*EXCEPT_SIZE, "context", "answer_context"),
    kept=KEPT,
    frozen=("source.embed.picture", "source.picture"),
)
AnswerDraft = Draft[PictureData, SeenQuestions, AnswerTraining]


def text_codecs(data: PictureData, training: AnswerTraining, known: Codecs) -> dict[str, Any]:
    """The codecs of questions and answers: those of the run to start from, or one tokenizer learned from both."""
    usual = UsualAnswers.learn((one.text, one.kind, one.answers) for some in data.train.questions for one in some)
    if "question" in known and "answer" in known:
        return {"question": known["question"], "answer": known["answer"], "usual": usual}
    kind, characters = training.tokenizer or "bpe", sum(map(len, _texts(data)))
    vocab = training.vocab or (tokenizers.vocabulary_of_pairs(characters) if kind == "bpe" else None)
    question = TextCodec.learn(
        ended(_texts(data)), kind, vocab, characters=characters, role="source", symbols=training.symbols
    )
    return {"question": question, "answer": question.in_role("caption"), "usual": usual}


def _texts(data: PictureData) -> Iterator[str]:
    """All questions to train on, each with its answers."""
    return (text for some in data.train.questions for one in some for text in (one.text, *one.answers))


def both_texts(codecs: Codecs) -> TextCodecs:
    """The codecs of questions and answers, by name."""
    question, answer = codecs["question"], codecs["answer"]
    assert isinstance(question, TextCodec) and isinstance(answer, TextCodec)
    return TextCodecs(question, answer)


def contexts_of(known: Model.Config | None, training: AnswerTraining) -> tuple[int | None, int | None]:
    """The most tokens of questions and of answers, where a model or the user says so."""
    question = question_embed(known)
    if question is None:
        return training.context, training.answer_context
    assert isinstance(known, Seq2Seq.Config)
    return question.context, context_of(known.target)


def question_embed(model: Model.Config | None) -> TextEmbed.Config | None:
    """How a model that answers reads questions; None where it reads none."""
    source = model.source if isinstance(model, Seq2Seq.Config) else None
    if isinstance(source, Grounded.Config):
        return source.embed
    return source.embed.text if source is not None and isinstance(source.embed, PictureTextEmbed.Config) else None


def answer_cost(name: str) -> Callable[[Stream.Config, AnswerTraining], float]:
    """The cost of the model `name`, as a function of its encoder of pictures and the settings.

    It counts floating-point operations to learn from a picture and the questions of one visit.
    """
    return _grounded_cost if name == "swift" else _joint_cost


def _joint_cost(encoder: Stream.Config, training: AnswerTraining) -> float:
    """The picture is embedded once, and read by the trunk with each question."""
    embedding = operations(encoder.replace(trunk=Trunk.Config(depth=0, norm=None)))
    tokens, size = math.prod(embed_of(encoder).grid), writer_size(encoder, training, 1)
    joint = (operations(encoder) - embedding) * (tokens + USUAL_QUESTION) / tokens
    weights = 16 * size.depth * size.dim**2 + size.dim * (training.vocab or USUAL_VOCAB)
    return embedding + training.visit * (joint + 6 * weights * USUAL_ANSWER)


def _grounded_cost(encoder: Stream.Config, training: AnswerTraining) -> float:
    """The picture is read once, its keys and values too; the blocks of a question have 10 D^2 weights beside those."""
    tokens, size = math.prod(embed_of(encoder).grid), writer_size(encoder, training, 1)
    block, writer = size.dim**2, 14 * size.dim**2 + size.dim * (training.vocab or USUAL_VOCAB)
    question = 10 * size.depth * block * USUAL_QUESTION + writer * USUAL_ANSWER
    return operations(encoder) + 6 * (2 * size.depth * block * tokens + training.visit * question)


def with_answers(encoder: Stream.Config, name: str, draft: AnswerDraft) -> Seq2Seq.Config:
    """An encoder of pictures that reads questions too, and a new decoder. An encoder without layers gets some."""
    size = writer_size(encoder, draft.training, draft.encoded.contexts.answer)
    if name != "swift" and not encoder.trunk.all_blocks():
        like = VisionSize(dim=encoder.dim, depth=size.depth, heads=size.heads)
        encoder = encoder.replace(trunk=vit(like, draft.encoded.sight, outputs=None).trunk)
    words = Words(draft.encoded.texts.question.tokenizer.size, draft.encoded.contexts.question)
    return ANSWER_MODELS[name](encoder, size, words, dropout=draft.training.dropout or 0.0)


def answers_already(model: Model) -> bool:
    """Whether a model answers questions about pictures."""
    return isinstance(model, Seq2Seq) and question_embed(model.config) is not None


def model_name(request: Request) -> str:
    """The name of the model that is asked for; an encoder of another task gets any decoder."""
    if request.origin is not None and not answers_already(request.origin.model):
        request = replace(request, origin=None)
    return ANSWERING.model_name(request)


def continued_answers(origin: Loaded, drop: float) -> Seq2Seq.Config:
    """The model of a run that answers already; `drop` is the share of a picture's tokens left out in training."""
    config = origin.model.config
    assert isinstance(config, Seq2Seq.Config)
    source, seen = config.source, embed_of(config).replace(drop=drop)
    if isinstance(source, Grounded.Config):
        return config.replace(source=source.replace(picture=source.picture.replace(embed=seen)))
    assert isinstance(source.embed, PictureTextEmbed.Config)
    return config.replace(source=source.replace(embed=source.embed.replace(picture=seen)))


def picture_weights(weights: Mapping[str, Tensor], model: Model.Config) -> dict[str, Tensor]:
    """The weights of an encoder of pictures under the names that they have where it is read by questions."""
    if isinstance(model, Seq2Seq.Config) and isinstance(model.source, Grounded.Config):
        return {f"source.picture.{own}": tensor for own, tensor in weights.items()}
    own = {"embed": "source.embed.picture", "trunk": "source.trunk"}
    parts = {name: name.split(".", 1) for name in weights}
    return {f"{own[part]}.{rest}": weights[name] for name, (part, rest) in parts.items()}


def pictures_alone(config: Seq2Seq.Config) -> Stream.Config:
    """The encoder of a model that answers, as one of pictures without questions."""
    source = config.source
    return source.picture if isinstance(source, Grounded.Config) else source.replace(embed=embed_of(config))


def refuse_labels(request: Request) -> None:
    """Refuse to go on from a model whose answers are labels: weft trains decoders that write answers."""
    if request.origin is not None and request.origin.config.get("task") == "answer":
        model = request.origin.model
        if isinstance(model, Seq2Seq) and not answers_already(model):
            problem = "the question is the beginning of what this model writes, which weft does not train"
            raise ConfigError(problem, where="--from", fix="start from another run of the task answer, or from nothing")
    if request.origin is not None and isinstance(request.origin.codecs.get("answer"), NamedCodec):
        problem = "the answers of this model are labels of its own, and weft trains decoders that write answers"
        raise ConfigError(
            problem, where="--from", fix="start from a run of the task answer that writes, or from nothing"
        )


def refuse_settings(request: Request, training: AnswerTraining) -> None:
    """Refuse what nothing would come of."""
    if "summary" in request.settings:
        problem = "the decoder reads all of the encoder's tokens, not a summary of them"
        raise ConfigError(problem, where="--set summary", fix="leave it out")
    if request.origin is None:
        return
    goes_on = answers_already(request.origin.model)
    fixed = [name for name in ("tokenizer", "vocab", "size") if name in request.settings]
    if goes_on and fixed:
        problem = f"{', '.join(fixed)}: the tokenizer and the model are those of the run to start from"
        raise ConfigError(problem, where="--from", fix="leave it out")
    if training.lora and not goes_on:
        problem = "the decoder and the embeddings of questions are new, and LoRA cannot train new parts"
        raise ConfigError(problem, where="--set lora", fix="leave it out")


def answer_facts(run: Loaded) -> dict[str, str]:
    """How much there was to learn from, for a model card."""
    amount = run.data.amount
    return {
        "pictures": f"{amount('pictures')} to train on, {amount('held_out')} held out",
        "questions": f"{amount('questions')} to train on, {amount('held_out_questions')} held out",
        "tokens": run.codec("question", TextCodec).in_words(),
    }
