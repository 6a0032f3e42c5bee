"""Tasks on pictures: to label them, to learn from them without labels, to describe them and to answer questions."""

from weft.tasks import settings
from weft.tasks.cards.card import Card

PICTURE_PRESETS = {
    "tiny": "2 layers, 64 wide: trains in seconds",
    "mini": "4 layers, 96 wide, patches of 4 pixels; for pictures of 28 to 64 pixels",
    "thumbnail": "6 layers, 192 wide, patches of 4 pixels; for pictures of 28 to 64 pixels",
    "small": "12 layers, 384 wide, patches of 16 pixels (ViT-S)",
    "base": "12 layers, 768 wide, patches of 16 pixels (ViT-B)",
    "large": "24 layers, 1024 wide, patches of 16 pixels (ViT-L)",
}
DIGITS = "scikit-learn's digits (1,797 pictures of 8 x 8 pixels)"

CLASSIFY_IMAGES = Card(
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
)
RECONSTRUCT_IMAGES = Card(
    name="reconstruct-images",
    summary="learn to fill in hidden parts of pictures (masked autoencoder)",
    files="a folder (or .zip, .tar) of pictures, classes or not; .csv with path (and metres_per_pixel); .npz with x",
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
)
DISTILL_IMAGES = Card(
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
)
CAPTION = Card(
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
)
ANSWER = Card(
    name="answer",
    summary="learn to answer questions about pictures",
    files="a table (.tsv, .csv or .jsonl, gzip too) with file names of pictures, questions and answers, the pictures beside it "
    "or named too (questions.jsonl photos/); the two JSON files of VQA v2 with a folder of pictures",
    sample="weft's scenes (objects of many colours, shapes, sizes and places, with questions about them)",
    example="picture.jpg",
    home="answer.AnswerQuestions",
    reads="questions.AskedPictures",
    training=settings.AnswerTraining,
    models={
        "swift": "the default: convolutional features and the question in one encoder, and the decoder of translation's swift",
        "transformer": "patches and the question in one Vision Transformer encoder, and a decoder of GPT-2's layout",
    },
    presets=PICTURE_PRESETS,
    asks='--set question="What is in the picture?"',
)
