"""What families that read pictures share: preprocessor_config.json becomes the scale of the model's numbers, and back.

Our models take pixels from 0 to 1 and bring them to a common scale themselves; theirs take numbers on that scale.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from torch import Tensor

from weft.core import FirstAndMean, PerClassToken, Pooled
from weft.errors import ConfigError
from weft.interop.family import Family
from weft.interop.their_config import TheirConfig
from weft.modalities.image import Picture, PictureEmbed
from weft.models.autoencoder import Autoencoder
from weft.models.seq2seq import Seq2Seq
from weft.models.stream import Model, Stream

Scale = tuple[
    tuple[float, ...], tuple[float, ...]
]  # mean and standard deviation of each channel, in pixels from 0 to 1

HALF_SCALE: Scale = ((0.5,), (0.5,))
IMAGENET: Scale = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
PREPROCESSOR_FILE = "preprocessor_config.json"
MAX_PIXEL = 255  # of a file of pictures with 8 bits
BICUBIC = 3  # the Hugging Face library's number for bicubic resizing, which weft uses


class PictureFamily(Family):
    """A family whose models read pictures."""

    scale: ClassVar[Scale] = HALF_SCALE  # where no preprocessor_config.json says it

    def prepared(self, config: Model.Config, preprocessor: Mapping[str, Any] | None, where: str) -> Model.Config:
        embed = config.reader().embed
        assert isinstance(embed, PictureEmbed.Config)
        given = TheirConfig(dict(preprocessor or {}), where)
        fits = len(self.scale[0]) in (1, embed.channels)
        mean, std = read_scale(given, embed.channels, self.scale if fits else HALF_SCALE)
        try:
            return with_embed(config, self.sized(embed.replace(mean=mean, std=std), given))
        except ConfigError as error:
            raise ConfigError(error.problem, where=where, fix=error.fix) from None

    def sized(self, embed: PictureEmbed.Config, given: TheirConfig) -> PictureEmbed.Config:
        """An embedder for pictures of the size that they are prepared to, where config.json does not say it."""
        return embed

    def files(self, config: Model.Config) -> dict[str, Any]:
        return {PREPROCESSOR_FILE: write_preprocessor(only_pictures(config))}

    def completed(self, again: Model.Config, config: Model.Config) -> Model.Config:
        return self.prepared(again, self.files(config)[PREPROCESSOR_FILE], PREPROCESSOR_FILE)

    def values(self, model: Model, inputs: Mapping[str, Tensor]) -> Tensor:
        picture = seen(model, inputs["pixel_values"])
        assert isinstance(model, Stream)
        return (
            model(picture) if isinstance(model.head, Pooled | PerClassToken | FirstAndMean) else model.encode(picture).x
        )


def with_stream(config: Model.Config, stream: Stream.Config) -> Model.Config:
    """The same model with another stream that reads what comes in."""
    if isinstance(config, Autoencoder.Config):
        return config.replace(encoder=stream)
    return config.replace(source=stream) if isinstance(config, Seq2Seq.Config) else stream


def with_embed(config: Model.Config, embed: PictureEmbed.Config) -> Model.Config:
    """The same model with another embedder."""
    return with_stream(config, config.reader().replace(embed=embed))


def only_pictures(config: Model.Config) -> PictureEmbed.Config:
    """The embedder, which must be of pictures."""
    embed = config.reader().embed
    if not isinstance(embed, PictureEmbed.Config):
        raise ConfigError("the model does not read pictures")
    return embed


def seen(model: Model, pixel_values: Tensor) -> Picture:
    """The pictures that are these numbers once they are brought to the model's scale."""
    embed = model.get_submodule({Autoencoder: "encoder.embed", Seq2Seq: "source.embed"}.get(type(model), "embed"))
    assert isinstance(embed, PictureEmbed)
    return Picture(pixel_values / embed.scale + embed.mean)


def read_scale(given: TheirConfig, channels: int, default: Scale) -> Scale:
    """Mean and standard deviation of pixels from 0 to 1, whatever their library multiplies pixels by."""
    if not given.truth("do_normalize", True):
        mean, std = (0.0,) * channels, (1.0,) * channels
    else:
        mean, std = given.numbers("image_mean", default[0]), given.numbers("image_std", default[1])
    factor = given.number("rescale_factor", 1 / MAX_PIXEL) if given.truth("do_rescale", True) else 1.0
    whole = factor * MAX_PIXEL  # what they make of the brightest pixel, which is 1 here
    if abs(whole - 1) < 1e-6:
        return mean, std
    if whole == 0:
        raise ConfigError("rescale_factor is 0", where=given.where)
    return tuple(m / whole for m in mean), tuple(s / whole for s in std)


def write_labels(count: int) -> dict[str, Any]:
    """Names for the labels of a head, where nobody gave any."""
    names = [f"LABEL_{i}" for i in range(count)]
    return {"id2label": {str(i): name for i, name in enumerate(names)}, "label2id": {n: i for i, n in enumerate(names)}}


def write_preprocessor(embed: PictureEmbed.Config) -> dict[str, Any]:
    """The preprocessor_config.json that gives their model what ours makes of pixels itself."""
    size = {side: count * embed.stride for side, count in zip(("height", "width"), embed.grid, strict=True)}
    return {
        "do_normalize": True,
        "do_rescale": True,
        "do_resize": True,
        "image_mean": list(embed.mean * (embed.channels // len(embed.mean))),
        "image_processor_type": "ViTImageProcessor",
        "image_std": list(embed.std * (embed.channels // len(embed.std))),
        "resample": BICUBIC,
        "rescale_factor": 1 / MAX_PIXEL,
        "size": size,
    }
