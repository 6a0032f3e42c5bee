"""The bytes of one picture become pixels. Knows formats; refuses to know where pictures come from.

PNG, JPEG, WebP, GIF, BMP, TIFF, AVIF and, with the extra heic, HEIC, told by their content. A picture that cannot be
read whole is refused. Of several frames or pages the first is taken. EXIF orientation is applied.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import numpy as np

from weft.errors import DataError
from weft.files.decoding import shown
from weft.files.pictures.colour import BACKGROUND, Backing, from_image
from weft.files.pictures.formats import ENDINGS, format_of
from weft.files.pictures.png_sums import check_sums
from weft.files.pictures.warned import listening

if TYPE_CHECKING:
    from PIL import Image

    from weft.modalities.preparation import Resample

FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "AVIF", "HEIF")
PIXELS = 100_000_000  # of the largest picture that is decoded
SMALL = 128  # the shorter side that smaller sizes are made from
FIX = "save it again as PNG or JPEG, or leave it out"
ORIENTATION = 0x0112  # the EXIF field

OTHERS = {
    b"%PDF": "a PDF document", b"8BPS": "a Photoshop file", b"%!PS": "a PostScript file", b"SIMPLE  =": "a FITS file",
    b"\0\0\1\0": "an icon file", b"\0\0\0\x0cjP  ": "JPEG 2000", b"PK\3\4": "a zip archive", b"\x1f\x8b": "gzip",
    b"<svg": "an SVG drawing", b"<?xml": "XML", b"<!doctype": "a web page", b"<html": "a web page", b"{": "JSON",
}  # fmt: skip

# How stored pixels are turned upright, by the value of the EXIF orientation.
TURNS: dict[int, Callable[[np.ndarray], np.ndarray]] = {
    2: lambda x: x[:, ::-1],
    3: lambda x: x[::-1, ::-1],
    4: lambda x: x[::-1],
    5: lambda x: x.swapaxes(0, 1),
    6: lambda x: x[::-1].swapaxes(0, 1),
    7: lambda x: x[::-1, ::-1].swapaxes(0, 1),
    8: lambda x: x[:, ::-1].swapaxes(0, 1),
}


class Passing(DataError):
    """A fault that need not be there the next time: it is not one of the picture's content."""


@dataclass(frozen=True)
class Decoded:
    """A picture in memory.

    `pixels` is (H, W, 3), or (H, W, 1) for grey, in uint8. `missing` (H, W) says where no value is known (and 127
    stands); None where all are. `notes` says what was done to it that people may want to know. `span` is how many
    pixels of the file a pixel stands for, along a side.
    """

    pixels: np.ndarray
    missing: np.ndarray | None
    notes: tuple[str, ...] = ()
    span: float = 1.0

    @property
    def nbytes(self) -> int:
        """The memory it takes."""
        return self.pixels.nbytes + (0 if self.missing is None else self.missing.nbytes)


def decode(data: bytes, *, where: str, side: int | None = None, backing: Backing = "grey") -> Decoded:
    """The picture in a file's bytes, upright; where it is larger, scaled down so that its shorter side is `side`.

    Sizes below `SMALL` are made from that size, so that a picture kept small and one decoded anew are the same bit for
    bit. `backing` is what is behind transparent pixels.
    """
    with _damage(data, where), listening() as heard:
        image = _open(data, where)
        if image.format == "PNG":
            check_sums(data, where=where, fix=FIX)
        stored, turn, notes = image.height, _orientation(image, heard), _notes(image, where)
        if side is not None:
            height, width = _fitting(*image.size[::-1], max(side, SMALL))
            image.draft(None, (width, height))  # JPEG can be decoded at a half, a quarter, an eighth
        else:
            height, width = image.size[::-1]
        image.load()
        pixels, missing, note = from_image(image, backing)
    notes += ["broken EXIF ignored"] if turn is None else []
    upright = TURNS.get(turn or 1, lambda x: x)
    told = tuple([*notes, note] if note else notes)
    picture = resized(Decoded(pixels, missing, told, span=stored / pixels.shape[0]), height, width)
    missing = None if picture.missing is None else np.ascontiguousarray(upright(picture.missing))
    picture = replace(picture, pixels=np.ascontiguousarray(upright(picture.pixels)), missing=missing)
    return picture if side is None else shrunk(picture, side)


def shape(data: bytes, *, where: str) -> tuple[int, int]:
    """Height and width of the upright picture, from the header alone."""
    with _damage(data, where), listening() as heard:
        image = _open(data, where)
        width, height = image.size
        return (width, height) if (_orientation(image, heard) or 1) >= 5 else (height, width)


