"""What the words of a question looked at in a picture, and what the answer looked at: picture or question."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from weft.core.recording import Reading, record
from weft.domains.captions.continuing import continues
from weft.domains.captions.views.occlusion import covered_sentence, target_score
from weft.domains.captions.views.reading import patch_grid, patch_middle
from weft.domains.captions.views.words import By, LookAtWords, PictureSentence, PictureWords
from weft.domains.captions.views.words_view import look_at_words
from weft.domains.pairs.views import readings_of, seq2seq_readers
from weft.domains.pictures.views.learned_view import LEARNED, learned_names
from weft.errors import ConfigError
from weft.files.pictures.regions import Region
from weft.inspect import fonts, matrix
from weft.inspect.alignment import END, Alignment, piece_labels, piece_spans, text_labels
from weft.inspect.document import LookDocument, TokenGroup
from weft.inspect.occlusion import Score, covered_scores
from weft.inspect.streams import Read, streams_of
from weft.inspect.token_steps import Readers, StepView
from weft.inspect.views import ALL, AttentionChoice, LookedAnswer, NoAttention, View
from weft.inspect.weights import weights_of
from weft.modalities.image import Picture
from weft.modalities.picture_text import PictureText, PictureTextEmbed
from weft.modalities.tokenizer import Tokenizer
from weft.models.backbone import embed_of
from weft.models.grounded import Grounded
from weft.models.seq2seq import Seq2Seq
from weft.models.stream import Stream

Over = Literal["picture", "question"]
Answering = Seq2Seq | Stream  # models that answer by a decoder, or by a head over labels


class LookAtAnswer(LookAtWords):
    """Settings of a look at a picture with a question."""

    question: str | None = None
    answer: str | None = None
    beam: int = 5
    over: Over = "picture"
    what: str | None = None

    about: ClassVar[Mapping[str, str]] = {
        **LookAtWords.about,
        "layer": "one layer, from 1: in the encoder for words of the question, in the decoder for words of the answer",
        "question": "what is asked about the picture",
        "answer": "look with this answer instead of the model's own",
        "beam": "beam size of the search for the model's own answer",
        "over": "picture: what each word read of the picture; question: what the answer read of the question",
        "what": f"{', '.join(LEARNED)} or both: what the picture embedder learned; needs no picture",
    }

    def check(self) -> None:
        learned_names(self.what)
        if self.over == "question":
            maps = {"word": self.word is not None, "every": self.every, "by": self.by == "occlusion"}
            for name in (name for name, given in maps.items() if given):
                problem = "over=question shows attention between words, and has no maps of the picture"
                raise ConfigError(problem, where=name, fix=f"leave out {name}, or leave out over=question")


@dataclass(frozen=True)
class AnsweredPicture:
    """A picture as people see it, a question about it as the model reads it, and an answer, both as ids without marks.

    `before` is how many marks stand before the question; the decoder opens with the ids `opening`. `score` and
    `chance`, its probability, are of an answer that the model wrote; `regions` are what the question's words are about.
    """

    pixels: np.ndarray
    raw: PictureText
    question: tuple[int, ...]
    before: int
    opening: tuple[int, ...]
    ids: tuple[int, ...]
    title: str = ""
    score: float | None = None
    regions: Sequence[Region] = ()
    chance: float | None = None
    label: int | None = None  # the number of the answer, of a model whose answers are labels

    @property
    def own(self) -> slice:
        """Where the question's words stand between its marks."""
        return slice(self.before, self.before + len(self.question))


def answer_view(model: Answering, tokenizer: Tokenizer, what: AnsweredPicture, how: LookAtAnswer) -> View:
    """The view that is asked for."""
    chosen = how.chosen
    if how.token is not None:
        return _step_view(model, tokenizer, what, how)
    if how.over == "question":
        return _question_view(model, tokenizer, what, chosen)
    return look_at_words(answer_words(model, tokenizer, what, how.by), how)


def _step_view(model: Answering, tokenizer: Tokenizer, what: AnsweredPicture, how: LookAtAnswer) -> StepView:
    """One token of the answer, the question or the picture step by step."""
    rows, columns = patch_grid(model, what.raw.pixels)
    first = embed_of(model.config).class_tokens
    seen = [f"class {n + 1}" if n else "class" for n in range(first)]
    seen += [f"patch {row + 1},{column + 1}" for row in range(rows) for column in range(columns)]
    question = text_labels(tokenizer, what.raw.text.ids[0].tolist())
    target = [*("<start>" for _ in what.opening[1:]), *piece_labels(tokenizer, what.ids), END]
    if isinstance(model, Stream):
        names = [*question, *seen] if _text_first(model) else [*seen, *question]
        readers = Readers(stream_readings(model, what.raw), names, names, "question and picture")
        return StepView(readers.steps(how.token or 1, how.chosen), PurePath(what.title).name, _said(tokenizer, what))
    if continues(model):
        readings = readings_of(model, what.raw.picture, [*what.opening, *what.ids])
        target = [*piece_labels(tokenizer, what.opening[1:]), *target[len(what.opening) - 1 :]]
        readers = seq2seq_readers(model, readings, seen, target, how.side)
        return StepView(readers.steps(how.token or 1, how.chosen), PurePath(what.title).name, _said(tokenizer, what))
    readings = readings_of(model, what.raw, [*what.opening, *what.ids])
    if isinstance(model.source, Grounded):
        sides = {
            "across": Readers(readings["seen"], question, seen, "question, over the picture"),
            "source": Readers(readings["source"], question, question, "question"),
        }
        readers = sides.get(how.side) or seq2seq_readers(model, readings, question, target, how.side)
    else:
        readers = seq2seq_readers(model, readings, [*seen, *question], target, how.side)
    return StepView(readers.steps(how.token or 1, how.chosen), PurePath(what.title).name, _said(tokenizer, what))


