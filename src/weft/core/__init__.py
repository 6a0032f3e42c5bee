"""The trunk and its parts: rules and scope, scores and kernels, mixers, transforms, blocks, heads, the cache."""

from weft.core.abreast import Abreast
from weft.core.adapters import LowRank
from weft.core.attention import Attention
from weft.core.block import Block, Parallel, Plain, PostNorm, PreNorm, SandwichNorm, Wiring
from weft.core.cache import Cache, Slots
from weft.core.contexts import ContextGate, DeepOutput, FirstState, LastToken, MeanToken, MemoryVector
from weft.core.distances import Disentangled, Distances
from weft.core.heads import Dense, FirstAndMean, Head, PerClassToken, PerToken, Pooled, Summary
from weft.core.linear import Gpt2Init, Init, Out, ReluInit, SilentInit, SineInit
from weft.core.mixers import Average, Last, Mixer
from weft.core.norms import LayerNorm, LayerScale, Norm, OnePlusRmsNorm, RmsNorm
from weft.core.recording import Reading, Recorder, record
from weft.core.recurrent import Lstm, Recurrent, Rnn
from weft.core.rules import Edges, Rule, Same, Stride, Tile, Window
from weft.core.scope import Pass, Scope
from weft.core.scores import Additive, Capped, Dot, Score
from weft.core.shifts import NeighbourShift, TokenShift
from weft.core.transforms import Gated, Layer, Mlp, Pointwise, Transform
from weft.core.trunk import Trunk

__all__ = [
    "Abreast", "Additive", "Attention", "Average", "Block", "Cache", "Capped", "ContextGate", "DeepOutput", "Dense", "Disentangled", "Distances", "Dot", "Edges", "FirstAndMean", "FirstState", "Gated", "Gpt2Init", "Head", "Init", "Last", "LastToken",
    "Layer", "LayerNorm", "LayerScale", "LowRank", "Lstm", "MeanToken", "MemoryVector", "Mixer", "Mlp", "NeighbourShift", "Norm", "OnePlusRmsNorm", "Out", "Parallel", "Pass", "PerClassToken", "PerToken", "Plain", "Pointwise", "Pooled",
    "PostNorm", "PreNorm", "Reading", "Recorder", "Recurrent", "ReluInit", "RmsNorm", "Rnn", "Rule", "Same", "SandwichNorm", "Scope", "Score", "SilentInit",
    "SineInit", "Slots", "Stride",
    "Summary", "Tile", "TokenShift", "Transform", "Trunk", "Window", "Wiring", "record",
]  # fmt: skip
