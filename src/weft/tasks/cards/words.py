"""The task on words: a vector for each."""

from weft.tasks.cards.card import Card
from weft.tasks.cards.texts import TEXT_FILES
from weft.tasks.presets.preset import in_words
from weft.tasks.presets.words import FORM, WORDS
from weft.tasks.settings.words import WordTraining

WORD_PRESETS = in_words(WORDS, FORM)

EMBED_WORDS = Card(
    name="embed-words",
    summary="learn word vectors: similar words are near each other",
    files=TEXT_FILES,
    sample="weft's own sentences about a small world, in which analogies hold",
    example="king - man + woman",
    home="weft.tasks.embed_words.EmbedWords",
    reads="weft.data.datasets.words.WordTexts",
    training=WordTraining,
    models={
        "word2vec": "the default: skip-gram with negative sampling, or CBOW with --set contexts=cbow",
        "glove": "GloVe: vectors that predict how often two words stand near each other",
    },
    presets=WORD_PRESETS,
    learns_from=("language-model",),
    listed=14,
)

CARDS = (EMBED_WORDS,)
