import warnings
import zlib

import numpy as np
import pytest
from helpers.pictures import chunk, encoded, png_header, scene
from PIL import Image

from weft.files.pictures.decoding import decode


def test_grey_stays_one_channel_and_colour_has_three():
    assert decode(encoded(scene()[..., 0]), where="x").pixels.shape == (30, 40, 1)
    assert decode(encoded(scene()), where="x").pixels.shape == (30, 40, 3)


def mode_zoo() -> dict[str, tuple[bytes, np.ndarray]]:
    """Files of many modes and what float64 arithmetic makes of them."""
    colour, draw = scene().astype(np.float64), np.random.default_rng(1)
    grey, alpha = colour[..., :1], draw.integers(0, 256, (30, 40, 1)).astype(np.float64)
    over = colour * alpha / 255 + 127 * (1 - alpha / 255)
    over_grey = grey * alpha / 255 + 127 * (1 - alpha / 255)
    wide = draw.integers(0, 65536, (30, 40, 1)).astype(np.uint16)
    real = draw.normal(size=(30, 40, 1)).astype(np.float32) * 1000
    bits = (grey > 100) * 255.0
    inks = draw.integers(0, 256, (30, 40, 4)).astype(np.float64)
    inked = 255 * (1 - inks[..., :3] / 255) * (1 - inks[..., 3:] / 255)
    u8 = {name: x.astype(np.uint8) for name, x in (("rgb", colour), ("l", grey), ("a", alpha), ("inks", inks))}
    palette = Image.fromarray(u8["rgb"]).quantize(32)
    rgb16 = (np.repeat(wide, 3, 2)).astype(">u2")
    lines = b"".join(b"\0" + line.tobytes() for line in rgb16)
    png48 = png_header(40, 30, 16, 2) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")
    return {
        "1": (encoded(Image.fromarray(bits[..., 0].astype(np.uint8)).convert("1")), bits),
        "LA": (encoded(Image.fromarray(np.dstack([u8["l"], u8["a"]]))), over_grey),
        "RGBA": (encoded(np.dstack([u8["rgb"], u8["a"]])), over),
        "RGBA TIFF": (encoded(np.dstack([u8["rgb"], u8["a"]]), "TIFF"), over),
        "P": (encoded(palette), np.asarray(palette.convert("RGB"), np.float64)),
        "CMYK TIFF": (encoded(Image.fromarray(u8["inks"], "CMYK"), "TIFF"), inked),
        "I;16 PNG": (encoded(wide[..., 0]), wide / 257),
        "I;16 TIFF": (encoded(wide[..., 0], "TIFF"), wide / 257),
        "RGB 16-bit PNG": (png48, np.repeat(wide, 3, 2) / 257),
        "I": (encoded(wide[..., 0].astype(np.int32) * 10, "TIFF"), wide / (wide.max() / 255)),
        "I within a byte": (encoded(u8["l"][..., 0].astype(np.int32), "TIFF"), grey),
        "F": (encoded(real[..., 0], "TIFF"), (real - real.min()) / (real.max() - real.min()) * 255),
        "F from 0 to 1": (encoded((grey / 400)[..., 0].astype(np.float32), "TIFF"), grey / 400 * 255),
    }


@pytest.mark.parametrize("mode", mode_zoo())
def test_every_mode_becomes_what_arithmetic_says(mode: str):
    data, wanted = mode_zoo()[mode]
    if mode == "I":
        low = wanted.min()
        wanted = (wanted - low) / (255 - low) * 255
    pixels = decode(data, where="x").pixels
    assert pixels.dtype == np.uint8 and pixels.shape == wanted.shape
    assert np.abs(pixels - wanted).max() <= 1


def test_cmyk_of_adobe_is_turned_round():
    """Adobe writes full ink as 0. Red is no cyan and full magenta and yellow."""
    inks = np.zeros((16, 16, 4), np.uint8)
    inks[..., 1:3] = 255
    data = encoded(Image.fromarray(inks, "CMYK"), "JPEG", quality=100)
    assert b"Adobe" in data
    assert np.abs(decode(data, where="x").pixels.astype(int) - [255, 0, 0]).max() <= 3


def test_lab_and_ycbcr_become_rgb():
    lab = np.full((8, 8, 3), [255, 128, 128], np.uint8)
    lab[:4, :, 0] = 0
    pixels = decode(
        encoded(Image.frombytes("LAB", (8, 8), (lab ^ [0, 128, 128]).astype(np.uint8).tobytes()), "TIFF"), where="x"
    ).pixels
    assert pixels[:4].max() <= 2 and pixels[4:].min() >= 253
    image = Image.fromarray(scene()).convert("YCbCr")
    assert np.abs(decode(encoded(image, "TIFF"), where="x").pixels.astype(int) - scene()).max() <= 3


def test_what_is_wholly_transparent_is_missing_and_mid_grey():
    pixels = np.dstack([scene(), np.full((30, 40), 255, np.uint8)])
    assert decode(encoded(pixels), where="x").missing is None
    pixels[5:10, 5:10, 3] = 0
    pixels[20:, :, 3] = 1
    found = decode(encoded(pixels), where="x")
    assert found.missing is not None and found.missing.sum() == 25 and found.missing[5:10, 5:10].all()
    assert (found.pixels[5:10, 5:10] == 127).all()


@pytest.mark.parametrize("mode", ["P", "RGB", "L"])
def test_a_transparent_colour_is_missing(mode: str):
    image = Image.fromarray(np.repeat(np.repeat([[0, 200], [100, 50]], 8, 0), 8, 1).astype(np.uint8)).convert(mode)
    key = image.getpixel((12, 2))
    found = decode(encoded(image, transparency=key), where="x")
    assert found.missing is not None
    assert found.missing[:8, 8:].all() and found.missing.sum() == 64


def test_nan_in_a_picture_of_floats_is_missing():
    values = np.linspace(-5, 5, 64, dtype=np.float32).reshape(8, 8)
    values[2, 3], values[4, 4] = np.nan, np.inf
    found = decode(encoded(values, "TIFF"), where="x")
    assert found.missing is not None and found.missing.sum() == 2 and found.missing[2, 3] and found.missing[4, 4]
    assert found.pixels[0, 0, 0] == 0 and found.pixels[7, 7, 0] == 255 and found.pixels[2, 3, 0] == 127
    assert found.notes == ("values from -5 to 5 stretched over 0 to 255",)


@pytest.mark.parametrize("value", [0.0, 0.5, 300.0, np.nan])
def test_a_picture_of_one_value_has_pixels(value: float):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = decode(encoded(np.full((4, 4), value, np.float32), "TIFF"), where="x")
    assert len(np.unique(found.pixels)) == 1
    assert (found.missing is not None) == np.isnan(value)
