"""What families that read pictures share: the scale of the model's numbers, and the preparation of pictures.

Our models take pixels from 0 to 1 and bring them to a common scale themselves; theirs take numbers on that scale.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from torch import Tensor

from weft.core import FirstAndMean, PerClassToken, Pooled
from weft.errors import ConfigError
from weft.interop.family import Family
from weft.interop.preprocessors import (
    HALF_SCALE,
    HARMLESS,
    PREPROCESSOR_FILE,
    Scale,
    processor_of,
    read_preparation,
    read_scale,
    write_preprocessor,
)
from weft.interop.their_config import TheirConfig
from weft.modalities.image import Picture, PictureEmbed
from weft.modalities.picture_text import PictureTextEmbed
from weft.modalities.preparation import Preparation
from weft.models.autoencoder import Autoencoder
from weft.models.dual_encoder import DualEncoder
from weft.models.grounded import Grounded
from weft.models.seq2seq import Seq2Seq
from weft.models.stream import Model, Stream


class PictureFamily(Family):
    """A family whose models read pictures."""

    scale: ClassVar[Scale] = HALF_SCALE  # where there is no preprocessor_config.json
    processor: ClassVar[str] = "ViTImageProcessor"  # where a preprocessor_config.json names none

    def prepared(self, config: Model.Config, preprocessor: Mapping[str, Any] | None, where: str) -> Model.Config:
        embed = only_pictures(config)
        given = TheirConfig(dict(preprocessor or {}), where)
        usual = self.scale if preprocessor is None else processor_of(given, self.processor).scale
        fits = len(usual[0]) in (1, embed.channels)
        mean, std = read_scale(given, embed.channels, usual if fits else HALF_SCALE)
        if preprocessor is not None:  # as it is written again
            mean, std = (one * embed.channels if len(one) == 1 else one for one in (mean, std))
        size = self.preparation(preprocessor, where)[0]
        try:
            return with_embed(config, self.sized(embed.replace(mean=mean, std=std), size))
        except ConfigError as error:
            raise ConfigError(error.problem, where=where, fix=error.fix) from None

    def preparation(
        self, preprocessor: Mapping[str, Any] | None, where: str
    ) -> tuple[Preparation | None, Sequence[str]]:
        if preprocessor is None:
            return None, ()
        given = TheirConfig(dict(preprocessor), where, file=PREPROCESSOR_FILE)
        made = read_preparation(given, self.processor)
        read_scale(given, 1, self.scale)  # asks for the keys of the scale
        return made, given.finish(HARMLESS)

    def sized(self, embed: PictureEmbed.Config, preparation: Preparation | None) -> PictureEmbed.Config:
        """An embedder for pictures of the size that they are prepared to, where config.json does not say it."""
        return embed

    def files(self, config: Model.Config, preparation: Preparation | None = None) -> dict[str, Any]:
        return {PREPROCESSOR_FILE: write_preprocessor(only_pictures(config), preparation)}

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
    if isinstance(config, DualEncoder.Config | Grounded.Config):
        return config.replace(picture=stream)
    if isinstance(config, Seq2Seq.Config):
        return config.replace(source=with_stream(config.source, stream))
    return stream


def with_embed(config: Model.Config, embed: PictureEmbed.Config) -> Model.Config:
    """The same model with another embedder."""
    stream = config.reader()
    beside = stream.embed
    joint = isinstance(beside, PictureTextEmbed.Config)
    return with_stream(config, stream.replace(embed=beside.replace(picture=embed) if joint else embed))


def only_pictures(config: Model.Config) -> PictureEmbed.Config:
    """The embedder of pictures, which the model must have, alone or beside a text."""
    embed = config.reader().embed
    embed = embed.picture if isinstance(embed, PictureTextEmbed.Config) else embed
    if not isinstance(embed, PictureEmbed.Config):
        raise ConfigError("the model does not read pictures")
    return embed


def seen(model: Model, pixel_values: Tensor) -> Picture:
    """The pictures that are these numbers once they are brought to the model's scale."""
    inside: Mapping[type[Model], str] = {
        Autoencoder: "encoder",
        Seq2Seq: "source",
        DualEncoder: "picture",
        Grounded: "picture",
    }
    reader: Any = model
    while type(reader) in inside:
        reader = reader.get_submodule(inside[type(reader)])
    embed = reader.embed.picture if isinstance(reader.embed, PictureTextEmbed) else reader.embed
    assert isinstance(embed, PictureEmbed)
    return Picture(pixel_values / embed.scale + embed.mean)


def as_grid(values: Tensor, model: Model, inputs: Mapping[str, Tensor]) -> Tensor:
    """The tokens of a convolutional network as the grid that theirs gives; answers as they are."""
    if values.ndim == 2:
        return values
    rows = -(-inputs["pixel_values"].shape[2] // only_pictures(model.config).stride)
    return values.mT.unflatten(-1, (rows, -1))
