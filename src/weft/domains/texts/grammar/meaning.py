"""What a sentence of the phrasebook means, and what all languages need to say it. Refuses to know any language.

Each language lays a meaning out as words that carry labels of what they stand for. Words of two languages that share a
label are linked; a word fused of two carries the labels of both.
"""

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from weft.domains.texts.grammar.lexicon import Adjective, Noun, Verb

Word = tuple[str, tuple[str, ...]]  # the text and its labels
Words = tuple[Word, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """A noun with its determiner ("the", "a", "my", "two" …), perhaps an adjective, perhaps "on" or "of" a name."""

    noun: Noun
    determiner: str = "the"
    plural: bool = False
    adjective: Adjective | None = None
    preposition: str = ""
    name: Noun | None = None


class Clause(NamedTuple):
    """Who does what, to whom, where and when. `form` is one of

    present, not, can, must, want, perfect (with an object, or none); past (she arrived); passive;
    is, was, is not (with adjectives or a place).
    """

    subject: Group | str  # a pronoun is its English word
    form: str
    verb: Verb | None = None
    object: Group | None = None
    recipient: Group | None = None
    adjectives: tuple[Adjective, ...] = ()
    very: bool = False
    place: tuple[str, Group] | None = None  # ("in", the garden)
    time: tuple[str, ...] = ()  # ("Monday",) or ("August", "1992")
    agent: Group | None = None


class Sentence(NamedTuple):
    """A clause: a `statement`, a question (`does`, `where`) or of a place (`there`); perhaps with a second clause."""

    clause: Clause
    kind: str = "statement"
    link: str = ""  # that, because, when
    second: Clause | None = None


PERSONS = {"I": 0, "he": 1, "she": 1, "we": 2, "they": 3}
MODALS = ("can", "must", "want")


@cache
def laid(text: str, *labels: str) -> Words:
    """Words that all carry the same labels."""
    return tuple((word, labels) for word in text.split())


def is_plural(group: Group, language: str) -> bool:
    """Whether a group is in the plural; the United Nations are, but not in English."""
    return group.plural or group.noun.gender[language].endswith("p")


def person_of(subject: Group | str, language: str) -> int:
    """Which of the present forms: 0 of I, 1 of she, 2 of we, 3 of they."""
    if isinstance(subject, str):
        return PERSONS[subject]
    return 3 if is_plural(subject, language) else 1


def agreement_of(subject: Group | str, language: str) -> int:
    """Which of the four forms of an adjective: masculine, feminine, and both in the plural."""
    if isinstance(subject, str):
        return {"he": 0, "she": 1}.get(subject, 2)
    return 2 * is_plural(subject, language) + subject.noun.gender[language].startswith("f")


@cache
def named(noun: Noun, plural: bool, language: str, role: str) -> Words:
    """A noun alone. The role tells its labels from those of other nouns of the sentence."""
    parts = noun.forms[language][plural]
    return tuple((word, tuple(label + role for label in labels)) for word, labels in parts)
