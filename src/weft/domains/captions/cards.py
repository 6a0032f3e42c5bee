"""Tasks on pictures with texts: to describe pictures, and to answer questions about them."""

from weft.domains.captions.settings import AnswerTraining, CaptionTraining
from weft.domains.pictures.cards import PICTURE_PRESETS
from weft.tasks.card import Card, Pretrained

CAPTION = Card(
    name="caption",
    summary="learn to write captions for pictures",
    files=".tsv, .csv or .jsonl (gzip too) with file names of pictures and captions, the pictures beside it or named "
    "too (captions.tsv photos/ or photos.tar); a folder, .zip or .tar of pictures with a .txt of the same name "
    "for each; COCO's captions in JSON; Flickr8k's lines",
    sample="weft's scenes (5,000 pictures of 48 x 48 pixels with sentences)",
    example="picture.jpg",
    home="weft.domains.captions.caption.Caption",
    reads="weft.domains.captions.dataset.CaptionedPictures",
    training=CaptionTraining,
    models={
        "show-attend-tell": "the default: an LSTM with attention over the picture for each word (Xu et al., 2015)",
        "swift": "a transformer on convolutional features, and the decoder of translation's swift",
        "transformer": "a Vision Transformer, and a decoder of GPT-2's layout; weft export --to hf writes it",
        "cnn-transformer": "the same decoder, and a transformer on convolutional features",
        "one-stream": "the picture's tokens and the words in one sequence: a single transformer, no separate decoder",
        "cnn-lstm": "an LSTM that is given the picture as one vector (after Vinyals et al., 2015)",
        "coca": "swift with a contrastive loss: also finds pictures by text, and classifies untrained (zero-shot)",
    },
    presets=PICTURE_PRESETS,
    pretrained=Pretrained("resnet50", 30_000, " --set freeze=true"),
    listed=10,
)
ANSWER = Card(
    name="answer",
    summary="learn to answer questions about pictures",
    files="a table (.tsv, .csv or .jsonl, gzip too) with file names of pictures, questions and answers, the pictures "
    "beside it or named too (questions.jsonl photos/); the two JSON files of VQA v2 with a folder of pictures",
    sample="weft's scenes (objects of many colours, shapes, sizes and places, with questions about them)",
    example="picture.jpg",
    home="weft.domains.captions.answer.AnswerQuestions",
    reads="weft.domains.captions.dataset.AskedPictures",
    training=AnswerTraining,
    models={
        "swift": "the default: the question's words read convolutional features; decoder of translate's swift",
        "joint": "convolutional features and the question in one encoder (one stream); a decoder of GPT-2's layout",
        "transformer": "patches and the question in one Vision Transformer encoder, and a decoder of GPT-2's layout",
    },
    presets=PICTURE_PRESETS,
    pretrained=Pretrained("resnet50", 30_000, " --set freeze=true"),
    asks='--set question="What is in the picture?"',
    listed=11,
)

CARDS = (
    CAPTION,
    ANSWER,
)
