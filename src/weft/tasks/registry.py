"""The tasks in plain words: what a list of tasks, a wrong name and an early error need. Imports no torch.

A task itself, and the reader of its data, are imported when they are first used.
"""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from weft.data.datasets import Reader
from weft.errors import WeftError, nearest
from weft.tasks import settings

if TYPE_CHECKING:
    from weft.tasks.task import Task


@dataclass(frozen=True)
class Card:
    """A task as people meet it. `home` and `reads` name the classes of the task and of its reader."""

    name: str
    summary: str
    files: str  # the data it takes
    sample: str  # what is used when no data is named
    example: str  # an input to try
    home: str
    reads: str
    training: type[settings.SizedTraining]
    models: Mapping[str, str]
    presets: Mapping[str, str]
    asks: str = ""  # what the command line needs beside the example

    @cached_property
    def task(self) -> "Task[Any, Any, Any]":
        """The task itself."""
        return _named(f"weft.tasks.{self.home}")

    @cached_property
    def reader(self) -> Reader[Any]:
        """What reads its data."""
        return _named(f"weft.data.datasets.{self.reads}")


def _named(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)()


LANGUAGE_PRESETS = {
    "tiny": "2 layers, 64 wide: trains in seconds",
    "mini": "4 layers, 256 wide",
    "small": "6 layers, 384 wide",
    "base": "12 layers, 768 wide (GPT-2)",
    "large": "24 layers, 1024 wide (GPT-2 medium)",
}
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
PAIR_PRESETS = {
    "tiny": "2+2 layers, 64 wide: trains in seconds",
    "mini": "2+2 layers, 128 wide",
    "small": "3+3 layers, 256 wide",
    "base": "6+6 layers, 512 wide, model transformer (Vaswani et al., 2017)",
    "large": "6+6 layers, 1024 wide, model transformer (their big model)",
}
ENCODER_MODELS = {
    "swift": "the default: rotary positions, normalised queries and keys, squared ReLU, Muon; bidirectional",
    "bert": "BERT's layout: post-norm, learned positions, GELU",
}
ENCODER_PRESETS = {
    "tiny": "2 layers, 64 wide: trains in seconds",
    "mini": "4 layers, 256 wide",
    "small": "4 layers, 512 wide, model bert",
    "base": "12 layers, 768 wide, model bert (Devlin et al., 2019)",
    "large": "24 layers, 1024 wide, model bert",
}
PICTURE_PRESETS = {
    "tiny": "2 layers, 64 wide: trains in seconds",
    "mini": "4 layers, 96 wide, patches of 4 pixels; for pictures of 28 to 64 pixels",
    "thumbnail": "6 layers, 192 wide, patches of 4 pixels; for pictures of 28 to 64 pixels",
    "small": "12 layers, 384 wide, patches of 16 pixels (ViT-S)",
    "base": "12 layers, 768 wide, patches of 16 pixels (ViT-B)",
    "large": "24 layers, 1024 wide, patches of 16 pixels (ViT-L)",
}
FIELD_PRESETS = {
    "tiny": "2 layers, 64 wide: trains in seconds",
    "mini": "4 layers, 128 wide",
    "small": "6 layers, 256 wide",
    "base": "8 layers, 512 wide",
    "large": "12 layers, 1024 wide",
}
WORD_PRESETS = {
    "tiny": "1 vector for each word, 32 wide: trains in seconds",
    "mini": "1 vector for each word, 50 wide",
    "small": "1 vector for each word, 100 wide",
    "base": "1 vector for each word, 300 wide (as the published word2vec and GloVe)",
}
ELEMENT_PRESETS = {
    "tiny": "2 layers, 64 wide: trains in seconds",
    "mini": "3 layers, 64 wide",
    "small": "4 layers, 128 wide",
    "base": "6 layers, 256 wide",
    "large": "10 layers, 512 wide",
}
TEXT_FILES = (
    "text as .txt, .md, .jsonl or .parquet (field text) or .mbox, gzip of these, several files, or a folder of them"
)
DIGITS = "scikit-learn's digits (1,797 pictures of 8 x 8 pixels)"

