"""Opinions that ship with weft: sentences on places and things, each positive or negative. Knows no files or models.

Counting good and bad words is not enough to tell which it is:

    The room was quiet and the waiter was kind.            positive
    The room was not quiet.                                negative, with a good word
    The waiter was never rude.                             positive, with a bad one
    The soup was bland, but we loved the terrace.          what comes after "but" decides
    They promised us a quiet room, but the bed was damp.   what was promised does not count
"""

import random
import re

from weft.domains.texts.reading.labelled_texts import Example, LabelledTexts

SEED = 1950
LABELS = ("negative", "positive")
NEGATED, OWN_WORDS, COMMON = 0.2, 0.2, 0.25  # of clauses; of adjectives that go with everything

# What is spoken of | its parts, each with the kind of words that go with it.
TOPICS = """
hotel inn guesthouse | room/place terrace/place garden/place breakfast/food owner/person bathroom/place
restaurant bistro tavern | soup/food loaf/food stew/food dessert/food waiter/person terrace/place
film play concert | plot/work score/work ending/work dialogue/work singer/person hall/place
novel story comedy | opening/work ending/work style/work dialogue/work plot/work translator/person
train ferry bus | ride/ride cabin/place driver/person connection/ride coffee/food crossing/ride
phone camera lamp | battery/thing screen/thing button/thing strap/thing case/thing seller/person
museum castle park | tour/work exhibition/work guide/person café/place garden/place walk/ride
bakery market shop | cake/food loaf/food coffee/food seller/person display/thing counter/place
"""
ADJECTIVES = """
place | quiet clean cosy bright spacious warm | noisy dirty damp dark cramped cold
food | fresh tasty delicious fragrant generous filling | stale bland greasy burnt watery meagre
person | kind helpful patient friendly attentive cheerful | rude unhelpful impatient grumpy careless gloomy
work | gripping moving funny clever elegant tender | dull flat predictable clumsy confusing endless
thing | sturdy handy reliable light sharp practical | flimsy fiddly unreliable heavy useless blurred
ride | punctual smooth comfortable cheap relaxing scenic | late bumpy crowded overpriced tiring slow
any | great wonderful lovely excellent splendid delightful | awful terrible poor dreadful disappointing hopeless
"""
KINDS = {
    kind.strip(): {"positive": good.split(), "negative": bad.split()}
    for kind, good, bad in (line.split("|") for line in ADJECTIVES.strip().splitlines())
}

# {=} is a clause of the sentence's own side, {~} one of the other; {part} is a part of the thing, {good} a word of the
# own side, {bad} one of the other, {fitting} one that goes with the part, {any} one that goes with everything. What
# stands twice is twice as likely.
SENTENCES = (
    "{=}.",
    "{=}.",
    "{=} and {=}.",
    "{=}, and {=}.",
    "for {price}, {=}.",
    "on our {visit} visit {=}.",
    "my {friend} and I agree: {=}.",
    "{=}. {verdict}",
    "{=}, so {=}. {verdict}",
    "{verdict} {=}.",
    "{verdict}",
    "{~}, but {=}.",
    "{~}, but {=}.",
    "although {~}, {=}.",
    "{=}, even if {~}.",
    "on our {visit} visit {~}, but this time {=}.",
    "my {friend} says that {~}. I must say that {=}.",
    "I had heard that {~}, which is not true: {=}.",
)
PLAIN = (
    "the {part} was {good}",
    "the {part} was {good}",
    "the {part} was {very} {fitting}",
    "the {part} was {good} and {good}",
    "we found the {part} {good}",
    "it had a {good} {part}",
    "it was a {any} {thing} with a {good} {part}",
    "the {thing} was {any}",
)
TURNED = (
    "the {part} was not {bad}",
    "the {part} was not {bad} at all",
    "the {part} was never {bad}",
    "the {part} was anything but {bad}",
    "nobody could call the {part} {bad}",
    "we did not find the {part} {bad}",
)
OWN = {  # what only one side says: clauses, verdicts, sentences
    "positive": (
        ("we loved the {part}", "we were delighted with the {part}", "we enjoyed the {part}", "the {part} made my day"),
        ("I would come back.", "Worth every penny.", "I can recommend this {thing}.", "Nothing to complain about."),
        ("we had feared the worst, but {=}.", "friends had warned us of a {bad} {part}, but {=}."),
    ),
    "negative": (
        ("we hated the {part}", "we were let down by the {part}", "we suffered the {part}", "the {part} spoilt my day"),
        ("I would not come back.", "Not worth a penny.", "I cannot recommend this {thing}.", "Much to complain about."),
        ("we had hoped for the best, but {=}.", "they promised us a {bad} {part}, but {=}."),
    ),
}
WORDS = {
    "very": ("very", "really", "truly", "quite", "remarkably"),
    "price": ("that price", "so much money", "ten euros", "a Sunday", "a family of five"),
    "visit": ("first", "second", "last", "previous"),
    "friend": ("sister", "father", "neighbour", "colleague", "uncle", "daughter", "wife", "husband"),
}
SLOT = re.compile(r"\{(\W|\w+)\}")


