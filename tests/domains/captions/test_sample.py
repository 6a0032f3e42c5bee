"""Scenes: what is said and asked of them is true by their pixels and objects, and who does not look must guess."""

import re
from collections import Counter, defaultdict
from functools import cache

import numpy as np
import pytest

from weft.domains.captions.sample.album import drawn_scenes, scenes
from weft.domains.captions.sample.captions import NUMBERS, PLACES
from weft.domains.captions.sample.drawing import CELL, CELLS, COLOURS, KEPT_APART, RADII, SHAPES, SIDE, Scene, Thing
from weft.domains.pictures.reading.album import Album
from weft.files.pictures.regions import Question

COUNT, HELD, SEED = 1200, 300, 1907
SIDES = ("to learn from", "held out")
COLOUR = "|".join(COLOURS)
SHAPE = "|".join(SHAPES)
OBJECT = re.compile(rf"\b(?:(a|two|three|four) )?(small|large) ({COLOUR}) ({SHAPE})(?:e?s)?\b")
EACH = pytest.mark.parametrize("side", SIDES)


@cache
def album(side: str) -> Album:
    found = scenes(COUNT, HELD, seed=SEED)
    return found.train if side == SIDES[0] else found.held_out


@cache
def drawn(side: str) -> list[Scene]:
    unseen = side == SIDES[1]
    return [scene for scene, _ in drawn_scenes(HELD if unseen else COUNT, SEED, unseen=unseen)]


def seen(pixels: np.ndarray) -> dict[tuple[int, int], str]:
    """The colour in each cell that is not empty, from the pixels alone."""
    pixels = pixels.astype(float)
    cell, found = int(CELL), {}
    other = np.abs(pixels - np.median(pixels, (0, 1))).max(-1) > 45
    for row in range(CELLS):
        for column in range(CELLS):
            area = slice(row * cell, (row + 1) * cell), slice(column * cell, (column + 1) * cell)
            if other[area].sum() > 5:
                strong = np.median(pixels[area][other[area]], 0)
                found[row, column] = min(COLOURS, key=lambda name: np.abs(strong - COLOURS[name]).sum())
    return found


def cell_of(box: tuple[float, float, float, float]) -> tuple[int, int]:
    return int((box[0] + box[2]) / 2 * CELLS), int((box[1] + box[3]) / 2 * CELLS)


@EACH
def test_captions_say_what_the_pixels_show(side: str):
    pictures = album(side)
    for i in range(200):
        shown = seen(pictures.read(i).pixels)
        for caption, regions in zip(pictures.captions[i], pictures.regions[i], strict=True):
            said = Counter[str]()
            for number, _, colour, _ in OBJECT.findall(caption):
                said[colour] += NUMBERS.index("one" if number == "a" else number)
            assert said == Counter(shown.values()), caption
            for region in regions:
                word = caption[region.start : region.stop]
                assert word not in COLOURS or shown[cell_of(region.box)] == word, (caption, word)


@EACH
def test_captions_say_where_objects_are(side: str):
    ways = {"left of": (0, -1), "right of": (0, 1), "above": (-1, 0), "below": (1, 0)}
    forms = Counter[str]()
    for captions, regions in zip(album(side).captions, album(side).regions, strict=True):
        for caption, known in zip(captions, regions, strict=True):
            cells = list(dict.fromkeys(cell_of(region.box) for region in known))
            relation = next((name for name in ways if f" {name} " in caption), None)
            if relation:
                (row, column), (other_row, other_column) = cells
                assert (np.sign(row - other_row), np.sign(column - other_column)) == ways[relation], caption
            elif len(cells) == 1:
                assert caption.endswith(PLACES[cells[0][0]][cells[0][1]]), caption
            elif "," in caption:
                assert cells == sorted(cells), caption
            else:
                relation = "counted"
                assert re.search("two|three|four", caption), caption
            forms[relation or ("placed" if len(cells) == 1 else "listed")] += 1
    assert set(forms) == {*ways, "placed", "listed", "counted"}


