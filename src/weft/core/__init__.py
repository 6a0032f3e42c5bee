"""The trunk and its parts. Knows tokens; refuses to know modalities and tasks.

A block mixes across tokens, may read a memory, then transforms each token. Attention, averages and recurrence are
mixers with one call: `mixer(x, at, slots)`.

    trunk, block              blocks in a row; a block, and how its branches and norms are wired
    attention, scores         project, turn, score, read; how well a query fits a key
    kernels, edges            the arithmetic of attention; attention along a list of edges
    scope, rules              what the queries of a pass may read; rules that limit it further
    mixers, recurrent         Mixer, Average, Last; RNN and LSTM
    shares                    how much each token counts in a weighted sum: a mean's, or Kipf and Welling's
    contexts                  the first state, context, gate and output of a recurrent mixer
    memories, abreast         how a trunk takes a memory; a memory read at the place the reader has come to
    distances                 scores in which the distance of two tokens meets their content (DeBERTa)
    cache                     what a decoder has read, and what each block keeps of it
    transforms, shifts, norms within a token; a mix with the neighbours in a line; normalisation
    mixture                   several transforms, of which each token has few
    linear, row_table         linear maps and how they start; tables of which a step reads few rows
    heads, pooling            tokens become values; one vector that a learned query reads
    draws, beside             dropout and the like by sample; sums and rows over all processes of a step
    adapters                  small matrices that learn beside large ones (LoRA)
    recording                 keeps queries, keys and values, the stream and what branches add, for those who look
    changes                   what may be switched off, scaled, unread, pinned, replaced, added, hidden
    inside, watched_reading   where a pass is kept and changed: layers and branches; the weights of attention
    recomputing               blocks that are computed again on the way back (activation checkpointing)
    int8, threads             products in eight bits; how many threads suit a model
    native_training, native_reading   operators with gradients in native code; lines of a stream read by it

Who reads whom. `Tokens.rank` decides: a token may read real tokens of rank ≤ its own. Equal ranks: all read all. 0 1 2
…: the past. 0 0 0 1 2: a prefix that is blind to what follows. Whoever makes the tokens states the facts that pick a
fast kernel (`unpadded`, `order`, `padded_behind`, `line_axis`, `grid`); no mask is ever scanned for them. A `Pass`
holds the `Scope` within the stream (`own`) and that of the memory (`cross`). A scope computes masks, turns and biases
once for all layers (`memo`), and says which `Shape` the reading has:

    ALL      equal ranks, or a memory, without padding; one new token at the end of a line: fused, no mask
    CAUSAL   a whole line without padding: fused causal. In training on CPUs: native code in fp32 where that is
             faster (also for ALL), or plain operations up to 256 x 256 in bf16 and 32 x 32 in fp32
    BAND     a Window along a line, a Tile of a grid: folded into small blocks; linear in length, backward too
    EDGES    an Edges rule over a list of edges: sparse products and sums; linear in the edges, backward too
    MASK     anything else: a mask, made once a pass

Every kernel equals `kernels.explicit`, and a query with nothing to read reads zero. Padding never matters, not even
NaN: `Tokens.padding_zeroed` clears it where a trunk begins, and kernels clear keys and values again.

Parts that many models share. A trunk may have one bias on scores for all layers (`Trunk.Config.bias`), used by every
attention within the stream that has none. It may have vectors of distances (`distances`), of which an attention with
the score `Disentangled` makes queries and keys. It may go through its blocks several times (`passes`): each time counts
as a layer, with its own slots in the cache and its own readings. Adapters stand in its config (`adapters`): all other
weights keep names and values, and two small matrices beside each map learn.
"""

from weft.core.abreast import Abreast
from weft.core.adapters import LowRank
from weft.core.attention import Attention
from weft.core.block import Block, Parallel, ParallelOneNorm, Plain, PostNorm, PreNorm, ResultNorm, SandwichNorm, Wiring
from weft.core.cache import Cache, Slots
from weft.core.changes import (
    Added,
    Change,
    Hidden,
    Pinned,
    Replaced,
    Scaled,
    Unread,
    Without,
    changed,
    changes_from_json,
)
from weft.core.contexts import ContextGate, DeepOutput, FirstState, LastToken, MeanToken, MemoryVector
from weft.core.distances import Disentangled, Distances
from weft.core.heads import Dense, FirstAndMean, Head, PerClassToken, PerToken, Pooled, SpanEnds, Summary
from weft.core.linear import Gpt2Init, Init, Out, ReluInit, SilentInit, SineInit
from weft.core.mixers import Average, Last, Mixer
from weft.core.mixture import Mixture
from weft.core.norms import LayerNorm, LayerScale, Norm, OnePlusRmsNorm, RmsNorm
from weft.core.pooling import AttendedPool
from weft.core.recording import Reading, Recorder, StreamPass, record
from weft.core.recurrent import Lstm, Recurrent, Rnn
from weft.core.rules import Edges, Rule, Same, Stride, Tile, Window
from weft.core.scope import Pass, Scope
from weft.core.scores import Additive, Capped, Dot, Score
from weft.core.shares import MeanShares, Shares, SymmetricShares
from weft.core.shifts import NeighbourShift, TokenShift
from weft.core.transforms import BoundedGated, Gated, Layer, Mlp, Pointwise, Transform
from weft.core.trunk import Trunk

__all__ = [
    "Abreast", "Added", "Additive", "AttendedPool", "Attention", "Average", "Block", "BoundedGated", "Cache",
    "Capped", "Change", "ContextGate", "DeepOutput", "Dense", "Disentangled", "Distances", "Dot", "Edges",
    "FirstAndMean", "FirstState", "Gated", "Gpt2Init", "Head", "Hidden", "Init", "Last", "LastToken", "Layer",
    "LayerNorm", "LayerScale", "LowRank", "Lstm", "MeanShares", "MeanToken", "MemoryVector", "Mixer", "Mixture",
    "Mlp", "NeighbourShift", "Norm", "OnePlusRmsNorm", "Out", "Parallel", "ParallelOneNorm", "Pass",
    "PerClassToken", "PerToken", "Pinned", "Plain", "Pointwise", "Pooled", "PostNorm", "PreNorm", "Reading",
    "Recorder", "Recurrent", "ReluInit", "Replaced", "ResultNorm", "RmsNorm", "Rnn", "Rule", "Same", "SandwichNorm",
    "Scaled", "Scope", "Score", "Shares", "SilentInit", "SineInit", "Slots", "SpanEnds", "StreamPass", "Stride",
    "Summary", "SymmetricShares", "Tile", "TokenShift", "Transform", "Trunk", "Unread", "Window", "Wiring",
    "Without", "changed", "changes_from_json", "record",
]  # fmt: skip
