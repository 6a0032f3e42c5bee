"""Who and what a sentence may be about: words that go together, drawn by chance."""

import random
from collections.abc import Sequence
from functools import cache
from typing import TypeVar

from weft.domains.texts.grammar.lexicon import ADJECTIVES, MONTHS, NAMES, NOUNS, NUMBERS, VERBS, YEARS, Adjective, Noun
from weft.domains.texts.grammar.meaning import Clause, Group

T = TypeVar("T")

POSSESSIVES = ("my", "our", "his", "her")
PRONOUNS = ("I", "he", "she", "we", "they")
OTHERS = ("he", "she", "they")
COUNTS, MONTH = tuple(NUMBERS), tuple(MONTHS)
FEELINGS = [adjective for adjective in ADJECTIVES.values() if "feels" in adjective.tags]
DOES = ["see", "buy", "sell", "read", "write", "open", "close", "find", "look-for", "love", "invite", "call", "help"]
DOES += ["prepare", "eat", "visit"]  # what people do


@cache
def kind(*tags: str) -> list[Noun]:
    """The nouns and names with one of some tags; names that stand for themselves come more often than combined ones."""
    found = [noun for noun in (*NOUNS.values(), *NAMES.values()) if noun.tags & set(tags)]
    return [noun for noun in found for _ in range(5 if "lone" in noun.tags else 1)]


@cache
def objects(verb: str) -> list[Noun]:
    """What a verb is done to."""
    return kind(*sorted(VERBS[verb].tags))


@cache
def attributes(noun: Noun) -> list[Adjective]:
    """The adjectives that go beside a noun; those that fit few nouns come twice, to be drawn more often."""
    fitting = [adjective for adjective in ADJECTIVES.values() if adjective.tags & noun.tags]
    return fitting + [adjective for adjective in fitting if not adjective.before]


@cache
def predicates(noun: Noun) -> list[Adjective]:
    """The adjectives that are said of a noun."""
    lasting = [adjective for adjective in attributes(noun) if adjective.name != "new"]  # French has two words for it
    return lasting + (FEELINGS if noun.tags & {"person", "animal"} else [])


@cache
def group(
    noun: Noun,
    determiner: str = "the",
    plural: bool = False,
    adjective: Adjective | None = None,
    preposition: str = "",
    name: Noun | None = None,
) -> Group:
    """The one group of these words: what is said of it once need not be found again."""
    return Group(noun, determiner, plural, adjective, preposition, name)


def owner(subject: Group | str) -> str:
    """The determiner of what a subject owns."""
    if isinstance(subject, str):
        return {"I": "my", "he": "his", "she": "her", "we": "our"}.get(subject, "the")
    return (
        "the" if subject.plural or "kid" in subject.noun.tags else "her" if subject.noun.gender["fr"] == "f" else "his"
    )


class ChoiceStream:
    """A stream of choices."""

    def __init__(self, seed: str):
        self.random = random.Random(seed).random

    def one(self, things: Sequence[T]) -> T:
        """One of some things."""
        return things[int(self.random() * len(things))]

    def often(self, part: float) -> bool:
        """True in this part of the draws."""
        return self.random() < part

    def group(self, noun: Noun, *, counted: bool = True, plain: float = 0.6) -> Group:
        """A noun with a determiner that it takes, and perhaps an adjective."""
        if noun.name in NAMES:
            return group(noun)
        plural = "plural" in noun.tags and self.often(0.35)
        if "kin" in noun.tags:
            return group(noun, self.one(POSSESSIVES), plural)
        choices = ["the", "the", "the"]
        if "own" in noun.tags:
            choices += POSSESSIVES
        if plural and counted:
            choices += [self.one(COUNTS)] * 3
        if not plural and "mass" not in noun.tags:
            choices += ["a", "a"]
        adjectives = attributes(noun)
        determiner = self.one(choices)
        if determiner == "a":
            plain *= 0.6  # what is new in a story is described
        adjective = self.one(adjectives) if adjectives and not self.often(plain) else None
        return group(noun, determiner, plural, adjective)

    def person(self, pronouns: Sequence[str] = PRONOUNS, part: float = 0.35) -> Group | str:
        """Somebody: a pronoun in this part of the draws."""
        return self.one(pronouns) if pronouns and self.often(part) else self.group(self.one(kind("person")), plain=0.8)

    def again(self, subject: Group | str, part: float = 0.5) -> Group | str:
        """Who a second clause is about: the same pronoun, which Italian may drop there, or somebody with a name."""
        return subject if subject in OTHERS and self.often(part) else self.person((), 0)

    def action(self, subject: Group | str, form: str, verbs: Sequence[str] = DOES, plain: float = 0.6) -> Clause:
        """Somebody does something to something."""
        verb = self.one(verbs)
        thing = self.group(self.one(objects(verb)), counted=form != "not", plain=1.0 if verb == "write" else plain)
        determiner = thing.determiner
        if form == "not" and determiner == "a" and thing.noun.tags & {"person", "animal"}:
            determiner = "the"
        if verb == "write" and determiner in POSSESSIVES:
            determiner = "the"
        if verb == "sell" and determiner in POSSESSIVES:
            determiner = owner(subject)
        return Clause(subject, form, VERBS[verb], group(thing.noun, determiner, thing.plural, thing.adjective))

    def description(self, form: str = "is") -> Clause:
        """Something is tiny and cozy."""
        noun = self.one(kind("person", "animal", "object", "place", "paper", "public", "food", "opening"))
        drawn = self.group(noun, counted=False, plain=0.45)
        beside = drawn.adjective
        fitting = [adjective for adjective in predicates(noun) if beside is None or adjective.scale != beside.scale]
        if not fitting:
            fitting, beside = predicates(noun), None
        determiner = "the" if drawn.determiner == "a" else drawn.determiner
        if "own" in noun.tags and beside:
            determiner = self.one(POSSESSIVES)
        subject = group(noun, determiner, drawn.plural, beside)
        first = self.one(fitting)
        others = [a for a in fitting if a.scale != first.scale and (a in FEELINGS) == (first in FEELINGS)]
        if form != "is not" and others and beside is None and self.often(0.5):
            return Clause(subject, form, adjectives=(first, self.one(others)))
        return Clause(subject, form, adjectives=(first,), very=form != "is not" and self.often(0.25))

    def date(self) -> tuple[str, ...]:
        """A month and a year."""
        return self.one(MONTH), self.one(YEARS)

    def public(self) -> Group:
        """A paper of institutions, perhaps on or of one."""
        noun = self.one(kind("public"))
        if self.often(0.35):
            return self.group(noun, plain=0.4)
        plural = "plural" in noun.tags and self.often(0.4)
        if "of" in noun.tags and self.often(0.65):
            return group(noun, plural=plural, preposition="of", name=self.one(kind("body")))
        return group(noun, plural=plural, preposition="on", name=self.one(kind("topic")))
