"""The phrasebook that ships with weft: English sentences with their French, Italian or German, and which word is which.

The sentences are drawn from a small grammar of our own. The draw is the same for every language, on every machine and
in every run; one English sentence has one translation.
"""

import gc
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

from weft.data.samples.casting import Draw
from weft.data.samples.english import english
from weft.data.samples.german import german
from weft.data.samples.lexicon import LANGUAGES
from weft.data.samples.meaning import Clause, Group, Sentence, Words
from weft.data.samples.romance import FRENCH, ITALIAN
from weft.data.samples.templates import EXAMPLES, TEMPLATES
from weft.errors import WeftError

TRAIN, HELD_OUT = 40_000, 2_000
ONE_IN = 16  # pairs of words: this part is reserved for the held-out sentences
SPARSE = {"important", "good", "hot", "cold", "cozy"}  # with few nouns: none of them can be spared
ALWAYS = {("tiny", "house"), ("agreement", "European Economic Area")}


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
_MARKS = ((".", (".",)), ("?", (".",)))
_LINKS = [[(i, j) for j in range(32)] for i in range(32)]  # one tuple for each link: a million fewer to make and keep


def said(sentence: Sentence, language: str) -> Words:
    """The words of a sentence in a language, with a capital and a mark at its end."""
    words = _SAY[language](sentence)
    text, labels = words[0]
    return ((text[0].upper() + text[1:], labels), *words[1:], _MARKS[sentence.kind in ("does", "where")])


def spelled(words: Words, language: str) -> str:
    """The text of words: no space after an apostrophe or before a mark, except a French question mark."""
    text = " ".join([word for word, _ in words]).replace("' ", "'").replace(" .", ".").replace(" ,", ",")
    return text.replace(" - ", "-") if language == "fr" else text.replace(" ?", "?")


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


def pairs(sentence: Sentence) -> list[tuple[str, str]]:
    """The pairs of words of a sentence that can be reserved."""
    return _pairs(sentence.clause) + (_pairs(sentence.second) if sentence.second else [])


def _pairs(clause: Clause) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    place = clause.place[1] if clause.place else None
    for group in (clause.subject, clause.object, clause.recipient, place, clause.agent):
        if not isinstance(group, Group):
            continue
        noun = group.noun.name
        if group.adjective:
            found.append((group.adjective.name, noun))
        if group.name and group.preposition == "on":
            found.append((noun, group.name.name))
        if clause.verb:
            found.append((clause.verb.name, noun))
        if place and group is not place:
            found.append((noun, place.noun.name))
        if group is clause.subject:
            found += [(adjective.name, noun) for adjective in clause.adjectives]
    return found


def repeats(sentence: Sentence) -> bool:
    """Whether a noun or a verb comes twice: a queen who writes to a queen."""
    named: list[str] = []
    for clause in (sentence.clause, sentence.second):
        if clause is None:
            continue
        named += [clause.verb.name] if clause.verb else []
        for group in (clause.subject, clause.object, clause.recipient, clause.agent):
            if isinstance(group, Group):
                named += [group.noun.name, group.name.name] if group.name else [group.noun.name]
    return len(set(named)) < len(named)


@cache
def reserved(pair: tuple[str, str]) -> bool:
    """Whether a pair of words is kept out of training."""
    if pair[0] in SPARSE:
        return False
    return pair in ALWAYS or zlib.crc32(" ".join(pair).encode()) % ONE_IN == 0


@cache
def drawn() -> tuple[list[tuple[Sentence, Words, str]], ...]:
    """The sentences of both parts, with their English words and text."""
    draw = Draw("phrasebook")
    templates = [template for template, share in TEMPLATES.items() for _ in range(share)]
    train: list[tuple[Sentence, Words, str]] = []
    held_out: list[tuple[Sentence, Words, str]] = []
    seen: set[str] = set()
    coming = iter(EXAMPLES)
    while len(train) < TRAIN or len(held_out) < HELD_OUT:
        sentence = next(coming, None) or draw.one(templates)(draw)
        part, size = (held_out, HELD_OUT) if any(map(reserved, pairs(sentence))) else (train, TRAIN)
        if len(part) == size or repeats(sentence):
            continue
        words = said(sentence, "en")
        text = spelled(words, "en")
        if text not in seen:
            seen.add(text)
            part.append((sentence, words, text))
    return train, held_out


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
