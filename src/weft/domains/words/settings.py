"""Settings of a training of vectors of words."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from weft.domains.texts.settings import HELD_OUT, HELD_OUT_BYTES
from weft.errors import ConfigError
from weft.tasks.settings.limits import share, within
from weft.tasks.settings.sized import SizedTraining


class WordTraining(SizedTraining):
    """Settings of a training of vectors of words."""

    lr: float = 0.035
    clip: float = 14.0
    warmup: int = 0
    batch: int = 24
    contexts: Literal["skip-gram", "cbow", "counts"] = "skip-gram"
    window: int | None = None
    negatives: float = 5.0
    sample: float = 1e-3
    most: float = 10.0
    fewest: int | None = None
    vocab: int | None = None
    lower: bool = True
    breaks: Literal["lines", "paragraphs", "documents"] = "lines"
    held_out: int | None = HELD_OUT_BYTES

    about: ClassVar[Mapping[str, str]] = {
        **{
            name: text
            for name, text in SizedTraining.about.items()
            if name not in ("depth", "heads", "dropout", "lora")
        },
        "dim": "width of the vector of a word (embedding size)",
        "clip": "gradient clipping: norm above which the gradient of one word is scaled down; 0 turns it off",
        "batch": "batch size: blocks of 512 words in a training step, or of 512 pairs of words with glove",
        "contexts": "skip-gram (predict each neighbour from the word), cbow (predict the word from the mean of its "
        "neighbours), or counts (glove only)",
        "window": "context window: words on either side that count as neighbours; by default 5, with glove 10",
        "negatives": "negative sampling: random words that are compared with each pair of neighbours",
        "sample": "subsampling of frequent words: some occurrences of a word above this share of the text are left "
        "out; 0 keeps all",
        "most": "with glove (x_max): two words that stand near each other this many times or more count fully, rarer "
        "pairs less; 100 suits billions of words",
        "fewest": "minimum count: words seen fewer times are left out; by default 5, in small texts fewer",
        "vocab": "vocabulary size: learn this many words at most, the most frequent ones",
        "lower": "read all words in lower case",
        "breaks": "where the context window ends: at the end of each line (lines), at empty lines (paragraphs), or at "
        "the end of documents (documents)",
        "held_out": HELD_OUT,
    }

    def check(self) -> None:
        super().check()
        for name, least, most in (
            ("window", 1, 1000),
            ("fewest", 1, 2**40),
            ("vocab", 2, 2**31),
            ("held_out", 1, 2**40),
        ):
            within(self, name, least, most)
        for name in ("depth", "heads"):
            if getattr(self, name) not in (None, 1):
                raise ConfigError("vectors of words have no layers and no heads", where=name, fix="leave it out")
        if self.lora or self.dropout:
            where = "lora" if self.lora else "dropout"
            raise ConfigError(
                "vectors of words have no layers, so this does not apply", where=where, fix="leave it out"
            )
        for name in ("negatives", "most"):
            if not getattr(self, name) > 0:
                raise ConfigError(f"must be above 0, found {getattr(self, name)}", where=name)
        share(self, "sample")
