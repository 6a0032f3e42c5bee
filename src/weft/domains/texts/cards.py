"""Tasks on texts: to continue them, to fill blanks, to label texts and words, to find answers in them."""

from weft.domains.texts.settings import (
    ENCODER,
    LANGUAGE,
    LabelTraining,
    MaskTraining,
    PassageTraining,
    TagTraining,
    TextTraining,
)
from weft.tasks.card import Card, Pretrained
from weft.tasks.preset import in_words

TEXT_FILES = (
    "text as .txt, .md, .jsonl or .parquet (field text) or .mbox, gzip of these, several files, or a folder of them"
)
LANGUAGE_PRESETS = in_words(LANGUAGE)
ENCODER_MODELS = {
    "swift": "the default: rotary positions, normalised queries and keys, squared ReLU, Muon; bidirectional",
    "bert": "BERT's layout: post-norm, learned positions, GELU",
}
ENCODER_PRESETS = in_words(ENCODER)

LANGUAGE_MODEL = Card(
    name="language-model",
    summary="learn to continue a text",
    files=TEXT_FILES,
    sample="Python's own help texts (pydoc_data.topics)",
    example="Once upon a",
    home="weft.domains.texts.language_model.LanguageModel",
    reads="weft.domains.texts.dataset.running.RunningText",
    training=TextTraining,
    models={
        "swift": "the default: rotary positions, normalised queries and keys, squared ReLU, Muon",
        "gpt": "GPT-2's layout: learned positions, pre-norm, GELU",
        "llama": "Llama's layout: rotary positions, RMS norm, gated MLP, grouped-query attention",
        "lstm": "stacked LSTMs, the recurrent baseline",
    },
    presets=LANGUAGE_PRESETS,
    listed=1,
)
FILL_MASK = Card(
    name="fill-mask",
    summary="learn to fill in blanks in texts (masked language model)",
    files=TEXT_FILES,
    sample="English sentences from weft's own grammar",
    example="Once ___ a time",
    home="weft.domains.texts.fill_mask.FillMask",
    reads="weft.domains.texts.dataset.running.Sentences",
    training=MaskTraining,
    models=ENCODER_MODELS,
    presets=ENCODER_PRESETS,
    learns_from=("language-model",),
    listed=2,
)
CLASSIFY_TEXT = Card(
    name="classify-text",
    summary="learn to label texts: classes (topics, opinions) or numbers",
    files="texts with labels as .csv, .tsv, .jsonl or .json (a list of objects; gzip too), .xlsx or .parquet, or a "
    "folder with one sub-folder of .txt files for each class",
    sample="short opinions from weft's own grammar",
    example="A text of yours.",
    home="weft.domains.texts.classify_text.ClassifyText",
    reads="weft.domains.texts.dataset.labelled.LabelledDocuments",
    training=LabelTraining,
    models=ENCODER_MODELS,
    presets=ENCODER_PRESETS,
    pretrained=Pretrained("minilm", 20_000),
    listed=5,
)
TAG_TEXT = Card(
    name="tag-text",
    summary="learn to tag words: names (NER), parts of speech",
    files="sentences as columns of words and tags (.conll, .conllu, .bio, .tsv, .txt), or .jsonl with tokens and tags",
    sample="sentences with names from weft's own grammar",
    example="Ada Lovelace lived in London.",
    home="weft.domains.texts.tag_text.TagText",
    reads="weft.domains.texts.dataset.tagged.TaggedSentences",
    training=TagTraining,
    models=ENCODER_MODELS,
    presets=ENCODER_PRESETS,
    pretrained=Pretrained("minilm", 10_000),
    listed=6,
)
ANSWER_TEXT = Card(
    name="answer-text",
    summary="learn to find the answer to a question in a passage (extractive question answering)",
    files="passages with questions and answers as SQuAD's .json, or tables (.csv, .tsv, .jsonl, .xlsx, .parquet)",
    sample="lives of persons from weft's own grammar",
    example='{"question": "Where was Ada Lovelace born?", "context": "Ada Lovelace was born in London."}',
    home="weft.domains.texts.answer_text.AnswerText",
    reads="weft.domains.texts.dataset.questions.Passages",
    training=PassageTraining,
    models=ENCODER_MODELS,
    presets=ENCODER_PRESETS,
    listed=7,
)

CARDS = (LANGUAGE_MODEL, FILL_MASK, CLASSIFY_TEXT, TAG_TEXT, ANSWER_TEXT)
