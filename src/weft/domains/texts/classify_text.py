"""classify-text: learn to label texts. Texts with classes, several labels or numbers in, a model that labels out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import torch
from torch import Tensor

from weft.batches.source import Source
from weft.domains.texts.baselines.counts import text_baselines
from weft.domains.texts.cards import CLASSIFY_TEXT
from weft.domains.texts.codec.text import TextCodec
from weft.domains.texts.dataset.labelled import read_texts
from weft.domains.texts.encoded.whole_texts import LabelledIds
from weft.domains.texts.exchange import (
    label_proof,
    text_codec,
    text_files,
    text_settings,
    whole_texts,
    with_text,
    without_new_marks,
)
from weft.domains.texts.reading.labelled_texts import Example
from weft.domains.texts.recipe import encoders
from weft.domains.texts.settings import LabelTraining
from weft.domains.texts.views.streams import (
    Embedding,
    embedded_texts,
    look_at,
    looked,
    study_whole,
    text_of,
    text_values,
)
from weft.domains.texts.views.vectors import LookAtText
from weft.files.known_roles import TEXT
from weft.files.labelled import LabelledData
from weft.inspect.study import Study
from weft.inspect.views import LookedAnswer, View
from weft.interop import Imported
from weft.modalities.encoding import ended
from weft.modalities.framing import frame_ids
from weft.modalities.text import TextEmbed
from weft.models.backbone import context_of
from weft.models.stream import Model, Stream
from weft.objectives import Objective
from weft.tasks.adopting import Adopted, label_codec, label_objective
from weft.tasks.asks import Answer, Asks, Given, Use, only_text, texts_of
from weft.tasks.baselines import Baseline
from weft.tasks.codec import Codecs
from weft.tasks.labels import labelling
from weft.tasks.labels.baselines import LabelTarget
from weft.tasks.labels.label import LabelCodec
from weft.tasks.labels.numbers import NumberCodec
from weft.tasks.labels.task import LabelTask
from weft.tasks.measuring import counted
from weft.tasks.outgoing import Outgoing, with_labels
from weft.tasks.parts import End, Parts
from weft.tasks.proof import Proof
from weft.tasks.request import Draft, Embedded, Listen, Loaded, Measured
from weft.tasks.table_inputs import InputColumn, columns_in_order, learned_columns
from weft.training.progress import Progress

EXCERPT = 200  # characters of a text in an evaluation
AT_ONCE = 16_384  # texts of an evaluation that are held in memory
LabelDraft = Draft[LabelledData[Example], LabelledIds, LabelTraining]


@dataclass(frozen=True)
class Excerpts(Sequence[str]):
    """The beginnings of texts, each when it is looked at."""

    rows: Sequence[Example]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, row: Any) -> Any:
        return self.rows[row].text[:EXCERPT]


@final
class ClassifyText(LabelTask[LabelledData[Example], LabelledIds, LabelTraining]):
    """A class, any number of labels, or a number for each text."""

    card = CLASSIFY_TEXT
    parts = (Parts({"text": End.of(TextCodec), "label": End.of(LabelCodec)}, (Stream,), TextEmbed),)
    recipe = encoders.RECIPE
    unit = "text"
    thing = "a text"
    starts_from = ("fill-mask", "tag-text", "language-model")
    asks = (Asks("text", "a text", lines=True),)
    embeds = (Asks("text", "a text", lines=True),)
    Embed = Embedding
    Look = LookAtText

    def codecs(self, data: LabelledData[Example], training: LabelTraining, known: Codecs) -> Codecs:
        label, size = labelling.learned_from(data, known), encoders.size_of(one.text for one in data.train)
        texts = ended(one.text for one in data.train)
        return {"text": encoders.text_codec(texts, size, training, known), "label": label}

    def encode(
        self,
        data: LabelledData[Example],
        codecs: Codecs,
        training: LabelTraining,
        known: Model.Config | None,
        progress: Progress,
    ) -> LabelledIds:
        return LabelledIds.of(data, text_of(codecs), labelling.codec_of(codecs))

    def sized(self, draft: LabelDraft) -> tuple[Stream.Config, LabelTraining]:
        return encoders.new_encoder(draft, _wanted(draft))

    def continued(self, draft: LabelDraft, origin: Loaded) -> tuple[Stream.Config, LabelTraining]:
        same = encoders.keeps_head(origin, draft.codecs, "label")
        return encoders.continued_encoder(origin, draft.training, _wanted(draft), same_head=same)

    def objective(self, encoded: LabelledIds, codecs: Codecs, training: LabelTraining) -> Objective.Config:
        balance = encoded.train.targets if training.balance else None
        return labelling.objective(labelling.codec_of(codecs), smoothing=training.smoothing, balance=balance)

    def source(self, encoded: LabelledIds, codecs: Codecs, model: Model.Config, training: LabelTraining) -> Source:
        return encoded.source(
            context_of(model), tokens=training.tokens or encoders.USUAL_TOKENS, rows=training.rows, seed=training.seed
        )

    def batch_in_words(self, training: LabelTraining, source: Source) -> str:
        return f"batches of up to {training.batch * training.rows} texts"

    def facts(self, run: Loaded) -> Mapping[str, str]:
        return encoders.text_facts(run, "texts")

    def columns(self, run: Loaded, use: Use) -> tuple[InputColumn, ...]:
        return (InputColumn(TEXT, "text_column", learned_columns(run, "text_column")[0]),)

    def taken(self, run: Loaded) -> Mapping[str, str]:
        return run.data.taken or columns_in_order(run, "text_column", "label_column")

    def predict(
        self, run: Loaded, inputs: Sequence[Given], how: labelling.Labelling, listen: Listen | None
    ) -> list[Answer]:
        run, codec, texts = run.computing(how.precision), text_of(run.codecs), texts_of(inputs)
        ids = codec.ids(texts)
        rows = frame_ids(codec.tokenizer, ids, context_of(run.model.config)).rows
        unread = [len(codec.marks.around(whole)) - len(row) for whole, row in zip(ids, rows, strict=True)]
        found = labelling.predictions(
            labelling.at_threshold(run.codec("label", LabelCodec), how.threshold),
            text_values(run.stream, rows),
            texts,
            how.top,
            how.choices,
        )
        return [
            Answer(i, {**one, **({"unread_end": n} if n else {})})
            for i, (one, n) in enumerate(zip(found, unread, strict=True))
        ]

    def held_out(self, run: Loaded, sources: Sequence[str]) -> list[Example]:
        kind = labelling.kind_of(run.codec("label", LabelCodec))
        return read_texts(sources, self.read_by(run), kind=kind, learn=False).rows

    def measure(
        self, run: Loaded, held_out: Sequence[Example], progress: Progress, seconds: float | None = None
    ) -> Measured:
        codec, truth = run.codec("label", LabelCodec), [one.label for one in held_out]
        codec.encode(truth)  # refuses unknown labels before anything is computed
        text, context, found = text_of(run.codecs), context_of(run.model.config), list[Tensor]()
        with counted(progress, len(held_out), "texts") as count:
            for start in range(0, len(held_out), AT_ONCE):
                some = [one.text for one in held_out[start : start + AT_ONCE]]
                found.append(text_values(run.stream, text.encode(some, context).rows, count))
        return labelling.measured(codec, torch.cat(found), truth, Excerpts(held_out), called="text")

    def learned_baselines(
        self, run: Loaded, target: LabelTarget, train: Sequence[Example], held_out: Sequence[Example]
    ) -> Iterator[Baseline]:
        return text_baselines(target, [one.text for one in train], [one.text for one in held_out])

    def look(self, run: Loaded, inputs: Sequence[Given], how: LookAtText) -> View:
        label = run.codec("label", LabelCodec)

        def answer(ids: np.ndarray) -> LookedAnswer:
            return labelling.answer(label, text_values(run.stream, [ids]))

        return looked(run, inputs, how, lambda text: look_at(run, text, how, answer))

    def study(self, run: Loaded, inputs: Sequence[Given], how: LookAtText) -> Study:
        return study_whole(run, only_text(inputs), **labelling.studied(run.codec("label", LabelCodec)))

    def embedded(self, run: Loaded, inputs: Sequence[Given], how: Embedding) -> Embedded:
        return embedded_texts(run, inputs, how)

    def adopted(self, model: Imported) -> Adopted:
        model = without_new_marks(model)
        label = label_codec(model, unnamed=NumberCodec)
        codecs = {**whole_texts(model), **({} if label is None else {"label": label})}
        return Adopted(codecs, label_objective(label), text_settings(model), text_files(model))

    def outgoing(self, run: Loaded) -> Outgoing:
        return with_text(with_labels(run), run, text_codec(run))

    def proof(self, run: Loaded, tolerance: float) -> Proof | None:
        return label_proof(self, run, tolerance)


def _wanted(draft: LabelDraft) -> encoders.EncoderWanted:
    outputs, encoded = draft.codec("label", LabelCodec).outputs, draft.encoded
    return encoders.EncoderWanted("pooled", outputs, encoded.codec.tokenizer, encoded.amount)
