"""Autoencoder: some tokens are hidden, the rest is encoded, and a small decoder predicts the hidden ones (MAE)."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from weft.core.trunk import Trunk
from weft.errors import ConfigError
from weft.modalities.bands import TwoBands
from weft.modalities.image import PatchEmbed, Picture, cut, paste
from weft.models.stream import Model, Stream
from weft.position import Place
from weft.tokens import Tokens, join


class Autoencoder(Model):
    """visible patches -> encoder -> memory; with a mask token for each hidden patch -> decoder -> all patches.

    The encoder never sees hidden patches (He et al., 2022), so three quarters hidden cost about a quarter of the work.
    Patches whose pixels are missing are hidden in the same way, and always.
    """

    class Config(Model.Config):
        """The decoder is a trunk of width `dim` with its own position codes; `summarised`: it reads class tokens.

        With `bands` the decoder makes low and high frequencies apart, which add up to the picture.
        """

        encoder: Stream.Config
        decoder: Trunk.Config
        dim: int
        place: Place.Config | None = None
        summarised: bool = False
        bands: TwoBands.Config | None = None

        def reader(self) -> Stream.Config:
            return self.encoder

        def check(self) -> None:
            if not isinstance(self.encoder.embed, PatchEmbed.Config):
                raise ConfigError("an autoencoder of pictures reads patches", where="Autoencoder.encoder.embed")

    config: Config

    def __init__(self, config: Config):
        super().__init__()
        self.config = config
        self.encoder = config.encoder.build()
        self.narrow = nn.Linear(config.encoder.dim, config.dim)
        self.hidden = nn.Parameter(torch.randn(1, 1, config.dim) * 0.02)
        self.place = config.place.build(dim=config.dim) if config.place else None
        self.decoder = config.decoder.build(dim=config.dim)
        embed: PatchEmbed = self.encoder.embed
        channels = config.encoder.embed.channels  # type: ignore[attr-defined]
        self.out = None if config.bands else nn.Linear(config.dim, embed.project.in_features)
        self.bands: TwoBands | None = None
        if config.bands is not None:
            self.bands = config.bands.build(dim=config.dim, patch=embed.patch, channels=channels)

    def backbone(self) -> tuple[Stream.Config, str]:
        return self.config.encoder, "encoder."

    def forward(self, raw: Picture, shown: Int[Tensor, "B M"]) -> Float[Tensor, "B N P"]:
        """The pixels of all patches, normalised, from those that are shown."""
        made = self.made(raw, shown)
        return made[0] if len(made) == 1 else torch.stack(made).sum(0)

    def made(self, raw: Picture, shown: Int[Tensor, "B M"]) -> tuple[Float[Tensor, "B N P"], ...]:
        """The bands whose sum is that: one, or low and high frequencies."""
        embed: PatchEmbed = self.encoder.embed
        patches = embed.patches(raw)
        seen = self.encoder.trunk(embed.summarised(patches.take(shown)))
        return self.drawn(self.decode(seen, patches, shown), raw.pixels.shape[2])

    def drawn(self, decoded: Tokens, height: int) -> tuple[Float[Tensor, "B N P"], ...]:
        """The bands of all patches from the decoder's tokens, of a picture of this height in pixels."""
        if self.out is not None:
            return (self.out(decoded.x),)
        assert self.bands is not None
        patch = self.encoder.embed.patch
        low, high = self.bands(decoded.x, -(-height // patch))
        return cut(low, patch), cut(high, patch)

    def wanted(
        self, patches: Float[Tensor, "B N P"], known: Bool[Tensor, "B N P"], height: int
    ) -> tuple[Float[Tensor, "B N P"], ...]:
        """The bands of true patches, of a picture of this height in pixels."""
        if self.bands is None:
            return (patches,)
        patch = self.encoder.embed.patch
        high = -(-height // patch) * patch
        wide = patches.shape[1] * patch**2 // high
        pixels, sure = (paste(values, high, wide, patch) for values in (patches, known))
        return tuple(cut(band, patch) for band in self.bands.split(pixels, sure))

    def decode(self, seen: Tokens, patches: Tokens, shown: Int[Tensor, "B M"]) -> Tokens:
        """The decoder's tokens for all patches."""
        own = self.narrow(seen.x)
        first = seen.shape[1] - shown.shape[1]  # class tokens stand in front
        front, behind = (torch.arange(*ends, device=own.device) for ends in ((0, first), (first, seen.shape[1])))
        rows = own.shape[0]
        empty = Tokens.free(self.hidden.to(own.dtype).expand(*patches.shape, -1), coords=patches.coords)
        known = seen.with_x(own).take(behind.expand(rows, -1))
        keep = known.valid[..., None]
        filled = known.with_x(torch.where(keep, known.x, self.hidden.to(own.dtype))).put_back(shown, empty)
        if self.place is not None:
            filled = filled.with_x(self.place(filled.x, filled.coords))
        if not (self.config.summarised and first):
            return self.decoder(filled)
        decoded = self.decoder(join(seen.with_x(own).take(front.expand(rows, -1)), filled))
        return decoded.take(torch.arange(first, decoded.shape[1], device=own.device).expand(rows, -1))
