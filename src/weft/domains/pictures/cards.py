"""Tasks on pictures: to label them, and to learn from them without labels."""

from weft.domains.pictures.settings import PICTURES, HidingTraining, PictureLabelTraining, ViewsTraining
from weft.tasks.card import Card, Pretrained
from weft.tasks.preset import in_words

PICTURE_PRESETS = in_words(PICTURES)
DIGITS = "scikit-learn's digits (1,797 pictures of 8 x 8 pixels)"

CLASSIFY_IMAGES = Card(
    name="classify-images",
    summary="learn to label pictures: classes or numbers",
    files="a folder (or .zip, .tar) with one sub-folder of pictures for each class; .csv with path,label, or with "
    "path and a number; .npz with x and y, or x_train, y_train, x_val, y_val",
    sample=DIGITS,
    example="picture.jpg",
    home="weft.domains.pictures.classify_images.ClassifyImages",
    reads="weft.domains.pictures.dataset.LabelledPictures",
    training=PictureLabelTraining,
    models={
        "resnet": "the default: a residual convolutional network, no attention",
        "vit": "the Vision Transformer: patches, learned positions, a class token",
        "vit-hybrid": "a Vision Transformer on the features of a small convolutional network",
    },
    presets=PICTURE_PRESETS,
    pretrained=Pretrained("resnet50", 10_000, " --set freeze=true"),
    listed=7,
)
RECONSTRUCT_IMAGES = Card(
    name="reconstruct-images",
    summary="learn to fill in hidden parts of pictures (masked autoencoder)",
    files="a folder (or .zip, .tar) of pictures, classes or not; .csv with path (and metres_per_pixel); .npz with x",
    sample=DIGITS,
    example="picture.jpg",
    home="weft.domains.pictures.reconstruct_images.ReconstructImages",
    reads="weft.domains.pictures.dataset.Pictures",
    training=HidingTraining,
    models={
        "mae": "masked autoencoder: an encoder over the visible patches, and a small decoder that fills in the others",
        "scale-mae": "the same with places in metres on the ground, for pictures of several scales",
    },
    presets=PICTURE_PRESETS,
    learns_from=("classify-images", "caption"),
    listed=8,
)
DISTILL_IMAGES = Card(
    name="distill-images",
    summary="learn features of pictures without labels (self-distillation)",
    files="a folder (or .zip, .tar) of pictures, classes or not; .csv with path; .npz with x",
    sample=DIGITS,
    example="picture.jpg",
    home="weft.domains.pictures.distill_images.DistillImages",
    reads="weft.domains.pictures.dataset.Pictures",
    training=ViewsTraining,
    models={
        "dino": "DINO: a student Vision Transformer learns from its moving average (teacher), on crops of each picture"
    },
    presets=PICTURE_PRESETS,
    learns_from=("classify-images", "caption"),
    listed=9,
)

CARDS = (CLASSIFY_IMAGES, RECONSTRUCT_IMAGES, DISTILL_IMAGES)
