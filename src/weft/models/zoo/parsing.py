"""Models that parse: `next-word` writes the symbols of a tree; `gaps` tags what opens before, closes after a word."""

from weft.core import Abreast, Block, NeighbourShift
from weft.modalities.counting import Counted
from weft.models.seq2seq import Seq2Seq
from weft.models.stream import Stream
from weft.models.zoo.encoders import swift as swift_encoder
from weft.models.zoo.language import Size
from weft.models.zoo.translation import swift

AXIS = "word"  # the coordinate that says at which word a token of the sentence stands, or a symbol of the tree


def next_word(
    size: Size, *, vocab: int, words: tuple[int, ...], symbols: int, leaf: int, dropout: float = 0.0
) -> Seq2Seq.Config:
    """`swift` whose decoder is given the encoding of the next unread word at each step.

    `words` are the ids of the sentence that begin a word after the first, or end the sentence; `leaf` is the symbol
    that stands for a word in a tree, which is spelt by a vocabulary of `symbols`.
    """
    plain = swift(size, vocab=vocab, dropout=dropout)
    source, target = plain.source, plain.target
    block = target.trunk.block
    assert block is not None
    abreast = Block.Config(read=Abreast.Config(axis=AXIS), norm=block.norm, dropout=dropout)
    trunk = target.trunk.replace(block=None, blocks=(abreast, *[block] * size.depth), depth=1)
    return Seq2Seq.Config(
        source=source.replace(embed=source.embed.replace(counted=Counted.Config(axis=AXIS, ids=words))),
        target=target.replace(
            embed=target.embed.replace(vocab=symbols, counted=Counted.Config(axis=AXIS, ids=(leaf,))), trunk=trunk
        ),
    )


def gaps(size: Size, *, vocab: int, outputs: int, dropout: float = 0.0) -> Stream.Config:
    """An encoder with `outputs` values for each word: logits of what opens before it, and of how much closes after it.

    A treebank is small, and a tenth of a new sentence's words may be unknown: words are dropped at half of `dropout`.
    """
    config = swift_encoder(size, vocab=vocab, head="tags", outputs=outputs, dropout=dropout)
    assert config.trunk.block is not None
    trunk = config.trunk.replace(block=config.trunk.block.replace(shift=NeighbourShift.Config()))
    return config.replace(embed=config.embed.replace(token_dropout=dropout / 2), trunk=trunk)
