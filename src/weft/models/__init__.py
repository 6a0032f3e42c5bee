"""Wirings of embedder, trunk and head; `zoo` holds the named configs. Refuses to know tasks, losses and files.

All wirings are imported here, and all modalities with their embedders, so that a run of any task is built from its
config.json in a new process.

    stream                    Model; Stream: one stream (GPT, BERT, ViT)
    seq2seq                   Seq2Seq: a decoder reads an encoder's tokens
    grounded                  Grounded: a text whose tokens read a picture
    contrastive, dual_encoder, common_space   pictures and texts in one space: CoCa, CLIP, what they share
    autoencoder, distilled    hidden tokens are filled in (MAE); a student follows its teacher (DINO)
    word_vectors              two tables of words
    backbone, describing      the stream that another task may go on with; a model in words
    outline, adapted          models without content; models with adapters, and merged again
    zoo                       named models

Encoder–decoders. The second stream of `Seq2Seq` reads the first's tokens as its memory. A transformer's block has a
branch for it (`Block.read`). A recurrent mixer reads it inside each step, by `Attention` (a new context each time),
`Last` (one context vector) or `FirstState` (c = h_0), and takes its first state from one vector of the memory
(`LastToken`, `MeanToken`, in the slot `start`); a context may have a gate, and a step an output of word, state and
context. A trunk may take the memory as a prefix of its own line (`Trunk.Config.memory`): its tokens stand first with a
lower rank, and no block needs a `read`. Or a decoder reads the memory at the place it has come to: `Counted` gives
tokens of both streams a coordinate, and `Abreast` reads the memory's first token with the reader's coordinate (the
parser `next-word`).

`memory_weights` gives what a decoder's tokens read of the memory, in any of these ways. Targets are never masked in
training: no token reads what stands behind it, padding included. Sources say that their padding stands behind
(`padded_behind`), so a recurrent encoder may run its fused kernel.

The first stream may be two: in `Grounded` the tokens of a text read those of a picture, and the decoder reads the text.
Keys and values of a picture are made once for all texts about it. Its trunk may give what its blocks added to the
tokens (`Trunk.Config.gives`), so that the decoder reads what was seen and not what was asked.

`Contrastive` (CoCa) is a `Seq2Seq` whose decoder's first blocks read no memory: one pass over a text gives its vector
(at the end mark, after those blocks) and the logits of its words. A pooler of one query gives the picture's vector.
`DualEncoder` (CLIP) has such vectors without a decoder: each side is a `Stream` with a `Summary`.

A part may be frozen (`Model.freeze`): no gradients, and it stays in evaluation. `Model.follow` runs after each step: a
teacher follows its student. `Model.backbone` is the stream that another task goes on with (`--from`).
"""

from importlib import import_module
from pkgutil import iter_modules

import weft.modalities
from weft.models.autoencoder import Autoencoder
from weft.models.contrastive import Contrastive
from weft.models.distilled import Distilled
from weft.models.dual_encoder import DualEncoder
from weft.models.grounded import Grounded
from weft.models.seq2seq import Seq2Seq
from weft.models.stream import Model, Stream
from weft.models.word_vectors import WordVectors

for _module in iter_modules(weft.modalities.__path__, "weft.modalities."):
    import_module(_module.name)

__all__ = [
    "Autoencoder",
    "Contrastive",
    "Distilled",
    "DualEncoder",
    "Grounded",
    "Model",
    "Seq2Seq",
    "Stream",
    "WordVectors",
]
