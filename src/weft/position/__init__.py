"""Where a token is, in three slots: codes (vectors added or joined), turns (rotary) and biases on scores.

Everything here is a function of coordinates, looked up by axis name. Knows no modality.
"""

from weft.position.biases import Alibi, Bias, Buckets, Kinds, Weighted
from weft.position.codes import Add, Code, Concatenate, Fourier, Grid, Learned, Place, Sinusoidal
from weft.position.turns import Rotary, Turn, turn

__all__ = [
    "Add", "Alibi", "Bias", "Buckets", "Code", "Concatenate", "Fourier", "Grid", "Kinds", "Learned", "Place", "Rotary",
    "Sinusoidal", "Turn", "Weighted",
    "turn",
]  # fmt: skip
