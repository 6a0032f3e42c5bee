"""Text to learn words from, and what their vectors are measured on: text held out, analogies, likeness of words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from weft.domains.texts.dataset.documents import CorpusPart
from weft.domains.texts.dataset.running import read_texts
from weft.domains.texts.reading.corpus import Corpus, read_corpus
from weft.domains.words.reading import Questions, questions_in
from weft.domains.words.sample import small_world_questions, small_world_sentences
from weft.domains.words.settings import WordTraining
from weft.files.dataset import Count, Dataset, Reader, held_in


@dataclass(frozen=True)
class HeldOutWords:
    """Text to measure on, where there is any, and questions about words."""

    text: Corpus | CorpusPart | None
    questions: tuple[Questions, ...] = ()


def held_out_words(sources: Sequence[str]) -> HeldOutWords:
    """What a user names to measure on: files of questions, and texts."""
    found = [(source, questions_in(source)) for source in sources]
    texts = [source for source, questions in found if questions is None]
    return HeldOutWords(read_corpus(texts) if texts else None, tuple(q for _, q in found if q is not None))


@dataclass(frozen=True, kw_only=True)
class WordData(Dataset[Corpus | CorpusPart, HeldOutWords]):
    """Text to learn words from, and the corpus that it is of."""

    corpus: Corpus


@final
class WordTexts(Reader[WordData]):
    """Texts to learn words from. --valid may name a file of questions: it is measured on beside the text held out."""

    sample = "embed-words"

    def read(
        self, sources: Sequence[str], valid: str | None, asked: WordTraining, count: Count | None = None
    ) -> WordData:

        questions = None if valid is None else questions_in(valid)
        text = read_texts(sources or [small_world_sentences()], valid if questions is None else None, asked.held_out)
        own = () if sources or valid is not None else (small_world_questions(),)
        rule, fingerprint = text.rule, text.fingerprint
        if questions is not None and valid is not None:
            rule = f"{rule.partition(':')[0]}, and {held_in(valid)}: {rule.partition(':')[2].strip()}"
            fingerprint = f"{fingerprint} {questions.digest}"
        held = HeldOutWords(text.held_out, own if questions is None else (questions,))
        return WordData(**{**vars(text), "held_out": held, "rule": rule, "fingerprint": fingerprint})
