"""Wirings of embedder, trunk and head; `zoo` holds the named configs.

All wirings are imported here, and the embedders that none of them names, so that a run of any task is built from its
config.json in a new process.
"""

import weft.modalities.convnet  # noqa: F401
from weft.models.autoencoder import Autoencoder
from weft.models.contrastive import Contrastive
from weft.models.distilled import Distilled
from weft.models.seq2seq import Seq2Seq
from weft.models.stream import Model, Stream
from weft.models.word_vectors import WordVectors

__all__ = ["Autoencoder", "Contrastive", "Distilled", "Model", "Seq2Seq", "Stream", "WordVectors"]
