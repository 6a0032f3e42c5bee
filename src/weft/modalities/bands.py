"""Two frequency bands of a picture: what is left of it when it is shrunk, and the detail that is lost by that."""

from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F

from weft.config import Config as BaseConfig
from weft.config import Part, at_least
from weft.modalities.image import paste


def two_bands(
    pixels: Float[Tensor, "B C Y X"], known: Bool[Tensor, "B C Y X"], small: tuple[int, int]
) -> tuple[Float[Tensor, "B C Y X"], Float[Tensor, "B C Y X"]]:
    """Low + high = pixels: low is the picture shrunk to the height and width `small` and enlarged again.

    A Laplacian pyramid of one step (Burt and Adelson, 1983). Pixels that are not known count for nothing.
    """
    weight = known.to(pixels.dtype)
    shrunk = _scaled(pixels * weight, small) / _scaled(weight, small).clamp(min=1e-6)
    low = _scaled(shrunk, (pixels.shape[2], pixels.shape[3]))
    return low, pixels - low


def _scaled(pixels: Tensor, shape: tuple[int, int]) -> Tensor:
    return F.interpolate(pixels, shape, mode="bilinear", antialias=True, align_corners=False)


class TwoBands(Part, nn.Module):
    """tokens of a grid -> the low and the high frequencies of its picture, which add up to it (Reed et al., 2023).

    low   each token gives `low` times `low` pixels, and the whole is enlarged
    high  each token gives `width` values a pixel, and a convolution over all patches makes detail of them
    """

    class Config(BaseConfig):
        """`low` is the side of a patch in the low band, in pixels; `width` is the channels that detail is made of."""

        low: int = 2
        width: int = 8

        def check(self) -> None:
            at_least(self, 1, "low", "width")

    def __init__(self, config: Config, *, dim: int, patch: int, channels: int):
        super().__init__()
        self.config, self.patch = config, patch
        self.low = nn.Linear(dim, config.low**2 * channels)
        self.fine = nn.Linear(dim, patch**2 * config.width)
        self.detail = nn.Conv2d(config.width, channels, 3, padding=1)

    def forward(
        self, x: Float[Tensor, "B N D"], rows: int
    ) -> tuple[Float[Tensor, "B C Y X"], Float[Tensor, "B C Y X"]]:
        """The two bands, normalised like the pixels; `rows` is the rows of the grid."""
        columns = x.shape[1] // rows
        height, width = rows * self.patch, columns * self.patch
        small = self.small(rows, columns)
        low = _scaled(paste(self.low(x), *small, self.config.low).float(), (height, width))
        fine = paste(F.gelu(self.fine(x)), height, width, self.patch)
        return low, self.detail(fine)

    def small(self, rows: int, columns: int) -> tuple[int, int]:
        """The height and width of the low band of such a grid."""
        return rows * self.config.low, columns * self.config.low

    def split(self, pixels: Tensor, known: Tensor) -> tuple[Tensor, Tensor]:
        """The bands that a picture should be made of."""
        rows, columns = (side // self.patch for side in pixels.shape[2:])
        return two_bands(pixels, known, self.small(rows, columns))
