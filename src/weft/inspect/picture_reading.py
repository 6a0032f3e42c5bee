"""How much of each patch of a picture a model read for each token that it wrote. Knows no words and draws nothing."""

import numpy as np
import torch

from weft.core.memories import Prefix
from weft.errors import WeftError
from weft.inspect.alignment import weights_of
from weft.inspect.translation import readings_of
from weft.modalities.image import Picture, PictureEmbed
from weft.models.seq2seq import Seq2Seq


class NoAttention(WeftError):
    """A model has no attention to the parts of a picture."""


def patch_grid(model: Seq2Seq, raw_picture: Picture) -> tuple[int, int]:
    """Rows and columns of the patches that the model makes of a picture."""
    embed = model.source.embed
    assert isinstance(embed, PictureEmbed), "the source is not a picture"
    rows, columns = (-(-side // embed.config.stride) for side in raw_picture.pixels.shape[2:])
    return rows, columns


@torch.inference_mode()
def picture_weights(model: Seq2Seq, raw_picture: Picture, target_ids: list[int]) -> np.ndarray:
    """(layers, heads, tokens, patches): the attention of each token to the patches of one picture, row by row.

    `target_ids` are the ids that the decoder reads: what stands at a token was read to predict the token behind it.
    Attention to class tokens is left out, so that the weights of a token add up to 1 at most.
    """
    raw_picture = raw_picture.to(next(model.parameters()).device)
    read = readings_of(model, raw_picture, target_ids)
    rows, columns = patch_grid(model, raw_picture)
    if read["across"]:
        return weights_of(read["across"])[..., -rows * columns :]  # class tokens stand in front
    words = len(target_ids)
    if isinstance(model.target.config.trunk.memory, Prefix.Config) and read["target"]:
        before = weights_of(read["target"])[..., -words:, :-words]  # the picture stands before the words
        return before[..., -rows * columns :]
    problem = "this model reads a picture as one vector: it has no attention to the parts of a picture"
    raise NoAttention(
        problem, where="weft look", fix="look with a model that has it, such as swift or show-attend-tell"
    )
