"""What a model without a head is used for: vectors, and looking inside."""

from weft.modalities.image import PictureEmbed
from weft.models.stream import Model, Stream


def task_without_head(config: Model.Config) -> str | None:
    """The task whose runs take in a model that gives vectors alone; None where none does."""
    if not isinstance(config, Stream.Config):
        return None
    return "distill-images" if isinstance(config.embed, PictureEmbed.Config) else "fill-mask"
