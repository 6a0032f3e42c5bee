"""Wirings of embedder, trunk and head; `zoo` holds the named configs.

All wirings are imported here, so that a run of any task is built from its config.json.
"""

from weft.models.autoencoder import Autoencoder
from weft.models.contrastive import Contrastive
from weft.models.distilled import Distilled
from weft.models.dual_encoder import DualEncoder
from weft.models.seq2seq import Seq2Seq
from weft.models.stream import Model, Stream
from weft.models.word_vectors import WordVectors

__all__ = ["Autoencoder", "Contrastive", "Distilled", "DualEncoder", "Model", "Seq2Seq", "Stream", "WordVectors"]
