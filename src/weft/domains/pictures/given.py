"""Pictures in use: handed over or held out, read as the run's model reads them, computed in batches of one shape."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from weft.batches.ahead import Ahead
from weft.batches.source import Source
from weft.core import Pooled
from weft.core.heads import picture_vector
from weft.domains.pictures.codec import PictureCodec
from weft.domains.pictures.dataset import PictureData
from weft.domains.pictures.encoded.batches import PictureSource
from weft.domains.pictures.encoded.frames import ROOM, Frames, by_shape, frames_of, in_channels
from weft.domains.pictures.encoded.preparing import backing_for, prepared, read_prepared
from weft.domains.pictures.encoded.seen import SeenPictures, codec_for
from weft.domains.pictures.reading.album import Album, Listed
from weft.domains.pictures.reading.tables import SCALE, metres_in
from weft.domains.pictures.reading.trying import find_pictures, read_images
from weft.domains.pictures.recipe import USUAL
from weft.domains.pictures.settings import Ground, PictureLabelTraining, PictureTraining
from weft.domains.pictures.views.learned_view import LearnedView, learned_names
from weft.domains.pictures.views.vision import LookAtPicture, PictureView
from weft.errors import ConfigError, WeftError, placed
from weft.files.pictures.decoding import Decoded
from weft.files.pictures.formats import ENDINGS
from weft.files.pictures.locations import MemoryPlace
from weft.files.tables import as_cell
from weft.generate.compute import Compute
from weft.generate.stopping import check_stop
from weft.inspect.saliency import By, SaliencyView, saliency
from weft.inspect.sheets import contact_sheet
from weft.inspect.token_steps import StepView
from weft.inspect.views import NoAttention, View
from weft.modalities.image import Picture
from weft.modalities.preparation import Preparation
from weft.models.backbone import embed_of
from weft.models.stream import Model, Stream
from weft.tasks.asks import Asks, Content, Given, Opened, unlike
from weft.tasks.codec import Codecs
from weft.tasks.labels import labelling
from weft.tasks.labels.label import LabelCodec
from weft.tasks.measuring import counted
from weft.tasks.request import Embedded, Loaded
from weft.tasks.table_inputs import InputRow
from weft.training.progress import Progress, read_counter

PICTURE = Asks("picture", "a picture", tuple(sorted(ENDINGS)))
PICTURES = replace(PICTURE, lines=True)  # named in the lines of a file
AT_ONCE = 64  # pictures that are computed together
MANY = 256  # pictures, from which on a prediction shows how far it is


def picture_codec(data: PictureData, training: PictureTraining, known: Codecs, *, aspect: bool = True) -> PictureCodec:
    """How the pictures are read; a run that goes on keeps its size, unless it is asked for another.

    `aspect`: whether pictures keep theirs.
    """
    before = known.get("picture")
    trained = training.size or before.config.size if isinstance(before, PictureCodec) else None
    return codec_for(data.train, training.size, USUAL, trained=trained, aspect=aspect)


def codec_of(run: Loaded) -> PictureCodec:
    """How the run's model reads pictures."""
    return run.codec("picture", PictureCodec).fitted(embed_of(run.model.config))


def seen_pictures(data: PictureData, codecs: Codecs, known: Model.Config | None, progress: Progress) -> SeenPictures:
    """The pictures as a model works with them, in the channels of a model that is known."""
    codec = codecs["picture"]
    assert isinstance(codec, PictureCodec)
    channels = None if known is None else embed_of(known).channels
    return SeenPictures.of(data, codec, channels, read_counter(progress))


def read_ahead(source: PictureSource[Any], seen: SeenPictures) -> Source:
    """The samples; those that come from files are read while the ones before are computed with."""
    return source if seen.train.kept else Ahead(source)


@dataclass(frozen=True)
class Handed(Sequence[Decoded]):
    """Pictures of albums, which have one each, and arrays; read when they are needed."""

    places: Sequence[Album | Decoded]
    side: int
    channels: int
    preparation: Preparation | None

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, row: Any) -> Any:
        place, how = self.places[row], self.preparation
        if isinstance(place, Decoded):
            picture = place if how is None else prepared(place, how, where=f"picture {row + 1}")
        else:
            picture = place.read(0, side=self.side) if how is None else read_prepared(place, 0, how)
        return in_channels(picture, self.channels)

    def whole(self, row: int) -> Decoded:
        """A picture in its own size."""
        place = self.places[row]
        picture = place if isinstance(place, Decoded) else place.read(0, backing=backing_for(self.preparation))
        return in_channels(picture, self.channels)