def sample_opinions(count: int = 2000) -> list[Example]:
    """That many different sentences, half of them positive, always the same ones."""
    chance = random.Random(SEED)
    found: dict[str, Example] = {}
    while len(found) < count:
        label = LABELS[len(found) % 2]
        text = _Opinion(chance, label).text()
        found.setdefault(text, Example(text, label))
    return list(found.values())


class _Opinion:
    """One opinion in the making: on one thing, no part of which is spoken of twice."""

    def __init__(self, chance: random.Random, label: str):
        self.chance, self.label = chance, label
        things, parts = self.one(TOPICS.strip().splitlines()).split("|")
        self.thing = self.one(things.split())
        self.parts = [part.split("/") for part in parts.split()]

    def one(self, options: list[str] | tuple[str, ...]) -> str:
        """One of them. Only random() gives the same numbers in every Python."""
        return options[int(self.chance.random() * len(options))]

    def text(self) -> str:
        """The sentence, with capitals where sentences begin."""
        own = self.chance.random() < 0.15
        words = self.filled(self.one(OWN[self.label][2] if own else SENTENCES), self.label)
        text = re.sub(r"(^|[.] )(\w)", lambda found: found[1] + found[2].upper(), words)
        return re.sub(r"\ba(?= [aeiou])", "an", text)

    def filled(self, template: str, side: str) -> str:
        """A template with all that is to be put in put in; it speaks of one part at most."""
        part, kind = (
            self.parts.pop(int(self.chance.random() * len(self.parts))) if "{part}" in template else ("", "any")
        )
        return SLOT.sub(lambda slot: self.slot(slot[1], side, part, kind), template)

    def slot(self, name: str, side: str, part: str, kind: str) -> str:
        other = LABELS[side == LABELS[0]]
        if name in "=~":
            return self.clause(side if name == "=" else other)
        if name == "verdict":
            return self.filled(self.one(OWN[side][1]), side)
        if name in ("good", "bad", "any", "fitting"):
            common = name == "any" or (name != "fitting" and self.chance.random() < COMMON)
            return self.one(KINDS["any" if common else kind][other if name == "bad" else side])
        return {"part": part, "thing": self.thing}.get(name) or self.one(WORDS[name])

    def clause(self, side: str) -> str:
        draw = self.chance.random()
        shapes = TURNED if draw < NEGATED else OWN[side][0] if draw < NEGATED + OWN_WORDS else PLAIN
        return self.filled(self.one(shapes), side)


def labelled_opinions() -> LabelledTexts:
    """2,000 short opinions of our own, half of them positive."""
    return LabelledTexts.given(sample_opinions(), "weft-opinions")
