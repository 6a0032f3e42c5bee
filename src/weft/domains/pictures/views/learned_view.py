"""What a model for pictures learned, whatever picture it reads: its first filters, and its codes of places."""

from typing import Any, Literal

import numpy as np
import torch
from einops import rearrange
from torch import nn

from weft.domains.pictures.views import learned
from weft.errors import ConfigError, WeftError
from weft.inspect.views import View
from weft.modalities.image import PatchEmbed, Picture, PictureEmbed
from weft.modalities.picture_text import PictureTextEmbed
from weft.models.stream import Stream

LEARNED = ("filters", "positions")  # what can be shown of an embedder


def learned_names(what: str | None) -> tuple[str, ...]:
    """The names in a list of what to show of an embedder; others are refused."""
    names = () if what is None else tuple(part.strip() for part in what.split(","))
    if not set(names) <= set(LEARNED):
        raise ConfigError(f"expected {' or '.join(LEARNED)}, found {what!r}", where="what")
    return names


class LearnedView(View):
    """What the embedder learned: its filters' principal components, and how alike the codes of places are."""

    def __init__(self, model: Stream, what: tuple[str, ...]):
        self.what = what
        embed = model.embed.picture if isinstance(model.embed, PictureTextEmbed) else model.embed
        if not isinstance(embed, PictureEmbed):
            raise WeftError("this model reads no pictures")
        self.weights, self.size, self.codes = None, None, None
        if "filters" in what:
            self.weights, self.size = first_filters(embed)
        if "positions" in what:
            self.codes = position_codes(embed)

    @property
    def about(self) -> str:
        return f"the {' and '.join(self.what)} that the picture embedder learned"

    def picture(self, format: Literal["png", "svg", "pdf"] = "png") -> bytes:
        """All that was asked for in one picture."""
        return learned.draw(self.weights, self.size, self.codes, format=format)

    def text(self) -> str:
        """In numbers."""
        lines = []
        if self.weights is not None and self.size is not None:
            _, shares = learned.components(self.weights, self.size, 8)
            lines.append("filters, share of variance: " + ", ".join(f"{s:.1%}" for s in shares))
        if self.codes is not None:
            alike = learned.similarity(self.codes)
            lines.append(f"positions, mean cosine similarity {alike.mean():.3f}")
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {"what": list(self.what), "text": self.text()}


def first_filters(embed: PictureEmbed) -> tuple[np.ndarray, tuple[int, int, int]]:
    """The filters that meet the pixels, (filters, height x width x channels), and height, width and channels.

    They are those of the patches, or of the first convolution.
    """
    first = next((part for part in embed.modules() if isinstance(part, nn.Conv2d)), None)
    if first is not None:
        filters = first.weight.detach().float().cpu()
        flat = rearrange(filters, "o c y x -> o (y x c)").contiguous().numpy()
        return flat, (filters.shape[2], filters.shape[3], filters.shape[1])
    if not isinstance(embed, PatchEmbed):
        raise WeftError("this model has no filters over pixels", where="what", fix="leave out filters")
    return embed.project.weight.detach().float().cpu().numpy(), (embed.patch, embed.patch, embed.config.channels)


@torch.no_grad()
def position_codes(embed: PictureEmbed) -> np.ndarray:
    """The code of each place of the grid that was learned, (rows, columns, D)."""
    if embed.place is None:
        fix = "leave out positions: a convolutional network has none"
        raise WeftError("this model has no position encodings", where="what", fix=fix)
    rows, columns = embed.config.grid
    side = embed.config.stride
    device = next(embed.parameters()).device
    blank = Picture(torch.zeros(1, embed.config.channels, rows * side, columns * side, device=device))
    codes = embed.place.code(embed.coordinates(blank))
    return codes[0].reshape(rows, columns, -1).float().cpu().numpy()
