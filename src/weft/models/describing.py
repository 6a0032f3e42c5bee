"""Models in words: layers, width, heads, and how much is read at once."""

from weft.modalities.field import FieldEmbed
from weft.modalities.image import PictureEmbed
from weft.modalities.picture_text import PictureTextEmbed
from weft.modalities.points import PointEmbed
from weft.models.backbone import embed_of
from weft.models.grounded import Grounded
from weft.models.seq2seq import Seq2Seq
from weft.models.stream import Model, Stream
from weft.models.word_vectors import WordVectors


def in_words(config: Model.Config) -> str:
    """The sizes of a model, for plans and model cards."""
    if isinstance(config, Seq2Seq.Config):
        return _pair(config)
    if isinstance(config, WordVectors.Config):
        return f"{config.words:,} words, {config.dim} numbers each"
    stream = config.reader()
    if isinstance(stream.embed, FieldEmbed.Config):
        return _fields(stream, stream.embed)
    if isinstance(stream.embed, PointEmbed.Config):
        return _points(stream)
    return _pictures(stream) if isinstance(stream.embed, PictureEmbed.Config) else _text(stream)


def _pair(config: Seq2Seq.Config) -> str:
    blocks, heads = config.target.trunk.all_blocks(), _heads(config.target)
    source, decoder = config.source, f"decoder of {len(blocks)} layers, {config.target.dim} wide{heads}"
    if isinstance(source, Grounded.Config):
        return f"{_pictures(source.picture)}; question of {_text(source.text)}; {decoder}"
    if isinstance(source.embed, PictureEmbed.Config | PictureTextEmbed.Config):
        return f"{_pictures(source)}; {decoder}"
    layers = f"{len(source.trunk.all_blocks())}+{len(blocks)} layers"
    return f"{layers}, {config.target.dim} wide{_heads(source)}"


def _text(config: Stream.Config) -> str:
    layers = len(config.trunk.all_blocks())
    named = f"{layers} layer{'s' if layers != 1 else ''}"
    context = f", context {config.embed.context}" if hasattr(config.embed, "context") else ""
    return f"{named}, {config.dim} wide{_heads(config)}{context}"


def _points(config: Stream.Config) -> str:
    embed, layers = config.embed, len(config.trunk.all_blocks())
    assert isinstance(embed, PointEmbed.Config)
    code = f"{type(embed.code).__qualname__.split('.')[0].lower()} of {', '.join(embed.axes)} in {embed.width} numbers"
    return f"{code}, {layers + 1} layers of {embed.activation}, {config.dim} wide"


def _pictures(config: Stream.Config) -> str:
    blocks, embed = config.trunk.all_blocks(), embed_of(config)
    net = getattr(embed, "net", None)
    parts = [] if net is None else [f"convolutions {'-'.join(map(str, net.widths))} wide"]
    if blocks:
        parts.append(f"{len(blocks)} layers, {config.dim} wide{_heads(config)}")
    parts.append(f"{embed.grid[0]} x {embed.grid[1]} tokens of {embed.stride} x {embed.stride} pixels")
    return ", ".join(parts)


def _fields(config: Stream.Config, embed: FieldEmbed.Config) -> str:
    layers = f"{len(config.trunk.all_blocks())} layers, {config.dim} wide{_heads(config)}"
    times = "all times" if embed.span == embed.times else f"{embed.span} of {embed.times} times"
    return f"{layers}, tokens of {embed.patch} x {embed.patch} cells at {times}"


def _heads(config: Stream.Config | Grounded.Config) -> str:
    blocks = config.trunk.all_blocks()
    heads = getattr(blocks[0].mix, "heads", None) if blocks else None
    return f", {heads} head{'s' if heads != 1 else ''}" if heads else ""
