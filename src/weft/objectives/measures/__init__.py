"""How good predictions are: measures with the intervals they are known within. Knows numbers, refuses to know models."""

from weft.objectives.measures.calibration import Reliability, reliability
from weft.objectives.measures.classes import class_measures, confusion_counts, f1_of, wilson
from weft.objectives.measures.numbers import number_measures
from weft.objectives.measures.resampling import bootstrap
from weft.objectives.measures.tags import tag_measures

__all__ = [
    "Reliability",
    "bootstrap",
    "class_measures",
    "confusion_counts",
    "f1_of",
    "number_measures",
    "reliability",
    "tag_measures",
    "wilson",
]
