"""Names that ship with weft: sentences in which persons, places and organisations are tagged. Refuses to know files.

Most names are made up of syllables and come seldom, so that a list of them is not enough; some are a person here and a
place there, and organisations are called after both:

    Clara Hudson left Hudson for the Hudson Institute .
    B-PER I-PER  O    B-LOC  O   O   B-ORG  I-ORG     O
"""

import random
import re

from weft.domains.texts.reading.tagged_texts import Tagged, TaggedTexts

SEED = 1996
SHARED = 0.15  # of surnames and places are names that are both
FIRST = (
    "Ada", "Bruno", "Clara", "Dario", "Edith", "Felix", "Greta", "Hugo", "Irma", "Jonas", "Karin", "Leon", "Mara",
    "Nils", "Olga", "Pavel", "Rosa", "Simon", "Tilda", "Victor", "April", "May", "Wanda", "Yusuf", "Zora", "Amir",
    "Mei", "Kofi",
)  # fmt: skip
BOTH = ("Hudson", "Lincoln", "Florence", "Jordan", "Preston", "Carlisle", "Savona", "Milan", "Sidney", "Lorraine")
STARTS = (
    "Bar", "Bel", "Cor", "Dal", "Fal", "Gor", "Hal", "Kel", "Lar", "Mel", "Nor", "Or", "Pel", "Ros", "Sel", "Tar", "Ul",
    "Val", "Wes", "Zan",
)  # fmt: skip
MIDDLES = ("", "", "a", "e", "i", "o", "den", "lin", "men", "ran")
OF_PERSONS = ("vik", "ski", "ner", "son", "etti", "escu", "man", "ov", "dottir", "ez")
OF_PLACES = ("ford", "holm", "burg", "ville", "mouth", "stad", "dale", "haven", "minster", "port")
ORGANISATIONS = (
    "{place} {field}",
    "{place} {field}",
    "University of {place}",
    "{place} University",
    "Bank of {place}",
    "{surname} {field}",
    "{surname} & Sons",
    "{surname} Foundation",
    "{surname} and {surname}",
    "the {place} {office}",
    "the {office} of {place}",
    "{letters}",
)
FIELDS = (
    "Airlines",
    "Chemicals",
    "Football Club",
    "Gazette",
    "Instruments",
    "Insurance",
    "Motors",
    "Railways",
    "Textiles",
)
OFFICES = ("Institute", "Museum", "Opera", "Parliament", "Ministry", "Museum of Art", "Chamber of Trade")
PERSONS = ("{first} {surname}", "{first} {surname}", "{surname}", "{first}", "{letter}. {surname}")
SENTENCES = (
    "{PER} joined {ORG} in {month} .",
    "{PER} , a {job} from {LOC} , has left {ORG} .",
    "in {month} {PER} moved from {LOC} to {LOC} .",
    "{ORG} opened an office in {LOC} last {day} .",
    "{ORG} and {ORG} agreed to share a {thing} near {LOC} .",
    "the {job} {PER} met {PER} in {LOC} on {day} .",
    "{LOC} , {month} - {ORG} said that it would sell its {thing} to {ORG} .",
    "{PER} will speak at {ORG} on {day} .",
    "a {thing} from {LOC} was found by {PER} .",
    "{PER} ( {ORG} ) beat {PER} ( {ORG} ) in {LOC} .",
    "the {thing} of {PER} is kept in {LOC} .",
    '{Dr} {PER} said : " {LOC} needs a new {thing} . "',
    "{Dr} {PER} thanked {ORG} for the {thing} .",
    "who is {PER} , and what does {ORG} want ?",
    "the road from {LOC} to {LOC} was closed in {month} .",
    "{PER} bought a {thing} , and nobody in {LOC} knew why .",
    "shares of {ORG} fell by {number} percent on {day} .",
    "the {job} wrote to {ORG} and to {PER} in {month} .",
    "on {day} the {job} lost his {thing} .",
    "the {thing} cost {number} euros in {month} .",
)
WORDS = {
    "month": ("March", "April", "May", "June", "August", "October"),
    "day": ("Monday", "Tuesday", "Friday", "Sunday"),
    "job": ("painter", "judge", "striker", "chemist", "pianist", "minister", "driver", "baker"),
    "thing": ("bridge", "piano", "factory", "ship", "letter", "painting", "laboratory", "clock", "garden", "archive"),
    "Dr": ("Dr.", "Mrs.", "Mr.", "Professor", "Judge"),
    "number": ("two", "seven", "12", "40"),
    "field": FIELDS,
    "office": OFFICES,
    "first": FIRST,
}
SLOT = re.compile(r"\{(\w+)\}")


def sample_names(count: int = 2000) -> list[Tagged]:
    """That many different sentences with tags in BIO (PER, LOC, ORG), always the same ones."""
    chance = random.Random(SEED)
    found: dict[tuple[str, ...], Tagged] = {}
    while len(found) < count:
        sentence = _sentence(chance)
        found.setdefault(sentence.words, sentence)
    return list(found.values())


def _sentence(chance: random.Random) -> Tagged:
    words: list[str] = []
    tags: list[str] = []
    for token in pick(SENTENCES, chance).split():
        slot = SLOT.fullmatch(token)
        if slot and slot[1].isupper():
            name = _name(slot[1], chance)
            if name[0] == "the":  # "the" before a name is no part of it
                words.append("the")
                tags.append("O")
                name = name[1:]
            words += name
            tags += [f"B-{slot[1]}", *[f"I-{slot[1]}"] * (len(name) - 1)]
        else:
            words.append(pick(WORDS[slot[1]], chance) if slot else token)
            tags.append("O")
    words[0] = words[0][0].upper() + words[0][1:]
    return Tagged(tuple(words), tuple(tags))


def _name(kind: str, chance: random.Random) -> list[str]:
    """The words of a name."""
    shape = {"PER": PERSONS, "LOC": ("{place}",), "ORG": ORGANISATIONS}[kind]
    return SLOT.sub(lambda slot: _part(slot[1], chance), pick(shape, chance)).split()


def _part(name: str, chance: random.Random) -> str:
    if name in ("place", "surname"):
        if chance.random() < SHARED:
            return pick(BOTH, chance)
        ends = OF_PLACES if name == "place" else OF_PERSONS
        return pick(STARTS, chance) + pick(MIDDLES, chance) + pick(ends, chance)
    if name in ("letter", "letters"):
        return "".join(pick(tuple("ABCDEFGHKLMNPRSTUV"), chance) for _ in range(1 if name == "letter" else 3))
    return pick(WORDS[name], chance)


def pick(options: tuple[str, ...], chance: random.Random) -> str:
    """One of them. Only random() gives the same numbers in every Python."""
    return options[int(chance.random() * len(options))]


def tagged_names() -> TaggedTexts:
    """2,000 sentences of our own in which persons, places and organisations are tagged."""
    return TaggedTexts.given(sample_names(), "weft-names")
