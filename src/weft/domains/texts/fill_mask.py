"""fill-mask: learn to fill in blanks in texts, as BERT learns a language. Other tasks start from what it learns."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import final

import numpy as np

from weft.batches.source import Source
from weft.core import PerToken
from weft.domains.texts.baselines.ngrams import Ngrams, one_before, training_ids
from weft.domains.texts.blanks import AskBlanks, blank_answer, candidates, filler, score
from weft.domains.texts.cards import FILL_MASK
from weft.domains.texts.codec.text import TextCodec
from weft.domains.texts.dataset.documents import CorpusPart
from weft.domains.texts.dataset.running import TextData
from weft.domains.texts.encoded.masking import MaskedWindows, TokenMasker
from weft.domains.texts.encoded.running import RunningIds
from weft.domains.texts.encoded.whole_texts import TextAmount
from weft.domains.texts.exchange import blank_proof, text_codec, text_files, text_settings, whole_texts, with_text
from weft.domains.texts.reading.corpus import Corpus, read_corpus
from weft.domains.texts.recipe import encoders
from weft.domains.texts.settings import MaskTraining
from weft.domains.texts.views.streams import Embedding, embedded_texts, looked, study_text, text_of, token_name
from weft.domains.texts.views.vectors import LookAtText, look_at_text
from weft.errors import WeftError
from weft.inspect.study import Study
from weft.inspect.views import View
from weft.interop import Imported
from weft.modalities.encoding import encode_pieces
from weft.modalities.framing import frame_blanks
from weft.modalities.text import TextEmbed
from weft.modalities.tokenizer import Tokenizer
from weft.models.backbone import context_of
from weft.models.stream import Model, Stream
from weft.objectives import MaskedToken
from weft.objectives.measures.tallies import Tally
from weft.tasks.adopting import Adopted
from weft.tasks.asks import Answer, Asks, Given, Gives, only_text, texts_of
from weft.tasks.baselines import Baseline
from weft.tasks.codec import Codecs
from weft.tasks.outgoing import Outgoing, with_labels
from weft.tasks.parts import End, Parts
from weft.tasks.proof import Proof
from weft.tasks.request import Draft, Embedded, Listen, Loaded, Measured, Prediction
from weft.tasks.task import Task
from weft.training.progress import Progress

MaskDraft = Draft[TextData, RunningIds, MaskTraining]


@final
class FillMask(Task[TextData, RunningIds, MaskTraining]):
    """BERT and its relatives."""

    card = FILL_MASK
    parts = (Parts({"text": End.of(TextCodec)}, (Stream,), TextEmbed),)
    recipe = encoders.RECIPE
    unit = "hidden token"
    asks = (Asks("text", "a text", lines=True),)
    embeds = (Asks("text", "a text", lines=True),)
    Predict = AskBlanks
    Look = LookAtText
    Embed = Embedding

    def codecs(self, data: TextData, training: MaskTraining, known: Codecs) -> Codecs:
        size = data.corpus.bytes, data.train.characters
        return {"text": encoders.text_codec(data.train.pieces(), size, training, known, mask=True)}

    def encode(
        self, data: TextData, codecs: Codecs, training: MaskTraining, known: Model.Config | None, progress: Progress
    ) -> RunningIds:
        encoded = RunningIds.of(data, text_of(codecs))
        return replace(encoded, minutes=_amount(encoded).minutes)

    def sized(self, draft: MaskDraft) -> tuple[Stream.Config, MaskTraining]:
        return encoders.new_encoder(draft, _wanted(draft))

    def continued(self, draft: MaskDraft, origin: Loaded) -> tuple[Stream.Config, MaskTraining]:
        return encoders.continued_encoder(origin, draft.training, _wanted(draft), same_head=True)

    def objective(self, encoded: RunningIds, codecs: Codecs, training: MaskTraining) -> MaskedToken.Config:
        return MaskedToken.Config()

    def source(self, encoded: RunningIds, codecs: Codecs, model: Model.Config, training: MaskTraining) -> Source:
        streams = encoded.train, encoded.held_out
        return _windows(streams, encoded.codec.tokenizer, model, training, encoded.data.fingerprint)

    def ability(self, run: Loaded) -> str:
        return "Fills in blanks in texts"

    def facts(self, run: Loaded) -> Mapping[str, str]:
        return {"tokens": f"{text_of(run.codecs).in_words()}; {run.data.amount('train_tokens')} to train on"}

    def gives(self, run: Loaded) -> Gives:
        return Gives("ranking", columns=("token", "probability"))

    def cells(self, prediction: Prediction) -> Sequence[Prediction]:
        """The likeliest token of each blank, and the probability of them together."""
        best = [one[0] for one in prediction.get("blanks", [prediction["candidates"]])]
        token, sure = " ".join(one["token"].strip() for one in best), math.prod(one["probability"] for one in best)
        return [{**prediction, "token": token, "probability": round(sure, 6)}]

    def predict(self, run: Loaded, inputs: Sequence[Given], how: AskBlanks, listen: Listen | None) -> list[Answer]:
        model, tokenizer = filler(run.computing(how.precision)), text_of(run.codecs).tokenizer
        texts = texts_of(inputs)
        framed = [frame_blanks(tokenizer, text, context_of(model.config)) for text in texts]
        for text, (_, places) in zip(texts, framed, strict=True):
            if not len(places):
                fix = "write ___ where a word is missing"
                raise WeftError("there is no blank to fill in", where=repr(text[:60]), fix=fix)
        found = candidates(model, tokenizer, framed, how.top, how.choices)
        return [
            Answer(i, {"input": text, "candidates": best[0], **({"blanks": best} if len(best) > 1 else {})})
            for i, (text, best) in enumerate(zip(texts, found, strict=True))
        ]

    def shown(self, prediction: Prediction) -> str:
        lines = [prediction["input"]]
        for i, best in enumerate(prediction.get("blanks", [prediction["candidates"]])):
            said = [f"{one['token'].strip() or repr(one['token'])} {one['probability']:.2f}" for one in best]
            lines.append(f"  {i + 1}. {', '.join(said)}")
        return "\n".join(lines)

    def held_out(self, run: Loaded, sources: Sequence[str]) -> Corpus:
        return read_corpus(sources)

    def measure(
        self, run: Loaded, held_out: Corpus | CorpusPart, progress: Progress, seconds: float | None = None
    ) -> Measured:
        model, tokenizer = filler(run), text_of(run.codecs).tokenizer
        hidden = _held_windows(run, held_out)
        rows, part = score(model, hidden, progress, seconds)
        total, right, seen = rows.sum(0)
        loss, documents = float(total / max(1, seen)), max(1, int((hidden.valid[1:] == tokenizer.end).sum()))
        metrics = {"loss": loss, "perplexity": math.exp(min(loss, 700)), "accuracy": float(right / max(1, seen))}
        tally = Tally("loss", rows[:, [0, 2]], lower=True, counted="window")
        return Measured(documents, metrics, {"hidden": int(seen), **part}, tally=tally, counted="document")

    def baselines(
        self, run: Loaded, data: TextData, held_out: Corpus | CorpusPart, measured: Measured
    ) -> Iterator[Baseline]:
        tokenizer, found = text_of(run.codecs).tokenizer, list[tuple[np.ndarray, ...]]()
        assert measured.tally is not None
        first = 0
        for batch in _held_windows(run, held_out).held_out(most=len(measured.tally.rows)):
            read, truth, where = batch.given.ids.numpy(), batch.wanted.values.numpy(), batch.wanted.where
            row, place = np.nonzero(where.numpy())  # type: ignore[union-attr]
            found.append((row + first, read[row, np.maximum(place - 1, 0)], truth[row, place]))
            first += len(read)
        rows, before, truth = (np.concatenate(part) for part in zip(*found, strict=True))
        counts = Ngrams(training_ids(tokenizer, data.train), tokenizer.size, 2)
        for name, words, chances in (
            ("unigram", "the frequencies of tokens", counts.single[truth]),
            ("bigram", "pairs of tokens", counts.after([one_before(before)], truth)),
        ):
            nats = np.bincount(rows, -np.log(chances), len(measured.tally.rows))
            costs = np.stack([nats, measured.tally.rows[:, 1]], 1)
            yield Baseline(name, words, Tally("loss", costs, lower=True, counted="window"))

    def look(self, run: Loaded, inputs: Sequence[Given], how: LookAtText) -> View:
        def look(text: str) -> View:
            model, tokenizer = run.stream, text_of(run.codecs).tokenizer
            ids, _ = frame_blanks(tokenizer, text, context_of(model.config))
            return look_at_text(model, tokenizer, ids, text, how, blank_answer(model, tokenizer, ids))

        return looked(run, inputs, how, look)

    def study(self, run: Loaded, inputs: Sequence[Given], how: LookAtText) -> Study:
        tokenizer = text_of(run.codecs).tokenizer
        ids, _ = frame_blanks(tokenizer, only_text(inputs), context_of(run.model.config))
        blanks = np.flatnonzero(ids == tokenizer.mask)
        if not len(blanks):
            raise WeftError("there is no blank to fill", where="study", fix="write ___ where a word is missing")
        name = partial(token_name, tokenizer)
        return study_text(run, ids, label=name, place=int(blanks[0]) + 1, size=tokenizer.size)

    def embedded(self, run: Loaded, inputs: Sequence[Given], how: Embedding) -> Embedded:
        return embedded_texts(run, inputs, how)

    def adopted(self, model: Imported) -> Adopted:
        return Adopted(whole_texts(model), MaskedToken.Config(), text_settings(model), text_files(model))

    def outgoing(self, run: Loaded) -> Outgoing:
        return with_text(with_labels(run), run, text_codec(run))

    def proof(self, run: Loaded, tolerance: float) -> Proof | None:
        codec, model = text_codec(run), run.model
        if codec is None or codec.tokenizer.mask is None or not isinstance(getattr(model, "head", None), PerToken):
            return None
        return blank_proof(self, run)


def _held_windows(run: Loaded, held_out: Corpus | CorpusPart) -> MaskedWindows:
    """Windows over a text that is held out, the same tokens hidden in them every time."""
    tokenizer = text_of(run.codecs).tokenizer
    ids = encode_pieces(tokenizer, held_out.pieces())
    mark = (held_out.corpus if isinstance(held_out, CorpusPart) else held_out).fingerprint
    return _windows((ids, ids), tokenizer, run.model.config, run.training(MaskTraining), mark)


def _windows(
    streams: tuple[np.ndarray, np.ndarray], tokenizer: Tokenizer, model: Model.Config, training: MaskTraining, mark: str
) -> MaskedWindows:
    """Windows of the model's context over text to train on and text held out; `mark` decides what is hidden in them."""
    masker = TokenMasker(tokenizer, share=training.hide, whole_words=training.whole_words)
    context, seed = context_of(model), training.seed
    return MaskedWindows(*streams, tokenizer, masker, context=context, fingerprint=mark, seed=seed)


def _amount(encoded: RunningIds) -> TextAmount:
    return TextAmount(len(encoded.train), len(encoded.train))


def _wanted(draft: MaskDraft) -> encoders.EncoderWanted:
    return encoders.EncoderWanted("fill", None, draft.encoded.codec.tokenizer, _amount(draft.encoded))
