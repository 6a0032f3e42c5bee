"""translate: learn to translate from sentence pairs. Pairs in, a model that translates sentences and documents out."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast, final

from weft.batches.source import Source
from weft.domains.pairs.baselines import chrf_tally, pair_baselines
from weft.domains.pairs.cards import TRANSLATE
from weft.domains.pairs.codec import ChosenLanguages
from weft.domains.pairs.dataset import PairData, grouped
from weft.domains.pairs.encoded import PairIds
from weft.domains.pairs.exchange import answer_proof, pair_codecs_of, pair_outgoing
from weft.domains.pairs.language_choice import Measuring, Translating, in_languages, in_languages_of_columns
from weft.domains.pairs.leaving_out import LeftOutView
from weft.domains.pairs.measures import translation_measures
from weft.domains.pairs.reading.pairs import read_pairs
from weft.domains.pairs.reading.texts import Held
from weft.domains.pairs.recipe import RECIPE, PairDraft, batch_in_words, encoder_decoder, pair_codecs, pair_facts
from weft.domains.pairs.settings import PairTraining
from weft.domains.pairs.studies import study_translation
from weft.domains.pairs.views import LookAtTranslation, TranslationView
from weft.domains.pairs.writing import TextWriter, answer_all, answered
from weft.domains.texts.codec.text import TextCodec
from weft.domains.texts.exchange import text_files, text_settings
from weft.files.documents import ENDINGS
from weft.files.known_roles import SOURCE
from weft.generate.decode import Decoding
from weft.inspect.positions import LinePositionsView, line_codes
from weft.inspect.study import Study
from weft.inspect.views import LookedAnswer, NoAttention, View
from weft.interop import Imported
from weft.modalities.text import TextEmbed
from weft.models.seq2seq import Seq2Seq
from weft.models.stream import Model
from weft.objectives import TargetToken
from weft.tasks.adopting import Adopted
from weft.tasks.asks import Answer, Asks, Given, Gives, Use, only_text, texts_of
from weft.tasks.baselines import Baseline
from weft.tasks.codec import Codecs
from weft.tasks.outgoing import Outgoing
from weft.tasks.parts import End, Parts
from weft.tasks.proof import Proof
from weft.tasks.request import Listen, Loaded, Measured, Prediction
from weft.tasks.table_inputs import InputColumn, columns_in_order, learned_columns
from weft.tasks.task import Task
from weft.training.progress import Progress


def look_at_writing(run: Loaded, text: str, how: LookAtTranslation, *, called: str) -> View:
    """The alignment of a text with what the model writes for it, or with a target that is given; or one token of it."""
    writer = TextWriter(in_languages(run, how))
    marks = writer.target.marks
    if how.target is None:
        said, best = writer.write([text], Decoding(beam=how.beam))[0][0]
        target = [*marks.written_from[1:], *best.ids]
        answer = LookedAnswer(((said, math.exp(best.log_probability)),), called)
    else:
        target = writer.target_ids([how.target])[0].tolist()
        loss, _ = writer.score([(text, how.target)])
        answer = LookedAnswer(((how.target, math.exp(-loss)),), f"given {called}")
    source = writer.source_ids([text])[0].tolist()
    tokenizer, after = writer.source.tokenizer, writer.source.marks.after
    view = _view(writer.model, tokenizer, source, target, how.chosen, marks=marks, after=after, answer=answer)
    return view if how.token is None else view.step_view(how.token, how.side)


def _view(*seen: Any, **more: Any) -> TranslationView:
    """What was read; of a model without attention, what its words depend on."""
    try:
        return TranslationView(*seen, **more)
    except NoAttention:
        return LeftOutView(*seen, **more)


@final
class Translate(Task[PairData, PairIds, PairTraining]):
    """Encoder–decoders, from the LSTM to the Transformer."""

    card = TRANSLATE
    parts = (Parts({"source": End.of(TextCodec), "target": End.of(TextCodec, side="target")}, (Seq2Seq,), TextEmbed),)
    recipe = RECIPE
    unit = "token"
    asks = (Asks("text", "a text", lines=True),)
    documents = ENDINGS
    Predict = Translating
    Evaluate, Export = Measuring, ChosenLanguages
    Look = LookAtTranslation

    def codecs(self, data: PairData, training: PairTraining, known: Codecs) -> Codecs:
        return in_languages_of_columns(pair_codecs(data, training, known, str), data.columns)

    def encode(
        self, data: PairData, codecs: Codecs, training: PairTraining, known: Model.Config | None, progress: Progress
    ) -> PairIds:
        return PairIds.of(data, codecs, training.context, str)

    def sized(self, draft: PairDraft) -> tuple[Seq2Seq.Config, PairTraining]:
        return encoder_decoder(draft)

    def objective(self, encoded: PairIds, codecs: Codecs, training: PairTraining) -> TargetToken.Config:
        return TargetToken.Config(smoothing=training.smoothing)

    def source(self, encoded: PairIds, codecs: Codecs, model: Model.Config, training: PairTraining) -> Source:
        return encoded.source(training.tokens or 1024, training.seed)

    def batch_in_words(self, training: PairTraining, source: Source) -> str:
        return batch_in_words(training, source)

    def ability(self, run: Loaded) -> str:
        return f"Translates from {' to '.join(run.data.columns)}"

    def facts(self, run: Loaded) -> Mapping[str, str]:
        return pair_facts(run)

    def example(self, run: Loaded, measured: Measured) -> str:
        return "\n".join(f"{one['source']}\n  -> {one['text']}" for one in measured.more["samples"])

    def gives(self, run: Loaded) -> Gives:
        return Gives("text", columns=("translation", "score"))

    def columns(self, run: Loaded, use: Use) -> tuple[InputColumn, ...]:
        return (InputColumn(SOURCE, "source", learned_columns(run, "source")[0]),)

    def names_of_columns(self) -> tuple[str, ...]:
        return "source", "target"

    def taken(self, run: Loaded) -> Mapping[str, str]:
        return run.data.taken or columns_in_order(run, "source", "target")

    def cells(self, prediction: Prediction) -> Sequence[Prediction]:
        return [{**prediction, "translation": prediction["text"]}]

    def predict(self, run: Loaded, inputs: Sequence[Given], how: Translating, listen: Listen | None) -> list[Answer]:
        texts = texts_of(inputs)
        found = TextWriter(in_languages(run, how)).write_long(texts, how)
        return [Answer(i, answered(texts[i], one)) for i, best in enumerate(found) for one in best]

    def shown(self, prediction: Prediction) -> str:
        return str(prediction["text"])

    def prepared(self, run: Loaded, how: ChosenLanguages) -> Loaded:
        return in_languages(super().prepared(run, how), how)

    def held_out(self, run: Loaded, sources: Sequence[str]) -> list[Held]:
        asked = self.read_by(run)
        return grouped(read_pairs(sources, source=asked.source, target=asked.target).rows)

    def measure(
        self, run: Loaded, held_out: Sequence[Held], progress: Progress, seconds: float | None = None
    ) -> Measured:
        writer = TextWriter(run)
        found = answer_all(writer, held_out, writer.write_long, run.usual(Decoding), str, progress)
        measured = found.measured(*translation_measures(found.answers, found.held))
        return replace(measured, tally=chrf_tally(found.answers, found.held))

    def baselines(
        self, run: Loaded, data: PairData, held_out: Sequence[Held], measured: Measured
    ) -> Iterator[Baseline]:
        return pair_baselines(data.train, held_out)

    def look(self, run: Loaded, inputs: Sequence[Given], how: LookAtTranslation) -> View:
        """The alignment of a sentence with its translation by the model, or with one that is given."""
        if how.what == "positions":
            return LinePositionsView(line_codes(cast(Seq2Seq, run.model).source))
        return look_at_writing(run, only_text(inputs), how, called="translation")

    def study(self, run: Loaded, inputs: Sequence[Given], how: LookAtTranslation) -> Study:
        return study_translation(TextWriter(in_languages(run, how)), only_text(inputs), how)

    def adopted(self, model: Imported) -> Adopted:
        return Adopted(pair_codecs_of(model), TargetToken.Config(), text_settings(model), text_files(model))

    def outgoing(self, run: Loaded) -> Outgoing:
        return pair_outgoing(run, self.Predict)

    def proof(self, run: Loaded, tolerance: float) -> Proof | None:
        return answer_proof(self, run)
