"""Questions about passages to learn from and questions held out."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from weft.domains.texts.dataset.labelled import LabelledDocuments
from weft.domains.texts.dataset.running import RunningText
from weft.domains.texts.reading import questions
from weft.domains.texts.reading.questions import PassageColumns, PassageQuestion, PassageQuestions, read_questions
from weft.domains.texts.settings import PassageTraining
from weft.errors import listed
from weft.files.dataset import Count, Dataset, Reader, held_in
from weft.files.decoding import shown
from weft.files.held_out import SHARE, split_rows
from weft.files.known_roles import PASSAGE_ASKED
from weft.files.survey import Judgement, Survey


@dataclass(frozen=True, kw_only=True)
class PassageData(Dataset[Sequence[PassageQuestion], Sequence[PassageQuestion]]):
    """Questions about passages. All questions about one passage are on one side."""

    def example(self) -> str | None:
        short = min(self.held_out, key=lambda row: len(row.passage))
        return json.dumps({"question": short.question, "context": short.passage}, ensure_ascii=False)


@final
class Passages(Reader[PassageData]):
    """Questions in files of SQuAD's form or in tables."""

    sample = "answer-text"
    roles = PASSAGE_ASKED
    overrules = (RunningText, LabelledDocuments)

    def judge(self, survey: Survey) -> Judgement:
        return questions.judge(survey)

    def read(
        self, sources: Sequence[str], valid: str | None, asked: PassageTraining, count: Count | None = None
    ) -> PassageData:
        from weft.domains.texts.sample.questions import asked_passages

        found = read_passages(sources, asked) if sources else asked_passages()
        rows, mark = found.rows, found.fingerprint
        if valid is None:
            train, held_out = split_rows(rows, [row.digest() for row in rows], what="passages")
            rule = (
                f"{len(held_out):,} of {len(rows):,} questions: about {SHARE:.0%}, whose passages have the lowest "
                "SHA-256, so that all questions about a passage fall on the same side"
            )
        else:
            held = read_passages([valid], asked, learn=False)
            train, held_out, rule = rows, held.rows, held_in(valid)
            mark = f"{mark} {held.fingerprint}"
        passages, without = len({row.passage for row in rows}), sum(not row.answers for row in rows)
        none = f", {without:,} of them without an answer" if without else ""
        return PassageData(
            train=train,
            held_out=held_out,
            fingerprint=mark,
            rule=rule,
            described=f"{len(rows):,} questions ({listed([shown(path) for path in found.files])})",
            notes=(f"{len(rows):,} questions about {passages:,} passages{none}", *found.notes),
            skipped=found.skipped,
            columns=tuple(found.taken.values()),
            taken=found.taken,
            amounts={"train": len(train), "held_out": len(held_out), "unanswered": without},
        )


def read_passages(sources: Sequence[str], asked: PassageTraining, *, learn: bool = True) -> PassageQuestions:
    """The questions in files. Without `learn` they are only measured on, and few are enough."""
    columns = PassageColumns(asked.passage_column, asked.question_column, asked.answer_column)
    return read_questions(list(sources), columns, asked.allowed, learn=learn)
