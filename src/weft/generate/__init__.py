"""From scores to sequences: sampling functions, the session that steps any decoder, one search loop for all."""

from weft.generate.sampling import Sampling
from weft.generate.search import Generated, generate
from weft.generate.session import Session

__all__ = ["Generated", "Sampling", "Session", "generate"]
