"""Models of pictures and texts in one space, by name: `coca`."""

from dataclasses import replace

from weft.core import Attention, Block, Dense, Dot, LayerNorm, Plain, Summary, Trunk
from weft.core.linear import XavierInit
from weft.models.contrastive import Contrastive
from weft.models.stream import Stream
from weft.models.zoo import translation
from weft.models.zoo.language import Size

WIDTH = 128  # numbers of a vector


def coca(encoder: Stream.Config, size: Size, *, vocab: int, dropout: float = 0.0) -> Contrastive.Config:
    """CoCa (Yu et al., 2022) with `swift`'s parts: the first half of the decoder's blocks reads the text alone."""
    size = replace(size, depth=max(2, size.depth))
    writer = translation.swift(size, vocab=vocab, dropout=dropout).target
    block = writer.trunk.block
    assert block is not None
    alone = size.depth // 2
    blocks = (block.replace(read=None),) * alone + (block,) * (size.depth - alone)
    norm = LayerNorm.Config(learned=False)
    pooler = Attention.Config(heads=size.heads, qk_norm=norm, score=Dot.Config(temperature=0.9), offsets=False)
    return Contrastive.Config(
        source=encoder,
        target=writer.replace(trunk=writer.trunk.replace(block=None, depth=1, blocks=blocks)),
        pool=Trunk.Config(block=Block.Config(read=pooler, wiring=Plain.Config()), init=XavierInit.Config()),
        vector=Summary.Config(
            first=True, unit=True, dense=Dense.Config(activation=None, width=WIDTH, std=size.dim**-0.5)
        ),
        norm=norm,
    )
