"""language-model: learn to continue a text. Files of text in, a model that writes on and scores text out."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import ClassVar, cast, final

import numpy as np

from weft.batches.source import Source
from weft.batches.windows import TextWindows, count_windows, score_windows, scored_spans
from weft.config import MAX_JSON_BYTES
from weft.domains.texts.baselines.ngrams import Ngrams, order_for, training_ids
from weft.domains.texts.cards import LANGUAGE_MODEL
from weft.domains.texts.codec.text import TextCodec
from weft.domains.texts.dataset.documents import CorpusPart
from weft.domains.texts.dataset.running import TextData
from weft.domains.texts.encoded.running import RunningIds
from weft.domains.texts.exchange import (
    continuation_proof,
    generation,
    lines_of_text,
    text_codec,
    text_files,
    text_settings,
    with_text,
)
from weft.domains.texts.reading.corpus import Corpus, read_corpus
from weft.domains.texts.recipe.language import RECIPE, language_model
from weft.domains.texts.settings import TextTraining
from weft.domains.texts.views.streams import Embedding, embedded_texts, look_at, next_tokens, text_of
from weft.domains.texts.views.vectors import LookAtText
from weft.errors import ConfigError
from weft.generate import Sampling, Session, generate
from weft.generate.choices import Choices, Rule
from weft.generate.compute import Compute, prepared
from weft.generate.prompts import Prompt
from weft.inspect.views import View
from weft.interop import Imported
from weft.modalities import tokenizer_making as tokenizers
from weft.modalities.encoding import encode_pieces
from weft.modalities.text import TextEmbed
from weft.modalities.tokenizer import Tokenizer
from weft.models.backbone import context_of
from weft.models.stream import Model, Stream
from weft.objectives import NextToken
from weft.objectives.measures.tallies import Tally
from weft.objectives.scoring import scored_by_row
from weft.tasks.adopting import Adopted
from weft.tasks.asks import Answer, Asks, Given, Gives, only_text, texts_of
from weft.tasks.baselines import Baseline
from weft.tasks.codec import Codecs
from weft.tasks.measuring import windows_in_time
from weft.tasks.outgoing import Outgoing, with_labels
from weft.tasks.parts import End, Parts
from weft.tasks.proof import Proof
from weft.tasks.recipe import check_vocabulary, with_model_settings
from weft.tasks.request import Draft, Embedded, Listen, Loaded, Measured, Prediction
from weft.tasks.task import Task
from weft.training.progress import Progress


class Continuing(Sampling, Compute):
    """Settings of a prediction."""

    choices: tuple[str, ...] = ()
    pattern: str | None = None
    schema: str | None = None

    names_files: ClassVar[tuple[str, ...]] = ("schema",)
    about: ClassVar[Mapping[str, str]] = {
        **Sampling.about,
        **Compute.about,
        "choices": "continue with one of these texts, separated by commas",
        "pattern": "a regular expression that the whole continuation matches (needs weft[grammar])",
        "schema": "a .json file with a JSON schema: the continuation is JSON that fits it (needs weft[grammar])",
    }

    def check(self) -> None:
        super().check()
        given = [name for name in ("choices", "pattern", "schema") if getattr(self, name)]
        if len(given) > 1:
            raise ConfigError(f"{' and '.join(given)}: a continuation is under one of these", where=given[1])

    def rule(self, tokenizer: Tokenizer) -> Rule | None:
        """What may be written; None where anything may."""
        if self.choices:
            return Choices([tokenizer.encode(text) for text in self.choices], tokenizer.end)
        if self.pattern is not None or self.schema is not None:
            from weft.generate.grammars import pattern_rule, schema_rule

            if self.pattern is not None:
                return pattern_rule(tokenizer, self.pattern)
            return schema_rule(tokenizer, self._schema_text())
        return None

    def _schema_text(self) -> str:
        path = Path(self.schema or "")
        if not path.is_file() or path.stat().st_size > MAX_JSON_BYTES:
            raise ConfigError(f"there is no such file, or it is too large: {path}", where="schema")
        try:
            return path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"cannot be read: {error}", where=str(path)) from None


def prompts_of(codec: TextCodec, texts: Sequence[str], how: Continuing) -> list[Prompt]:
    """Texts as a decoder goes on from them; an empty one begins with the end of another."""
    rule = how.rule(codec.tokenizer)
    prompts = [codec.marks.around(ids).tolist() or [codec.tokenizer.end] for ids in codec.ids(texts)]
    return [Prompt(ids, how, tuple(codec.ends), rule) for ids in prompts]


def unread(text: str, prompt: list[int], window: int | None, codec: TextCodec) -> dict[str, int]:
    """What of a prompt the model does not see, where there is any: tokens before its context, unknown characters."""
    late = len(prompt) - window if window is not None and len(prompt) > window else 0
    return {name: n for name, n in (("unread", late), ("unknown", codec.tokenizer.unknown(text))) if n}


SAMPLE = 300  # tokens shown of what a new run writes
TextDraft = Draft[TextData, RunningIds, TextTraining]


@final
class LanguageModel(Task[TextData, RunningIds, TextTraining]):
    """GPT and its relatives."""

    card = LANGUAGE_MODEL
    parts = (Parts({"text": End.of(TextCodec)}, (Stream,), TextEmbed),)
    recipe = RECIPE
    unit = "token"
    asks = (Asks("text", "a text", lines=True),)
    embeds = (Asks("text", "a text", lines=True),)
    Predict, Look, Embed = Continuing, LookAtText, Embedding

    def codecs(self, data: TextData, training: TextTraining, known: Codecs) -> Codecs:
        if "text" in known:
            return {"text": known["text"]}
        kind, size = tokenizers.choose(data.corpus.characters, data.corpus.distinct, data.corpus.bytes)
        kind = training.tokenizer or ("bpe" if training.vocab else kind)
        vocab = training.vocab or (size or 1024 if kind == "bpe" else None)
        return {
            "text": TextCodec.learn(data.train.pieces(), kind, vocab, characters=data.train.characters, role="line")
        }

    def encode(
        self, data: TextData, codecs: Codecs, training: TextTraining, known: Model.Config | None, progress: Progress
    ) -> RunningIds:
        return RunningIds.of(data, text_of(codecs))

    def sized(self, draft: TextDraft) -> tuple[Stream.Config, TextTraining]:
        tokenizer, tokens = text_of(draft.codecs).tokenizer, len(draft.encoded.train)
        config, training = language_model(draft, vocab=tokenizer.size, tokens=tokens)
        config = with_model_settings(config, draft.request)
        check_vocabulary(config, tokenizer.size)
        size = {"dim": config.dim, "depth": len(config.trunk.all_blocks()), "context": context_of(config)}
        return config, training.replace(tokenizer=training.tokenizer or tokenizer.kind, **size)

    def objective(self, encoded: RunningIds, codecs: Codecs, training: TextTraining) -> NextToken.Config:
        return NextToken.Config()

    def source(self, encoded: RunningIds, codecs: Codecs, model: Model.Config, training: TextTraining) -> Source:
        fingerprint, context = encoded.data.fingerprint, context_of(model)
        return TextWindows(
            encoded.train, encoded.held_out, context=context, fingerprint=fingerprint, seed=training.seed
        )

    def ability(self, run: Loaded) -> str:
        return "Continues texts"

    def facts(self, run: Loaded) -> Mapping[str, str]:
        return {"tokens": text_of(run.codecs).in_words()}

    def example(self, run: Loaded, measured: Measured) -> str:
        return str(self.predict(run, [Given("")], self.Predict(max_tokens=SAMPLE), None)[0].values["text"])

    def gives(self, run: Loaded) -> Gives:
        return Gives("text", streams=True, columns=("text",))

    def rows(self, run: Loaded, inputs: Sequence[Given], how: Continuing) -> list[Prompt]:
        return prompts_of(text_of(run.codecs), texts_of(inputs), how)

    def predict(self, run: Loaded, inputs: Sequence[Given], how: Continuing, listen: Listen | None) -> list[Answer]:
        rows, codec, texts = self.rows(run, inputs, how), text_of(run.codecs), texts_of(inputs)
        if not rows:
            return []
        prompts, rule = [row.ids for row in rows], rows[0].rule
        model = cast(Stream, prepared(run.model, how.precision))
        session = Session(model, capacity=max(map(len, prompts)) + how.max_tokens)
        many = generate(session, codec.tokenizer, prompts, how, ends=rows[0].ends, listen=listen, rule=rule)
        return [
            Answer(
                number,
                {
                    "prompt": texts[number],
                    "text": one.text,
                    **({"sample": i} if how.samples > 1 else {}),
                    **({"cut": True} if rule is not None and one.ended == "length" else {}),
                    **unread(texts[number], prompts[number], session.window, codec),
                },
            )
            for number, made in enumerate(many)
            for i, one in enumerate(made)
        ]

    def shown(self, prediction: Prediction) -> str:
        return str(prediction["prompt"] + prediction["text"])

    def held_out(self, run: Loaded, sources: Sequence[str]) -> Corpus:
        return read_corpus(sources)

    def measure(
        self, run: Loaded, held_out: Corpus | CorpusPart, progress: Progress, seconds: float | None = None
    ) -> Measured:
        tokenizer, context = text_of(run.codecs).tokenizer, context_of(run.model.config)
        ids = encode_pieces(tokenizer, held_out.pieces())

        def score(most: int | None, count: Callable[[int], None] | None) -> np.ndarray:
            return scored_by_row(run.model, score_windows(ids, context, most=most), count)

        rows, part = windows_in_time(count_windows(len(ids), context), score, progress, seconds)
        total, seen, each = float(rows[:, 0].sum()), int(rows[:, 2].sum()), held_out.bytes / max(1, len(ids) - 1)
        size, documents = each * seen, max(1, int((ids[1:] == tokenizer.end).sum()))
        loss, bits = total / max(1, seen), total / math.log(2) / max(1, size)
        metrics = {"loss": loss, "perplexity": math.exp(min(loss, 700)), "bits_per_byte": bits}
        unknown = sum(tokenizer.unknown(piece) for piece in held_out.pieces() if piece)
        more = {"tokens": seen, "bytes": round(size), **part, **({"unknown": unknown} if unknown else {})}
        return Measured(documents, metrics, more, tally=_bits(rows[:, 0], rows[:, 2] * each))

    def baselines(
        self, run: Loaded, data: TextData, held_out: Corpus | CorpusPart, measured: Measured
    ) -> Iterator[Baseline]:
        tokenizer, context = text_of(run.codecs).tokenizer, context_of(run.model.config)
        ids = encode_pieces(tokenizer, held_out.pieces()).astype(np.int64)
        assert measured.tally is not None
        known, spans = training_ids(tokenizer, data.train), scored_spans(len(ids), context, len(measured.tally.rows))
        for name, words, order in (
            ("unigram", "the frequencies of tokens", 1),
            ("n-gram", "n-grams of tokens", order_for(known, tokenizer.size)),
        ):
            nats = np.append(0, -np.log(Ngrams(known, tokenizer.size, order).chances(ids))).cumsum()
            rows = np.array([nats[stop] - nats[first] for first, stop in spans])
            yield Baseline(name, words, _bits(rows, measured.tally.rows[:, 1]))

    def look(self, run: Loaded, inputs: Sequence[Given], how: LookAtText) -> View:
        return look_at(run, only_text(inputs), how, partial(next_tokens, run))

    def adopted(self, model: Imported) -> Adopted:
        return Adopted(lines_of_text(model), NextToken.Config(), text_settings(model), text_files(model))

    def outgoing(self, run: Loaded) -> Outgoing:
        found = with_text(with_labels(run), run, text_codec(run))
        return replace(found, generation=generation(run, self.Predict, found.marks))

    def proof(self, run: Loaded, tolerance: float) -> Proof | None:
        return continuation_proof(self, run)

    def embedded(self, run: Loaded, inputs: Sequence[Given], how: Embedding) -> Embedded:
        return embedded_texts(run, inputs, how)


def _bits(nats: np.ndarray, sizes: np.ndarray) -> Tally:
    """Bits per byte, window by window, from losses in nats and numbers of bytes."""
    return Tally("bits_per_byte", np.stack([nats / math.log(2), sizes], 1), lower=True)
