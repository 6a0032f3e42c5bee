"""What is predicted and how it is scored: the only place with a loss. One file a loss, none a modality."""

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
from weft.objectives.target_token import TargetSymbol, TargetToken

__all__ = ["Classify", "Contrast", "Distil", "HiddenCells", "Loss", "MaskedToken", "NegativeSampling", "NextToken", "Number", "Objective",
           "PairCount", "Reconstruct", "SplitTags", "Tags", "TargetSymbol", "TargetToken", "Term", "TokenLabels", "TokenNumbers"]  # fmt: skip
