"""Tokens that mark languages: which a tokenizer has, where they stand, and which are meant where nobody chooses.

M2M100 __en__    mBART en_XX    NLLB eng_Latn
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from weft.interop.marks import Marks
from weft.modalities.tokenizer import Tokenizer

MARK = re.compile(r"__[a-z]{2,3}__|[a-z]{2}_[A-Z]{2}|[a-z]{3}_[A-Z][a-z]{3}")
FEWEST = 2  # marks that tell languages apart
# Where their tokenizers put the mark of a source, whatever tokenizer.json says.
PLACES: Mapping[str, Literal["before", "after"]] = {
    "MBartTokenizer": "after",
    "MBart50Tokenizer": "before",
    "M2M100Tokenizer": "before",
    "NllbTokenizer": "before",
}


@dataclass(frozen=True)
class LanguageMarks:
    """The `tokens`, with the usual `source` and `target`; sources have theirs `before` the text or `after` its end."""

    tokens: tuple[str, ...] = ()
    source: str | None = None
    target: str | None = None
    place: Literal["before", "after"] = "before"

    @classmethod
    def read(cls, tokenizer: Tokenizer, marks: Marks, given: Mapping[str, Any]) -> "LanguageMarks":
        """The marks of a tokenizer; `given` is its tokenizer_config.json."""
        found = {id: tokenizer.names[id] for id in tokenizer.special.tolist() if MARK.fullmatch(tokenizer.names[id])}
        if len(found) < FEWEST:
            return cls()
        before, after = tokenizer.marks if tokenizer.processed else ((), ())

        def usual(key: str, ids: tuple[int, ...]) -> str | None:
            named = [name for name in found.values() if given.get(key) in (name, name.strip("_"))]
            return next(iter([*named, *(found[id] for id in ids if id in found)]), None)

        place: Literal["before", "after"] = "after" if any(id in found for id in after) else "before"
        place = PLACES.get(str(given.get("tokenizer_class")).removesuffix("Fast"), place)
        return cls(
            tokens=tuple(found.values()),
            source=usual("src_lang", (*before, *after)),
            target=usual("tgt_lang", tuple(marks.opening())),
            place="after" if given.get("legacy_behaviour") is True else place,
        )
