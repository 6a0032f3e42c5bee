"""Vectors of words: their widths, and the rates at which each model learns fastest."""

from functools import partial

from weft.domains.words.settings import WORDS, WordTraining
from weft.errors import ConfigError
from weft.models.word_vectors import WordVectors, word_vectors
from weft.tasks.recipe import Recipe, sized
from weft.tasks.request import Request

WIDTH = 100  # of a vector, by default
SMALL_TEXT = 2_000_000  # words, below which narrower vectors do as well
SAMPLE = 512  # words or pairs in a sample
MIN_STEPS_PER_EPOCH = 50  # of a small text: with fewer, a step gets fewer samples
CBOW_LR = 0.1  # each neighbour has a share of the mean's gradient, so the rate is higher than that of skip-gram
WINDOWS = {"word2vec": 5, "glove": 10}
PRESETS = {name: sized(preset) for name, preset in WORDS.items()}
KEPT = ("dim", "contexts", "window", "negatives", "sample", "most", "lower", "breaks", "batch", "lr", "clip")
RECIPE = Recipe(
    models={"word2vec": partial(word_vectors, "word2vec"), "glove": partial(word_vectors, "glove")},
    presets=PRESETS,
    default="word2vec",
    rates={
        "word2vec": {"lr": 0.035, "clip": 14.0, "warmup": 0},
        "glove": {"contexts": "counts", "lr": 0.1, "clip": 5.0, "warmup": 0, "batch": 16},
    },
    fixed=("dim", "vocab", "fewest", "lower"),
    kept=KEPT,
    frozen=(),
)


def sized_vectors(
    request: Request, training: WordTraining, *, words: int, text: int
) -> tuple[WordVectors.Config, WordTraining]:
    """A model for a `text` of that many words, `words` of them different, and the settings with everything decided."""
    name = RECIPE.model_name(request)
    usual = PRESETS[request.preset].dim if request.preset is not None else WIDTH if text >= SMALL_TEXT else WIDTH // 2
    if (name == "glove") != (training.contexts == "counts"):
        problem = f"{name} does not learn from {training.contexts}"
        raise ConfigError(problem, where="--set contexts", fix="leave it out, or choose another --model")
    dim, window = training.dim or usual, training.window or WINDOWS[name]
    samples = (min(words**2, text * window) if name == "glove" else text) / SAMPLE
    batch = min(training.batch, max(1, int(samples / MIN_STEPS_PER_EPOCH)))
    batch = training.batch if "batch" in request.settings else batch
    lr = CBOW_LR if training.contexts == "cbow" and "lr" not in request.settings else training.lr
    return RECIPE.models[name](words=words, dim=dim), training.replace(dim=dim, window=window, batch=batch, lr=lr)