def opened_pictures(words: Sequence[object]) -> Iterator[Given]:
    """The pictures that a user names by files, folders, archives and patterns, not yet read; or gives as arrays."""
    for one in words:
        if isinstance(one, str | Path):
            album = find_pictures([one])
            for row, name in enumerate(album.names):
                yield Given(Opened(album.take([row])), name)
        else:
            pixels = _array(one).pixels  # refuses what is no picture
            yield Given(one if isinstance(one, np.ndarray) else pixels)


def with_scale(one: Given, row: InputRow) -> Given:
    """The picture that a row of a table names, with its metres per pixel where a column has them."""
    place = next(iter(SCALE.by_name(row.table.names)), None)
    if place is None or not isinstance(one.value, Opened):
        return one
    with placed(row.where):
        scale = metres_in(as_cell(row.table.value(row.row, place)).strip())
    (picture,) = one.value.what.pictures
    return replace(one, value=Opened(Album((replace(picture, scale=scale),))))


def given_pictures(run: Loaded, inputs: Sequence[Given], ground: Ground) -> tuple[list[str], Frames]:
    """The names of pictures, and the pictures as the run's model reads them."""
    embed, codec = embed_of(run.model.config), codec_of(run).config
    if ground.metres is not None and "south" not in getattr(embed.place and embed.place.code, "axes", ()):
        problem, fix = "the places of this model are not in metres", "train one with --model scale-mae"
        raise ConfigError(problem, where="--set metres", fix=fix)
    names = [one.name or f"picture {number + 1}" for number, one in enumerate(inputs)]
    places = [_place(one, name) for one, name in zip(inputs, names, strict=True)]
    scales = [place.pictures[0].scale if isinstance(place, Album) else np.nan for place in places]
    metres = np.array(scales) if ground.metres is None else np.full(len(scales), ground.metres)
    known = metres if np.isfinite(metres).any() else None
    handed = Handed(places, round(ROOM * codec.size), embed.channels, codec.preparation)
    return names, Frames(handed, codec.size, embed.channels, known)


def _place(one: Given, name: str) -> Album | Decoded:
    """Where the picture of an input is read from: memory, or what was opened for the user."""
    value = one.value
    if isinstance(value, np.ndarray):
        return _array(value)
    if isinstance(value, Content):
        return Album((Listed(name, MemoryPlace(name, value.data)),))
    if isinstance(value, Opened) and isinstance(value.what, Album):
        return value.what
    raise unlike(one, "a picture")


def _array(given: object) -> Decoded:
    pixels = np.array(given)  # a copy: what others share may not be written to
    if pixels.ndim == 2:
        pixels = pixels[..., None]
    if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] not in (1, 3):
        problem = (
            f"expected the name of a picture, or an array of bytes (height, width, 3), found {type(given).__name__}"
        )
        raise WeftError(f"{problem} of shape {pixels.shape}" if pixels.ndim else problem)
    return Decoded(pixels, None, ())


def measured_album(sources: Sequence[str], asked: PictureTraining, *, labels: bool) -> Album:
    """Pictures that a user names to measure on; of data that holds some out, those."""
    label = asked.label_column if isinstance(asked, PictureLabelTraining) else None
    found = read_images(sources, labels=labels, skip=asked.allowed, label=label)
    return found.held_out or found.train


def frames_for(run: Loaded, album: Album) -> Frames:
    """The pictures of an album for the run's model."""
    codec = codec_of(run).config
    return frames_of(album, codec.size, embed_of(run.model.config).channels, preparation=codec.preparation)


def in_batches(
    run: Loaded, frames: Frames, progress: Progress | None = None, *, at_once: int = AT_ONCE
) -> Iterator[tuple[np.ndarray, Picture]]:
    """Pictures in batches of one shape: rows, and pictures for the model. By default only many show progress."""
    progress = progress or Progress(quiet=len(frames) < MANY)
    codec, stride = codec_of(run), embed_of(run.model.config).stride
    device = next(run.model.parameters()).device
    with counted(progress, len(frames), "pictures") as count:
        for rows, picture in by_shape(frames, codec, stride, at_once):
            check_stop()
            yield rows, picture.to(device)
            count(len(rows))


