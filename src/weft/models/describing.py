"""Models in words: layers, width, heads, and how much is read at once."""

from weft.modalities.image import PictureEmbed
from weft.models.seq2seq import Seq2Seq
from weft.models.stream import Model, Stream


def in_words(config: Model.Config) -> str:
    """The sizes of a model, for plans and model cards."""
    if isinstance(config, Seq2Seq.Config):
        return _pair(config)
    stream = config.reader()
    return _pictures(stream) if isinstance(stream.embed, PictureEmbed.Config) else _text(stream)


def _pair(config: Seq2Seq.Config) -> str:
    blocks, heads = config.target.trunk.all_blocks(), _heads(config.target)
    if isinstance(config.source.embed, PictureEmbed.Config):
        return f"{_pictures(config.source)}; decoder of {len(blocks)} layers, {config.target.dim} wide{heads}"
    layers = f"{len(config.source.trunk.all_blocks())}+{len(blocks)} layers"
    return f"{layers}, {config.target.dim} wide{_heads(config.source)}"


def _text(config: Stream.Config) -> str:
    layers = len(config.trunk.all_blocks())
    named = f"{layers} layer{'s' if layers != 1 else ''}"
    context = f", context {config.embed.context}" if hasattr(config.embed, "context") else ""
    return f"{named}, {config.dim} wide{_heads(config)}{context}"


def _pictures(config: Stream.Config) -> str:
    blocks, embed = config.trunk.all_blocks(), config.embed
    assert isinstance(embed, PictureEmbed.Config)
    net = getattr(embed, "net", None)
    parts = [] if net is None else [f"convolutions {'-'.join(map(str, net.widths))} wide"]
    if blocks:
        parts.append(f"{len(blocks)} layers, {config.dim} wide{_heads(config)}")
    parts.append(f"{embed.grid[0]} x {embed.grid[1]} tokens of {embed.stride} x {embed.stride} pixels")
    return ", ".join(parts)


def _heads(config: Stream.Config) -> str:
    blocks = config.trunk.all_blocks()
    heads = getattr(blocks[0].mix, "heads", None) if blocks else None
    return f", {heads} head{'s' if heads != 1 else ''}" if heads else ""