@EACH
def test_a_region_holds_its_object_and_nothing_lies_outside(side: str):
    pictures = album(side)
    for i in range(100):
        pixels = pictures.read(i).pixels.astype(float)
        other = np.abs(pixels - np.median(pixels, (0, 1))).max(-1) > 45
        boxes = {region.box for regions in pictures.regions[i] for region in regions}
        assert len(boxes) == len(drawn(side)[i].things)
        for box in boxes:
            top, left, bottom, right = (round(edge * SIDE) for edge in box)
            assert 0 <= top < bottom <= SIDE and 0 <= left < right <= SIDE
            inside = other[top:bottom, left:right]
            assert inside.mean() > 0.3 and min(inside.any(0).mean(), inside.any(1).mean()) > 0.7, "it fits closely"
            other[top:bottom, left:right] = False
        assert other.sum() <= 2, "all objects are in boxes, which do not overlap"


@EACH
def test_every_content_word_has_a_region_for_each_of_its_objects(side: str):
    for captions, regions in zip(album(side).captions, album(side).regions, strict=True):
        for caption, known in zip(captions, regions, strict=True):
            words = [m for m in re.finditer(r"\w+", caption) if m[0].removesuffix("es") in SHAPES
                     or m[0].removesuffix("s") in SHAPES or m[0] in COLOURS or m[0] in RADII]  # fmt: skip
            assert {(region.start, region.stop) for region in known} == {word.span() for word in words}


def holds(thing: Thing, words: str) -> bool:
    """Whether an object is as a few words say; "object" is true of all."""
    *front, noun = words.split()
    shapes = {name for shape in SHAPES for name in (shape, f"{shape}s", f"{shape}es")}
    fits = noun.startswith("object") or (noun in shapes and noun.startswith(thing.shape))
    return fits and all(word in (thing.size, thing.colour) for word in front)


def place(thing: Thing) -> str:
    return PLACES[thing.row][thing.column]


def single(scene: Scene, words: str) -> Thing:
    words, _, where = re.fullmatch(r"(.+?)( ((?:at|on|in) the .+))?", words).groups()
    (thing,) = (t for t in scene.things if holds(t, words) and (where is None or place(t) == where.strip()))
    return thing


def answer(text: str, scene: Scene) -> str:
    """The answer to a question by rules of this test's own."""
    relation = re.fullmatch(r"(?:Is|Do you see) the (.+) (left of|right of|above|below) the (.+)\?", text)
    if relation:
        one, other = single(scene, relation[1]), single(scene, relation[3])
        ways = {"left of": one.column < other.column, "right of": one.column > other.column,
                "above": one.row < other.row, "below": one.row > other.row}  # fmt: skip
        return "yes" if ways[relation[2]] else "no"
    if size := re.fullmatch(r"(?:Is|Does) the (.+?)(?: look)? (small|large)\?", text):
        return "yes" if single(scene, size[1]).size == size[2] else "no"
    if there := re.fullmatch(r"(?:Is there|Do you see|Does the picture show) a (.+)\?", text):
        return "yes" if any(holds(t, there[1]) for t in scene.things) else "no"
    if count := re.fullmatch(r"How many (.+) (?:are there|do you see|does the picture show)\?", text):
        return NUMBERS[sum(holds(t, count[1]) for t in scene.things)]
    if where := re.fullmatch(r"(?:Where is|In which part of the picture is|Where do you see) the (.+)\?", text):
        return place(single(scene, where[1])).split(" the ")[1]
    colour = re.fullmatch(
        r"(?:What colour is the|Which colour does the|The) (.+?)(?: have| is of which colour)?\?", text
    )
    if colour and "colour" in text:
        return single(scene, colour[1]).colour
    shape = re.fullmatch(
        r"(?:What shape is the|Which shape does the|The) (.+? object)(?: have| is of which shape)?\?", text
    )
    if shape:
        return single(scene, shape[1]).shape
    there = re.fullmatch(r"(?:What is|What do you see|Which shape is) (.+)\?", text)
    return single(scene, f"object {there[1]}").shape


