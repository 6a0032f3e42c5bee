"""Named models: functions that return configs. A name, its sizes, and nothing else."""

from weft.models.zoo.encoders import ENCODER_MODELS
from weft.models.zoo.language import LANGUAGE_MODELS, Size, gpt, llama, lstm, swift

__all__ = ["ENCODER_MODELS", "LANGUAGE_MODELS", "Size", "gpt", "llama", "lstm", "swift"]
