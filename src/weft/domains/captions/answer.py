"""answer: learn to answer questions about pictures. Pictures, questions and answers in, a model that answers out."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import final

from torch import Tensor

from weft.batches.source import Source
from weft.domains.captions.answer_inputs import given_questions, one_question, opened_questions, scene_asked
from weft.domains.captions.answering import Answering, PictureQuestion
from weft.domains.captions.cards import ANSWER
from weft.domains.captions.choosing import AnswerChooser, answer_codec, answerer
from weft.domains.captions.codec import UsualAnswers
from weft.domains.captions.continuing import continues
from weft.domains.captions.dataset import measured_questions
from weft.domains.captions.encoded.questions import SeenQuestions, asked_pictures
from weft.domains.captions.exchange import adopted_answers, answer_outgoing, answer_proof
from weft.domains.captions.measures.answering import answer_measures
from weft.domains.captions.recipe import answerers as recipes
from weft.domains.captions.settings import AnswerTraining
from weft.domains.captions.views.answering import AnsweredPicture, LookAtAnswer, answer_view
from weft.domains.captions.views.studies import study_words
from weft.domains.pictures import given as pictures
from weft.domains.pictures.codec import PictureCodec
from weft.domains.pictures.dataset import PictureData
from weft.domains.pictures.reading.album import Album
from weft.domains.pictures.reading.lookup import picture_beside
from weft.domains.pictures.recipe import batch_in_words, continued_backbone, decided, new_backbone
from weft.domains.pictures.views.learned_view import LearnedView, learned_names
from weft.domains.texts.codec.text import TextCodec
from weft.inspect.alignment import text_labels
from weft.inspect.study import Study
from weft.inspect.views import View
from weft.interop import Imported
from weft.modalities.image import PictureEmbed
from weft.modalities.picture_text import PictureTextEmbed
from weft.models.backbone import embed_of
from weft.models.grounded import Grounded
from weft.models.seq2seq import Seq2Seq
from weft.models.stream import Model, Stream
from weft.objectives import TargetAnswer
from weft.tasks.adopting import Adopted
from weft.tasks.asks import Answer, Asks, Given, Gives, Use, Ways
from weft.tasks.codec import Codecs
from weft.tasks.finetuning import partly_new_rates, start_weights, with_lora
from weft.tasks.labels.several import SeveralCodec
from weft.tasks.outgoing import Outgoing
from weft.tasks.parts import End, Parts
from weft.tasks.proof import Proof
from weft.tasks.recipe import with_model_settings
from weft.tasks.request import Listen, Loaded, Measured, Prediction, Request
from weft.tasks.table_inputs import InputColumn, InputRow
from weft.tasks.task import Task
from weft.training.progress import Progress, read_counter


def look_at_answer(run: Loaded, inputs: Sequence[Given], how: LookAtAnswer) -> View:
    """What counted for each word of the question and of the answer, or what the embedder learned."""
    how.chosen  # noqa: B018 (settings that contradict each other are refused before anything is computed)
    who = answerer(run)
    if how.what is not None:
        return LearnedView(_seeing(run.model), learned_names(how.what))
    given = one_question(run, inputs, how.question)
    scene = scene_asked(inputs[0])
    known = () if scene is None else scene.album.questions[0]
    asked = [PictureQuestion(0, given.text)]
    codec, score, chance, label = answer_codec(who), None, None, None
    if how.answer is None:
        text, best = who.answer(given.frames, asked, [Answering(beam=how.beam)])[0][0][0]
        ids, score, chance = best.ids, best.score, math.exp(best.log_probability)
    else:
        text, ids = how.answer.strip(), ()
    if isinstance(who, AnswerChooser):
        label = who.number(text)
    if how.answer is not None or label is not None:
        ids = tuple(codec.ids([text])[0].tolist())
    what = AnsweredPicture(
        pixels=given.frames.pictures[0].pixels,
        raw=who.raw(given.read, given.text),
        question=tuple(who.question.ids([given.text.strip()])[0].tolist()),
        before=len(who.opening if continues(run.model) else who.question.marks.before),
        opening=tuple(who.ids(given.text).tolist()) if continues(run.model) else who.opening,
        ids=ids,
        title=given.name,
        score=score,
        chance=chance,
        regions=next((one.regions for one in known if one.text == given.text), ()),
        label=label,
    )
    assert isinstance(run.model, Seq2Seq | Stream)
    return answer_view(run.model, codec.tokenizer, what, how)


def study_answer(run: Loaded, inputs: Sequence[Given], how: LookAtAnswer) -> Study:
    """The study of an answer: a choice, or its first token."""
    who, given = answerer(run), one_question(run, inputs, how.question)
    raw, asked = who.raw(given.read, given.text), text_labels(who.question.tokenizer, who.ids(given.text).tolist())
    if isinstance(who, AnswerChooser):
        return who.study(raw, asked)
    codec = answer_codec(who)
    if how.answer is None:
        ids = who.answer(given.frames, [PictureQuestion(0, given.text)], [Answering(beam=how.beam)])[0][0][0][1].ids
    else:
        ids = tuple(codec.ids([how.answer.strip()])[0].tolist())
    assert isinstance(run.model, Seq2Seq)
    if continues(run.model):
        opening = tuple(who.ids(given.text).tolist())
        return study_words(run.model, given.read, codec, [*opening, *ids], place=len(opening))
    return study_words(run.model, raw, codec, [*who.opening, *ids], place=len(who.opening), asked=asked)


def _seeing(model: Model) -> Stream:
    """The stream that reads pictures."""
    source = model.source if isinstance(model, Seq2Seq) else model
    source = source.picture if isinstance(source, Grounded) else source
    assert isinstance(source, Stream)
    return source


ENDS = {
    "picture": End.of(PictureCodec),
    "question": End.of(TextCodec),
    "answer": End.of(TextCodec, side="target"),
    "usual": End.of(UsualAnswers),
}
LINE = {**ENDS, "question": End.of(TextCodec, side="target")}  # an answer goes on from its question
LABELS = {"picture": ENDS["picture"], "question": ENDS["question"], "answer": End.of(SeveralCodec)}


@final
class AnswerQuestions(Task[PictureData, SeenQuestions, AnswerTraining]):
    """An encoder in which a question reads a picture, or both are one stream; and a decoder that writes the answer.

    Models from elsewhere may have a head instead, whose labels are the answers.
    """

    card = ANSWER
    parts = (
        Parts(ENDS, (Seq2Seq,), PictureEmbed, source=Grounded),
        Parts(ENDS, (Seq2Seq,), PictureTextEmbed, source=Stream),
        Parts(LABELS, (Stream,), PictureTextEmbed),
        Parts(LINE, (Seq2Seq,), PictureEmbed, source=Stream),
    )
    recipe = recipes.ANSWERING
    unit = "token"
    starts_from = ("classify-images", "reconstruct-images", "distill-images", "caption")
    asks = (Asks("picture and question", "a picture with a question", pictures.PICTURE.endings),)
    Predict = Answering
    Look = LookAtAnswer

    def starting(self, request: Request) -> Request:
        recipes.refuse_labels(request)
        return request

    def codecs(self, data: PictureData, training: AnswerTraining, known: Codecs) -> Codecs:
        return {"picture": pictures.picture_codec(data, training, known), **recipes.text_codecs(data, training, known)}

    def encode(
        self,
        data: PictureData,
        codecs: Codecs,
        training: AnswerTraining,
        known: Model.Config | None,
        progress: Progress,
    ) -> SeenQuestions:
        picture, texts = codecs["picture"], recipes.both_texts(codecs)
        assert isinstance(picture, PictureCodec)
        channels = None if known is None else embed_of(known).channels
        contexts = recipes.contexts_of(known, training)
        return SeenQuestions.asked(data, picture, texts, contexts, channels, read_counter(progress))

    def sized(self, draft: recipes.AnswerDraft) -> tuple[Model.Config, AnswerTraining]:
        recipes.refuse_settings(draft.request, draft.training)
        name = self.recipe.model_name(draft.request)
        cost = recipes.answer_cost(name)
        encoder = new_backbone(draft, self.recipe, None, cost, recipes.LADDERS[name])
        model = with_model_settings(recipes.with_answers(encoder, name, draft), draft.request)
        return model, decided(draft, encoder, cost, recipes.WITHOUT)

    def continued(self, draft: recipes.AnswerDraft, origin: Loaded) -> tuple[Model.Config, AnswerTraining]:
        """The same model; or another task's picture encoder, which learns to read questions, with a new decoder."""
        recipes.refuse_settings(draft.request, draft.training)
        name, training = self.model_name(draft.request), draft.training
        if recipes.answers_already(origin.model):
            config = recipes.continued_answers(origin, training.drop)
            training = decided(draft, recipes.pictures_alone(config), recipes.answer_cost(name), recipes.WITHOUT)
            return with_lora(config, training), training
        encoder = continued_backbone(origin, draft, training.drop).replace(head=None, outputs=None)
        training = decided(draft, encoder, recipes.answer_cost(name), recipes.WITHOUT)
        model = recipes.with_answers(encoder, name, draft)
        return model, partly_new_rates(training, self.recipe, draft.request, name)

    def start(self, origin: Loaded, codecs: Codecs, model: Model.Config) -> Mapping[str, Tensor]:
        if recipes.answers_already(origin.model):
            return start_weights(origin, backbone=False, same_head=True)
        return recipes.picture_weights(start_weights(origin, backbone=True, same_head=False), model)

    def model_name(self, request: Request) -> str:
        return recipes.model_name(request)

    def objective(self, encoded: SeenQuestions, codecs: Codecs, training: AnswerTraining) -> TargetAnswer.Config:
        return TargetAnswer.Config(smoothing=training.smoothing)

    def source(self, encoded: SeenQuestions, codecs: Codecs, model: Model.Config, training: AnswerTraining) -> Source:
        how, stride = training.augment, embed_of(model).stride
        source = asked_pictures(encoded, training.visit, how=how, stride=stride, seed=training.seed)
        return pictures.read_ahead(source, encoded)

    def batch_in_words(self, training: AnswerTraining, source: Source) -> str:
        return f"{batch_in_words(training)}, {training.visit} questions about each picture"

    def ability(self, run: Loaded) -> str:
        return "Answers questions about pictures"

    def facts(self, run: Loaded) -> Mapping[str, str]:
        return recipes.answer_facts(run)

    def example(self, run: Loaded, measured: Measured) -> str:
        return "\n".join(f"{one['input']}: {one['question']} {one['text']}" for one in measured.more["samples"])

    def gives(self, run: Loaded) -> Gives:
        return Gives("text", columns=("text", "score"))

    def columns(self, run: Loaded, use: Use) -> tuple[InputColumn, ...]:
        picture, question = super().columns(run, use)
        return picture, replace(question, may_lack=True)  # where one is asked about all pictures

    def file_in(self, row: InputRow) -> Path:
        return picture_beside(row.text(), row.table.path, row.where)

    def from_row(self, run: Loaded, row: InputRow, ways: Ways) -> Given:
        asked = row.text(1) or getattr(ways.how, "question", None)
        (one,) = self.opened(run, [{"picture": self.file_in(row), "question": asked}], ways)
        return replace(one, name=row.text())

    def opened(self, run: Loaded, words: Sequence[object], ways: Ways) -> Iterator[Given]:
        if ways.use == "look" and getattr(ways.how, "what", None) is not None:
            return iter(())
        return opened_questions(words, getattr(ways.how, "question", None), scenes=ways.use == "look")

    def predict(self, run: Loaded, inputs: Sequence[Given], how: Answering, listen: Listen | None) -> list[Answer]:
        given = given_questions(run, inputs, how.question)
        (found,) = answerer(run).answer(given.frames, given.asked, [how])
        return [
            Answer(
                i,
                {"input": given.names[one.picture], "question": one.text, "text": text}
                | {"score": round(h.score, 4) + 0.0, **({} if h.ended else {"cut": True})},
            )
            for i, (one, best) in enumerate(zip(given.asked, found, strict=True))
            for text, h in best
        ]

    def shown(self, prediction: Prediction) -> str:
        return f"{prediction['input']}: {prediction['question']} {prediction['text']}"

    def held_out(self, run: Loaded, sources: Sequence[str]) -> Album:
        return measured_questions(sources, self.read_by(run))

    def measure(self, run: Loaded, held_out: Album, progress: Progress, seconds: float | None = None) -> Measured:
        return answer_measures(answerer(run), pictures.frames_for(run, held_out), held_out, progress)

    def look(self, run: Loaded, inputs: Sequence[Given], how: LookAtAnswer) -> View:
        return look_at_answer(run, inputs, how)

    def study(self, run: Loaded, inputs: Sequence[Given], how: LookAtAnswer) -> Study:
        return study_answer(run, inputs, how)

    def adopted(self, model: Imported) -> Adopted:
        return adopted_answers(model)

    def outgoing(self, run: Loaded) -> Outgoing:
        return answer_outgoing(run, self.Predict)

    def proof(self, run: Loaded, tolerance: float) -> Proof | None:
        return answer_proof(self, run)