@EACH
def test_every_question_has_the_one_right_answer(side: str):
    kinds = Counter[str]()
    for scene, questions in zip(drawn(side), album(side).questions, strict=True):
        for question in questions:
            assert question.answers == (answer(question.text, scene),), question.text
            kinds[question.kind] += 1
            for region in question.regions:
                assert any(thing.box == region.box for thing in scene.things)
    assert set(kinds) == {"colour", "shape", "count", "place", "yes or no"}
    assert min(kinds.values()) > 0.6 * len(drawn(side))


def asked(pictures: Album) -> list[Question]:
    return [question for questions in pictures.questions for question in questions]


@EACH
def test_answers_are_balanced_within_each_kind(side: str):
    given = defaultdict[str, Counter[str]](Counter)
    for question in asked(album(side)):
        given[question.kind][question.answers[0]] += 1
    sizes = {"colour": 6, "shape": 6, "place": 9, "yes or no": 2}
    assert {kind: len(given[kind]) for kind in sizes} == sizes
    for kind, size in sizes.items():
        assert max(given[kind].values()) < 1.25 * given[kind].total() / size, kind
    assert abs(given["yes or no"]["yes"] - given["yes or no"]["no"]) < 0.06 * given["yes or no"].total()
    assert max(given["count"].values()) < 0.27 * given["count"].total()


def test_the_words_of_a_question_do_not_betray_its_answer():
    known = defaultdict[str, Counter[str]](Counter)
    for question in asked(album(SIDES[0])):
        known[question.text][question.answers[0]] += 1
    chance = {"colour": 1 / 6, "shape": 1 / 6, "count": 1 / 4, "place": 1 / 9, "yes or no": 1 / 2}
    right, all_ = Counter[str](), Counter[str]()
    for question in asked(album(SIDES[1])):
        guess = known[question.text].most_common(1)
        right[question.kind] += bool(guess) and guess[0][0] == question.answers[0]
        all_[question.kind] += bool(guess)
    for kind, share in chance.items():
        assert right[kind] / all_[kind] < share + 0.1, (kind, right[kind] / all_[kind])


def test_some_colours_and_shapes_are_never_together_in_what_is_learned_from():
    def pairs(scene: Scene) -> set[tuple[str, str]]:
        return {(thing.colour, thing.shape) for thing in scene.things}

    learnt = set().union(*map(pairs, drawn(SIDES[0])))
    assert not learnt & KEPT_APART and len(learnt) == len(COLOURS) * len(SHAPES) - len(KEPT_APART)
    assert all(pairs(scene) & KEPT_APART for scene in drawn(SIDES[1]))
    assert set().union(*map(pairs, drawn(SIDES[1]))) > KEPT_APART
    texts = [text for captions in album(SIDES[0]).captions for text in captions] + [
        q.text for q in asked(album(SIDES[0]))
    ]
    for colour, name in KEPT_APART:
        assert not any(f"{colour} {name}" in text for text in texts), "not even as what is not there"


def test_scenes_are_the_same_every_time_and_more_of_them_change_none():
    few, again = scenes(20, 5, seed=SEED), scenes(20, 5, seed=SEED)
    assert few.train.fingerprint == again.train.fingerprint == album(SIDES[0]).take(range(20)).fingerprint
    assert few.held_out.fingerprint == album(SIDES[1]).take(range(5)).fingerprint
    assert few.train.regions == album(SIDES[0]).regions[:20]
    assert scenes(20, 0, seed=1).train.fingerprint != few.train.fingerprint and scenes(5, 0).held_out is None
