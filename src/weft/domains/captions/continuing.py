"""Answers by a decoder whose line begins with the question, behind the tokens of the picture, as GIT does it."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from weft.domains.captions.answering import Answering, AnswerList, AnswerWriter
from weft.domains.captions.encoded.questions import Contexts, QuestionBatch
from weft.domains.pairs.writing import WrittenText, seq2seq
from weft.domains.pictures.encoded.frames import Frames
from weft.errors import WeftError
from weft.files.pictures.regions import Question
from weft.generate.decode import written
from weft.modalities.image import PictureEmbed
from weft.models.backbone import context_of
from weft.models.seq2seq import Seq2Seq
from weft.models.stream import Model, Stream
from weft.tasks.request import Loaded
from weft.tokens import Tokens


def continues(model: Model) -> bool:
    """Whether a question is the beginning of what a model's decoder writes."""
    source = model.source if isinstance(model, Seq2Seq) else None
    return isinstance(source, Stream) and isinstance(source.embed, PictureEmbed)


class AnswerContinuer(AnswerWriter):
    """The decoder goes on from the question. What it would have given to a known answer is not measured."""

    def __init__(self, run: Loaded):
        context = context_of(seq2seq(run).config.target)
        super().__init__(run, Contexts(context - 1, context))

    def ids(self, text: str) -> np.ndarray:
        """The line that an answer goes on from: the opening and the question."""
        if not text.strip():
            raise WeftError("the question is empty", where="question", fix="ask something about the picture")
        (ids,) = self.question.ids([text.strip()])
        if len(ids) + len(self.opening) > self.room:
            problem = f"a question of {len(ids)} tokens, and the model reads {self.room - len(self.opening)}"
            raise WeftError(problem, where=repr(text[:60]), fix="ask in fewer words")
        return np.concatenate((self.opening, ids)).astype(np.int64)

    def memory(self, used: Any, given: QuestionBatch) -> Tokens:
        memory: Tokens = used.memorise(given.picture)
        return memory.rows(given.owner)

    def _written(
        self, used: Any, memory: Tokens, given: QuestionBatch, how: Answering, choices: AnswerList | None
    ) -> list[list[WrittenText]]:
        found = []
        for row, (ids, count) in enumerate(zip(given.questions.ids, given.questions.lengths.tolist(), strict=True)):
            opening, rule = ids[:count].tolist(), None if choices is None else choices.rule
            room = max(1, self.contexts.answer - len(opening))
            limit = min(how.max_tokens or self.limit, room) if rule is None else rule.limit
            found += written(
                used,
                memory.rows(given.owner.new_tensor([row])),
                end=self.texts.answer.ends,
                opening=opening,
                limits=[limit],
                how=how,
                keys=[[*opening, row]],
                rules=None if rule is None else [rule],
            )
        return self.named(found, choices)

    def score(self, frames: Frames, questions: Sequence[Sequence[Question]]) -> None:
        return None
