"""Models of pictures from elsewhere and for elsewhere: their codec and preparation, and pictures that try an export."""

from dataclasses import replace
from typing import Any

import numpy as np

from weft.domains.pictures.codec import PictureCodec
from weft.domains.pictures.encoded.frames import SMALL
from weft.domains.pictures.given import codec_of
from weft.interop import Imported
from weft.models.backbone import embed_of
from weft.models.stream import Model
from weft.tasks.adopting import shape_of
from weft.tasks.outgoing import Outgoing
from weft.tasks.planning import AnyTask
from weft.tasks.proof import Proof, label_answers, predicted
from weft.tasks.request import Loaded

KEPT_ASPECT = (
    "This run reads pictures in weft with their aspect kept, or filled up with black. Tools that follow"
    " preprocessor_config.json scale every picture to one size, whatever its aspect: the same for pictures of that"
    " size, other values for others."
)
TRIED = 32  # pictures of different shapes, most of them oblong


def picture_codec_of(imported: Imported) -> dict[str, PictureCodec.Config]:
    """The end of a model that reads pictures, of the size that it reads."""
    embed = embed_of(imported.config)
    shape = tuple(side * embed.stride for side in embed.grid)
    small = shape if max(shape) <= SMALL else None
    return {"picture": PictureCodec.Config(size=max(shape), shape=small, preparation=imported.preparation)}


def picture_settings(imported: Imported) -> dict[str, Any]:
    """The settings of a training that later runs take over from a model of pictures."""
    embed = embed_of(imported.config)
    pictures = {
        "size": max(side * embed.stride for side in embed.grid),
        "patch": getattr(embed, "patch", None),
        "summary": "class" if embed.class_tokens else "mean",
    }
    return {**shape_of(imported), **pictures, **imported.settings}


def with_pictures(found: Outgoing, run: Loaded) -> Outgoing:
    """What is `found` with how a run's pictures are scaled for export, where the makers of the model said it."""
    if not isinstance(run.codecs.get("picture"), PictureCodec):
        return found
    own = codec_of(run).config.preparation
    return replace(found, preparation=_sent(run).config.preparation, remarks=(KEPT_ASPECT,) if own is None else ())


def _sent(run: Loaded) -> PictureCodec:
    """How pictures are read from an export: as the run reads them, scaled to one shape where it keeps their aspect."""
    known = codec_of(run)
    plain = PictureCodec(known.config.replace(shape=None, aspect=False)).fitted(embed_of(run.model.config))
    return plain if known.config.preparation is None else known


def as_sent(run: Loaded) -> Loaded:
    """The run as its export reads pictures."""
    return replace(run, codecs={**run.codecs, "picture": _sent(run)})


def picture_proof(task: AnyTask, run: Loaded, tolerance: float) -> Proof | None:
    """Pictures and their labels; numbers may differ by twice the tolerance."""
    pictures, run = trial_pictures(run.model.config, TRIED), as_sent(run)
    answers = label_answers(run, predicted(task, run, pictures)) if pictures else []
    return Proof("picture label", pictures, answers, within=2 * tolerance) if pictures else None


def trial_pictures(model: Model.Config, count: int) -> list[np.ndarray]:
    """Pictures of a model's own shape and of others, larger and smaller; none where it reads no colours."""
    embed = embed_of(model)
    if embed.channels != 3:
        return []
    shape, draw = [side * embed.stride for side in embed.grid], np.random.default_rng(0)
    pictures = []
    for number in range(count):
        scale = np.exp(draw.uniform(-0.9, 0.9, 2)) if number else (1, 1)
        height, width = (max(8, round(side * factor)) for side, factor in zip(shape, scale, strict=True))
        rows, columns = np.mgrid[0:height, 0:width]
        waves = [np.sin(rows * draw.uniform(0, 1) + columns * draw.uniform(0, 1)) for _ in range(3)]
        noise = draw.normal(0, 20, (height, width, 3))
        pictures.append((127 + 90 * np.stack(waves, -1) + noise).clip(0, 255).astype(np.uint8))
    return pictures