def _said(tokenizer: Tokenizer, what: AnsweredPicture) -> LookedAnswer:
    return LookedAnswer(((tokenizer.decode(what.ids).strip(), what.chance),))


def _text_first(model: Stream) -> bool:
    return getattr(model.config.embed, "first", "picture") == "text"


@torch.inference_mode()
def stream_readings(model: Stream, raw: PictureText) -> list[list[Reading]]:
    """What every layer of one stream of picture and question read."""
    with record(model.eval()) as recorder:
        model.encode(raw)
    return [list(found) for found in recorder.readings.values()]


def answer_words(model: Answering, tokenizer: Tokenizer, what: AnsweredPicture, by: By | None = None) -> PictureWords:
    """The words of a question and of its answer, with what counted for each in the picture.

    By occlusion it is the answer alone: a question is given, and is not more or less probable.
    """
    if by == "occlusion" and not what.ids:
        return PictureWords(
            what.pixels, (PictureSentence.empty("answer"),), what.title, what.score, "occlusion", what.chance
        )
    if by == "occlusion":
        if isinstance(model, Stream):
            score = _label_score(model, what)
        else:
            score = target_score(
                model, (*what.opening, *what.ids), len(what.opening), _asked(what, in_line=continues(model))
            )
        scores = covered_scores(what.raw.pixels, score)
        answer = covered_sentence(tokenizer, what.ids, scores, name="answer")
        return PictureWords(what.pixels, (answer,), what.title, what.score, "occlusion", what.chance)
    rows, columns = patch_grid(model, what.raw.pixels)
    read = words_read(model, what.raw, what.own, what.opening, what.ids)
    texts = (("question", what.question, read.question, what.regions), ("answer", what.ids, read.answer, ()))
    sentences = [
        PictureSentence.of(
            tokenizer,
            ids,
            weights.reshape(*weights.shape[:3], rows, columns),
            name=name,
            regions=regions,
            middle=patch_middle(model),
        )
        for name, ids, weights, regions in texts
    ]
    return PictureWords(what.pixels, tuple(sentences), what.title, what.score, chance=what.chance)


def _question_view(
    model: Answering, tokenizer: Tokenizer, what: AnsweredPicture, choice: AttentionChoice
) -> "QuestionView":
    """How much each word of the answer read of each word of the question, and of the whole picture."""
    read = words_read(model, what.raw, what.own, what.opening, what.ids)
    if read.words is None:
        problem = "this model's decoder takes the mean of what all words of the question saw: it reads no single word"
        raise NoAttention(problem, where="over=question", fix="leave it out, or train with --model joint")
    alignment = Alignment(
        source=tuple(piece_labels(tokenizer, what.question)),
        target=tuple(piece_labels(tokenizer, what.ids)),
        weights=read.words,
        source_spans=tuple(piece_spans(tokenizer, what.question)),
        target_spans=tuple(piece_spans(tokenizer, what.ids)),
    ).by_words(tokenizer.decode(what.question), tokenizer.decode(what.ids))
    picture = PictureSentence.of(tokenizer, what.ids, read.answer.sum(-1)[..., None, None], name="answer")
    return QuestionView(alignment, picture.maps(choice)[:, 0, 0], what.title, choice)


@dataclass(frozen=True)
class WordsRead:
    """(layers, heads, tokens, patches) that the tokens of question and answer read of the picture.

    Where the answer reads the question alone, it is what each token of the question saw, by how much that was read.
    `words` (layers, heads, tokens, words) is what the answer read of the question; None where it reads its mean.
    """

    question: np.ndarray
    answer: np.ndarray
    words: np.ndarray | None


