"""Which sentences the phrasebook has: drawn meanings in which people read letters and eat bread, not the reverse."""

from collections.abc import Callable

from weft.domains.texts.grammar.casting import (
    COUNTS,
    DOES,
    FEELINGS,
    OTHERS,
    POSSESSIVES,
    PRONOUNS,
    ChoiceStream,
    attributes,
    group,
    kind,
    objects,
    owner,
)
from weft.domains.texts.grammar.lexicon import ADJECTIVES, DAYS, NAMES, NOUNS, VERBS, Noun
from weft.domains.texts.grammar.meaning import Clause, Group, Sentence

ACTING = (
    "I",
    "I",
    "he",
    "she",
    "they",
    "they",
)  # in the present: each verb is seen in fewer forms, and in each more often
DONE = [verb for verb in DOES if verb not in ("look-for", "love")]  # what they have done
TRANSFERS = ("give", "show", "send", "write")
REJOICES = ["buy", "find", "invite", "visit", "sell", "prepare", "help"]  # what others are happy about
RESTS = ["sleep", "work", "sing", "dance", "laugh"]
OFFICIAL = ["sign", "publish", "approve", "reject"]  # what institutions do
DATED = [*OFFICIAL, "build", "sell", "buy", "find", "write"]
TRAVELS = ["arrive", "leave", "return"]


def _copula(draw: ChoiceStream) -> Sentence:
    form = draw.one(("is", "is", "was", "is not"))
    if draw.often(0.2):
        subject = draw.person(("he", "she"), 0.2)
        return Sentence(
            Clause(subject, form, adjectives=(draw.one(FEELINGS),), very=form != "is not" and draw.often(0.3))
        )
    return Sentence(draw.description(form))


def _present(draw: ChoiceStream) -> Sentence:
    return Sentence(draw.action(draw.person(ACTING, 0.6), "present"))


def _having(draw: ChoiceStream) -> Sentence:
    subject: Group | str
    if draw.often(0.4):  # the city has a famous museum
        towns = kind("in:sight", "on:sight")
        subject, noun, negated = group(draw.one(towns)), draw.one(kind("sight")), draw.often(0.2)
    else:
        subject, noun, negated = draw.person(part=0.5), draw.one(objects("have")), draw.often(0.4)
    plural = "plural" in noun.tags and not negated and draw.often(0.3)
    adjectives = attributes(noun)
    adjective = draw.one(adjectives) if adjectives and not negated and draw.often(0.8) else None
    thing = group(noun, draw.one(COUNTS) if plural else "a", plural, adjective)
    return Sentence(Clause(subject, "not" if negated else "present", VERBS["have"], thing))


def _negated(draw: ChoiceStream) -> Sentence:
    return Sentence(draw.action(draw.person(ACTING, 0.7), "not", plain=0.65))


def _asked(draw: ChoiceStream) -> Sentence:
    return Sentence(draw.action(draw.person((*OTHERS, "they")), "present"), "does")


def _where(draw: ChoiceStream) -> Sentence:
    noun = draw.one(kind("own", "place"))
    drawn = draw.group(noun, counted=False, plain=0.5)
    determiner = "the" if drawn.determiner == "a" else drawn.determiner
    return Sentence(Clause(group(noun, determiner, drawn.plural, drawn.adjective), "is"), "where")


def _modal(draw: ChoiceStream) -> Sentence:
    return Sentence(draw.action(draw.person(), draw.one(("can", "must", "want")), DONE))


def _perfect(draw: ChoiceStream) -> Sentence:
    return Sentence(draw.action(draw.person(), "perfect", DONE))


def _official(draw: ChoiceStream) -> Sentence:
    return Sentence(Clause(group(draw.one(kind("body"))), "perfect", VERBS[draw.one(OFFICIAL)], draw.public()))


def _travel(draw: ChoiceStream) -> Sentence:
    time = draw.date() if draw.often(0.5) else (draw.one(tuple(DAYS)),)
    return Sentence(Clause(draw.person(("he", "she"), 0.15), "past", VERBS[draw.one(TRAVELS)], time=time))


def _passive(draw: ChoiceStream) -> Clause:
    verb = draw.one(DATED)
    thing = draw.public() if verb in OFFICIAL else draw.group(draw.one(objects(verb)), plain=0.5)
    if thing.determiner == "a":
        thing = group(thing.noun, "the", thing.plural, thing.adjective)
    return Clause(thing, "passive", VERBS[verb])


def _dated(draw: ChoiceStream) -> Sentence:
    clause = _passive(draw)
    return Sentence(Clause(clause.subject, "passive", clause.verb, time=draw.date()))


def _by(draw: ChoiceStream) -> Sentence:
    clause = _passive(draw)
    assert clause.verb is not None
    agents = kind("body") if clause.verb.name in OFFICIAL else kind("person")
    return Sentence(Clause(clause.subject, "passive", clause.verb, agent=draw.group(draw.one(agents), plain=0.8)))


