"""Tasks on texts: to continue them, to fill blanks, to label texts and words, and vectors of words."""

from weft.tasks import settings
from weft.tasks.cards.card import Card
from weft.tasks.presets import words
from weft.tasks.presets.preset import in_words
from weft.tasks.presets.texts import ENCODER, LANGUAGE

TEXT_FILES = (
    "text as .txt, .md, .jsonl or .parquet (field text) or .mbox, gzip of these, several files, or a folder of them"
)
LANGUAGE_PRESETS = in_words(LANGUAGE)
ENCODER_MODELS = {
    "swift": "the default: rotary positions, normalised queries and keys, squared ReLU, Muon; bidirectional",
    "bert": "BERT's layout: post-norm, learned positions, GELU",
}
ENCODER_PRESETS = in_words(ENCODER)
WORD_PRESETS = in_words(words.WORDS, words.FORM)

LANGUAGE_MODEL = Card(
    name="language-model",
    summary="learn to continue a text",
    files=TEXT_FILES,
    sample="Python's own help texts (pydoc_data.topics)",
    example="Once upon a",
    home="language_model.LanguageModel",
    reads="texts.RunningText",
    training=settings.TextTraining,
    models={
        "swift": "the default: rotary positions, normalised queries and keys, squared ReLU, Muon",
        "gpt": "GPT-2's layout: learned positions, pre-norm, GELU",
        "llama": "Llama's layout: rotary positions, RMS norm, gated MLP, grouped-query attention",
        "lstm": "stacked LSTMs, the recurrent baseline",
    },
    presets=LANGUAGE_PRESETS,
)
FILL_MASK = Card(
    name="fill-mask",
    summary="learn to fill in blanks in texts (masked language model)",
    files=TEXT_FILES,
    sample="English sentences from weft's own grammar",
    example="Once ___ a time",
    home="fill_mask.FillMask",
    reads="texts.Sentences",
    training=settings.MaskTraining,
    models=ENCODER_MODELS,
    presets=ENCODER_PRESETS,
)
CLASSIFY_TEXT = Card(
    name="classify-text",
    summary="learn to label texts: classes (topics, opinions) or numbers",
    files="texts with labels as .csv, .tsv, .jsonl (gzip too), .xlsx or .parquet, or a folder with one sub-folder of .txt files "
    "for each class",
    sample="short opinions from weft's own grammar",
    example="A text of yours.",
    home="classify_text.ClassifyText",
    reads="labelled.LabelledDocuments",
    training=settings.LabelTraining,
    models=ENCODER_MODELS,
    presets=ENCODER_PRESETS,
)
TAG_TEXT = Card(
    name="tag-text",
    summary="learn to tag words: names (NER), parts of speech",
    files="sentences as columns of words and tags (.conll, .conllu, .bio, .tsv, .txt), or .jsonl with tokens and tags",
    sample="sentences with names from weft's own grammar",
    example="Ada Lovelace lived in London.",
    home="tag_text.TagText",
    reads="tagged.TaggedSentences",
    training=settings.TagTraining,
    models=ENCODER_MODELS,
    presets=ENCODER_PRESETS,
)
EMBED_WORDS = Card(
    name="embed-words",
    summary="learn word vectors: similar words are near each other",
    files=TEXT_FILES,
    sample="weft's own sentences about a small world, in which analogies hold",
    example="king - man + woman",
    home="embed_words.EmbedWords",
    reads="words.WordTexts",
    training=settings.WordTraining,
    models={
        "word2vec": "the default: skip-gram with negative sampling, or CBOW with --set contexts=cbow",
        "glove": "GloVe: vectors that predict how often two words stand near each other",
    },
    presets=WORD_PRESETS,
)
