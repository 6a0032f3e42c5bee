"""A prompt as a decoder of one stream takes it, with all that decides how it is continued."""

from dataclasses import dataclass

from weft.generate.choices import Rule
from weft.generate.sampling import Sampling
from weft.modalities.tokenizer import Tokenizer


@dataclass(frozen=True)
class Prompt:
    """Ids to go on from, the settings, the ids of which any ends a text, and what may be written (None: anything).

    `notes` is what a user should know of how the prompt was made.
    """

    ids: list[int]
    how: Sampling
    ends: tuple[int, ...]
    rule: Rule | None
    tokenizer: Tokenizer
    notes: tuple[str, ...] = ()
