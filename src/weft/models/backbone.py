"""The stream inside a model that reads what comes in, which other tasks may go on with. Knows configs alone."""

from weft.modalities.image import PictureEmbed
from weft.modalities.picture_text import PictureTextEmbed
from weft.modalities.text import TextEmbed
from weft.models.seq2seq import Seq2Seq
from weft.models.stream import Model, Stream


def embed_of(model: Model.Config) -> PictureEmbed.Config:
    """How a model reads pictures, alone or with a text beside them."""
    embed = model.reader().embed
    embed = embed.picture if isinstance(embed, PictureTextEmbed.Config) else embed
    assert isinstance(embed, PictureEmbed.Config)
    return embed


def backbone_name(config: Stream.Config) -> str:
    """Which of the models that classify pictures a trained backbone is."""
    if getattr(config.embed, "net", None) is None:
        return "vit"
    return "vit-hybrid" if config.trunk.all_blocks() else "resnet"


def context_of(config: Model.Config) -> int:
    """The tokens that a model reads at once; of an encoder–decoder on each side."""
    streams = (config.source, config.target) if isinstance(config, Seq2Seq.Config) else (config.reader(),)
    return min(stream.embed.context for stream in streams if isinstance(stream.embed, TextEmbed.Config))
