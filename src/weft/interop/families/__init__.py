"""The model types that weft reads and writes, by the name that config.json has for them."""

from weft.interop.families.bart import Bart
from weft.interop.families.gpt2 import Gpt2
from weft.interop.families.llama import Llama
from weft.interop.families.marian import Marian
from weft.interop.families.t5 import T5
from weft.interop.family import Family

# A config of ours that several could hold is written as the first of them.
FAMILIES: dict[str, Family] = {family.name: family for family in (Gpt2(), Llama(), Marian(), Bart(), T5())}

__all__ = ["FAMILIES"]
