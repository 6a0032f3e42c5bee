"""Sentences with a tag for each word to learn from and sentences held out."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

from weft.domains.texts.reading import tagged
from weft.domains.texts.reading.schemes import Scheme
from weft.domains.texts.reading.tagged import read_tagged
from weft.domains.texts.reading.tagged_texts import Tagged, TaggedTexts, split_tagged
from weft.domains.texts.settings import TagTraining
from weft.errors import listed
from weft.files.dataset import Count, Dataset, Reader
from weft.files.survey import Judgement, Survey


@dataclass(frozen=True, kw_only=True)
class TaggedData(Dataset[Sequence[Tagged], Sequence[Tagged]]):
    """Sentences with tags. `tags` are in the order of their numbers; `scheme` is how the files wrote them."""

    tags: tuple[str, ...]
    scheme: Scheme


@final
class TaggedSentences(Reader[TaggedData]):
    """Sentences in columns or in lines of JSON."""

    sample = "tag-text"

    def judge(self, survey: Survey) -> Judgement:
        return tagged.judge(survey)

    def read(
        self, sources: Sequence[str], valid: str | None, asked: TagTraining, count: Count | None = None
    ) -> TaggedData:
        from weft.domains.texts.sample.names import tagged_names

        found = read_sentences(sources, asked) if sources else tagged_names()
        fingerprint = found.fingerprint
        if valid is None:
            train, held_out, rule = split_tagged(found.sentences)
        else:
            held = read_sentences([valid], asked, learn=False)
            train, held_out = found.sentences, held.sentences
            rule = f"{len(held)} sentences: those in {Path(valid).name}"
            fingerprint = f"{fingerprint} {held.fingerprint}"
        return TaggedData(
            train=train,
            held_out=held_out,
            tags=found.tags,
            scheme=found.scheme,
            fingerprint=fingerprint,
            rule=rule,
            described=f"{len(found):,} sentences ({listed([file.path.name for file in found.files])})",
            notes=tuple(found.report()),
            skipped=found.skipped,
            amounts={"train": len(train), "held_out": len(held_out)},
        )


def read_sentences(sources: Sequence[str], asked: TagTraining, *, learn: bool = True) -> TaggedTexts:
    """The tagged sentences in files. Without `learn` they are only measured on, and few are enough."""
    return read_tagged(list(sources), word=asked.word_column, tag=asked.tag_column, skip=asked.allowed, learn=learn)