def resized(picture: Decoded, height: int, width: int, resample: Resample = "bicubic") -> Decoded:
    """The picture in another size. A pixel is missing where at least half of what it covers is."""
    if picture.pixels.shape[:2] == (height, width):
        return picture
    from PIL import Image

    def scaled(plane: np.ndarray, resample: Image.Resampling) -> np.ndarray:
        return np.array(Image.fromarray(plane).resize((width, height), resample))

    grey = picture.pixels.shape[2] == 1
    pixels = scaled(picture.pixels[..., 0] if grey else picture.pixels, Image.Resampling[resample.upper()])
    pixels, missing = pixels[..., None] if grey else pixels, None
    if picture.missing is not None:
        missing = scaled(picture.missing.astype(np.uint8) * 255, Image.Resampling.BOX) >= 128
        pixels = np.where(missing[..., None], np.uint8(BACKGROUND), pixels)
        missing = missing if missing.any() else None
    return replace(picture, pixels=pixels, missing=missing, span=picture.span * _ratio(picture.pixels, height, width))


def shrunk(picture: Decoded, side: int) -> Decoded:
    """The picture with a shorter side of at most `side`."""
    height, width, _ = picture.pixels.shape
    return resized(picture, *_fitting(height, width, side))


def _ratio(pixels: np.ndarray, height: int, width: int) -> float:
    """How many pixels fall together along a side where a picture gets another size: the mean of both sides' ratios."""
    return math.sqrt(pixels.shape[0] * pixels.shape[1] / (height * width))


def _fitting(height: int, width: int, side: int) -> tuple[int, int]:
    """A size of the same aspect whose shorter side is `side`, or the size itself where that is not smaller."""
    shorter = min(height, width)
    if shorter <= side:
        return height, width
    return max(1, round(height * side / shorter)), max(1, round(width * side / shorter))


def _open(data: bytes, where: str) -> Image.Image:
    """The picture with its header read and its size allowed."""
    from PIL import Image

    if not data:
        raise DataError("0 bytes, not a picture", where=where, fix="copy it again, or leave it out")
    if format_of(data[:16]) == "HEIF":
        _learn_heif(where)
    try:
        image = Image.open(io.BytesIO(data), formats=[name for name in FORMATS if name != "HEIF" or name in Image.OPEN])
    except Image.DecompressionBombError:
        raise DataError(f"more than {PIXELS:,} pixels", where=where, fix="scale it down first") from None
    except Image.UnidentifiedImageError:
        raise _unknown(data, where) from None
    if (count := image.width * image.height) > PIXELS:
        size = f"{image.width:,} x {image.height:,} pixels, {count:,} in all, are more than the {PIXELS:,} weft decodes"
        raise DataError(size, where=where, fix="scale it down first")
    if not count:
        raise DataError("a picture without pixels", where=where, fix=FIX)
    return image


def _learn_heif(where: str) -> None:
    """Teach Pillow to read HEIC, the pictures of many phones."""
    try:
        import pillow_heif
    except ImportError:
        raise DataError("a HEIC picture; pillow-heif, which reads them, is not installed", where=where,
                        fix="pip install 'weft[heic]' (it brings x265 under the GPL, version 2)") from None  # fmt: skip
    pillow_heif.register_heif_opener()


def _unknown(data: bytes, where: str) -> DataError:
    """The error for bytes that are no picture, with what they look like."""
    head = data[:64].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if name := format_of(data):
        name = name.replace("HEIF", "HEIC")
        return DataError(f"a damaged {name} file: its header cannot be read", where=where, fix=FIX)
    if data[4:8] == b"ftyp":
        found = "a film"
    else:
        found = next((what for mark, what in OTHERS.items() if head.startswith(mark.lower())), "")
    known = ", ".join(FORMATS)
    problem = f"not a picture of a kind weft reads ({known})" + (f"; it looks like {found}" if found else "")
    return DataError(problem, where=where, fix=FIX)


@contextmanager
def _damage(data: bytes, where: str) -> Iterator[None]:
    """Whatever a decoder raises over damaged bytes becomes one error that names the picture."""
    try:
        yield
    except (DataError, ImportError):
        raise
    except MemoryError:
        raise Passing("not enough memory to decode it", where=where, fix="scale it down first") from None
    except Exception as error:
        words = shown(str(error)).split("\n")[0][:200] or type(error).__name__
        problem = f"a damaged {format_of(data) or 'picture'} file: {words}"
        raise DataError(problem, where=where, fix=FIX) from None


def _orientation(image: Image.Image, heard: list[str]) -> int | None:
    """The EXIF orientation; 1 where there is none or Pillow turns the picture (TIFF), None where EXIF is broken."""
    from PIL import Image

    before = len(heard)
    try:
        if isinstance(raw := image.info.get("exif"), bytes):
            Image.Exif().load(raw)  # anew: what opening the picture found wrong, it keeps to itself
        value = image.getexif().get(ORIENTATION, 1)
    except Exception:  # a parser of hostile bytes: it may raise anything
        return None
    if not isinstance(value, int) or not 1 <= value <= 8 or len(heard) > before:
        return None
    return 1 if image.format == "TIFF" else value


def _notes(image: Image.Image, where: str) -> list[str]:
    notes, kind = [], "JPEG" if image.format == "MPO" else str(image.format)
    if getattr(image, "is_animated", False):
        several = kind in ("TIFF", "JPEG")
        notes.append("first of several pictures in a file" if several else "first frame of an animation")
    ending = PurePosixPath(where).suffix.lower()
    if ENDINGS.get(ending, kind) != kind:
        notes.append(f"a {kind} named {ending}")
    return notes
