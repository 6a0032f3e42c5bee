"""A look at a picture with a run that writes about pictures: its own caption, or one that is given, word by word."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from weft.domains.captions.sample.named import named_scene, scene_of
from weft.domains.captions.views.captioning import LookAtCaption, WrittenCaption, caption_steps, caption_words
from weft.domains.captions.views.words_view import look_at_words
from weft.domains.captions.writing import Captioning, PictureWriter
from weft.domains.pictures.given import look_at_picture, one_picture, opened_pictures
from weft.domains.pictures.reading.album import Album
from weft.domains.pictures.settings import Ground
from weft.domains.pictures.views.learned_view import LearnedView, learned_names
from weft.domains.pictures.views.vision import LookAtPicture
from weft.errors import ConfigError
from weft.files.pictures.regions import Region
from weft.inspect.views import View
from weft.models.dual_encoder import DualEncoder
from weft.tasks.asks import Given, Opened
from weft.tasks.request import Loaded


def opened_to_look(words: Sequence[object]) -> Iterator[Given]:
    """The pictures that a user names to look at: files, or scenes of weft's own."""
    for word in words:
        scene = named_scene(word)
        if scene is None:
            yield from opened_pictures([word])
        else:
            yield Given(Opened(scene), str(word))


def look_at_caption(run: Loaded, inputs: Sequence[Given], how: LookAtCaption) -> View:
    """What counted for each word, or what the embedder learned."""
    if isinstance(run.model, DualEncoder):
        return look_at_picture(run, _as_pixels(inputs), _reading(how))
    how.chosen  # noqa: B018 (settings that contradict each other are refused before anything is computed)
    writer = PictureWriter(run)
    if how.what is not None:
        return LearnedView(writer.model.source, learned_names(how.what))
    name, picture, read = one_picture(run, _as_pixels(inputs), Ground())
    scene = scene_of(inputs[0])
    if how.caption is None:
        _, best = writer.written(read, Captioning(beam=how.beam))[0][0]
        ids, score, chance = best.ids, best.score, math.exp(best.log_probability)
    else:
        ids, score, chance = tuple(writer.caption.tokenizer.encode(how.caption).tolist()), None, None
    what = WrittenCaption(picture.pixels, read, writer.marks.written_from, ids, name, score, chance=chance)
    if scene is not None:
        what = replace(what, regions=_regions(scene.album, writer.caption.decode(ids).strip()))
    if how.token is not None:
        return caption_steps(writer.model, writer.caption.tokenizer, what, how)
    return look_at_words(caption_words(writer.model, writer.caption.tokenizer, what, how.by), how)


def _as_pixels(inputs: Sequence[Given]) -> list[Given]:
    """The inputs, with scenes as their pixels."""
    return [one if (scene := scene_of(one)) is None else Given(scene.pixels, one.name) for one in inputs]


def _reading(how: LookAtCaption) -> LookAtPicture:
    """The settings of a look at what was read of the picture, by a model that writes no words."""
    for name in ("word", "caption", "by"):
        if getattr(how, name) is not None:
            problem = "this model writes no captions: what its class token read of the picture is shown"
            raise ConfigError(problem, where=f"--set {name}", fix="leave it out")
    return LookAtPicture(layer=how.layer, head=how.head, every=how.every, what=how.what)


def _regions(scene: Album, caption: str) -> Sequence[Region]:
    """What the words of a caption are about, where the caption is one of those that the scene has."""
    ((captions, regions),) = zip(scene.captions, scene.regions, strict=True)
    return regions[captions.index(caption)] if caption in captions else ()
