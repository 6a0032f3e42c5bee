"""Settings of the training of a parser."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from weft.domains.pairs.settings import PairTraining
from weft.tasks.settings.limits import within


class ParseTraining(PairTraining):
    """Settings of the training of a parser."""

    form: Literal["text", "symbols", "gaps"] = "text"
    rows: int = 32

    about: ClassVar[Mapping[str, str]] = {
        **PairTraining.about,
        "form": "how a tree is learned, which the model decides: as text, as symbols, or by gaps between words",
        "rows": "for --model gaps: the most sentences in a step",
    }

    def check(self) -> None:
        super().check()
        within(self, "rows", 1, 2**20)
