"""Settings of trainings on pairs of texts: a text with its translation; and the sizes of models that have a name."""

from collections.abc import Mapping
from typing import ClassVar

from weft.domains.texts.settings import OF_TEXT
from weft.tasks.preset import Preset
from weft.tasks.settings.limits import share, within
from weft.tasks.settings.sized import LAYERS_OF_BOTH, SMOOTHING, RowTraining

FORM = "{depth}+{depth} layers, {dim} wide"
PAIRS = {
    "tiny": Preset(dim=64, depth=2, heads=2, context=128, note=": trains in seconds"),
    "mini": Preset(dim=128, depth=2, heads=4, context=128),
    "small": Preset(dim=256, depth=3, heads=4, context=128),
    "base": Preset(dim=512, depth=6, heads=8, context=256, note=" (Vaswani et al., 2017, with --model transformer)"),
    "large": Preset(dim=1024, depth=6, heads=16, context=256, note=" (their big model with --model transformer)"),
}


class PairTraining(RowTraining):
    """Settings of an encoder–decoder's training on pairs of texts."""

    batch: int = 1
    micro: int | None = 1
    context: int | None = None
    tokenizer: str | None = None
    vocab: int | None = None
    symbols: tuple[str, ...] = ()
    tokens: int | None = None
    smoothing: float = 0.0
    source: str | None = None
    target: str | None = None

    about: ClassVar[Mapping[str, str]] = {
        **RowTraining.about,
        **OF_TEXT,
        "depth": LAYERS_OF_BOTH,
        "batch": "batch size: micro-batches in a training step, each of up to `tokens` tokens",
        "micro": "micro-batches computed at once (gradient accumulation over the rest)",
        "tokens": "the most tokens in a micro-batch of sentences of similar length, on the longer side, with padding",
        "smoothing": SMOOTHING.format("tokens"),
        "source": "the column, field or language to translate from; its name, or its number from 1",
        "target": "the column, field or language to translate into",
    }

    def check(self) -> None:
        super().check()
        within(self, "context", 1, 2**20)
        within(self, "tokens", 1, 2**24)
        share(self, "smoothing")
