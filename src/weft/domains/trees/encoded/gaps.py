"""Trees as tags of the gaps between words, as ids and as samples. Refuses to know models."""

from collections.abc import Sequence

from weft.domains.pairs.dataset import PairData
from weft.domains.texts.codec.text import TextCodec
from weft.domains.texts.encoded.tagged import TaggedIds, TaggedRows
from weft.domains.trees.codec.gaps import GapCodec
from weft.domains.trees.encoded.gap_tags import gaps_of
from weft.domains.trees.reading.tree import leaves
from weft.domains.trees.reading.treebanks import read_tree
from weft.errors import DataError
from weft.tasks.codec import Codecs


def gap_ids(data: PairData, codecs: Codecs) -> TaggedIds:
    """Sentences as ids, and the number of the gap at each word."""
    text, codec = codecs["text"], codecs["gaps"]
    assert isinstance(text, TextCodec) and isinstance(codec, GapCodec)
    train = gap_rows(text, codec, [(pair.source, pair.target) for pair in data.train])
    if not train.texts:
        raise DataError("there is no tree to learn from", where=data.described)
    held = gap_rows(text, codec, [(one.source, one.references[0]) for one in data.held_out])
    return TaggedIds(data, text, train, held)


def gap_rows(text: TextCodec, codec: GapCodec, pairs: Sequence[tuple[str, str]]) -> TaggedRows:
    """Sentences with their trees. After the last word all brackets close: this is not learned, its tag is none."""
    found = text.tokenizer.encode_words([sentence.split() for sentence, _ in pairs])
    trees = [read_tree(tree) for _, tree in pairs]
    gaps = [gaps_of(tree) for tree in trees]
    tags = [[leaf.label for leaf in leaves(tree)] for tree in trees]
    numbers = codec.encode([[*some[:-1], (some[-1][0], 0)] for some in gaps], tags)
    return TaggedRows([ids for ids, _ in found], [starts for _, starts in found], numbers)
