"""The task on pairs: a text with its translation."""

from weft.domains.pairs.settings import FORM, PAIRS, PairTraining
from weft.tasks.card import Card
from weft.tasks.preset import in_words

PAIR_MODELS = {
    "swift": "the default: rotary positions, normalised queries and keys, squared ReLU, Muon",
    "transformer": "the Transformer of 2017: post-norm, sinusoids, label smoothing, warm-up, averaged weights",
    "lstm": "LSTM encoder and decoder through one context vector",
    "lstm-attention": "the same with additive attention: a new context vector at each step",
}
PAIR_PRESETS = in_words(PAIRS, FORM)

TRANSLATE = Card(
    name="translate",
    summary="learn to translate from sentence pairs",
    files="pairs as .tsv, .csv, .jsonl, .json (a list of objects), .xlsx, .parquet, .tmx or .po, gzip of these, "
    "folders, or two parallel texts",
    sample="weft's phrasebook: English with French (--set target=it for Italian, de for German)",
    example="My house is tiny and cozy.",
    home="weft.domains.pairs.translate.Translate",
    reads="weft.domains.pairs.dataset.Translations",
    training=PairTraining,
    models=PAIR_MODELS,
    presets=PAIR_PRESETS,
    seldom=True,  # any two columns of text might be a translation, and few are
    listed=3,
)

CARDS = (TRANSLATE,)
