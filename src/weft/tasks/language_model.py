"""language-model: learn to continue a text. Files of text in, a model that writes on and scores text out."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import cast, final

import numpy as np

from weft.codecs.codec import Codecs
from weft.codecs.text import TextCodec, only_texts
from weft.data.datasets.texts import TextData
from weft.data.encoded.running import RunningIds
from weft.data.readers.corpus import Corpus, read_corpus
from weft.data.source import Source
from weft.data.split import CorpusPart
from weft.data.windows import TextWindows, count_windows, score_windows
from weft.generate import Session, generate
from weft.generate.compute import prepared
from weft.inspect.texts import LookAtText
from weft.inspect.views import View
from weft.interop import Imported
from weft.modalities import tokenizer_making as tokenizers
from weft.modalities.encoding import encode_pieces
from weft.modalities.text import TextEmbed
from weft.models.backbone import context_of
from weft.models.stream import Model, Stream
from weft.objectives import NextToken
from weft.objectives.scoring import scored
from weft.tasks.adopting import Adopted
from weft.tasks.cards.texts import LANGUAGE_MODEL
from weft.tasks.continuing import Continuing
from weft.tasks.measuring import windows_in_time
from weft.tasks.outgoing import Outgoing, with_labels
from weft.tasks.parts import End, Parts
from weft.tasks.proof import Proof
from weft.tasks.recipes.language import RECIPE, language_model
from weft.tasks.recipes.recipe import check_vocabulary, with_model_settings
from weft.tasks.request import Draft, Listen, Loaded, Measured, Prediction
from weft.tasks.settings.texts import TextTraining
from weft.tasks.streams import look_at, next_tokens, text_of, vectors_of
from weft.tasks.task import Task
from weft.tasks.text_exchange import continuation_proof, generation, lines_of_text, text_codec, text_settings, with_text
from weft.training.progress import Progress

SAMPLE = 300  # tokens shown of what a new run writes
TextDraft = Draft[TextData, RunningIds, TextTraining]


@final
class LanguageModel(Task[TextData, RunningIds, TextTraining]):
    """GPT and its relatives."""

    card = LANGUAGE_MODEL
    parts = (Parts({"text": End.of(TextCodec)}, (Stream,), TextEmbed),)
    recipe = RECIPE
    unit = "token"
    streams = True
    reads_lines = True
    Look = LookAtText

    Predict = Continuing

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
        return str(self.predict(run, [""], self.Predict(max_tokens=SAMPLE), None)[0]["text"])

    def predict(
        self, run: Loaded, inputs: Sequence[object], how: Continuing, listen: Listen | None
    ) -> list[Prediction]:
        codec, texts = text_of(run.codecs), only_texts(inputs)
        prompts = [[*codec.marks.before, *ids.tolist()] or [codec.tokenizer.end] for ids in codec.ids(texts)]
        model, rule = cast(Stream, prepared(run.model, how.precision)), how.rule(codec.tokenizer)
        session = Session(model, capacity=max(map(len, prompts), default=1) + how.max_tokens)
        many = generate(session, codec.tokenizer, prompts, how, ends=codec.ends, listen=listen, rule=rule)
        return [
            {
                "prompt": text,
                "text": one.text,
                **({"sample": i} if how.samples > 1 else {}),
                **({"cut": True} if rule is not None and one.ended == "length" else {}),
                **_unread(text, prompt, session.window, codec),
            }
            for text, prompt, made in zip(texts, prompts, many, strict=True)
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

        def score(most: int | None, count: Callable[[int], None] | None) -> tuple[float, int]:
            return scored(NextToken.Config(), run.model, score_windows(ids, context, most=most), count)

        (total, seen), part = windows_in_time(count_windows(len(ids), context), score, progress, seconds)
        size, documents = held_out.bytes * seen / max(1, len(ids) - 1), max(1, int((ids[1:] == tokenizer.end).sum()))
        loss, bits = total / max(1, seen), total / math.log(2) / max(1, size)
        metrics = {"loss": loss, "perplexity": math.exp(min(loss, 700)), "bits_per_byte": bits}
        unknown = sum(tokenizer.unknown(piece) for piece in held_out.pieces() if piece)
        more = {"tokens": seen, "bytes": round(size), **part, **({"unknown": unknown} if unknown else {})}
        return Measured(documents, metrics, more)

    def look(self, run: Loaded, input: object, how: LookAtText) -> View:
        return look_at(run, input, how, partial(next_tokens, run))

    def vectors(self, run: Loaded, inputs: Sequence[object], settings: Mapping[str, object]) -> np.ndarray:
        return vectors_of(run, inputs, settings)

    def adopted(self, model: Imported) -> Adopted:
        return Adopted(lines_of_text(model), NextToken.Config(), text_settings(model))

    def outgoing(self, run: Loaded) -> Outgoing:
        found = with_text(with_labels(run), run, text_codec(run))
        return replace(found, generation=generation(run, self.Predict, found.marks))

    def proof(self, run: Loaded, tolerance: float) -> Proof | None:
        return continuation_proof(self, run)


def _unread(text: str, prompt: list[int], window: int | None, codec: TextCodec) -> dict[str, int]:
    """What of a prompt the model does not see, where there is any: tokens before its context, unknown characters."""
    late = len(prompt) - window if window is not None and len(prompt) > window else 0
    return {name: n for name, n in (("unread", late), ("unknown", codec.tokenizer.unknown(text))) if n}