@torch.inference_mode()
def values_of(
    run: Loaded, frames: Frames, compute: Callable[[Picture], Tensor], progress: Progress | None = None
) -> Tensor:
    """What a function gives for each picture, in their order."""
    run.model.eval()
    found = torch.zeros(0, 0)
    for rows, picture in in_batches(run, frames, progress):
        values = compute(picture).float().cpu()
        if not len(found):
            found = values.new_zeros(len(frames), *values.shape[1:])
        found[torch.from_numpy(rows)] = values
    return found


class Seeing(Compute, Ground):
    """Settings of the vectors of pictures, the precision of the model among them."""

    about: ClassVar[Mapping[str, str]] = {**Ground.about, **Compute.about}


def picture_vectors(run: Loaded, inputs: Sequence[Given], how: Seeing) -> Embedded:
    """A vector for each picture, as a head reads or makes it: the class token, the mean of all tokens, or CLIP's."""
    run, (names, frames) = run.computing(how.precision), given_pictures(run, inputs, how)
    seer = backbone_in(run.model)
    first = seer.head.first if isinstance(seer.head, Pooled) else embed_of(seer.config).class_tokens > 0
    found = values_of(run, frames, lambda picture: picture_vector(seer.head, seer.encode(picture), first=first))
    return Embedded(names, found.numpy(), lambda row: frames.pictures[row].pixels)


def backbone_in(model: Model) -> Stream:
    """The stream inside a model that other tasks may go on with."""
    prefix = model.backbone()[1]
    stream = model.get_submodule(prefix.rstrip(".")) if prefix else model
    assert isinstance(stream, Stream)
    return stream


def one_picture(run: Loaded, inputs: Sequence[Given], ground: Ground) -> tuple[str, Decoded, Picture]:
    """The one picture that is looked at: its name, as people see it, and as the model reads it."""
    names, frames = given_pictures(run, inputs, ground)
    if len(frames) != 1:
        problem = f"expected one picture, found {len(frames)}" if inputs else "no picture"
        raise WeftError(problem, where="weft look", fix="name one, or ask for --what filters,positions")
    ((_, read),) = in_batches(run, frames)
    return names[0], frames.pictures[0], read


def look_at_picture(run: Loaded, inputs: Sequence[Given], how: LookAtPicture, label: LabelCodec | None = None) -> View:
    """What was read of a picture, what decides the answer, or what the embedder learned; `label` reads the answer."""
    stream = backbone_in(run.model)
    if how.what is not None:
        return LearnedView(stream, learned_names(how.what))
    name, picture, read = one_picture(run, inputs, how)
    title, answer, explained = Path(name).name, None, None
    if label is not None and stream.head is not None:
        with torch.inference_mode():
            values = stream.eval()(read).float().cpu()
        answer, explained = labelling.answer(label, values), labelling.explained(label, values, how.label)
    elif how.label is not None:
        raise ConfigError("this model gives no labels", where="label", fix="leave it out")
    ways: tuple[By, ...] = ("occlusion",) if explained is None else ("gradient", "occlusion")

    def explain() -> dict[str, tuple[np.ndarray, str]]:
        return {by: saliency(stream, read, explained, by) for by in ways}

    if how.by in (None, "attention") and how.label is None:
        try:
            view = PictureView(stream, read, picture.pixels, how.glance, title, answer)
            view.explain = explain
            return view if how.token is None else StepView(view.steps(how.token), title, answer)
        except NoAttention:
            if how.by is not None or how.token is not None:
                raise
    by: By = "occlusion" if how.by == "occlusion" or explained is None else "gradient"
    by = "gradient" if how.by == "gradient" else by
    how.refuse_attention(by)
    found, what = saliency(stream, read, explained, by)
    shown = SaliencyView(picture.pixels, found, what, by=by, title=title, answer=answer)
    shown.explain = explain
    return shown


def mistakes(frames: Frames, wrong: Sequence[labelling.Mistake]) -> dict[str, bytes]:
    """A sheet of pictures whose labels were told wrong, by its file name; nothing where there are none."""
    if not wrong:
        return {}
    pixels = [one.pixels for one in frames.read([one.row for one in wrong])]
    captions = [f"{one.label}, {one.sure:.2f} sure it is {one.said}" for one in wrong]
    return {"mistakes.png": contact_sheet(pixels, captions, title="the surest mistakes")}


def classifier_of(run: Loaded) -> Stream:
    """The model of a run, which must have a head."""
    if not isinstance(run.model, Stream) or run.model.head is None:
        raise WeftError("this model has no head that could answer or be measured", where=str(run.folder.path))
    return run.model
