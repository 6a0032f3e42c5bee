"""What is predicted and how it is scored: the only place with a loss."""

from weft.objectives.next_token import NextToken
from weft.objectives.objective import Loss, Objective
from weft.objectives.target_token import TargetToken

__all__ = ["Loss", "NextToken", "Objective", "TargetToken"]
