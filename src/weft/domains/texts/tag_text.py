"""tag-text: learn to tag words: names, parts of speech. Sentences with tags in, a model that tags new ones out."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import final

import torch
from torch import Tensor

from weft.batches.like_lengths import together
from weft.batches.source import Source
from weft.domains.texts.baselines.counts import one_tag, tag_baselines, usual_tag
from weft.domains.texts.cards import TAG_TEXT
from weft.domains.texts.codec.tags import TagCodec
from weft.domains.texts.codec.text import TextCodec
from weft.domains.texts.dataset.tagged import TaggedData, read_sentences
from weft.domains.texts.encoded.whole_texts import TaggedIds, framed, tagged_ids
from weft.domains.texts.exchange import tag_proof, text_codec, text_files, text_settings, whole_texts, with_text
from weft.domains.texts.measures import TagScores
from weft.domains.texts.reading.schemes import entities
from weft.domains.texts.reading.tagged import in_columns
from weft.domains.texts.reading.tagged_texts import Tagged
from weft.domains.texts.recipe import encoders
from weft.domains.texts.sentences import TOKENS_OR_TEXT, cut_texts, text_in_row, words_of
from weft.domains.texts.settings import TagTraining
from weft.domains.texts.views.streams import Embedding, embedded_texts, look_at, looked, study_text, text_of
from weft.domains.texts.views.vectors import LookAtText
from weft.errors import WeftError, listed
from weft.generate.compute import Compute
from weft.inspect.study import Study
from weft.inspect.views import LookedAnswer, View
from weft.interop import Imported
from weft.modalities.encoding import ended
from weft.modalities.text import TextEmbed
from weft.models.backbone import context_of
from weft.models.stream import Model, Stream
from weft.objectives import Tags
from weft.tasks.adopting import Adopted
from weft.tasks.asks import Answer, Asks, Given, Gives, Use, Ways, only_text, texts_of
from weft.tasks.baselines import Baseline
from weft.tasks.codec import Codecs
from weft.tasks.finetuning import start_weights
from weft.tasks.measuring import counted
from weft.tasks.outgoing import Outgoing, with_labels
from weft.tasks.parts import End, Parts
from weft.tasks.proof import Proof
from weft.tasks.request import Draft, Embedded, Listen, Loaded, Measured, Prediction
from weft.tasks.table_inputs import InputColumn, InputRow
from weft.tasks.task import Task
from weft.training.progress import Progress


def tags_in_words(said: Sequence[str], tags: Sequence[tuple[str, float]]) -> LookedAnswer:
    """The tags of the words that have one, with their probabilities."""
    found = [(f"{word} {tag}", sure) for word, (tag, sure) in zip(said, tags, strict=True) if tag != "O"]
    return LookedAnswer(tuple(found) or (("no word is tagged", None),), "tags")


AT_ONCE = 4096  # sentences of an evaluation that are held in memory
Counted = Callable[[int], None] | None


def tagged(run: Loaded, sentences: Sequence[Sequence[str]], count: Counted = None) -> list[list[str]]:
    """The tags of words; `count` hears of how many sentences they were found."""
    return [[tag for tag, _ in tags] for tags in tagged_surely(run, sentences, count)]


@torch.inference_mode()
def tagged_surely(
    run: Loaded, sentences: Sequence[Sequence[str]], count: Counted = None
) -> list[list[tuple[str, float]]]:
    """The tags of words with their probabilities.

    Words beyond the model's context have the first tag of all, which is O where there is one, and probability 0.
    """
    model, text, codec = run.stream.eval(), text_of(run.codecs), run.codec("tags", TagCodec)
    unread = [[codec.names[0]] * len(sentence) for sentence in sentences]
    rows = framed(tagged_ids(text, codec, sentences, unread), text, context_of(model.config))
    found = [[(tag, 0.0) for tag in tags] for tags in unread]
    assert model.head is not None
    device = next(model.parameters()).device
    for some in together([len(text) for text in rows.texts]):
        part = rows.take(some).to(device)
        at_words, _ = part.wanted.picked(model.encode(part.given.raw()).x)
        sure, best = model.head.values(at_words).float().softmax(-1).max(-1)
        said = iter(zip(best.tolist(), sure.tolist(), strict=True))
        for i in some:
            for place in range(len(rows.places[i])):
                tag, chance = next(said)
                found[i][place] = codec.names[tag], chance
        if count is not None:
            count(len(some))
    return found


TagDraft = Draft[TaggedData, TaggedIds, TagTraining]


@final
class TagText(Task[TaggedData, TaggedIds, TagTraining]):
    """A tag for each word."""

    card = TAG_TEXT
    parts = (Parts({"text": End.of(TextCodec), "tags": End.of(TagCodec)}, (Stream,), TextEmbed),)
    recipe = encoders.RECIPE
    unit = "word"
    starts_from = ("fill-mask", "classify-text", "language-model")
    asks = (Asks("text", "a text", lines=True),)
    embeds = (Asks("text", "a text", lines=True),)
    Predict = Compute
    Look = LookAtText
    Embed = Embedding

    def codecs(self, data: TaggedData, training: TagTraining, known: Codecs) -> Codecs:
        size = encoders.size_of(" ".join(one.words) for one in data.train)
        texts = ended(" ".join(one.words) for one in data.train)
        tags = TagCodec(TagCodec.Config(names=data.tags, scheme=data.scheme))
        return {"text": encoders.text_codec(texts, size, training, known), "tags": tags}

    def encode(
        self, data: TaggedData, codecs: Codecs, training: TagTraining, known: Model.Config | None, progress: Progress
    ) -> TaggedIds:
        tags = codecs["tags"]
        assert isinstance(tags, TagCodec)
        return TaggedIds.of(data, text_of(codecs), tags)

    def sized(self, draft: TagDraft) -> tuple[Stream.Config, TagTraining]:
        return encoders.new_encoder(draft, _wanted(draft))

    def continued(self, draft: TagDraft, origin: Loaded) -> tuple[Stream.Config, TagTraining]:
        same = encoders.keeps_head(origin, draft.codecs, "tags")
        return encoders.continued_encoder(origin, draft.training, _wanted(draft), same_head=same)

    def start(self, origin: Loaded, codecs: Codecs, model: Model.Config) -> Mapping[str, Tensor]:
        return start_weights(origin, backbone=True, same_head=encoders.keeps_head(origin, codecs, "tags"))

    def known_tensors(self, codecs: Codecs, model: Model.Config) -> Mapping[str, Tensor]:
        return encoders.letters(text_of(codecs), model)

    def objective(self, encoded: TaggedIds, codecs: Codecs, training: TagTraining) -> Tags.Config:
        return Tags.Config()

    def source(self, encoded: TaggedIds, codecs: Codecs, model: Model.Config, training: TagTraining) -> Source:
        return encoded.source(
            context_of(model), tokens=training.tokens or encoders.USUAL_TOKENS, rows=training.rows, seed=training.seed
        )

    def batch_in_words(self, training: TagTraining, source: Source) -> str:
        return f"batches of up to {training.batch * training.rows} texts"

    def ability(self, run: Loaded) -> str:
        return f"Tags the words of a text ({listed(run.codec('tags', TagCodec).names)})"

    def facts(self, run: Loaded) -> Mapping[str, str]:
        return encoders.text_facts(run, "sentences")

    def gives(self, run: Loaded) -> Gives:
        return Gives("tags", columns=("words", "tags"))

    def cells(self, prediction: Prediction) -> Sequence[Prediction]:
        return [{**prediction, **{name: " ".join(prediction[name]) for name in ("words", "tags")}}]

    def in_file(self, run: Loaded, path: Path, ways: Ways) -> Iterator[Given] | None:
        return cut_texts(path, run.training(TagTraining).word_column) if in_columns(path) else None

    def columns(self, run: Loaded, use: Use) -> tuple[InputColumn, ...]:
        return (InputColumn(TOKENS_OR_TEXT, "text_column"),)

    def from_row(self, run: Loaded, row: InputRow, ways: Ways) -> Given:
        return text_in_row(row)

    def predict(self, run: Loaded, inputs: Sequence[Given], how: Compute, listen: Listen | None) -> list[Answer]:
        for text in (texts := texts_of(inputs)):
            if not text.strip():
                raise WeftError(f"expected a text, found {text!r}")
        sentences = [words_of(text) for text in texts]
        return [
            Answer(i, {"input": texts[i], "words": list(said), "tags": tags, "entities": _entities(said, tags)})
            for i, (said, tags) in enumerate(
                zip(sentences, tagged(run.computing(how.precision), sentences), strict=True)
            )
        ]

    def shown(self, prediction: Prediction) -> str:
        pairs = zip(prediction["words"], prediction["tags"], strict=True)
        return " ".join(word if tag == "O" else f"{word}/{tag}" for word, tag in pairs)

    def held_out(self, run: Loaded, sources: Sequence[str]) -> list[Tagged]:
        return read_sentences(sources, self.read_by(run), learn=False).sentences

    def measure(
        self, run: Loaded, held_out: Sequence[Tagged], progress: Progress, seconds: float | None = None
    ) -> Measured:
        codec = run.codec("tags", TagCodec)
        scores = TagScores(spans=codec.spans)
        starts = range(0, len(held_out), AT_ONCE)
        for start in starts:  # refuses unknown tags before anything is computed
            codec.encode([one.tags for one in held_out[start : start + AT_ONCE]])
        with counted(progress, len(held_out), "sentences") as count:
            for start in starts:
                some = held_out[start : start + AT_ONCE]
                scores.add(tagged(run, [one.words for one in some], count), [one.tags for one in some])
        return Measured(len(held_out), *scores.measures(), tally=scores.tally())

    def baselines(
        self, run: Loaded, data: TaggedData, held_out: Sequence[Tagged], measured: Measured
    ) -> Iterator[Baseline]:
        return tag_baselines(data.train, held_out, spans=run.codec("tags", TagCodec).spans)

    def usual_answer(self, data: TaggedData, codecs: Codecs) -> str | None:
        return usual_tag(data.train)

    def kept_baselines(self, run: Loaded, held_out: Sequence[Tagged]) -> Iterator[Baseline]:
        if (usual := run.data.usual) is not None:
            yield one_tag(usual, held_out, spans=run.codec("tags", TagCodec).spans)

    def look(self, run: Loaded, inputs: Sequence[Given], how: LookAtText) -> View:
        def look(text: str) -> View:
            said = words_of(text)
            return look_at(run, text, how, lambda _: tags_in_words(said, *tagged_surely(run, [said])) if said else None)

        return looked(run, inputs, how, look)

    def study(self, run: Loaded, inputs: Sequence[Given], how: LookAtText) -> Study:
        said, codec, text = words_of(only_text(inputs)), run.codec("tags", TagCodec), text_of(run.codecs)
        if not said:
            raise WeftError("there is no word to tag", where="study", fix="give a sentence")
        unread = [[codec.names[0]] * len(said)]
        rows = framed(tagged_ids(text, codec, [said], unread), text, context_of(run.model.config))
        first = int(rows.places[0][0]) + 1
        return study_text(run, rows.texts[0], label=lambda i: codec.names[i], place=first)

    def embedded(self, run: Loaded, inputs: Sequence[Given], how: Embedding) -> Embedded:
        return embedded_texts(run, inputs, how)

    def adopted(self, model: Imported) -> Adopted:
        names = tuple(model.labels)
        scheme = "BIO" if any(name.startswith("B-") for name in names) else "plain"
        tags = TagCodec.Config(names=names, scheme=scheme)
        objective = None if model.several else Tags.Config()
        return Adopted({**whole_texts(model), "tags": tags}, objective, text_settings(model), text_files(model))

    def outgoing(self, run: Loaded) -> Outgoing:
        found = with_text(with_labels(run), run, text_codec(run))
        return replace(found, labels=run.codec("tags", TagCodec).names)

    def proof(self, run: Loaded, tolerance: float) -> Proof | None:
        return tag_proof(self, run)


def _entities(said: Sequence[str], tags: Sequence[str]) -> list[dict[str, str]]:
    """The named things that tags mark in a text."""
    return [{"text": " ".join(said[one.start : one.end]), "kind": one.kind} for one in entities(tags)]


def _wanted(draft: TagDraft) -> encoders.EncoderWanted:
    outputs, encoded = len(draft.codec("tags", TagCodec).names), draft.encoded
    return encoders.EncoderWanted("tags", outputs, encoded.codec.tokenizer, encoded.amount)
