"""The task on words: a vector for each."""

from weft.domains.texts.cards import TEXT_FILES
from weft.domains.words.presets import FORM, WORDS
from weft.domains.words.settings import WordTraining
from weft.tasks.card import Card
from weft.tasks.preset import in_words

WORD_PRESETS = in_words(WORDS, FORM)

EMBED_WORDS = Card(
    name="embed-words",
    summary="learn word vectors: similar words are near each other",
    files=TEXT_FILES,
    sample="weft's own sentences about a small world, in which analogies hold",
    example="king - man + woman",
    home="weft.domains.words.embed_words.EmbedWords",
    reads="weft.domains.words.dataset.WordTexts",
    training=WordTraining,
    models={
        "word2vec": "the default: skip-gram with negative sampling, or CBOW with --set contexts=cbow",
        "glove": "GloVe: vectors that predict how often two words stand near each other",
    },
    presets=WORD_PRESETS,
    adopts_files=True,
    learns_from=("language-model",),
    listed=14,
)

CARDS = (EMBED_WORDS,)
