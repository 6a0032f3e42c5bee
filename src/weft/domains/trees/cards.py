"""The task on trees: to parse sentences."""

from weft.domains.pairs.cards import PAIR_MODELS, PAIR_PRESETS
from weft.domains.trees.settings import ParseTraining
from weft.tasks.card import Card

PARSE_MODELS = {
    "next-word": "the default: swift whose decoder is given the encoding of the next unread word at each step",
    "gaps": "an encoder that tags what opens before each word and how much closes after it; the best tree is computed",
    **PAIR_MODELS,
    "swift": "an encoder–decoder that is not told at which word it is: rotary, squared ReLU, Muon",
}

PARSE = Card(
    name="parse",
    summary="learn to parse sentences from bracketed trees",
    files="bracketed trees as .mrg, .parse, .ptb or .tree(s), gzip of these, or a folder of them",
    sample="trees from weft's own small English grammar",
    example="the dog sees the old man in the park .",
    home="weft.domains.trees.parse.Parse",
    reads="weft.domains.trees.dataset.Trees",
    training=ParseTraining,
    models=PARSE_MODELS,
    presets=PAIR_PRESETS,
    listed=4,
)

CARDS = (PARSE,)
