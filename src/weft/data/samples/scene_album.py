"""Scenes as an album: drawn, with captions and questions."""

import random
from dataclasses import replace

from weft.data.images.album import Album
from weft.data.images.arrays import album_of
from weft.data.samples.scene_captions import captions_of
from weft.data.samples.scene_drawing import KEPT_APART, drawn_scene, pictures
from weft.data.samples.scene_questions import Questioner


def sample_scenes(count: int, seed: int, *, unseen: bool = False) -> Album:
    """The first `count` scenes, the same every time; `unseen` ones show colours and shapes that others never show so."""
    name = "unseen scenes" if unseen else "scenes"
    dice = [random.Random(f"{name} {seed} {number}") for number in range(count)]
    scenes = [drawn_scene(one, unseen=unseen) for one in dice]
    questioner = Questioner(() if unseen else KEPT_APART)
    album = album_of(name, pictures(scenes, seed + unseen))
    listed = []
    for picture, scene, chance in zip(album.pictures, scenes, dice, strict=True):
        captions = captions_of(scene)
        listed.append(
            replace(
                picture,
                captions=tuple(one.text for one in captions),
                questions=questioner.ask(scene, chance),
                regions=tuple(one.regions for one in captions),
            )
        )
    return Album(tuple(listed))
