"""Where a token is, in three slots: codes (vectors added or joined), turns (rotary) and biases on scores.

Everything here is a function of coordinates, looked up by axis name, or of relations between tokens. Knows no modality.
"""

from weft.position.biases import Alibi, Bias, Buckets, Kinds, Offsets, Weighted
from weft.position.codes import Add, Code, Concatenate, Fourier, Grid, Learned, Place, Sinusoidal, Sum
from weft.position.globe import Coordinates, Harmonics, Joined, direction
from weft.position.nearness import Near
from weft.position.stretches import EachPair, Even, PairRamp, Stretch, TurnRamp
from weft.position.turns import Rotary, Turn, turn

__all__ = [
    "Add", "Alibi", "Bias", "Buckets", "Code", "Concatenate", "Coordinates", "EachPair", "Even", "Fourier", "Grid", "Harmonics",
    "Joined", "Kinds", "Learned", "Near", "Offsets", "PairRamp", "Place", "Rotary", "Sinusoidal", "Stretch", "Sum", "Turn", "TurnRamp",
    "Weighted", "direction", "turn",
]  # fmt: skip
