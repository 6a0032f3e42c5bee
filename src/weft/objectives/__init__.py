"""What is predicted and how it is scored: the only place with a loss. One file a loss. Refuses to know modalities.

objective                        Objective: a model and a batch become a Loss, a sum and a count
at_tokens                        classes or numbers of tokens: the next one, a hidden one, tags, labels of nodes
target_token                     the tokens of a target, from the source and the tokens before
token_loss                       -log p of classes, whole or in chunks of tokens
span                             the first and the last token of an answer in a text
classify, several, number        one class, any number of labels, or one number for each sample
reconstruct, hidden_cells        pixels of hidden patches; values of hidden cells, with a spread
contrast, distil                 captions against those of other pictures; a student against its teacher
negative_sampling, pair_counts   vectors of words: by words drawn at random; by counts of pairs
scoring                          a loss summed without learning
measures                         how good predictions are, with intervals
"""

from weft.objectives.at_tokens import MaskedToken, NextToken, SplitTags, Tags, TokenLabels, TokenNumbers
from weft.objectives.classify import Classify
from weft.objectives.contrast import Contrast
from weft.objectives.distil import Distil
from weft.objectives.hidden_cells import HiddenCells
from weft.objectives.negative_sampling import NegativeSampling
from weft.objectives.number import Number
from weft.objectives.objective import Loss, Objective, Term
from weft.objectives.pair_counts import PairCount
from weft.objectives.reconstruct import Reconstruct
from weft.objectives.several import Several
from weft.objectives.span import Span
from weft.objectives.target_token import TargetAnswer, TargetSymbol, TargetToken

__all__ = [
    "Classify", "Contrast", "Distil", "HiddenCells", "Loss", "MaskedToken", "NegativeSampling", "NextToken", "Number",
    "Objective", "PairCount", "Reconstruct", "Several", "Span", "SplitTags", "Tags", "TargetAnswer", "TargetSymbol",
    "TargetToken", "Term",
    "TokenLabels", "TokenNumbers",
]  # fmt: skip
