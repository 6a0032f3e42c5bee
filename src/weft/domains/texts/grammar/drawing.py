"""The English sentences that ship with weft, drawn from a small grammar of our own. Refuses to know other languages.

The draw is the same on every machine and in every run.
"""

import zlib
from functools import cache

from weft.domains.texts.grammar.casting import ChoiceStream
from weft.domains.texts.grammar.english import english
from weft.domains.texts.grammar.meaning import Clause, Group, Sentence, Words
from weft.domains.texts.grammar.templates import EXAMPLES, TEMPLATES

TRAIN, HELD_OUT = 40_000, 2_000
ONE_IN = 16  # pairs of words: this part is reserved for the held-out sentences
SPARSE = {"important", "good", "hot", "cold", "cozy"}  # with few nouns: none of them can be spared
ALWAYS = {("tiny", "house"), ("agreement", "European Economic Area")}
_MARKS = ((".", (".",)), ("?", (".",)))


def finished(words: Words, sentence: Sentence) -> Words:
    """The words of a sentence with a capital and a mark at its end."""
    text, labels = words[0]
    return ((text[0].upper() + text[1:], labels), *words[1:], _MARKS[sentence.kind in ("does", "where")])


def spelled(words: Words, language: str) -> str:
    """The text of words: no space after an apostrophe or before a mark, except a French question mark."""
    text = " ".join([word for word, _ in words]).replace("' ", "'").replace(" .", ".").replace(" ,", ",")
    return text.replace(" - ", "-") if language == "fr" else text.replace(" ?", "?")


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
    draw = ChoiceStream("phrasebook")
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
        words = finished(english(sentence), sentence)
        text = spelled(words, "en")
        if text not in seen:
            seen.add(text)
            part.append((sentence, words, text))
    return train, held_out