def _place(draw: ChoiceStream, *kinds: str) -> tuple[tuple[str, Group], Noun]:
    """A place, and what is there."""
    marks = [(where, what) for what in kinds for where in ("in", "on") if kind(f"{where}:{what}")]
    where, what = draw.one(marks)
    place = draw.group(draw.one(kind(f"{where}:{what}")), counted=False)
    if place.determiner == "a" or place.plural:
        place = group(place.noun, "the", False, place.adjective)
    return (where, place), draw.one(kind(what))


def _located(draw: ChoiceStream) -> Sentence:
    place, noun = _place(draw, "portable", "living", "person")
    form = draw.one(("is", "is", "was"))
    if "person" in noun.tags and draw.often(0.3):
        return Sentence(Clause(draw.one(("he", "she")), form, place=place))
    subject = draw.group(noun, plain=0.6)
    if subject.determiner == "a":
        subject = group(noun, "the", False, subject.adjective)
    return Sentence(Clause(subject, form, place=place))


def _there(draw: ChoiceStream) -> Sentence:
    place, noun = _place(draw, "sight", "plant", "furnishing")
    adjectives = attributes(noun)
    adjective = draw.one(adjectives) if draw.often(0.5) else None
    return Sentence(Clause(group(noun, draw.one(COUNTS), True, adjective), "is", place=place), "there")


def _give(draw: ChoiceStream) -> Sentence:
    form = draw.one(("present", "not", "perfect", "must", "want"))
    clause = draw.action(draw.person(ACTING if form in ("present", "not") else PRONOUNS, 0.6), form, TRANSFERS)
    whom = draw.group(draw.one(kind("person")), plain=0.9)
    thing = clause.object
    if clause.verb is VERBS["write"] and thing and thing.noun.name == "book":
        thing = group(NOUNS["letter"], thing.determiner, thing.plural)
    return Sentence(Clause(clause.subject, form, clause.verb, thing, whom))


def _that(draw: ChoiceStream) -> Sentence:
    first = Clause(draw.person(part=0.6), "present", VERBS[draw.one(("say", "know", "see"))])
    if draw.often(0.4):
        return Sentence(first, link="that", second=draw.description(draw.one(("is", "was"))))
    form = draw.one(("present", "not", "can", "want", "perfect"))
    return Sentence(first, link="that", second=draw.action(draw.again(first.subject, 0.2), form, DONE, plain=0.85))


def _because(draw: ChoiceStream) -> Sentence:
    subject = draw.person(("he", "she"), 0.15)
    if draw.often(0.5):
        first = Clause(subject, "is", adjectives=(ADJECTIVES["happy"],))
        return Sentence(first, link="because", second=draw.action(draw.again(subject), "perfect", REJOICES, plain=0.85))
    ware = draw.group(draw.one(kind("costly")), plain=0.85)
    mine = owner(subject) if ware.determiner in POSSESSIVES else ware.determiner
    first = Clause(subject, "present", VERBS["sell"], group(ware.noun, mine, ware.plural, ware.adjective))
    again = {"my": "I", "his": "he", "her": "she", "the": "they"}[owner(subject)]
    thing = draw.group(draw.one(kind("costly")), plain=0.7)
    determiner = "a" if thing.determiner in POSSESSIVES and not thing.plural else thing.determiner
    thing = group(thing.noun, determiner, thing.plural, thing.adjective)
    return Sentence(first, link="because", second=Clause(again, draw.one(("want", "must")), VERBS["buy"], thing))


def _when(draw: ChoiceStream) -> Sentence:
    subject = draw.person(("I", *OTHERS), 0.5)
    other = draw.again(subject, 0.3)
    second = Clause(other, "present", VERBS[draw.one(RESTS[1:] if other == subject else RESTS)])
    if draw.often(0.4):
        return Sentence(draw.action(subject, "present", ["read", "prepare", "eat"], 0.85), link="when", second=second)
    if isinstance(subject, Group) and draw.often(0.4):
        return Sentence(Clause(subject, "is", adjectives=(ADJECTIVES["happy"],)), link="when", second=second)
    return Sentence(Clause(subject, "present", VERBS[draw.one(RESTS)]), link="when", second=second)


# Each with its share of the draws.
TEMPLATES: dict[Callable[[ChoiceStream], Sentence], int] = {
    _copula: 13,
    _present: 9,
    _having: 8,
    _negated: 8,
    _asked: 6,
    _where: 3,
    _modal: 7,
    _perfect: 7,
    _official: 5,
    _travel: 5,
    _dated: 7,
    _by: 10,
    _located: 6,
    _there: 5,
    _give: 8,
    _that: 7,
    _because: 5,
    _when: 6,
}

# "My house is tiny and cozy." and "The agreement on the European Economic Area was signed in August 1992."
EXAMPLES = (
    Sentence(Clause(group(NOUNS["house"], "my"), "is", adjectives=(ADJECTIVES["tiny"], ADJECTIVES["cozy"]))),
    Sentence(
        Clause(
            group(NOUNS["agreement"], preposition="on", name=NAMES["European Economic Area"]),
            "passive",
            VERBS["sign"],
            time=("August", "1992"),
        )
    ),
)
