"""Named models: functions that return configs. A name, its sizes, and nothing else.

language, encoders                  language models; text encoders
translation, parsing                encoder–decoders of texts; models that parse
vision                              pictures: classified, reconstructed, distilled
captioning, contrastive, answering  pictures and texts: captions, one space, answers to questions
fields, points, graphs              fields in time; places; graphs and sets
"""

from weft.models.zoo.encoders import ENCODER_MODELS
from weft.models.zoo.language import LANGUAGE_MODELS, Size, gpt, llama, lstm, swift

__all__ = ["ENCODER_MODELS", "LANGUAGE_MODELS", "Size", "gpt", "llama", "lstm", "swift"]
