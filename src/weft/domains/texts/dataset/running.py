"""Running text to learn from and text held out: streamed from files, never held whole."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

from weft.amounts import amount
from weft.domains.texts.dataset.documents import CorpusPart, split
from weft.domains.texts.dataset.talks import TalkData, talk_data
from weft.domains.texts.reading import corpus, talks
from weft.domains.texts.reading.corpus import Corpus, GivenText, read_corpus
from weft.domains.texts.sample import running as shipped_texts
from weft.domains.texts.settings import MaskTraining, TextTraining
from weft.errors import DataError, listed
from weft.files.bad_rows import Skip
from weft.files.dataset import Count, Dataset, Reader, held_in
from weft.files.decoding import shown
from weft.files.survey import Judgement, Survey, Surveyed

NAMED = 4  # endings that a warning names


@dataclass(frozen=True, kw_only=True)
class TextData(Dataset[Corpus | CorpusPart, Corpus | CorpusPart]):
    """Text in parts that stream, and the corpus that both are of."""

    corpus: Corpus

    @property
    def said(self) -> Corpus | CorpusPart:
        """The text to train on."""
        return self.train

    @property
    def extent(self) -> Corpus:
        """All text, by how much there is."""
        return self.corpus


def read_texts(sources: Sequence[str | GivenText], valid: str | None, most: int | None, skip: Skip = None) -> TextData:
    """The text in files or at hand; of what is held out of it, at most `most` bytes."""
    whole = read_corpus(sources, skip)
    train: Corpus | CorpusPart
    held: Corpus | CorpusPart
    if valid is not None:
        train, held = whole, read_corpus([valid])
        rule, fingerprint = held_in(valid), f"{whole.fingerprint} {held.fingerprint}"
    else:
        parts = split(whole, most=most)
        train, held, rule, fingerprint = parts.train, parts.valid, parts.rule, whole.fingerprint
    skipped = listed([f"{name} ({reason})" for name, reason in whole.skipped])
    return TextData(
        train=train,
        held_out=held,
        corpus=whole,
        fingerprint=fingerprint,
        rule=rule,
        described=f"{listed([shown(str(file.path)) for file in whole.files])} ({amount(whole.bytes)})",
        notes=(in_words(whole), *passed_by(whole), *([f"skipped: {skipped}"] if skipped else [])),
        skipped=whole.skipped,
        amounts={"documents": whole.documents, "bytes": whole.bytes, "characters": whole.characters},
    )


@final
class RunningText(Reader[TextData | TalkData]):
    """Text to be continued, and talks in which answers are to be given."""

    sample = "python-topics"

    def judge(self, survey: Survey) -> Judgement:
        return talks.judge(survey) or corpus.judge(survey)

    def read(
        self, sources: Sequence[str], valid: str | None, asked: TextTraining, count: Count | None = None
    ) -> TextData | TalkData:
        if sources and talks.judge(Survey(sources)):
            return talk_data(sources, valid, asked.allowed)
        return read_texts(sources or [shipped_texts.python_topics()], valid, asked.held_out, asked.allowed)

    def refusal(self, source: Surveyed) -> DataError | None:
        return corpus.refusal(source)


@final
class Sentences(Reader[TextData]):
    """Text with blanks to be filled in."""

    sample = "fill-mask"

    def read(
        self, sources: Sequence[str], valid: str | None, asked: MaskTraining, count: Count | None = None
    ) -> TextData:
        return read_texts(sources or [shipped_texts.english_sentences()], valid, asked.held_out, asked.allowed)


def in_words(corpus: Corpus) -> str:
    """How much text there is."""
    return f"{amount(corpus.bytes)} in {corpus.documents:,} document{'s' if corpus.documents != 1 else ''}"


def passed_by(corpus: Corpus) -> list[str]:
    """A warning where most of the text in a folder stands in files whose endings were not taken."""
    rest = sum(corpus.passed_by.values())
    if rest <= corpus.bytes:
        return []
    share = corpus.bytes / (corpus.bytes + rest)
    taken = dict.fromkeys(file.path.suffix.lower() for file in corpus.files if isinstance(file.path, Path))
    names = [ending for ending in corpus.passed_by if ending][:NAMED]
    said = ",".join(name.lstrip(".") for name in [*names, *taken] if name)
    others = ", ".join(f"{name} {amount(corpus.passed_by[name])}" for name in names) or "files without an ending"
    return [
        f"warning: only {share:.1%} of the text in the folder is taken ({', '.join(taken)}); the rest is in {others}; "
        f"to take these too: --set endings={said}"
    ]
