"""Questions about a scene, each with one right answer, balanced so that a model that does not look can only guess.

A question has a form, which says what is asked and how the object is named. At most one question of each kind is asked
of a picture: one whose answer was given least so far to questions of its form. A question whose answer is ahead of the
other answers to its form is not asked. Refuses to know pixels and models.
"""

import random
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import permutations
from operator import attrgetter
from typing import Any

from weft.domains.captions.sample.captions import NUMBERS, PLACES, Named, Phrase, named, place_of, plural, said
from weft.domains.captions.sample.drawing import COLOURS, PAIRS, RADII, SHAPES, Pair, Scene, Thing
from weft.files.pictures.regions import Question

SLACK = 3  # by how many times one answer to a form of question may be ahead of another
YES_OR_NO = ("yes", "no")
COLOUR_WORDS = ("What colour is the {}?", "Which colour does the {} have?", "The {} is of which colour?")
SHAPE_WORDS = (
    "What shape is the {} object?",
    "Which shape does the {} object have?",
    "The {} object is of which shape?",
)
WHAT_WORDS = ("What is {}?", "What do you see {}?", "Which shape is {}?")
PLACE_WORDS = ("Where is the {}?", "In which part of the picture is the {}?", "Where do you see the {}?")
COUNT_WORDS = ("How many {} are there?", "How many {} do you see?", "How many {} does the picture show?")
EXISTS_WORDS = ("Is there a {}?", "Do you see a {}?", "Does the picture show a {}?")
SIZE_WORDS = ("Is the {} {}?", "Does the {} look {}?")
RELATION_WORDS = ("Is the {} {} the {}?", "Do you see the {} {} the {}?")

Asked = tuple[str, tuple[Phrase, ...]]  # the answer to a question, and the phrases that it is made of


@dataclass(frozen=True)
class Form:
    """One form of questions: its possible answers, its wordings, and the questions of this form that a scene allows."""

    kind: str
    answers: tuple[str, ...]
    wordings: tuple[str, ...]
    of: Callable[[Scene], Iterator[Asked]]


class Questioner:
    """Asks about one scene after the other, and counts the answers.

    Pairs of colour and shape that are `unspoken` are named only where the picture shows them: if no picture does, the
    answer would always be no.
    """

    def __init__(self, unspoken: Collection[Pair] = ()):
        exists = Form("yes or no", YES_OR_NO, EXISTS_WORDS, partial(_exists, unspoken=frozenset(unspoken)))
        self.forms = (*FORMS, exists)
        self.given = [Counter[str]() for _ in self.forms]

    def ask(self, scene: Scene, chance: random.Random) -> tuple[Question, ...]:
        """At most one question of each kind."""
        order = list(range(len(self.forms)))
        chance.shuffle(order)
        found: dict[str, Question] = {}
        for number in order:
            form = self.forms[number]
            if form.kind not in found and (question := self._asked(form, self.given[number], scene, chance)):
                found[form.kind] = question
        return tuple(found[kind] for kind in KINDS if kind in found)

    def _asked(self, form: Form, given: Counter[str], scene: Scene, chance: random.Random) -> Question | None:
        """A question of a form whose answer was given least, if it is not ahead of the other answers."""
        allowed = list(form.of(scene))
        least = min((given[answer] for answer, _ in allowed), default=0)
        if not allowed or least - min(given[answer] for answer in form.answers) > SLACK:
            return None
        answer, phrases = chance.choice([one for one in allowed if given[one[0]] == least])
        given[answer] += 1
        text = said(chance.choice(form.wordings), *phrases)
        return Question(text.text, (answer,), form.kind, text.regions)


def _described(scene: Scene, parts: tuple[str, ...], answer: Callable[[Thing], str]) -> Iterator[Asked]:
    """Of each object that these parts of its look tell from all others, named by them."""
    looks = [_look(thing, parts) for thing in scene.things]
    for thing, look in zip(scene.things, looks, strict=True):
        if looks.count(look) == 1:
            yield answer(thing), (named(look, thing),)


def _placed(scene: Scene, front: tuple[str, ...], answer: Callable[[Thing], str]) -> Iterator[Asked]:
    """Of each object, named by its place."""
    for thing in scene.things:
        yield answer(thing), ((*front, Named(place_of(thing), (thing,))),)


