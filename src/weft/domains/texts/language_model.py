"""language-model: learn to continue a text. Files of text in, a model that writes on and scores text out."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal, cast, final

import numpy as np

from weft.batches.source import Source
from weft.domains.texts import exposure
from weft.domains.texts.baselines.ngrams import MOST_BYTES, Ngrams, order_for, training_ids
from weft.domains.texts.cards import LANGUAGE_MODEL
from weft.domains.texts.codec.text import TextCodec
from weft.domains.texts.codec.turns import MARKS, TurnCodec
from weft.domains.texts.dataset.running import TextData
from weft.domains.texts.dataset.talks import TalkData
from weft.domains.texts.encoded.running import RunningIds
from weft.domains.texts.encoded.scored import HeldText, scored_text
from weft.domains.texts.encoded.talks import TalkIds, TalkRows
from weft.domains.texts.exchange import (
    continuation_proof,
    generation,
    lines_of_text,
    text_codec,
    text_files,
    text_settings,
    turns_of_text,
    with_text,
)
from weft.domains.texts.reading import talks
from weft.domains.texts.reading.corpus import read_corpus
from weft.domains.texts.recipe.language import RECIPE, language_model
from weft.domains.texts.settings import TextTraining
from weft.domains.texts.views.streams import (
    Embedding,
    embedded_texts,
    look_at,
    looked,
    next_tokens,
    study_text,
    text_of,
    token_name,
)
from weft.domains.texts.views.vectors import LookAtText
from weft.errors import ConfigError
from weft.files.survey import Survey
from weft.generate import Sampling, Session, generate
from weft.generate.choices import Choices, Rule
from weft.generate.compute import Compute, prepared
from weft.generate.prompts import Prompt
from weft.inspect.study import Study
from weft.inspect.views import View
from weft.interop import Imported
from weft.json_text import MAX_JSON_BYTES
from weft.modalities import tokenizer_making as tokenizers
from weft.modalities.text import TextEmbed
from weft.modalities.tokenizer import Tokenizer
from weft.models.backbone import context_of
from weft.models.stream import Model, Stream
from weft.objectives import NextToken
from weft.objectives.measures.tallies import Tally
from weft.objectives.scoring import scored_by_row
from weft.tasks.adopting import Adopted
from weft.tasks.asks import Answer, Asks, Given, Gives, Turns, only_text, texts_of
from weft.tasks.baselines import Baseline
from weft.tasks.codec import Codecs, codec_at
from weft.tasks.measuring import windows_in_time
from weft.tasks.outgoing import Outgoing, with_labels
from weft.tasks.parts import End, Parts
from weft.tasks.proof import Proof
from weft.tasks.recipe import check_vocabulary, with_model_settings
from weft.tasks.request import Draft, Embedded, Listen, Loaded, Measured, Prediction
from weft.tasks.task import Task
from weft.tasks.using import own_data
from weft.training.progress import Progress


class MeasuredText(Compute):
    """Settings of an evaluation."""

    memorised: bool = False

    about: ClassVar[Mapping[str, str]] = {
        **Compute.about,
        "memorised": "rank rare numbers and names of the training text among others of the same form: what the model "
        "knows by heart (memorisation)",
    }


class Continuing(Sampling, Compute):
    """Settings of a prediction."""

    choices: tuple[str, ...] = ()
    pattern: str | None = None
    schema: str | None = None
    prompt: Literal["question", "text"] | None = None
    system: str | None = None

    names_files: ClassVar[tuple[str, ...]] = ("schema",)
    about: ClassVar[Mapping[str, str]] = {
        **Sampling.about,
        **Compute.about,
        "choices": "continue with one of these texts, separated by commas",
        "pattern": "a regular expression that the whole continuation matches (needs weft[grammar])",
        "schema": "a .json file with a JSON schema: the continuation is JSON that fits it (needs weft[grammar])",
        "prompt": "question (marked as a turn, and answered) or text (continued); by default a question where the run "
        "was trained on talks or came with a chat template",
        "system": "what is said to the model before the question (system prompt), of runs that answer in turns",
    }

    def check(self) -> None:
        super().check()
        given = [name for name in ("choices", "pattern", "schema") if getattr(self, name)]
        if len(given) > 1:
            raise ConfigError(f"{' and '.join(given)}: a continuation is under one of these", where=given[1])

    def rule(self, tokenizer: Tokenizer) -> Rule | None:
        """What may be written; None where anything may."""
        if self.choices:
            if strange := [text for text in self.choices if tokenizer.unknown(text)]:
                problem = f"{strange[0][:60]!r} has characters that this model does not know"
                raise ConfigError(problem, where="choices", fix="choose texts of characters that it was trained on")
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


PLAIN_TURNS = "this model has no chat template: the talk is written in plain words, as User: and Bot:"


def prompts_of(codecs: Codecs, given: Sequence[str | Turns], how: Continuing) -> list[Prompt]:
    """Texts and talks as a decoder goes on from them; an empty text begins with the end of another.

    Of a run that answers in turns, a text is a question between the marks of a talk. A talk is in plain words where
    the run knows no marks.
    """
    codec, known = text_of(codecs), codecs.get("turns")
    turns = turns_of(codecs, how) if any(isinstance(one, str) for one in given) else None
    marks = known if isinstance(known, TurnCodec) else TurnCodec.of(codec)
    rule, system = how.rule(codec.tokenizer), () if how.system is None else (("system", how.system),)
    talked = turns is not None or any(isinstance(one, Turns) for one in given)
    ends, notes = marks.ends(codec) if talked else (), () if known is not None else (PLAIN_TURNS,)
    found = []
    for one in given:
        if isinstance(one, str) and turns is None:
            ids = codec.marks.around(codec.ids([one])[0]).tolist() or [codec.tokenizer.end]
            found.append(Prompt(ids, how, tuple(codec.ends), rule, codec.tokenizer))
            continue
        said = one.said if isinstance(one, Turns) else (("user", one),)
        settings = how.replace(stop=(*how.stop, *marks.stops)) if isinstance(one, Turns) else how
        ids = marks.prompt(codec, (*system, *said)).tolist()
        found.append(Prompt(ids, settings, ends, rule, codec.tokenizer, notes))
    return found


def said_in(inputs: Sequence[Given]) -> list[str | Turns]:
    """The texts and talks of inputs."""
    return [one.value if isinstance(one.value, Turns) else texts_of([one])[0] for one in inputs]


def turns_of(codecs: Codecs, how: Continuing) -> TurnCodec | None:
    """How questions are marked; None where a prompt is a text to continue."""
    turns = codecs.get("turns")
    if isinstance(turns, TurnCodec) and how.prompt != "text":
        return turns
    if how.prompt == "question" or how.system is not None:
        named = "prompt" if how.prompt == "question" else "system"
        fix = "leave it out; a run answers in turns that was trained on talks, or came with a chat template"
        raise ConfigError("this run continues texts and knows no turns", where=f"--set {named}", fix=fix)
    return None


def unread(text: str, prompt: list[int], window: int | None, codec: TextCodec) -> dict[str, int]:
    """What of a prompt the model does not see, where there is any: tokens before its context, unknown characters."""
    late = len(prompt) - window if window is not None and len(prompt) > window else 0
    return {name: n for name, n in (("unread", late), ("unknown", codec.tokenizer.unknown(text))) if n}


SAMPLE = 300  # tokens shown of what a new run writes
AnyText = TextData | TalkData
AnyIds = RunningIds | TalkIds
TextDraft = Draft[AnyText, AnyIds, TextTraining]


@final
class LanguageModel(Task[AnyText, AnyIds, TextTraining]):
    """GPT and its relatives. Of talks the answers are learned, and a prompt is then a question."""

    card = LANGUAGE_MODEL
    parts = (
        Parts({"text": End.of(TextCodec), "turns": End.of(TurnCodec)}, (Stream,), TextEmbed),
        Parts({"text": End.of(TextCodec)}, (Stream,), TextEmbed),
    )
    recipe = RECIPE
    unit = "token"
    asks = (Asks("text", "a text", lines=True),)
    embeds = (Asks("text", "a text", lines=True),)
    Predict, Evaluate, Look, Embed = Continuing, MeasuredText, LookAtText, Embedding

    def codecs(self, data: AnyText, training: TextTraining, known: Codecs) -> Codecs:
        text = text_of(known) if "text" in known else self._learned_codec(data, training)
        if isinstance(data, TextData):
            return {"text": text}
        return {"text": text, "turns": known.get("turns") or TurnCodec.of(text)}

    def _learned_codec(self, data: AnyText, training: TextTraining) -> TextCodec:
        """The codec of a tokenizer made for the text to train on, with marks for turns where there are some."""
        extent, text = data.extent, data.said
        kind, size = tokenizers.choose(extent.characters, extent.distinct, extent.bytes)
        kind = training.tokenizer or ("bpe" if training.vocab else kind)
        vocab = training.vocab or (size or 1024 if kind == "bpe" else None)
        marks = () if isinstance(data, TextData) else MARKS
        return TextCodec.learn(
            text.pieces(), kind, vocab, characters=text.characters, role="line", symbols=training.symbols, marks=marks
        )

    def encode(
        self, data: AnyText, codecs: Codecs, training: TextTraining, known: Model.Config | None, progress: Progress
    ) -> AnyIds:
        if isinstance(data, TextData):
            return RunningIds.of(data, text_of(codecs))
        return TalkIds.of(data, text_of(codecs), codec_at(codecs, "turns", TurnCodec))

    def sized(self, draft: TextDraft) -> tuple[Stream.Config, TextTraining]:
        tokenizer, tokens = text_of(draft.codecs).tokenizer, draft.encoded.tokens
        config, training = language_model(draft, vocab=tokenizer.size, tokens=tokens, longest=draft.encoded.longest)
        config = with_model_settings(config, draft.request)
        check_vocabulary(config, tokenizer.size)
        size = {"dim": config.dim, "depth": len(config.trunk.all_blocks()), "context": context_of(config)}
        return config, training.replace(tokenizer=training.tokenizer or tokenizer.kind, **size)

    def objective(self, encoded: AnyIds, codecs: Codecs, training: TextTraining) -> NextToken.Config:
        return NextToken.Config()

    def source(self, encoded: AnyIds, codecs: Codecs, model: Model.Config, training: TextTraining) -> Source:
        return encoded.source(context_of(model), training.seed)

    def ability(self, run: Loaded) -> str:
        return "Answers questions in turns" if "turns" in run.codecs else "Continues texts"

    def facts(self, run: Loaded) -> Mapping[str, str]:
        return {"tokens": text_of(run.codecs).in_words()}

    def example(self, run: Loaded, measured: Measured) -> str:
        asked = str(measured.more.get("question", ""))
        found = self.predict(run, [Given(asked)], self.Predict(max_tokens=SAMPLE), None)[0].values
        return f"{asked}\n\n{found['text']}".lstrip("\n") if asked else str(found["text"])

    def gives(self, run: Loaded) -> Gives:
        return Gives("text", streams=True, continues="turns" not in run.codecs, columns=("text",))

    def rows(self, run: Loaded, inputs: Sequence[Given], how: Continuing) -> list[Prompt]:
        return prompts_of(run.codecs, said_in(inputs), how)

    def predict(self, run: Loaded, inputs: Sequence[Given], how: Continuing, listen: Listen | None) -> list[Answer]:
        rows, codec = self.rows(run, inputs, how), text_of(run.codecs)
        said = said_in(inputs)
        texts = [one if isinstance(one, str) else one.said[-1][1] for one in said]
        if not rows:
            return []
        prompts, rule = [row.ids for row in rows], rows[0].rule
        talks = isinstance(said[0], Turns) or turns_of(run.codecs, how) is not None
        model = cast(Stream, prepared(run.model, how.precision))
        session = Session(model, capacity=max(map(len, prompts)) + how.max_tokens)
        many = generate(session, codec.tokenizer, prompts, rows[0].how, ends=rows[0].ends, listen=listen, rule=rule)
        return [
            Answer(
                number,
                {
                    "prompt": texts[number],
                    "text": one.text.strip() if talks else one.text,
                    **({"role": "assistant"} if talks else {}),
                    **({"sample": i} if how.samples > 1 else {}),
                    **({"cut": True} if rule is not None and one.ended == "length" else {}),
                    **unread(texts[number], prompts[number], session.window, codec),
                },
            )
            for number, made in enumerate(many)
            for i, one in enumerate(made)
        ]

    def shown(self, prediction: Prediction) -> str:
        return str(prediction["text"] if "role" in prediction else prediction["prompt"] + prediction["text"])

    def held_out(self, run: Loaded, sources: Sequence[str]) -> HeldText:
        talked = "turns" in run.codecs and talks.judge(Survey(sources))
        return talks.read_talks(sources, learn=False).rows if talked else read_corpus(sources)

    def measure(self, run: Loaded, held_out: HeldText, progress: Progress, seconds: float | None = None) -> Measured:
        text = scored_text(run.codecs, held_out, context_of(run.model.config))

        def score(most: int | None, count: Callable[[int], None] | None) -> np.ndarray:
            return scored_by_row(run.model, text.samples(most), count)

        rows, part = windows_in_time(text.windows, score, progress, seconds)
        total, seen, each = float(rows[:, 0].sum()), int(rows[:, 2].sum()), text.bytes / max(1, text.tokens)
        size = each * seen
        loss, bits = total / max(1, seen), total / math.log(2) / max(1, size)
        metrics = {"loss": loss, "perplexity": math.exp(min(loss, 700)), "bits_per_byte": bits}
        more = {"tokens": seen, "bytes": round(size), **part, **text.notes()}
        tally = _bits(rows[:, 0], rows[:, 2] * each)
        return Measured(text.documents, metrics, more, tally=tally, counted=text.counted)

    def examined(self, run: Loaded, how: Any, progress: Progress) -> Mapping[str, Any]:
        if not (isinstance(how, MeasuredText) and how.memorised):
            return {}
        data = own_data(self, run)
        if not isinstance(data, TextData):
            raise ConfigError("what is known by heart is measured on running text, not on talks", where="memorised")
        tokenizer, context = text_of(run.codecs).tokenizer, context_of(run.model.config)
        progress.say("  ranking rare numbers and names of the training text")
        return {"memorised": exposure.report(run.model, tokenizer, context, data.train, data.held_out, lambda _: None)}

    def card_sections(self, examined: Mapping[str, Any]) -> Mapping[str, Sequence[str]]:
        warnings = examined.get("memorised", {}).get("warnings")
        return {"Known by heart": [f"**Warning:** {one}." for one in warnings]} if warnings else {}

    def baselines(self, run: Loaded, data: AnyText, held_out: HeldText, measured: Measured) -> Iterator[Baseline]:
        tokenizer, context = text_of(run.codecs).tokenizer, context_of(run.model.config)
        text = scored_text(run.codecs, held_out, context)
        ids, known = text.ids.astype(np.int64), self._known_ids(run, data)
        assert measured.tally is not None
        for name, words, order in (
            ("unigram", "the frequencies of tokens", 1),
            ("n-gram", "n-grams of tokens", order_for(known, tokenizer.size)),
        ):
            nats = -np.log(Ngrams(known, tokenizer.size, order).chances(ids))
            rows = text.by_window(nats, len(measured.tally.rows))
            yield Baseline(name, words, _bits(rows, measured.tally.rows[:, 1]))

    def _known_ids(self, run: Loaded, data: AnyText) -> np.ndarray:
        """The ids that plain methods learn from."""
        if isinstance(data, TextData):
            return training_ids(text_of(run.codecs).tokenizer, data.train)
        rows = TalkRows.of(data.train, text_of(run.codecs), run.codec("turns", TurnCodec)).rows
        return np.concatenate([row.ids for row in rows]).astype(np.int64)[:MOST_BYTES]

    def look(self, run: Loaded, inputs: Sequence[Given], how: LookAtText) -> View:
        return looked(run, inputs, how, lambda text: look_at(run, text, how, partial(next_tokens, run)))

    def study(self, run: Loaded, inputs: Sequence[Given], how: LookAtText) -> Study:
        codec = text_of(run.codecs)
        (ids,) = codec.encode([only_text(inputs)], context_of(run.model.config)).rows
        name = partial(token_name, codec.tokenizer)
        return study_text(run, ids, label=name, place=len(ids), size=codec.tokenizer.size)

    def adopted(self, model: Imported) -> Adopted:
        codecs = {**lines_of_text(model), **turns_of_text(model)}
        return Adopted(codecs, NextToken.Config(), text_settings(model), text_files(model))

    def outgoing(self, run: Loaded) -> Outgoing:
        found = with_text(with_labels(run), run, text_codec(run))
        turns = run.codecs.get("turns")
        template = turns.config.template if isinstance(turns, TurnCodec) else None
        return replace(found, generation=generation(run, self.Predict, found.marks), chat_template=template)

    def proof(self, run: Loaded, tolerance: float) -> Proof | None:
        return continuation_proof(self, run)

    def embedded(self, run: Loaded, inputs: Sequence[Given], how: Embedding) -> Embedded:
        return embedded_texts(run, inputs, how)


def _bits(nats: np.ndarray, sizes: np.ndarray) -> Tally:
    """Bits per byte, window by window, from losses in nats and numbers of bytes."""
    return Tally("bits_per_byte", np.stack([nats / math.log(2), sizes], 1), lower=True, counted="window")