def words_read(
    model: Answering, raw: PictureText, own: slice, opening: Sequence[int], ids: Sequence[int] = ()
) -> WordsRead:
    """What was read of a picture and a question, by the attention of all layers and heads.

    `own` are the places of the question's words between its marks; `ids` are those of the answer. An answer that is a
    label has one reading, that of the token in front, which the head is given.
    """
    if isinstance(model, Stream):
        embed, layers = model.embed, stream_readings(model, raw)
        assert isinstance(embed, PictureTextEmbed)
        grid, text = embed.places(raw)
        place = slice(text.start + own.start, text.start + own.stop)
        asked = weights_of(layers, queries=range(place.start, place.stop))
        front = np.repeat(weights_of(layers, queries=[0]), len(ids), 2)
        return WordsRead(asked[..., grid], front[..., grid], front[..., place])
    target = [*opening, *ids][:-1] if ids else list(opening)
    if continues(model):
        layers = readings_of(model, raw.picture, target)["target"]
        first, length = embed_of(model.config).class_tokens, layers[0][0].k.shape[2] - len(target)
        place, begin = slice(length + own.start, length + own.stop), length + len(opening) - 1
        question = weights_of(layers, queries=range(place.start, place.stop))
        answer = weights_of(layers, queries=range(begin, min(begin + len(ids), length + len(target))))
        return WordsRead(question[..., first:length], answer[..., first:length], answer[..., place])
    read = readings_of(model, raw, target)
    if isinstance(model.source, Grounded):
        seen = weights_of(read["seen"])[..., embed_of(model.config).class_tokens :]
        if not read["across"]:  # the decoder takes the mean of all tokens of the question
            mean = seen.mean(2, keepdims=True)
            return WordsRead(seen[:, :, own], np.repeat(mean, len(ids), 2), None)
        across = weights_of(read["across"])[:, :, len(opening) - 1 :][:, :, : len(ids)]
        return WordsRead(seen[:, :, own], across @ seen.mean((0, 1)), across[..., own])
    embed = model.source.embed
    assert isinstance(embed, PictureTextEmbed)
    grid, text = embed.places(raw)
    place = slice(text.start + own.start, text.start + own.stop)
    written = weights_of(read["across"])[:, :, len(opening) - 1 :][:, :, : len(ids)]
    asked = weights_of(read["source"], queries=range(place.start, place.stop))
    return WordsRead(asked[..., grid], written[..., grid], written[..., place])


def _label_score(model: Stream, what: AnsweredPicture) -> Score:
    """Scores pictures by the probability of a label; each piece of its name has an equal part."""
    asked, pieces = _asked(what), max(1, len(what.ids))

    def score(picture: Picture) -> Tensor:
        chances = F.logsigmoid(model.eval()(asked(picture)).float())
        return chances[:, [what.label]].expand(-1, pieces) / pieces

    return score


def _asked(what: AnsweredPicture, *, in_line: bool = False) -> Any:
    """A function from pictures to the same question about each; to themselves where the question is in the line."""
    text = what.raw.text
    if in_line:
        return lambda picture: picture

    def raw(picture: Picture) -> PictureText:
        return PictureText(picture, replace(text, ids=text.ids.expand(len(picture), -1)))

    return raw


class QuestionView(View):
    """How much each word of an answer read of each word of its question. Shows itself in a notebook.

    `picture` (words) is how much each word of the answer read of the picture; the rest is marks and class tokens.
    """

    def __init__(self, alignment: Alignment, picture: np.ndarray, title: str = "", choice: AttentionChoice = ALL):
        self.alignment, self.picture_shares, self.title, self.choice = alignment, picture, title, choice
        choice.indices(*alignment.weights.shape[:2])

    @property
    def about(self) -> str:
        return f"what the answer read of the question, {self.title}"

    def picture(self, format: Literal["png", "svg", "pdf"] = "png") -> bytes:
        """The answer's words down the side, the question's along the top."""
        return matrix.draw(self.alignment, self.choice, format=format, title=self.title)

    def document(self) -> LookDocument:
        """Question and answer, and every head that read one for the other."""
        groups = (TokenGroup("question", self.alignment.source), TokenGroup("answer", self.alignment.target))
        streams, left = streams_of((Read("attention", "answer", "question", self.alignment.weights),), groups)
        return LookDocument(
            self.title, "text", self.about, self.text(), groups=groups, streams=streams,
            start=(*self.choice.picked, ("token", "answer.1")), notes=left,
        )  # fmt: skip

    def text(self) -> str:
        """A line for each word of the answer: how much it read of each word of the question."""
        lines = []
        for word, row, picture in zip(self.alignment.target, self._shown, self.picture_shares, strict=True):
            read = (f"{name} {share:.2f}" for name, share in zip(self.alignment.source, row, strict=True))
            lines.append(f"  {word}: {', '.join(read)}; the picture {picture:.2f}")
        return "\n".join([self.title, "", *lines])

    def note(self) -> str | None:
        """What to say of signs that no installed font has."""
        return fonts.missing_glyphs([*self.alignment.source, *self.alignment.target])

    def to_json(self) -> dict[str, Any]:
        """Plain values: the words, the weights between them, and what each word of the answer read of the picture."""
        weights = np.round(self._shown.astype(np.float64), 4).tolist()
        words = {"question_words": list(self.alignment.source), "answer_words": list(self.alignment.target)}
        picture = np.round(self.picture_shares.astype(np.float64), 4).tolist()
        return {"input": self.title, **words, "weights": weights, "picture": picture}

    @property
    def _shown(self) -> np.ndarray:
        return self.alignment.of(self.choice).mean().weights[0, 0]
