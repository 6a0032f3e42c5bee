"""Wirings of embedder, trunk and head; `zoo` holds the named configs.

All wirings are imported here, and all modalities with their embedders, so that a run of any task is built from its
config.json in a new process.
"""

from importlib import import_module
from pkgutil import iter_modules

import weft.modalities
from weft.models.autoencoder import Autoencoder
from weft.models.contrastive import Contrastive
from weft.models.distilled import Distilled
from weft.models.dual_encoder import DualEncoder
from weft.models.seq2seq import Seq2Seq
from weft.models.stream import Model, Stream
from weft.models.word_vectors import WordVectors

for _module in iter_modules(weft.modalities.__path__, "weft.modalities."):
    import_module(_module.name)

__all__ = ["Autoencoder", "Contrastive", "Distilled", "DualEncoder", "Model", "Seq2Seq", "Stream", "WordVectors"]