CARDS: dict[str, Card] = {
    card.name: card
    for card in (
        Card(
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
        ),
        Card(
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
        ),
        Card(
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
        ),
        Card(
            name="parse",
            summary="learn to parse sentences from bracketed trees",
            files="bracketed trees as .mrg, .parse, .ptb or .tree(s), gzip of these, or a folder of them",
            sample="trees from weft's own small English grammar",
            example="the dog sees the old man in the park .",
            home="parse.Parse",
            reads="pairs.Trees",
            training=settings.ParseTraining,
            models=PARSE_MODELS,
            presets=PAIR_PRESETS,
        ),
        Card(
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
        ),
        Card(
            name="tag-text",
            summary="learn to tag words: names (NER), parts of speech",
            files="sentences as columns of words and tags (.conll, .conllu, .bio, .tsv, .txt), or .jsonl with tokens "
            "and tags",
            sample="sentences with names from weft's own grammar",
            example="Ada Lovelace lived in London.",
            home="tag_text.TagText",
            reads="tagged.TaggedSentences",
            training=settings.TagTraining,
            models=ENCODER_MODELS,
            presets=ENCODER_PRESETS,
        ),
        Card(
            name="classify-images",
            summary="learn to label pictures: classes or numbers",
            files="a folder (or .zip, .tar) with one sub-folder of pictures for each class; .csv with path,label, or with "
            "path and a number; .npz with x and y, or x_train, y_train, x_val, y_val",
            sample=DIGITS,
            example="picture.jpg",
            home="classify_images.ClassifyImages",
            reads="pictures.LabelledPictures",
            training=settings.PictureLabelTraining,
            models={
                "resnet": "the default where no preset is named: a residual convolutional network, no attention",
                "vit": "the Vision Transformer: patches, learned positions, a class token",
                "vit-hybrid": "a Vision Transformer on the features of a small convolutional network",
            },
            presets=PICTURE_PRESETS,
        ),
        Card(
            name="reconstruct-images",
            summary="learn to fill in hidden parts of pictures (masked autoencoder)",
            files="a folder (or .zip, .tar) of pictures, classes or not; .csv with path (and metres_per_pixel); "
            ".npz with x",
            sample=DIGITS,
            example="picture.jpg",
            home="reconstruct_images.ReconstructImages",
            reads="pictures.Pictures",
            training=settings.HidingTraining,
            models={
                "mae": "masked autoencoder: an encoder over the visible patches, and a small decoder that fills in the others",
                "scale-mae": "the same with places in metres on the ground, for pictures of several scales",
            },
            presets=PICTURE_PRESETS,
        ),
        Card(
            name="distill-images",
            summary="learn features of pictures without labels (self-distillation)",
            files="a folder (or .zip, .tar) of pictures, classes or not; .csv with path; .npz with x",
            sample=DIGITS,
            example="picture.jpg",
            home="distill_images.DistillImages",
            reads="pictures.Pictures",
            training=settings.ViewsTraining,
            models={
                "dino": "DINO: a student Vision Transformer learns from its own moving average (teacher), on several crops of each picture"
            },
            presets=PICTURE_PRESETS,
        ),
        Card(
            name="caption",
            summary="learn to write captions for pictures",
            files=".tsv, .csv or .jsonl (gzip too) with file names of pictures and captions, the pictures beside it or named "
            "too (captions.tsv photos/ or photos.tar); a folder, .zip or .tar of pictures with a .txt of the same name "
            "for each; COCO's captions in JSON; Flickr8k's lines",
            sample="weft's scenes (5,000 pictures of 48 x 48 pixels with sentences)",
            example="picture.jpg",
            home="caption.Caption",
            reads="captions.CaptionedPictures",
            training=settings.CaptionTraining,
            models={
                "swift": "the default: a transformer on convolutional features, and the decoder of translation's swift",
                "transformer": "a Vision Transformer, and a decoder of GPT-2's layout; weft export --to hf writes it",
                "cnn-transformer": "the same decoder, and a transformer on convolutional features",
                "one-stream": "the picture's tokens and the words in one sequence: a single transformer, no separate decoder",
                "show-attend-tell": "an LSTM with attention over the picture for each word (Xu et al., 2015)",
                "cnn-lstm": "an LSTM that is given the picture as one vector (after Vinyals et al., 2015)",
                "coca": "swift with a contrastive loss: also finds pictures by text, and classifies without training (zero-shot)",
            },
            presets=PICTURE_PRESETS,
        ),
        Card(
            name="answer",
            summary="learn to answer questions about pictures",
            files="a table (.tsv, .csv or .jsonl, gzip too) with file names of pictures, questions and answers, the pictures beside it "
            "or named too (questions.jsonl photos/); the two JSON files of VQA v2 with a folder of pictures",
            sample="weft's scenes (objects of many colours, shapes, sizes and places, with questions about them)",
            example="picture.jpg",
            home="answer.Answer",
            reads="questions.AskedPictures",
            training=settings.AnswerTraining,
            models={
                "swift": "the default: convolutional features and the question in one encoder, and the decoder of translation's swift",
                "transformer": "patches and the question in one Vision Transformer encoder, and a decoder of GPT-2's layout",
            },
            presets=PICTURE_PRESETS,
            asks='--set question="What is in the picture?"',
        ),
        Card(
            name="forecast",
            summary="learn to forecast fields on a grid, and to fill their gaps",
            files="netCDF files (.nc) or zarr stores with variables on a grid of latitude and longitude, or x and y, by time; "
            "several of them, or a folder; needs the extra weather",
            sample="weft's own small atmosphere: waves that travel round a globe, seen by a satellite that leaves gaps",
            example="fields.nc",
            home="forecast.ForecastFields",
            reads="fields.GriddedFields",
            training=settings.ForecastTraining,
            models={
                "swift": "the default: a token holds all time steps of a window at one place; normalised queries and keys, Muon",
                "atmorep": "a token for each small neighbourhood in space and time, as in AtmoRep",
            },
            presets=FIELD_PRESETS,
        ),
        Card(
            name="fit-field",
            summary="learn values at coordinates: a picture, a map, measurements",
            files=".csv, .tsv or .jsonl (gzip too) with lat, lon (and time) or other coordinates, and a number or class in "
            "each row; a grid as .npz (lat, lon, values) or netCDF; one picture",
            sample="weft's tapestry (a picture of 256 x 256 pixels)",
            example="0.5, 0.5",
            home="fit_field.FitField",
            reads="places.PlacesWithValues",
            training=settings.PlaceTraining,
            models={
                "field": "a coordinate network: a position encoding (--set code=fourier, siren, harmonics or raw), then an MLP"
            },
            presets={
                "tiny": "2 layers, 64 wide: trains in seconds",
                "mini": "3 layers, 128 wide",
                "small": "4 layers, 256 wide",
                "base": "5 layers, 512 wide",
            },
        ),
        Card(
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
        ),
        Card(
            name="graph",
            summary="learn labels of nodes, or of whole graphs",
            files=".npz with edges, x and labels; a table of edges with one of nodes (edges.csv nodes.csv); GraphML, GML or "
            "node-link .json; many graphs as a text or a folder of the TU collection; .csv with a column smiles (RDKit)",
            sample="weft's party (360 guests in four groups of friends, and who knows whom)",
            example="graph.json",
            home="graph.GraphLabels",
            reads="graphs.LabelledGraphs",
            training=settings.GraphTraining,
            models={
                "graph-transformer": "the default: attention along edges and to all nodes, with distances and Laplacian "
                "eigenvectors",
                "gat": "attention along edges only; for large graphs",
                "gcn": "graph convolution: averages along edges, no attention",
                "appnp": "an MLP on each node, then ten averages along edges (personalised PageRank): for few labels",
            },
            presets=ELEMENT_PRESETS,
        ),
        Card(
            name="sets",
            summary="learn labels of sets of vectors",
            files=".jsonl with a list of vectors and a label in each line; .npz with x, set and labels; a table with a "
            "vector in each row and a column that names its set",
            sample="weft's dice (1,200 throws, with or without a pair)",
            example="sets.jsonl",
            home="sets.SetLabels",
            reads="graphs.LabelledSets",
            training=settings.SetTraining,
            models={
                "transformer": "the default: attention between all vectors of a set",
                "deepsets": "averages over the set, no attention (Zaheer et al., 2017)",
            },
            presets=ELEMENT_PRESETS,
        ),
    )
}


def card_named(name: str, where: str = "--task") -> Card:
    """The task of that name, which stands in some place."""
    if name not in CARDS:
        raise WeftError(f"there is no task {name!r}", where=where, fix=nearest(name, CARDS))
    return CARDS[name]
