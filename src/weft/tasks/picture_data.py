"""The user's pictures: read, split, brought to a size; and the record of them in a run. Knows no model."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from weft.data import samples
from weft.data.decoding import shown
from weft.data.images.album import Album, Found
from weft.data.images.frames import SMALL, Frames, frames_of
from weft.data.images.reading import read_images
from weft.data.images.split import split_album
from weft.data.order import key
from weft.errors import DataError
from weft.models.zoo.vision import Sight
from weft.tasks.text_data import several
from weft.training.progress import Progress, counter

LOOKED_AT = 1000  # pictures that tell size, channels and the scale of the numbers


@dataclass(frozen=True)
class PictureData:
    """Pictures to train on and held out, and what is to be said of them."""

    train: Album
    held_out: Album
    rule: str
    fingerprint: str
    described: str
    skipped: tuple[tuple[str, str], ...] = ()  # what was left out, and why
    notes: Mapping[str, int] = field(default_factory=dict)  # what is true of some pictures, and of how many


@dataclass(frozen=True)
class Seen:
    """Pictures as a model works with them."""

    train: Frames
    held_out: Frames
    sight: Sight


def read_pictures(
    sources: Sequence[str],
    valid: str | None,
    *,
    labels: bool,
    skip: int | float | None = None,
    progress: Progress | None = None,
) -> PictureData:
    """The pictures in files, or of the sample where none are named, split into what is trained on and what is held out."""
    count = None if progress is None else counted(progress)
    found = read_images(sources, labels=labels, skip=skip, progress=count) if sources else Found(samples.digits(), None)
    given = None if valid is None else read_images([valid], labels=labels, skip=skip)
    if progress is not None:
        progress.stop()
    name = several([Path(source).name for source in sources]) if sources else "scikit-learn's digits"
    data = held_apart(found, given, name, valid)
    if labels:
        _same_classes(data.train, data.held_out, data.rule)
    return data


def held_apart(found: Found, given: Found | None, name: str, valid: str | None) -> PictureData:
    """What is trained on and what is held out: other data that was `given`, a part set apart in it, or split off."""
    train, skipped = found.train, [*found.train.skipped, *(found.held_out.skipped if found.held_out else ())]
    notes = train.notes
    if given is not None:
        held, rule = given.held_out or given.train, f"the pictures in {shown(valid or '')}"
        skipped += held.skipped
    elif found.held_out is not None:
        held, rule = found.held_out, "the part of the data that is set apart in it"
    else:
        train, held, rule = split_album(train)
    if not len(train) or not len(held):
        raise DataError(f"{len(train)} pictures to train on and {len(held)} held out are too few", where=name)
    described = f"{len(train) + len(held):,} pictures ({name})"
    mark = key(train.fingerprint, held.fingerprint)
    return PictureData(train, held, rule, mark, described, tuple(skipped), notes)


def _same_classes(train: Album, held: Album, rule: str) -> None:
    unknown = sorted(set(held.classes) - set(train.classes))
    if unknown:
        raise DataError(
            f"held out are pictures of {several(unknown)}, of which there are none to train on",
            where=rule,
            fix="give both the same class names",
        )


def counted(progress: Progress) -> Callable[[int, int], None]:
    """What hears how many of how many pictures are read."""
    listeners: dict[int, Any] = {}

    def done(number: int, total: int) -> None:
        if total not in listeners:
            listeners[total] = counter(progress, total, "pictures read")
        listeners[total](number)

    return done


def working_size(album: Album, wanted: int | None, usual: int) -> int:
    """The side in pixels: what is wanted; that of pictures which are small and of one shape; or what is usual."""
    if wanted is not None:
        return wanted
    shapes = {album.read(int(i)).pixels.shape[:2] for i in _some(len(album), 50)}
    if len(shapes) == 1 and max(next(iter(shapes))) <= SMALL:
        return max(next(iter(shapes)))
    return usual


def see(data: PictureData, size: int, channels: int | None = None, progress: Progress | None = None) -> Seen:
    """The pictures at a size, in the channels that are given or that most of them have."""
    if channels is None:
        coloured = [data.train.read(int(i)).pixels.shape[2] for i in _some(len(data.train), LOOKED_AT)]
        channels = max(coloured)
    count = None if progress is None else counted(progress)
    train, held = (frames_of(album, size, channels, count) for album in (data.train, data.held_out))
    if progress is not None:
        progress.stop()
    return Seen(train, held, sight_of(train, size, channels))


def sight_of(train: Frames, size: int, channels: int) -> Sight:
    """What a model is told of pictures: mean and spread of each channel over a part of them."""
    rows = _some(len(train), LOOKED_AT)
    some = train.read(rows)
    flat = [one.pixels.reshape(-1, channels) for one in some]
    pixels = np.concatenate([one[:: max(1, len(one) // 1024)] for one in flat]).astype(np.float64) / 255
    mean, std = pixels.mean(0), np.maximum(pixels.std(0), 1 / 255)
    height, width = train.shape or (size, size)
    metres = 1.0
    if train.metres is not None:
        spans = [one.span * (1 if train.shape else np.sqrt(one.pixels[..., 0].size) / size) for one in some]
        known = (train.metres[rows] * spans)[np.isfinite(train.metres[rows])]
        metres = float(np.median(known)) if len(known) else 1.0
    return Sight(height, width, channels, tuple(np.round(mean, 4).tolist()), tuple(np.round(std, 4).tolist()), metres)


def _some(count: int, most: int) -> np.ndarray:
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int))


def picture_record(sources: Sequence[str], valid: str | None, data: PictureData, seen: Seen) -> dict[str, Any]:
    """What config.json says of the data."""
    return {
        "sources": [str(Path(source).absolute()) for source in sources],
        "sample": not sources,
        "valid": None if valid is None else str(Path(valid).absolute()),
        "rule": data.rule,
        "described": data.described,
        "pictures": len(data.train),
        "held_out": len(data.held_out),
        "channels": seen.sight.channels,
        "size": seen.train.size,
        "shape": list(seen.train.shape) if seen.train.shape else None,
        "skipped": [list(item) for item in data.skipped[:100]],
    }


def picture_lines(data: PictureData, seen: Seen, classes: Sequence[str] | None) -> Mapping[str, str]:
    """The data in words."""
    text = data.described
    if classes is not None:
        text += f" of {len(classes)} classes: {several(list(classes))}"
    notes = [f"{number:,} x {note}" for note, number in data.notes.items()]
    if data.skipped:
        notes.append(f"{len(data.skipped):,} skipped: {several([f'{name} ({why})' for name, why in data.skipped])}")
    shape = seen.train.shape
    size = (
        f"{shape[1]} x {shape[0]} pixels as they are"
        if shape
        else f"about {seen.train.size} x {seen.train.size} pixels"
    )
    return {
        "data": "; ".join([text, *notes]),
        "pictures": f"{size}, {'grey' if seen.sight.channels == 1 else 'colour'}",
        "held out": f"{len(data.held_out):,} pictures: {data.rule.partition(':')[2].strip() or data.rule}",
    }
