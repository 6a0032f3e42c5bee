"""Where a token is, in three slots: codes (vectors added or joined), turns (rotary) and biases on scores.

Everything here is a function of coordinates, looked up by axis name, or of relations between tokens. Knows no modality.

    codes       Learned, Grid, Sinusoidal and Fourier codes; added to the content or concatenated
    globe       codes of places on a plane or a globe: coordinates, spherical harmonics
    hashing     HashGrid: vectors at the corners of grids of several resolutions
    turns       Rotary: queries and keys turned by an angle that grows with the coordinate
    stretches   rotary turns slowed down for long texts
    biases      Alibi, Buckets and others: a number added to each score
    nearness    Near: what is near in space is read first
"""

from weft.position.biases import Alibi, Bias, Buckets, Kinds, Offsets, Weighted
from weft.position.codes import Add, Code, Concatenate, Fourier, Grid, Learned, Place, Sinusoidal, Sum
from weft.position.globe import Coordinates, Harmonics, Joined, direction
from weft.position.hashing import HashGrid
from weft.position.nearness import Near
from weft.position.stretches import EachPair, Even, PairRamp, Stretch, TurnRamp
from weft.position.turns import Rotary, Turn, turn

__all__ = [
    "Add", "Alibi", "Bias", "Buckets", "Code", "Concatenate", "Coordinates", "EachPair", "Even", "Fourier", "Grid",
    "Harmonics", "HashGrid", "Joined", "Kinds", "Learned", "Near", "Offsets", "PairRamp", "Place", "Rotary",
    "Sinusoidal", "Stretch", "Sum", "Turn", "TurnRamp", "Weighted", "direction", "turn",
]  # fmt: skip
