"""The phrasebook that ships with weft: English sentences with their French, Italian or German, and which word is which.

The sentences are drawn from a small grammar of our own. The draw is the same for every language, on every machine and
in every run; one English sentence has one translation.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from weft.domains.pairs.sample.german import german
from weft.domains.pairs.sample.romance import FRENCH, ITALIAN
from weft.domains.texts.grammar.drawing import drawn, finished, spelled
from weft.domains.texts.grammar.english import english
from weft.domains.texts.grammar.lexicon import LANGUAGES
from weft.domains.texts.grammar.meaning import Sentence, Words
from weft.errors import WeftError


@dataclass(frozen=True)
class Phrase:
    """A sentence, its translation, and which words are linked.

    The alignment has pairs (source word, target word), as `weft.modalities.words.words` counts the words of both.
    """

    source: str
    target: str
    alignment: frozenset[tuple[int, int]]


@dataclass(frozen=True)
class Phrasebook:
    """Training and held-out phrases of one language.

    Some pairs of words that stand together are reserved: an adjective with a noun, a verb with its subject, object,
    recipient or agent, a thing with its place, a paper with its topic. No training sentence has a reserved pair, and
    every held-out sentence has at least one: each asks for a combination that was never seen. Yet every word of a
    held-out sentence and of its translation, in that very form, is in at least twenty training sentences.
    """

    train: tuple[Phrase, ...]
    held_out: tuple[Phrase, ...]


_SAY = {"en": english, "fr": FRENCH.sentence, "it": ITALIAN.sentence, "de": german}
_LINKS = [[(i, j) for j in range(32)] for i in range(32)]  # one tuple for each link: a million fewer to make and keep


def said(sentence: Sentence, language: str) -> Words:
    """The words of a sentence in a language, with a capital and a mark at its end."""
    return finished(_SAY[language](sentence), sentence)


def linked(source: Words, target: Words) -> frozenset[tuple[int, int]]:
    """The pairs of words that share a label."""
    where: dict[str, list[int]] = {}
    for i, (_, labels) in enumerate(source):
        for label in labels:
            if label in where:
                where[label].append(i)
            else:
                where[label] = [i]
    return frozenset([_LINKS[i][j] for j, (_, labels) in enumerate(target) for label in labels for i in where[label]])


@contextmanager
def _kept() -> Iterator[None]:
    """Nothing made here is garbage: the collector would walk a million words again and again, and free none."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


@_kept()
def phrasebook(language: str = "fr") -> Phrasebook:
    """The phrases from English to a language."""
    if language not in LANGUAGES:
        known = ", ".join(LANGUAGES)
        raise WeftError(f"no phrasebook for the language {language!r}", fix=f"choose one of {known}")
    parts = []
    for part in drawn():
        phrases = []
        for sentence, source, text in part:
            target = said(sentence, language)
            phrases.append(Phrase(text, spelled(target, language), linked(source, target)))
        parts.append(tuple(phrases))
    return Phrasebook(*parts)
