"""answer-text: learn to find answers in passages. Passages, questions and answers in, a model that answers out."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, final

import numpy as np
import torch
from torch import Tensor

from weft.batches.source import Source
from weft.core.heads import SpanEnds
from weft.domains.texts.baselines.counts import passage_baselines
from weft.domains.texts.cards import ANSWER_TEXT
from weft.domains.texts.codec.text import TextCodec
from weft.domains.texts.dataset.questions import PassageData, read_passages
from weft.domains.texts.encoded.questions import PassageIds, knows_segments
from weft.domains.texts.exchange import passage_proof, text_codec, text_files, text_settings, whole_texts, with_text
from weft.domains.texts.finding import FindingAnswers, found_answers
from weft.domains.texts.measures import answer_measures, answer_tally
from weft.domains.texts.reading.questions import PassageQuestion, is_squad, squad_rows
from weft.domains.texts.recipe import encoders
from weft.domains.texts.settings import PassageTraining
from weft.domains.texts.views.streams import text_of
from weft.domains.texts.views.vectors import LookAtText, look_at_text
from weft.errors import DataError, WeftError
from weft.files.known_roles import PASSAGE, QUESTION
from weft.inspect.alignment import text_labels
from weft.inspect.positions import LinePositionsView, line_codes
from weft.inspect.study import Study, answered
from weft.inspect.views import LookedAnswer, View
from weft.interop import Imported
from weft.modalities.encoding import ended
from weft.modalities.passages import passage_windows
from weft.modalities.text import Text, TextEmbed
from weft.models.backbone import context_of
from weft.models.stream import Model, Stream
from weft.objectives import Span
from weft.tasks.adopting import Adopted
from weft.tasks.asks import Answer, Asks, Given, Gives, Questioned, Use, Ways, only_one, unlike
from weft.tasks.baselines import Baseline
from weft.tasks.codec import Codecs
from weft.tasks.finetuning import start_weights
from weft.tasks.outgoing import Outgoing, with_labels
from weft.tasks.parts import End, Parts
from weft.tasks.proof import Proof
from weft.tasks.request import Draft, Listen, Loaded, Measured, Prediction
from weft.tasks.table_inputs import InputColumn, InputRow
from weft.tasks.task import Task
from weft.training.progress import Progress

ASK = 'add --set question="Who was it?", or give rows: {"question": "…", "context": "…"}'


class LookAtPassage(LookAtText):
    """What to look at."""

    question: str | None = None

    about: ClassVar[Mapping[str, str]] = {
        **LookAtText.about,
        "question": "what is asked about the passage; the input may also be a row with a question and a context",
    }


PassageDraft = Draft[PassageData, PassageIds, PassageTraining]


@final
class AnswerText(Task[PassageData, PassageIds, PassageTraining]):
    """The part of a passage that answers a question."""

    card = ANSWER_TEXT
    parts = (Parts({"text": End.of(TextCodec)}, (Stream,), TextEmbed),)
    recipe = encoders.RECIPE
    unit = "question"
    starts_from = ("fill-mask", "classify-text", "tag-text")
    asks = (Asks("text", "a passage", lines=True),)
    targets = ("hf",)
    Predict = FindingAnswers
    Look = LookAtPassage

    def codecs(self, data: PassageData, training: PassageTraining, known: Codecs) -> Codecs:
        passages = dict.fromkeys(row.passage for row in data.train)
        texts = [*passages, *(row.question for row in data.train)]
        return {"text": encoders.text_codec(ended(texts), encoders.size_of(texts), training, known)}

    def encode(
        self,
        data: PassageData,
        codecs: Codecs,
        training: PassageTraining,
        known: Model.Config | None,
        progress: Progress,
    ) -> PassageIds:
        return PassageIds.of(data, text_of(codecs))

    def sized(self, draft: PassageDraft) -> tuple[Stream.Config, PassageTraining]:
        return encoders.new_encoder(draft, _wanted(draft))

    def continued(self, draft: PassageDraft, origin: Loaded) -> tuple[Stream.Config, PassageTraining]:
        return encoders.continued_encoder(origin, draft.training, _wanted(draft), same_head=_finds(origin))

    def start(self, origin: Loaded, codecs: Codecs, model: Model.Config) -> Mapping[str, Tensor]:
        return start_weights(origin, backbone=True, same_head=_finds(origin))

    def objective(self, encoded: PassageIds, codecs: Codecs, training: PassageTraining) -> Span.Config:
        return Span.Config()

    def source(self, encoded: PassageIds, codecs: Codecs, model: Model.Config, training: PassageTraining) -> Source:
        told = replace(encoded, segments=knows_segments(model))
        tokens = training.tokens or encoders.USUAL_TOKENS
        return told.source(context_of(model), tokens=tokens, rows=training.rows, seed=training.seed)

    def batch_in_words(self, training: PassageTraining, source: Source) -> str:
        return f"batches of up to {training.batch * training.rows} questions"

    def ability(self, run: Loaded) -> str:
        return "Finds the answer to a question in a passage"

    def facts(self, run: Loaded) -> Mapping[str, str]:
        return encoders.text_facts(run, "questions")

    def gives(self, run: Loaded) -> Gives:
        return Gives("text", columns=("text", "score"))

    def columns(self, run: Loaded, use: Use) -> tuple[InputColumn, ...]:
        trained = run.config.get("training") or {}
        known = [trained.get(name) for name in ("passage_column", "question_column")]
        passage = InputColumn(PASSAGE, "passage_column", known[0])
        return passage, InputColumn(QUESTION, "question_column", known[1], may_lack=True)

    def in_file(self, run: Loaded, path: Path, ways: Ways) -> Iterator[Given] | None:
        return _asked_in(path) if is_squad(path) else None

    def from_row(self, run: Loaded, row: InputRow, ways: Ways) -> Given:
        passage, question = row.text(), row.text(1) or getattr(ways.how, "question", None)
        return Given(_questioned(passage, question, row.where), passage)

    def input_cells(self, run: Loaded, one: Given) -> dict[str, Any]:
        asked = one.value.question if isinstance(one.value, Questioned) else None
        return {"passage": one.name, **({} if asked is None else {"question": asked})}

    def opened(self, run: Loaded, words: Sequence[object], ways: Ways) -> Iterator[Given]:
        if ways.use == "look" and getattr(ways.how, "what", None) is not None:
            return
        for word in words:
            row = _row(word)
            question = row.get("question") or getattr(ways.how, "question", None)
            passage = next((row[name] for name in ("context", "passage") if name in row), None)
            if not isinstance(passage, str):
                raise WeftError(f"expected a passage and a question, found {str(word)[:60]!r}", fix=ASK)
            yield Given(_questioned(passage, question, passage[:60]), passage)

    def predict(self, run: Loaded, inputs: Sequence[Given], how: FindingAnswers, listen: Listen | None) -> list[Answer]:
        asked = [_passage_asked(one, how.question) for one in inputs]
        found = found_answers(run.computing(how.precision), asked, how)
        return [
            Answer(
                i,
                {"input": passage, "question": question, "text": one.text}
                | {"score": round(one.score, 6), "start": one.start, "end": one.end},
            )
            for i, ((passage, question), best) in enumerate(zip(asked, found, strict=True))
            for one in best
        ]

    def shown(self, prediction: Prediction) -> str:
        return f"{prediction['question']} {prediction['text'] or '(no answer)'}"

    def held_out(self, run: Loaded, sources: Sequence[str]) -> list[PassageQuestion]:
        return read_passages(sources, self.read_by(run), learn=False).rows

    def measure(
        self, run: Loaded, held_out: Sequence[PassageQuestion], progress: Progress, seconds: float | None = None
    ) -> Measured:
        usual = run.usual(FindingAnswers)
        how = usual.replace(best=1, no_answer=any(not row.answers for row in held_out) or usual.no_answer)
        found = found_answers(run, [(row.passage, row.question) for row in held_out], how, progress)
        texts, truth = [best[0].text for best in found], [row.answers for row in held_out]
        return Measured(len(held_out), *answer_measures(texts, truth), tally=answer_tally(texts, truth))

    def baselines(
        self, run: Loaded, data: PassageData, held_out: Sequence[PassageQuestion], measured: Measured
    ) -> Iterator[Baseline]:
        return passage_baselines(held_out)

    def kept_baselines(self, run: Loaded, held_out: Sequence[PassageQuestion]) -> Iterator[Baseline]:
        return passage_baselines(held_out)

    def look(self, run: Loaded, inputs: Sequence[Given], how: LookAtPassage) -> View:
        if how.what == "positions":
            return LinePositionsView(line_codes(run.stream))
        passage, question = _passage_asked(only_one(inputs, "a passage"), how.question)
        tokenizer, model = text_of(run.codecs).tokenizer, run.stream
        (best,), *_ = found_answers(run, [(passage, question)], run.usual(FindingAnswers).replace(best=1))
        pair = tokenizer.encode(question), tokenizer.encode_places(passage)[0]
        window = next(passage_windows(tokenizer.pair_marks, *pair, context_of(model.config), 0))
        segments = window.segments if knows_segments(model.config) else None
        answer = LookedAnswer(((best.text, best.score),), "answer")
        text = passage if how.table else f"{question} {passage}"
        return look_at_text(model, tokenizer, window.ids, text, how, None if how.table else answer, segments)

    def study(self, run: Loaded, inputs: Sequence[Given], how: LookAtPassage) -> Study:
        passage, question = _passage_asked(only_one(inputs, "a passage"), how.question)
        tokenizer, model, head = text_of(run.codecs).tokenizer, run.stream, run.stream.head
        assert isinstance(head, SpanEnds)
        pair = tokenizer.encode(question), tokenizer.encode_places(passage)[0]
        window = next(passage_windows(tokenizer.pair_marks, *pair, context_of(model.config), 0))
        device = next(model.parameters()).device
        ids, segments = (
            torch.from_numpy(np.asarray(one, np.int64))[None].to(device) for one in (window.ids, window.segments)
        )
        raw = Text(ids, segments=segments if knows_segments(model.config) else None)
        names = text_labels(tokenizer, window.ids)
        study = Study(
            model=model.eval(),
            stream="",
            embed=lambda: model.embed(raw),
            memory=lambda: None,
            read=lambda tokens, _: head(tokens)[..., 0].float(),
            label=lambda i: f"a beginning at {names[i].strip() or i + 1}",
            tokens={"": tuple(names)},
        )
        return answered(study)

    def adopted(self, model: Imported) -> Adopted:
        return Adopted(whole_texts(model), Span.Config(), text_settings(model), text_files(model))

    def outgoing(self, run: Loaded) -> Outgoing:
        return with_text(with_labels(run), run, text_codec(run))

    def proof(self, run: Loaded, tolerance: float) -> Proof | None:
        return passage_proof(self, run)


def _wanted(draft: PassageDraft) -> encoders.EncoderWanted:
    return encoders.EncoderWanted("span", None, draft.encoded.codec.tokenizer, draft.encoded.amount)


def _finds(origin: Loaded) -> bool:
    """Whether a run finds answers already."""
    return isinstance(getattr(origin.model, "head", None), SpanEnds)


def _row(word: object) -> Mapping[str, Any]:
    """An input as a row: an object, an object of JSON, or a passage alone."""
    if isinstance(word, str) and word.lstrip().startswith("{"):
        try:
            found = json.loads(word)
        except (ValueError, RecursionError):
            found = None
        word = found if isinstance(found, Mapping) else word
    if isinstance(word, str):
        return {"context": word}
    if not isinstance(word, Mapping):
        raise WeftError(f"expected a passage, found {word!r}", fix=ASK)
    return word


def _questioned(passage: str, question: object, where: str) -> Questioned:
    if not isinstance(question, str) or not question.strip():
        raise WeftError("no question was asked", where=where, fix=ASK)
    if not passage.strip():
        raise WeftError("expected a passage, found none", where=question[:60], fix=ASK)
    return Questioned(passage, question)


def _passage_asked(one: Given, question: str | None) -> tuple[str, str]:
    """The passage of an input, and the question about it."""
    value = _questioned(one.value, question, one.name[:60]) if isinstance(one.value, str) else one.value
    if not isinstance(value, Questioned) or not isinstance(value.about, str):
        raise unlike(one, "a passage with a question")
    return value.about, value.question


def _asked_in(path: Path) -> Iterator[Given]:
    """The questions of a file of SQuAD's form."""
    for row in squad_rows(path):
        if isinstance(row, DataError):
            yield Given(row, row.where)
        else:
            yield Given(_questioned(row[1], row[2].get("question"), row[0]), row[1])
