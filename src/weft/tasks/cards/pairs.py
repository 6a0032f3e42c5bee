"""Tasks on pairs: a text with its translation, a sentence with its tree."""

from weft.tasks import settings
from weft.tasks.cards.card import Card
from weft.tasks.presets.pairs import FORM, PAIRS
from weft.tasks.presets.preset import in_words

PAIR_MODELS = {
    "swift": "the default: rotary positions, normalised queries and keys, squared ReLU, Muon",
    "transformer": "the Transformer of 2017: post-norm, sinusoidal positions, label smoothing, warm-up, averaged weights",
    "lstm": "LSTM encoder and decoder through one context vector",
    "lstm-attention": "the same with additive attention: a new context vector at each step",
}
PARSE_MODELS = {
    "next-word": "the default: swift whose decoder is given the encoding of the next unread word at each step",
    "gaps": "an encoder that tags what opens before each word and how much closes after it; the best tree is computed",
    **PAIR_MODELS,
    "swift": "an encoder–decoder that is not told at which word it is: rotary, squared ReLU, Muon",
}
PAIR_PRESETS = in_words(PAIRS, FORM)

TRANSLATE = Card(
    name="translate",
    summary="learn to translate from sentence pairs",
    files="pairs as .tsv, .csv, .jsonl, .xlsx, .parquet, .tmx or .po, gzip of these, folders of them, or two parallel text files",
    sample="weft's phrasebook: English with French (--set target=it for Italian, de for German)",
    example="My house is tiny and cozy.",
    home="translate.Translate",
    reads="pairs.Translations",
    training=settings.PairTraining,
    models=PAIR_MODELS,
    presets=PAIR_PRESETS,
)
PARSE = Card(
    name="parse",
    summary="learn to parse sentences from bracketed trees",
    files="bracketed trees as .mrg, .parse, .ptb or .tree(s), gzip of these, or a folder of them",
    sample="trees from weft's own small English grammar",
    example="the dog sees the old man in the park .",
    home="parse.Parse",
    reads="trees.Trees",
    training=settings.ParseTraining,
    models=PARSE_MODELS,
    presets=PAIR_PRESETS,
)
