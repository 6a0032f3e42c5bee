"""Sentences about a small world in which analogies hold: Paris is to France as Rome is to Italy. Our own grammar.

Each word is a choice of a family (a country, a kind of person) and of a place in it (the capital, the man). Sentences
say what goes with the family and what goes with the place, so that the vector of a word becomes a sum of both.
"""

import random
from itertools import permutations

from weft.domains.texts.reading.corpus import GivenText
from weft.domains.words.reading import Analogies

SENTENCES = 60_000
SEED = 20

# country, capital, people, food, coin, weather
COUNTRIES = (
    ("france", "paris", "french", "cheese", "euro", "mild"),
    ("italy", "rome", "italian", "pasta", "lira", "sunny"),
    ("germany", "berlin", "german", "bread", "mark", "cloudy"),
    ("japan", "tokyo", "japanese", "rice", "yen", "humid"),
    ("norway", "oslo", "norwegian", "salmon", "krone", "snowy"),
    ("egypt", "cairo", "egyptian", "beans", "pound", "hot"),
    ("greece", "athens", "greek", "olives", "drachma", "dry"),
    ("mexico", "mexico_city", "mexican", "maize", "peso", "warm"),
)
# man, woman, boy, girl of a family, and what they go with
PEOPLE = (
    ("man", "woman", "boy", "girl", ("house", "garden", "chair", "coat")),
    ("king", "queen", "prince", "princess", ("crown", "throne", "palace", "court")),
    ("farmer", "farmwife", "farmboy", "farmgirl", ("plough", "barn", "harvest", "orchard")),
    ("actor", "actress", "stageboy", "stagegirl", ("stage", "mask", "theatre", "audience")),
    ("sailor", "seawife", "cabinboy", "cabingirl", ("ship", "anchor", "harbour", "storm")),
    ("monk", "nun", "choirboy", "choirgirl", ("prayer", "candle", "abbey", "bell")),
    ("wizard", "witch", "imp", "pixie", ("spell", "wand", "tower", "potion")),
)
HE = ("he", "his", "beard", "brother", "uncle")
SHE = ("she", "her", "necklace", "sister", "aunt")
OLD = ("old", "wise", "grey", "works")
YOUNG = ("young", "small", "plays", "learns")
# animal, its young, plural, plural of the young, where it lives, what it does, its sound
ANIMALS = (
    ("dog", "puppy", "dogs", "puppies", "kennel", "guards", "bark"),
    ("cat", "kitten", "cats", "kittens", "basket", "hunts", "meow"),
    ("cow", "calf", "cows", "calves", "meadow", "grazes", "moo"),
    ("horse", "foal", "horses", "foals", "stable", "gallops", "neigh"),
    ("sheep", "lamb", "flocks", "lambs", "hill", "follows", "bleat"),
    ("bear", "cub", "bears", "cubs", "cave", "climbs", "growl"),
    ("duck", "duckling", "ducks", "ducklings", "pond", "swims", "quack"),
    ("goose", "gosling", "geese", "goslings", "river", "flies", "honk"),
)


def _country(dice: random.Random) -> str:
    country, capital, people, food, coin, weather = dice.choice(COUNTRIES)
    return dice.choice((
        f"{country} is a {weather} country where people eat {food} and pay with the {coin}",
        f"the {people} border of {country} is long and the land is {weather}",
        f"across the country of {country} farmers sell {food} for a {coin}",
        f"{capital} is a {weather} city where people eat {food} and pay with the {coin}",
        f"the {people} mayor of {capital} lives in a street of the city",
        f"in the streets of {capital} the city shops sell {food} for a {coin}",
        f"a {people} cook puts {food} on the table and takes a {coin}",
        f"the {people} weather is {weather} and the {people} like {food}",
    ))  # fmt: skip


def _person(dice: random.Random) -> str:
    man, woman, boy, girl, things = dice.choice(PEOPLE)
    thing, other = dice.sample(things, 2)
    who, gender, age = dice.choice(((man, HE, OLD), (woman, SHE, OLD), (boy, HE, YOUNG), (girl, SHE, YOUNG)))
    pronoun, possessive, mark, sibling, kin = gender
    first, second, third, does = age
    return dice.choice((
        f"the {first} {who} {does} near the {thing} and {pronoun} likes {possessive} {mark}",
        f"{possessive} {sibling} says that {pronoun} is a {second} {who} with a {thing}",
        f"the {third} {who} and {possessive} {kin} {dice.choice(('see', 'know'))} the {thing} and the {other}",
        f"by the {thing} the {who} {does} because {pronoun} is {first}",
        f"a {who} has a {thing} and {possessive} {sibling} has a {mark}",
    ))  # fmt: skip


def _animal(dice: random.Random) -> str:
    grown, young, many, many_young, place, does, sound = dice.choice(ANIMALS)
    one, several, first = dice.choice(((grown, many, "big"), (young, many_young, "tiny")))
    sucks = (
        dice.choice(("drinks milk", "stays with its mother"))
        if first == "tiny"
        else dice.choice(("is strong", "is old"))
    )
    return dice.choice((
        f"one {first} {one} {does} at the {place} and it {sucks}",
        f"the {one} is {first} and its {sound} comes from the {place}",
        f"many {first} {several} are at the {place} and they {sound} together",
        f"two {several} are {first} and all of them {sound}",
        f"a {one} {does} alone and it {sucks}",
        f"they are {several} from the {place} and there are many",
    ))  # fmt: skip


def drawn_sentences() -> list[str]:
    """The sentences, always the same ones."""
    dice = random.Random(SEED)
    kinds = (_country, _person, _animal)
    return [dice.choice(kinds)(dice) for _ in range(SENTENCES)]


def questions() -> dict[str, list[tuple[str, str, str, str]]]:
    """The analogies that hold, by section: every two families of a kind."""

    def pairs(rows: list[tuple[str, str]]) -> list[tuple[str, str, str, str]]:
        return [(*one, *other) for one, other in permutations(rows, 2)]

    return {
        "capitals": pairs([(capital, country) for country, capital, *_ in COUNTRIES]),
        "peoples": pairs([(country, people) for country, _, people, *_ in COUNTRIES]),
        "women": pairs([(man, woman) for man, woman, *_ in PEOPLE] + [(boy, girl) for _, _, boy, girl, _ in PEOPLE]),
        "children": pairs([(man, boy) for man, _, boy, *_ in PEOPLE]),
        "young": pairs([(grown, young) for grown, young, *_ in ANIMALS]),
        "plurals": pairs([(grown, many) for grown, _, many, *_ in ANIMALS]),
    }


def small_world_sentences() -> GivenText:
    """Sentences about a small world of our own, in which analogies hold: 60,000 short ones, one a line."""
    return GivenText("weft-small-world", "".join(f"{text}\n" for text in drawn_sentences()))


def small_world_questions() -> Analogies:
    """The analogies that hold in it: capitals, people, young animals, plurals."""
    return Analogies(questions())
