"""A language model that copies by two planted heads: a previous-token head, and an induction head that needs it.

stream    [ what the token is | where it stands | what stood before it | what to say next ]
layer 1   head 1 reads the token before and writes what it is into the third part; head 2 does nothing
layer 2   head 2 looks for a token behind an earlier one like this, and writes it into the fourth; head 1 does nothing
"""

import torch

from weft.core import Attention, Block, PerToken, Trunk
from weft.modalities.text import TextEmbed
from weft.models.stream import Stream
from weft.position import Add, Learned

VOCAB, CONTEXT = 40, 64
HEAD = 64  # width of a head: large enough for places
SHARP = 8 * 30.0  # of a query, before it is divided by the root of the width
PREVIOUS, INDUCTION = (1, 1), (2, 2)  # layer and head


def copier() -> Stream:
    """The model, with its weights set by hand."""
    dim = 3 * VOCAB + CONTEXT
    block = Block.Config(mix=Attention.Config(heads=2, head_dim=HEAD), unnormed=("mix",))
    config = Stream.Config(
        dim=dim,
        embed=TextEmbed.Config(vocab=VOCAB, context=CONTEXT, place=Add.Config(code=Learned.Config(size=CONTEXT))),
        trunk=Trunk.Config(depth=2, block=block, norm=None),
        head=PerToken.Config(),
    )
    model = config.build().eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.zero_()
        token, place, before, said = 0, VOCAB, VOCAB + CONTEXT, 2 * VOCAB + CONTEXT
        model.embed.table.weight[:, :VOCAB] = torch.eye(VOCAB)
        code = next(p for name, p in model.embed.named_parameters() if "place" in name)
        code[:, place : place + CONTEXT] = torch.eye(CONTEXT)
        first, second = (one.mix for one in model.trunk.blocks)
        eye, heads = torch.eye(CONTEXT), 2 * HEAD
        # head 1 of layer 1: the query of place p is the key of place p - 1; its values are tokens
        first.qkv.weight[: CONTEXT - 1, place + 1 : place + CONTEXT] = SHARP * torch.eye(CONTEXT - 1)
        first.qkv.weight[heads : heads + CONTEXT, place : place + CONTEXT] = eye
        first.qkv.weight[2 * heads : 2 * heads + VOCAB, token : token + VOCAB] = torch.eye(VOCAB)
        first.out.weight[before : before + VOCAB, :VOCAB] = torch.eye(VOCAB)
        # head 2 of layer 2: the query is the token, the key is what stood before; its values are tokens
        second.qkv.weight[HEAD : HEAD + VOCAB, token : token + VOCAB] = SHARP * torch.eye(VOCAB)
        second.qkv.weight[heads + HEAD : heads + HEAD + VOCAB, before : before + VOCAB] = torch.eye(VOCAB)
        second.qkv.weight[2 * heads + HEAD : 2 * heads + HEAD + VOCAB, token : token + VOCAB] = torch.eye(VOCAB)
        second.out.weight[said : said + VOCAB, HEAD : HEAD + VOCAB] = torch.eye(VOCAB)
        model.head.out.weight[:, said : said + VOCAB] = 10 * torch.eye(VOCAB)
    return model


def copied(model: Stream, *, texts: int = 8, half: int = 20) -> float:
    """The share of tokens of texts that come twice, each of other tokens, that are told right the second time.

    The second token is left out: the first one has none before it and reads itself.
    """
    from weft.modalities.text import Text

    drawn = torch.Generator().manual_seed(1)
    once = torch.stack([torch.randperm(VOCAB, generator=drawn)[:half] for _ in range(texts)])
    text = torch.cat([once, once], 1)
    with torch.no_grad():
        said = model(Text(text)).argmax(-1)
    return float((said[:, half + 1 : -1] == text[:, half + 2 :]).double().mean())
