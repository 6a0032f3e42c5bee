"""Answers to questions about pictures by a run: written word by word, or chosen among some. Knows no files.

`AnswerWriter` is for models with a decoder, `choosing.AnswerChooser` for those whose answers are labels.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch

from weft.batches.samples import PaddedIds
from weft.domains.captions.codec import UsualAnswers
from weft.domains.captions.encoded.captions import SCORED
from weft.domains.captions.encoded.question_ids import TextCodecs
from weft.domains.captions.encoded.questions import Contexts, QuestionBatch, whole_questions
from weft.domains.captions.recipe.answerers import contexts_of
from weft.domains.captions.settings import AnswerTraining
from weft.domains.pairs.writing import EXTRA_TOKENS, WrittenText, seq2seq
from weft.domains.pictures.encoded.frames import Frames
from weft.domains.pictures.given import in_batches
from weft.domains.texts.codec.text import TextCodec
from weft.errors import ConfigError, DataError, WeftError
from weft.files.pictures.regions import Question
from weft.generate.beam import Hypothesis
from weft.generate.choices import Choices
from weft.generate.compute import prepared
from weft.generate.decode import MAX_HYPOTHESES, Decoding, written
from weft.modalities.image import Picture
from weft.modalities.picture_text import PictureText
from weft.objectives import TargetToken
from weft.objectives.scoring import scored
from weft.tasks.request import Loaded
from weft.tokens import Tokens
from weft.training.progress import Progress

USUAL_LONGEST = 8  # tokens of the longest answer, of a model whose training data is unknown


class Answering(Decoding):
    """Settings of a prediction."""

    question: str | None = None
    choose: bool = False
    choices: str | None = None

    about: ClassVar[Mapping[str, str]] = {
        **Decoding.about,
        "question": "what is asked about the pictures; inputs may also be rows with a picture and a question each",
        "choose": "choose one of the answers that were most frequent in training, instead of writing a new one",
        "choices": "choose one of these answers, separated by commas",
        "best": "answers to give to each question, the best first",
        "max_tokens": "the most tokens of an answer; by default a little more than the longest in training",
    }

    def check(self) -> None:
        super().check()
        if self.choices is not None and not self.named:
            raise ConfigError("there is nothing to choose from", where="choices", fix='name answers: "red,green"')

    @property
    def named(self) -> tuple[str, ...]:
        """The answers that are named to choose from."""
        return tuple(filter(None, (text.strip() for text in (self.choices or "").split(","))))


class PictureQuestion(NamedTuple):
    """A question about a picture, which is given by its row."""

    picture: int
    text: str


@dataclass(frozen=True)
class AnswerList:
    """Answers to choose from: as a rule for a search, and as texts by their ids."""

    rule: Choices
    texts: Mapping[tuple[int, ...], str]


class Answerer(ABC):
    """Answers questions about pictures, by the model and codecs of a run. `room` is the most tokens of a question.

    `usual` are the answers that its training data gave; None where a model came without them.
    """

    opening: tuple[int, ...] = ()  # the ids that a decoder starts to write from

    def __init__(self, run: Loaded, room: int):
        self.run, self.room = run, room
        self.question, usual = run.codec("question", TextCodec), run.codecs.get("usual")
        self.usual = usual if isinstance(usual, UsualAnswers) else None

    @property
    def chooses(self) -> bool:
        """Whether there are answers to choose among that nobody has to name."""
        return self.usual is not None

    @abstractmethod
    def answer(
        self,
        frames: Frames,
        asked: Sequence[PictureQuestion],
        ways: Sequence[Answering],
        progress: Progress | None = None,
    ) -> list[list[list[WrittenText]]]:
        """For each way of answering, the best answers to each question, with their tokens and scores."""

    @abstractmethod
    def score(self, frames: Frames, questions: Sequence[Sequence[Question]]) -> tuple[float, int] | None:
        """The summed loss of the usual answers in nats, and the tokens; None where answers are no texts."""

    def ids(self, text: str) -> np.ndarray:
        """A question between its marks; one that the model has no room for is refused."""
        if not text.strip():
            raise WeftError("the question is empty", where="question", fix="ask something about the picture")
        (ids,) = self.question.ids([text.strip()])
        ids = self.question.marks.around(ids)
        if len(ids) > self.room:
            problem = f"a question of {len(ids)} tokens, and the model reads {self.room}"
            raise WeftError(problem, where=repr(text[:60]), fix="ask in fewer words, or train with --set context=…")
        return ids

    def batches(
        self, frames: Frames, asked: Sequence[PictureQuestion], followed: int, progress: Progress | None
    ) -> Iterator[tuple[list[int], QuestionBatch]]:
        """Questions in batches about pictures of one shape: their numbers among all, and the batch for the model."""
        rows = max(1, MAX_HYPOTHESES // followed)
        by_picture: dict[int, list[int]] = {}
        for place, one in enumerate(asked):
            by_picture.setdefault(one.picture, []).append(place)
        for pictures, picture in in_batches(self.run, frames, progress, at_once=rows):
            places = [place for row in pictures.tolist() for place in by_picture.get(row, ())]
            if not places:
                continue
            owner = [number for number, row in enumerate(pictures.tolist()) for _ in by_picture.get(row, ())]
            questions = PaddedIds.of([self.ids(asked[place].text) for place in places])
            batch = QuestionBatch(picture, questions, torch.tensor(owner)).to(picture.pixels.device)
            for start in range(0, len(places), rows):
                yield places[start : start + rows], batch[start : start + rows]

    def raw(self, picture: Picture, question: str) -> PictureText:
        """One question about one picture, as the model reads it."""
        ids = PaddedIds.of([self.ids(question)]).to(picture.pixels.device)
        return PictureText(picture, ids.raw(), torch.zeros(1, dtype=torch.long, device=picture.pixels.device))


class AnswerWriter(Answerer):
    """Answers by a decoder."""

    def __init__(self, run: Loaded, contexts: Contexts | None = None):
        self.model = seq2seq(run)
        if contexts is None:
            question, answer = contexts_of(self.model.config, AnswerTraining())
            assert question is not None and answer is not None
            contexts = Contexts(question, answer)
        super().__init__(run, contexts.question)
        self.texts = TextCodecs(self.question, run.codec("answer", TextCodec))
        self.marks = self.texts.answer.marks
        self.opening = tuple(self.marks.written_from)
        self.contexts = contexts
        self.longest = int(run.data.amounts.get("longest", USUAL_LONGEST))

    @property
    def limit(self) -> int:
        """The most tokens of an answer, where nobody says another number."""
        return max(1, min(self.longest + EXTRA_TOKENS, self.contexts.answer - len(self.opening)))

    def choices(self, how: Answering) -> AnswerList | None:
        """What a search may write: the answers that are named, the usual ones, or anything (None)."""
        if not (how.choose or how.choices):
            return None
        texts: dict[tuple[int, ...], str] = {}
        if not how.named and self.usual is None:
            problem = "this model came without a list of usual answers to choose from"
            raise WeftError(problem, where="--set choose", fix="name answers: --set choices=red,green")
        names = how.named or (self.usual.answers if self.usual is not None else ())
        for name, ids in zip(names, self.texts.answer.ids(names), strict=True):
            fits = self.marks.fits(ids, self.contexts.answer)
            other = texts.setdefault(tuple(ids.tolist()), name) if fits else name
            if how.named and (not fits or other != name):
                problem = f"the model has no signs that tell {name!r} from {other!r}"
                long = f"{name!r} is longer than the {self.contexts.answer} tokens that the model writes"
                raise WeftError(problem if fits else long, where="--set choices", fix="name other answers")
        return AnswerList(Choices(texts, self.marks.end), texts)

    def answer(
        self,
        frames: Frames,
        asked: Sequence[PictureQuestion],
        ways: Sequence[Answering],
        progress: Progress | None = None,
    ) -> list[list[list[WrittenText]]]:
        """For each way of answering, the best answers to each question, with their tokens and scores."""
        found: list[list[list[WrittenText]]] = [[[] for _ in asked] for _ in ways]
        lists = [self.choices(how) for how in ways]
        for places, given in self.batches(frames, asked, max(map(_followed, ways), default=1), progress):
            memories: dict[str, Tokens] = {}
            for number, (how, choices) in enumerate(zip(ways, lists, strict=True)):
                used: Any = prepared(self.model.eval(), how.precision)
                with torch.inference_mode():
                    if how.precision not in memories:
                        memories[how.precision] = self.memory(used, given)
                    answers = self._written(used, memories[how.precision], given, how, choices)
                for place, best in zip(places, answers, strict=True):
                    found[number][place] = best
        return found

    def memory(self, used: Any, given: QuestionBatch) -> Tokens:
        """What the decoder reads, one row for each question."""
        memory: Tokens = used.memorise(given.raw())
        return memory

    def _written(
        self, used: Any, memory: Tokens, given: QuestionBatch, how: Answering, choices: AnswerList | None
    ) -> list[list[WrittenText]]:
        """The best answers to a batch of questions. Where answers are drawn, picture and question decide the draw."""
        opening, rule = list(self.opening), None if choices is None else choices.rule
        room = max(1, self.contexts.answer - len(opening))
        limit = min(how.max_tokens or self.limit, room) if rule is None else rule.limit
        hypotheses = written(
            used,
            memory,
            end=self.texts.answer.ends,
            opening=opening,
            limits=[limit] * len(given),
            how=how,
            keys=_keys(given) if how.temperature else [[]] * len(given),
            rules=None if rule is None else [rule] * len(given),
        )
        return self.named(hypotheses, choices)

    def named(self, hypotheses: Sequence[Sequence[Hypothesis]], choices: AnswerList | None) -> list[list[WrittenText]]:
        """The answers as texts."""
        names, decode = {} if choices is None else choices.texts, self.texts.answer.decode
        return [[(names.get(h.ids) or decode(h.ids).strip(), h) for h in best] for best in hypotheses]

    def score(self, frames: Frames, questions: Sequence[Sequence[Question]]) -> tuple[float, int] | None:
        """The summed loss of the usual answers in nats, and the tokens; what exceeds the contexts is left out."""
        ids = self.contexts.fitting(self.texts.asked(questions), self.marks)
        if not len(ids.asked):
            problem = f"no question fits {self.contexts.question} tokens with an answer of {self.contexts.answer}"
            raise DataError(problem, fix="name shorter ones")
        batches = whole_questions(in_batches(self.run, frames, Progress(quiet=True), at_once=SCORED), ids, self.marks)
        return scored(TargetToken.Config(), self.model, batches)


def _followed(how: Answering) -> int:
    return how.beam if how.temperature == 0 else how.best


def _keys(given: QuestionBatch) -> list[list[int]]:
    pictures = [list(hashlib.sha256(one.numpy().tobytes()).digest()) for one in given.picture.pixels.cpu()]
    questions = [ids[:n].tolist() for ids, n in zip(given.questions.ids, given.questions.lengths.tolist(), strict=True)]
    return [[*pictures[row], *ids] for row, ids in zip(given.owner.tolist(), questions, strict=True)]
