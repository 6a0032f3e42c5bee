"""What is predicted and how it is scored: the only place with a loss."""

from weft.objectives.masked_token import MaskedToken
from weft.objectives.next_token import NextToken
from weft.objectives.number import Number
from weft.objectives.objective import Loss, Objective
from weft.objectives.tags import Tags
from weft.objectives.target_token import TargetToken
from weft.objectives.text_class import TextClass

__all__ = ["Loss", "MaskedToken", "NextToken", "Number", "Objective", "Tags", "TargetToken", "TextClass"]
