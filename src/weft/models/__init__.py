"""Wirings of embedder, trunk and head; `zoo` holds the named configs."""

from weft.models.seq2seq import Seq2Seq
from weft.models.stream import Model, Stream

__all__ = ["Model", "Seq2Seq", "Stream"]
