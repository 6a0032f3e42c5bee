"""Numbers of any kind become 8-bit pixels. Knows modes and ranges; refuses to know files.

What each kind becomes:

- 1-bit, 8-bit grey: one channel. Palettes, YCbCr, CMYK, LAB: RGB. Colour profiles and gamma are not applied.
- Transparency is laid over mid-grey (127); where it is complete, the value is missing. Models from elsewhere may have
  been trained with pictures over white, or without their transparency; then nothing is missing (`Backing`).
- 16-bit grey files: black is 0, white is 65,535. Other wide numbers follow one rule (`Range`): floats within 0 to 1 or
  0 to 255 and integers within 0 to 255 or 0 to 65,535 keep the meaning of those ends; others are stretched from their
  least to their greatest value. NaN and infinities are missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from PIL import Image

BACKGROUND = 127  # what shows through, and what stands where nothing is known
WHITE = 255
STEP = 2**24  # numbers converted at a time
TRANSPARENT = "transparent in parts, laid over mid-grey"
KINDS = {  # what to tell people of pictures that are not 8-bit grey or RGB
    "CMYK": "in CMYK (colours for print), made RGB", "P": "in a palette, made RGB", "PA": "in a palette, made RGB",
    "LAB": "in LAB, made RGB", "YCbCr": "in YCbCr, made RGB", "I;16": "of 16 bits, made 8 bits",
    "I": "of 32 bits, made 8 bits", "F": "of 32 bits, made 8 bits",
}  # fmt: skip

Pixels = tuple[np.ndarray, np.ndarray | None]
Backing = Literal["grey", "white", "none"]  # what is behind transparent pixels; "none": their own colour is taken


class Range(NamedTuple):
    """The numbers that become 0 and 255."""

    low: float
    high: float

    @classmethod
    def of(cls, values: np.ndarray) -> Range:
        """The range that numbers of this kind and size are in."""
        if values.dtype == bool:
            return cls(0, 1)
        low, high = _extremes(values)
        steps = (255, 65535) if values.dtype.kind in "iu" else (1, 255)
        if low >= 0:
            for step in steps:
                if high <= step:
                    return cls(0, step)
        return cls(low, high)

    @property
    def note(self) -> str:
        """What to tell people, where the numbers had to be stretched."""
        usual = self.low == 0 and self.high in (1, 255, 65535)
        return "" if usual else f"values from {self.low:g} to {self.high:g} stretched over 0 to 255"


def to_bytes(values: np.ndarray, known: Range) -> Pixels:
    """Numbers as 8-bit values of a range, clipped to it, and where they are not numbers."""
    if values.dtype == np.uint8 and known == (0, 255):
        return values, None
    flat, out = values.reshape(-1), np.empty(values.size, np.uint8)
    missing = np.zeros(values.size, bool)
    scale = 255 / (known.high - known.low) if known.high > known.low else 0.0
    for start in range(0, flat.size, STEP):
        part = slice(start, start + STEP)
        numbers = flat[part].astype(np.float64)
        missing[part] = unknown = ~np.isfinite(numbers)
        numbers[unknown] = known.low
        out[part] = np.rint(np.clip((numbers - known.low) * scale, 0, 255))
        out[part][unknown] = BACKGROUND
    return out.reshape(values.shape), missing.reshape(values.shape) if missing.any() else None


def over_background(colour: np.ndarray, alpha: np.ndarray, backing: Backing = "grey") -> Pixels:
    """Pixels (…, C) laid over mid-grey or white by their alpha (…), and where nothing of them shows."""
    if backing == "none" or (alpha == 255).all():
        return colour, None
    weight = alpha[..., None].astype(np.float32) / 255
    behind = BACKGROUND if backing == "grey" else WHITE
    mixed = np.rint(colour * weight + behind * (1 - weight)).astype(np.uint8)
    return mixed, (alpha == 0) if backing == "grey" and (alpha == 0).any() else None


def from_image(image: Image.Image, backing: Backing = "grey") -> tuple[np.ndarray, np.ndarray | None, str]:
    """The pixels (H, W, 1 or 3) of a picture in whatever mode, where they are missing, and a note or nothing."""
    if image.mode.startswith(("I", "F")):
        values = np.asarray(image)
        known = Range(0, 65535) if image.mode.startswith("I;16") else Range.of(values)
        pixels, missing = to_bytes(values, known)
        return pixels[..., None], missing, known.note or KINDS.get(image.mode[:4], "")
    if backing != "grey":
        return np.array(_flattened(image, backing).convert("RGB")), None, ""
    if image.has_transparency_data:
        grey = image.mode in ("1", "L", "LA", "La")
        full = np.array(image.convert("LA" if grey else "RGBA"))
        see_through = bool((full[..., -1] < 255).any())
        return *over_background(full[..., :-1], full[..., -1]), TRANSPARENT if see_through else _kind(image)
    if image.mode in ("1", "L"):
        return np.array(image.convert("L"))[..., None], None, ""
    return np.array(image.convert("RGB")), None, _kind(image)


def _kind(image: Image.Image) -> str:
    """What to tell people of the way a picture is stored; every GIF has a palette, which is nothing to tell."""
    return "" if image.format == "GIF" else KINDS.get(image.mode, "")


def _flattened(image: Image.Image, backing: Backing) -> Image.Image:
    """The picture over white, where that is wanted and it is transparent anywhere."""
    from PIL import Image

    if backing != "white" or not image.has_transparency_data:
        return image
    whole = image.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", whole.size, (WHITE,) * 4), whole)


def _extremes(values: np.ndarray) -> tuple[float, float]:
    low, high = np.inf, -np.inf
    flat = values.reshape(-1)
    for start in range(0, flat.size, STEP):
        part = flat[start : start + STEP]
        if values.dtype.kind == "f":
            part = part[np.isfinite(part)]
        if part.size:
            low, high = min(low, float(part.min())), max(high, float(part.max()))
    return (low, high) if low <= high else (0.0, 1.0)
