"""What is true of a scene in sentences, and the objects that their words are about. Refuses to know pixels and models.

    a large red circle at the top left
    a small green cross above a large blue square  =  a large blue square below a small green cross
    three small white rings and a large red circle  =  a large red circle and three small white rings
    a small red ring, a large blue cross and a small red square        (from the top to the bottom, from left to right)

The sentences follow from the picture alone and are all that the grammar has for it, so a caption is right or wrong.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from weft.domains.captions.sample.drawing import Scene, Thing
from weft.files.pictures.regions import Region

NUMBERS = ("none", "one", "two", "three", "four")
PLACES = (
    ("at the top left", "at the top", "at the top right"),
    ("on the left", "in the middle", "on the right"),
    ("at the bottom left", "at the bottom", "at the bottom right"),
)


@dataclass(frozen=True)
class Named:
    """A word and the objects that it is about."""

    word: str
    things: tuple[Thing, ...]


Phrase = Sequence[str | Named]  # joined by blanks


@dataclass(frozen=True)
class Said:
    """A sentence, and for each word about objects where they are: one region for each of them."""

    text: str
    regions: tuple[Region, ...]


def said(pattern: str, *phrases: Phrase) -> Said:
    """The pattern with a phrase in place of each {}."""
    text, regions = "", list[Region]()
    for before, phrase in zip(pattern.split("{}"), (*phrases, ()), strict=True):
        text += before
        for number, word in enumerate(phrase):
            text += " " if number else ""
            if isinstance(word, Named):
                regions += [Region(len(text), len(text) + len(word.word), thing.box) for thing in word.things]
            text += word.word if isinstance(word, Named) else word
    return Said(text, tuple(regions))


def named(words: Sequence[str], *things: Thing) -> list[Named]:
    """Words that are all about the same objects."""
    return [Named(word, things) for word in words]


def place_of(thing: Thing) -> str:
    """Where an object is, in words that follow a verb."""
    return PLACES[thing.row][thing.column]


def plural(shape: str) -> str:
    """The word for several of a shape."""
    return f"{shape}es" if shape.endswith("s") else f"{shape}s"


def captions_of(scene: Scene) -> tuple[Said, ...]:
    """All sentences of the grammar that are true of a scene."""
    kinds: dict[tuple[str, str, str], list[Thing]] = {}
    for thing in scene.things:
        kinds.setdefault(thing.look, []).append(thing)
    phrases = [_counted(things) for things in kinds.values()]
    first, *others = scene.things
    if not others:
        return (said(f"{{}} {place_of(first)}", phrases[0]),)
    if len(kinds) == 1:
        return (said("{}", phrases[0]),)
    if len(scene.things) == 2:
        there, back = ("left of", "right of") if first.row == others[0].row else ("above", "below")
        return said(f"{{}} {there} {{}}", *phrases), said(f"{{}} {back} {{}}", *reversed(phrases))
    if len(kinds) == 2:
        return said("{} and {}", *phrases), said("{} and {}", *reversed(phrases))
    return (said(", ".join(["{}"] * (len(phrases) - 1)) + " and {}", *phrases),)


def _counted(things: Sequence[Thing]) -> Phrase:
    """Objects that look alike, with their number."""
    size, colour, shape = things[0].look
    if len(things) == 1:
        return ["a", *named((size, colour, shape), *things)]
    return [NUMBERS[len(things)], *named((size, colour, plural(shape)), *things)]
