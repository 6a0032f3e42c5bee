"""BART's kin for many languages: mBART with learned places, M2M100 and NLLB with sinusoids; marks name languages."""

from typing import Any

from weft.errors import ConfigError
from weft.interop.families.bart import Bart
from weft.interop.family import only
from weft.interop.rules import Ignored, WeightRule
from weft.interop.their_config import TheirConfig
from weft.modalities.text import TextEmbed
from weft.models.seq2seq import Seq2Seq
from weft.position import Code, Sinusoidal

SLOWEST = 10_000.0  # the longest wavelength over 2 pi


class Mbart(Bart):
    """MBartForConditionalGeneration and MBartModel: norms before each branch and at the end (Liu et al., 2020)."""

    name, stem, normed = "mbart", "MBart", "before"


class M2m100(Bart):
    """M2M100ForConditionalGeneration and M2M100Model (Fan et al., 2021), which NLLB is too.

    Places have sinusoids and are counted from the id of the token that fills, plus 1.
    """

    name, stem, normed, norm = "m2m_100", "M2M100", "before", None
    usual = {"vocab_size": 128112, "scale_embedding": True, "activation_function": "relu"}

    def code(self, given: TheirConfig, dim: int) -> Code.Config:
        given.only("static_position_embeddings", True)
        return Sinusoidal.Config(base=_base(dim), start=float(given.whole("pad_token_id", 1, least=0) + 1))

    def write_places(self, pair: Seq2Seq.Config, code: Code.Config) -> dict[str, Any]:
        sides = (only(side.embed, TextEmbed.Config, "embed") for side in (pair.source, pair.target))
        start = only(code, Sinusoidal.Config, "embed.place.code").start
        return {
            "max_position_embeddings": max(embed.context for embed in sides),
            "pad_token_id": max(0, int(start) - 1),
        }

    def place_rules(self, theirs: str, side: str) -> list[WeightRule]:
        return [Ignored(f"{theirs}.embed_positions.weights")]


def _base(dim: int) -> float:
    """The base with which the last of our frequencies is exactly 1 / 10,000, as theirs is."""
    if dim < 4 or dim % 2:
        raise ConfigError(f"d_model is {dim}; weft computes these places only with an even width from 4")
    return float(SLOWEST ** (dim / (dim - 2)))
