"""Planning a model that writes about pictures: what the user left open is decided here. Reads no files and trains nothing."""

from typing import Any

from weft.errors import ConfigError
from weft.models.seq2seq import Seq2Seq
from weft.models.stream import Stream
from weft.models.zoo import Size
from weft.models.zoo.captioning import CAPTION_ENCODERS
from weft.tasks.picture_plan import OF_A_PICTURE, PRESETS, PictureTraining, shape
from weft.tasks.planning import Catalogue, within

TOKENS, VOCAB = 16, 1024  # of a usual caption, and of a usual vocabulary, where the size of a model is decided
LAYERS, HEAD = 2, 32  # of a decoder beside an encoder that has no layers; the width of its heads

CAPTIONING = Catalogue(
    models=CAPTION_ENCODERS,
    presets=PRESETS,
    default="swift",
    recipes={
        "swift": {"lr": 1e-2, "matrix_lr": 3.0, "table_decay": 0.1},
        "transformer": {"lr": 3e-3, "matrix_lr": 4.0},
        "cnn-transformer": {"lr": 3e-3, "matrix_lr": 4.0},
    },
    of_preset={},
    of_model=(*OF_A_PICTURE, "context"),
)


class CaptionTraining(PictureTraining):
    """Settings of a training on pictures with captions."""

    visit: int = 2
    context: int | None = None
    tokenizer: str | None = None
    vocab: int | None = None
    picture_column: str | None = None
    caption_column: str | None = None

    about = {
        **{name: text for name, text in PictureTraining.about.items() if name != "summary"},
        "depth": "number of layers on each side",
        "smoothing": "share of belief given to all tokens alike, in training",
        "skip": "bad pictures, or bad rows of tables, to leave out before the data is refused: a number, or a share below 1",
        "freeze": "with --from: the picture encoder stays as it is, and the decoder learns",
        "visit": "captions of a picture that are learned each time it is seen",
        "context": "tokens of the longest caption",
        "tokenizer": "bytes, characters, bpe or the path of a tokenizer.json",
        "vocab": "size of a bpe vocabulary",
        "picture_column": "the column of a table that names the pictures; its name, or its number from 1",
        "caption_column": "the one that holds the captions; by default all that seem to",
    }

    def check(self) -> None:
        super().check()
        for name, most in (("visit", 1000), ("context", 2**20)):
            within(self, name, 1, most)
        for name in ("mixup", "cutmix"):
            if getattr(self.augment, name):
                raise ConfigError("a picture made of two has no caption", where=f"augment.{name}", fix="leave it out")


def writer_size(encoder: Stream.Config, settings: CaptionTraining, context: int) -> Size:
    """The decoder's sizes: the encoder's, as far as it has them."""
    blocks = encoder.trunk.all_blocks()
    heads = getattr(blocks[0].mix, "heads", None) if blocks else None
    if heads is None or encoder.dim // heads % 2:  # positions by turns need an even width
        fitting = [h for h in range(1, encoder.dim + 1) if encoder.dim % (2 * h) == 0]
        heads = min(fitting or [1], key=lambda h: abs(encoder.dim / h - HEAD))
    return Size(dim=encoder.dim, depth=settings.depth or len(blocks) or LAYERS, heads=heads, context=context)


def writer_operations(size: Size, settings: CaptionTraining) -> float:
    """Floating-point operations to learn from the captions of one visit: 16 D^2 a layer and the output, for each token."""
    weights = 16 * size.depth * size.dim**2 + size.dim * (settings.vocab or VOCAB)
    return 6 * weights * TOKENS * settings.visit


def caption_shape(config: Seq2Seq.Config) -> str:
    """The sizes of a model in words."""
    blocks: Any = config.target.trunk.all_blocks()
    return f"{shape(config.source)}; decoder of {len(blocks)} layers, {config.target.dim} wide, {blocks[0].mix.heads} heads"
