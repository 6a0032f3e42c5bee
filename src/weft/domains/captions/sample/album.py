"""Scenes as an album: drawn, with captions and questions."""

import random
from dataclasses import replace

from weft.domains.captions.sample.captions import captions_of
from weft.domains.captions.sample.drawing import KEPT_APART, Scene, drawn_scene, pictures
from weft.domains.captions.sample.questions import Questioner
from weft.domains.pictures.reading.album import Album, FoundPictures
from weft.domains.pictures.reading.arrays import album_of


def drawn_scenes(count: int, seed: int, *, unseen: bool = False) -> list[tuple[Scene, random.Random]]:
    """The first `count` scenes, the same every time, each with the dice to go on with."""
    dice = [random.Random(f"{_name(unseen)} {seed} {number}") for number in range(count)]
    return [(drawn_scene(chance, unseen=unseen), chance) for chance in dice]


def sample_scenes(count: int, seed: int, *, unseen: bool = False) -> Album:
    """Scenes with captions and questions; `unseen` ones show colours and shapes that others never show together."""
    scenes = drawn_scenes(count, seed, unseen=unseen)
    album = album_of(_name(unseen), pictures([scene for scene, _ in scenes], seed + unseen))
    questioner, listed = Questioner(() if unseen else KEPT_APART), []
    for picture, (scene, chance) in zip(album.pictures, scenes, strict=True):
        captions = captions_of(scene)
        texts, regions = tuple(one.text for one in captions), tuple(one.regions for one in captions)
        questions = questioner.ask(scene, chance)
        listed.append(replace(picture, captions=texts, questions=questions, regions=regions))
    return Album(tuple(listed))


def _name(unseen: bool) -> str:
    return "unseen scenes" if unseen else "scenes"


def scenes(count: int = 5000, held_out: int = 500, *, seed: int = 1907) -> FoundPictures:
    """Scenes of our own: pictures of 48 x 48 pixels with captions, questions, and the regions their words are about.

    Held-out pictures have colours and shapes that are never together in those to learn from.
    """
    return FoundPictures(sample_scenes(count, seed), sample_scenes(held_out, seed, unseen=True) if held_out else None)