def _objects(scene: Scene) -> Iterator[Asked]:
    yield NUMBERS[len(scene.things)], ([Named("objects", scene.things)],)


def _shapes(scene: Scene) -> Iterator[Asked]:
    for shape in SHAPES:
        those = [thing for thing in scene.things if thing.shape == shape]
        yield NUMBERS[len(those)], (named([plural(shape)], *those),)


def _colours(scene: Scene) -> Iterator[Asked]:
    for colour in COLOURS:
        those = [thing for thing in scene.things if thing.colour == colour]
        yield NUMBERS[len(those)], ([*named([colour], *those), "objects"],)


def _exists(scene: Scene, unspoken: Collection[Pair]) -> Iterator[Asked]:
    """Whether there is an object of a colour and a shape, at least one of which the scene has."""
    seen: dict[Pair, list[Thing]] = {}
    for thing in scene.things:
        seen.setdefault((thing.colour, thing.shape), []).append(thing)
    colours, shapes = ({pair[part] for pair in seen} for part in (0, 1))
    for pair in PAIRS:
        those = seen.get(pair, [])
        if those or ((pair[0] in colours or pair[1] in shapes) and pair not in unspoken):
            yield YES_OR_NO[not those], (named(pair, *those),)


def _sizes(scene: Scene, size: str) -> Iterator[Asked]:
    looks = [_look(thing, ("colour", "shape")) for thing in scene.things]
    for thing, look in zip(scene.things, looks, strict=True):
        if looks.count(look) == 1:
            yield YES_OR_NO[thing.size != size], (named(look, thing), named([size], thing))


def _relations(scene: Scene, relation: str, low: Callable[[Thing], int], sign: int) -> Iterator[Asked]:
    """How two objects stand to each other, named by their shapes or, where these are not enough, colours too."""
    parts: tuple[str, ...]
    for parts in (("shape",), ("colour", "shape")):
        looks = [_look(thing, parts) for thing in scene.things]
        pairs = zip(scene.things, looks, strict=True)
        for (one, first), (other, second) in permutations(pairs, 2):
            if looks.count(first) == looks.count(second) == 1 and (apart := sign * (low(other) - low(one))):
                yield YES_OR_NO[apart < 0], (named(first, one), [relation], named(second, other))


def _look(thing: Thing, parts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple([getattr(thing, part) for part in parts])


def _bare(thing: Thing) -> str:
    """The place of an object as an answer, without a preposition: top left."""
    return place_of(thing).split(" the ")[1]


COLUMN, ROW = attrgetter("column"), attrgetter("row")
RELATIONS: dict[str, tuple[Any, int]] = {
    "left of": (COLUMN, 1),
    "right of": (COLUMN, -1),
    "above": (ROW, 1),
    "below": (ROW, -1),
}
PLACE_ANSWERS = tuple(place.split(" the ")[1] for row in PLACES for place in row)
FORMS = (
    *(Form("colour", (*COLOURS,), COLOUR_WORDS, partial(_described, parts=parts, answer=attrgetter("colour")))
      for parts in (("shape",), ("size", "shape"))),
    Form("colour", (*COLOURS,), COLOUR_WORDS, partial(_placed, front=("object",), answer=attrgetter("colour"))),
    *(Form("shape", (*SHAPES,), SHAPE_WORDS, partial(_described, parts=parts, answer=attrgetter("shape")))
      for parts in (("colour",), ("size", "colour"))),
    Form("shape", (*SHAPES,), WHAT_WORDS, partial(_placed, front=(), answer=attrgetter("shape"))),
    *(Form("count", answers, COUNT_WORDS, of)
      for of, answers in ((_objects, NUMBERS[1:]), (_shapes, NUMBERS), (_colours, NUMBERS))),
    *(Form("place", PLACE_ANSWERS, PLACE_WORDS, partial(_described, parts=parts, answer=_bare))
      for parts in (("shape",), ("colour", "shape"), ("size", "colour", "shape"))),
    *(Form("yes or no", YES_OR_NO, SIZE_WORDS, partial(_sizes, size=size)) for size in RADII),
    *(Form("yes or no", YES_OR_NO, RELATION_WORDS, partial(_relations, relation=name, low=low, sign=sign))
      for name, (low, sign) in RELATIONS.items()),
)  # fmt: skip
KINDS = tuple(dict.fromkeys(form.kind for form in FORMS))
