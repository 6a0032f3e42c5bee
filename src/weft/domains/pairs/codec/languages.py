"""The languages of a translation, where a model knows several and a user names two of them."""

from collections.abc import Mapping
from typing import ClassVar

from weft.config import Config


class ChosenLanguages(Config):
    """The languages to translate between; None is the model's usual one."""

    source_language: str | None = None
    target_language: str | None = None

    about: ClassVar[Mapping[str, str]] = {
        "source_language": "language of the input, where the model knows several: en, English or the model's own code",
        "target_language": "language to translate into, where the model knows several: de, German or the model's code",
    }
