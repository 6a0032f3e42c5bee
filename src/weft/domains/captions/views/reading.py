"""How much of each patch of a picture a model read for each token that it wrote. Knows no words and draws nothing."""

import numpy as np
import torch

from weft.core.recording import record
from weft.inspect.views import NoAttention
from weft.modalities.image import Picture
from weft.modalities.text import Text
from weft.models.backbone import embed_of
from weft.models.seq2seq import Seq2Seq, memory_weights
from weft.models.stream import Model


def patch_grid(model: Model, raw_picture: Picture) -> tuple[int, int]:
    """Rows and columns of the patches that the model makes of a picture."""
    stride = embed_of(model.config).stride
    rows, columns = (-(-side // stride) for side in raw_picture.pixels.shape[2:])
    return rows, columns


def patch_middle(model: Model) -> float:
    """Where the middle of what a patch sees lies in its square of the picture, in shares of the side."""
    return embed_of(model.config).middle


@torch.inference_mode()
def picture_weights(model: Seq2Seq, raw_picture: Picture, target_ids: list[int]) -> np.ndarray:
    """(layers, heads, tokens, patches): the attention of each token to the patches of one picture, row by row.

    `target_ids` are the ids that the decoder reads: what stands at a token was read to predict the token behind it.
    Attention to class tokens and, in one stream, to words is left out: the weights of a token add up to 1 at most.
    """
    model.eval()
    device = next(model.parameters()).device
    memory = model.memorise(raw_picture.to(device))
    with record(model) as recorded:
        model.target.encode(Text(torch.tensor([target_ids], device=device)), memory=memory)
    layers = memory_weights(model, recorded, memory)
    if not layers:
        problem = "this model reads a picture as one vector: it has no attention to the parts of a picture"
        raise NoAttention(
            problem, where="weft look", fix="look with a model that has it, such as swift or show-attend-tell"
        )
    rows, columns = patch_grid(model, raw_picture)
    weights = torch.stack([layer[0].float() for layer in layers])
    return weights[..., -rows * columns :].cpu().numpy()  # class tokens stand in front
