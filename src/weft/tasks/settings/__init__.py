"""Settings of each task's training, as people give them with `--set name=value`. Numbers and their limits; no torch."""

from weft.tasks.settings.elements import ElementTraining, GraphTraining, SetTraining
from weft.tasks.settings.fields import ForecastTraining, PlaceTraining
from weft.tasks.settings.limits import with_settings
from weft.tasks.settings.pairs import PairTraining, ParseTraining
from weft.tasks.settings.picture_texts import AnswerTraining, CaptionTraining
from weft.tasks.settings.pictures import HidingTraining, PictureLabelTraining, PictureTraining, ViewsTraining
from weft.tasks.settings.sized import RowTraining, SizedTraining
from weft.tasks.settings.texts import EncoderTraining, LabelTraining, MaskTraining, TagTraining, TextTraining
from weft.tasks.settings.words import WordTraining

__all__ = [
    "AnswerTraining",
    "CaptionTraining",
    "ElementTraining",
    "EncoderTraining",
    "ForecastTraining",
    "GraphTraining",
    "HidingTraining",
    "LabelTraining",
    "MaskTraining",
    "PairTraining",
    "ParseTraining",
    "PictureLabelTraining",
    "PictureTraining",
    "PlaceTraining",
    "RowTraining",
    "SetTraining",
    "SizedTraining",
    "TagTraining",
    "TextTraining",
    "ViewsTraining",
    "WordTraining",
    "with_settings",
]
