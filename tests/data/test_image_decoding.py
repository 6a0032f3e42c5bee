import struct
import subprocess
import sys
import threading
import time
import tracemalloc
import warnings
import zlib

import numpy as np
import pytest
from data.pictures import encoded, scene
from PIL import Image, ImageFile

from weft.data.images.decoding import Decoded, decode, resized, shape
from weft.errors import DataError

KINDS = {
    "png": ("PNG", {}),
    "png-palette": ("PNG", {}),
    "jpeg": ("JPEG", {}),
    "jpeg-progressive": ("JPEG", {"progressive": True}),
    "webp": ("WEBP", {}),
    "webp-lossless": ("WEBP", {"lossless": True}),
    "gif": ("GIF", {}),
    "bmp": ("BMP", {}),
    "tiff": ("TIFF", {}),
    "tiff-lzw": ("TIFF", {"compression": "tiff_lzw"}),
    "tiff-deflate": ("TIFF", {"compression": "tiff_adobe_deflate"}),
}


def chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png_header(width: int, height: int, depth: int = 8, colour: int = 2) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0))


def exif(orientation: int) -> bytes:
    found = Image.Exif()
    found[0x0112] = orientation
    return found.tobytes()


def refused(data: bytes, where: str = "x") -> str:
    with pytest.raises(DataError) as caught:
        decode(data, where=where)
    assert caught.value.where == where
    assert caught.value.fix
    return caught.value.problem


# What is broken


@pytest.mark.parametrize("name", KINDS)
def test_a_picture_cut_short_is_refused_or_complete(name: str):
    kind, options = KINDS[name]
    image = Image.fromarray(scene(90, 120))
    data = encoded(image.quantize(16) if "palette" in name else image, kind, **options)
    whole = decode(data, where="x").pixels
    refusals = 0
    for cut in sorted({len(data) * k // 100 for k in range(100)} | set(range(len(data) - 30, len(data)))):
        try:
            pixels = decode(data[:cut], where="x").pixels
        except DataError:
            refusals += 1
        else:  # only a mark of the end was missing
            assert cut > len(data) - 30
            assert np.array_equal(pixels, whole)
    assert refusals >= 100


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF"])
def test_damaged_bytes_raise_nothing_but_data_errors(kind: str):
    data, draw = bytearray(encoded(scene(), kind)), np.random.default_rng(0)
    for _ in range(100):
        bad = bytearray(data)
        for place in draw.integers(0, len(bad), 8):
            bad[place] = draw.integers(256)
        try:
            decode(bytes(bad), where="x", side=16)
        except DataError as error:
            assert "0x7f" not in error.problem and "object at" not in error.problem


@pytest.mark.parametrize(
    "data, words",
    [
        (b"", "0 bytes"),
        (b"<!DOCTYPE html><html>404</html>", "a web page"),
        (b"%PDF-1.7 ...", "PDF"),
        (b"8BPS\0\1" + bytes(40), "Photoshop"),
        (b"\0\0\0\x18ftypheic" + bytes(40), "HEIC"),
        (b"SIMPLE  =                    T" + bytes(50), "FITS"),
        (np.random.default_rng(0).bytes(5000), "not a picture"),
        (b"\x89PNG\r\n\x1a\n" + b"nonsense" * 9, "damaged PNG"),
    ],
)
def test_what_is_no_picture_is_named(data: bytes, words: str):
    assert words in refused(data)


@pytest.mark.parametrize("kind", ["ICO", "PPM", "TGA", "PCX", "JPEG2000"])
def test_formats_that_are_not_on_the_list_are_refused(kind: str):
    assert "not a picture of a kind weft reads" in refused(encoded(scene(), kind))


def test_a_huge_picture_is_refused_by_its_header_at_once():
    rows = zlib.compress(bytes(6251 * 1000)) * 2
    data = png_header(50_000, 50_000, 1, 0) + chunk(b"IDAT", rows)
    decode(encoded(scene()), where="warm")
    tracemalloc.start()
    start = time.perf_counter()
    assert "pixels" in refused(data)
    seconds, (_, peak) = time.perf_counter() - start, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert seconds < 0.05 and peak < 2**20
    with pytest.raises(DataError, match="pixels"):
        shape(data, where="x")


def test_the_bound_on_pixels_is_100_million():
    inside, beyond = (png_header(w, 10_000) + chunk(b"IDAT", b"") for w in (10_000, 10_001))
    assert shape(inside, where="x") == (10_000, 10_000)
    assert "10,001 x 10,000 pixels" in refused(beyond)


def test_a_bomb_in_the_text_of_a_png_is_refused():
    text = chunk(b"zTXt", b"Comment\0\0" + zlib.compress(bytes(100 * 2**20)))
    data = encoded(scene())
    start = time.perf_counter()
    assert "too large" in refused(data[:33] + text + data[33:])
    assert time.perf_counter() - start < 0.5


def test_nothing_reaches_the_terminal_or_changes_the_filters(capfd: pytest.CaptureFixture):
    wide = png_header(9_500, 10_000) + chunk(b"IDAT", b"")  # Pillow warns of this many pixels
    jpeg = encoded(scene(), "JPEG", exif=exif(6))
    broken = jpeg.replace(b"MM\0*", b"MM\0*\0\0\0\x08\0\x09\1\x12", 1)
    before = list(warnings.filters)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shape(wide, where="x")
        decode(broken, where="x")
    assert warnings.filters == before
    assert capfd.readouterr() == ("", "")


def test_threads_may_decode_at_once_and_other_warnings_still_show():
    data, before, shown = encoded(scene(), "JPEG", exif=exif(9)), list(warnings.filters), warnings.showwarning
    done: list[Decoded] = []
    threads = [threading.Thread(target=lambda: done.extend(decode(data, where="x") for _ in range(50))) for _ in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == 200 and all(one.notes == ("broken EXIF ignored",) for one in done)
    assert warnings.filters == before and warnings.showwarning is shown


def test_truncated_pictures_are_never_let_through_for_all():
    decode(encoded(scene()), where="x")
    assert ImageFile.LOAD_TRUNCATED_IMAGES is False


# Kinds of numbers


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


# Orientation, frames, names


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF"])
def test_all_orientations_give_the_same_upright_picture(kind: str):
    upright = Image.fromarray(np.kron(np.arange(12, dtype=np.uint8).reshape(3, 4) * 20, np.ones((16, 16), np.uint8)))
    back = {2: 0, 3: 3, 4: 1, 5: 5, 6: 2, 7: 6, 8: 4}  # the transposition that stores it so
    options = {"lossless": True} if kind == "WEBP" else {"quality": 100} if kind == "JPEG" else {}
    for orientation in range(1, 9):
        stored = upright.transpose(Image.Transpose(back[orientation])) if orientation > 1 else upright
        data = encoded(stored, kind, exif=exif(orientation), **options)
        for side in (None, 24, 140):
            found = decode(data, where="x", side=side)
            wanted = resized(Decoded(np.asarray(upright)[..., None], None), *found.pixels.shape[:2])
            assert found.pixels.shape[:2] == ((24, 32) if side == 24 else (48, 64)), orientation
            assert np.abs(found.pixels[..., :1].astype(int) - wanted.pixels).mean() < 2, orientation
        assert shape(data, where="x") == (48, 64)


@pytest.mark.parametrize("damage", ["value", "bytes", "text"])
def test_broken_exif_is_ignored_and_noted(damage: str):
    data = encoded(scene(), "JPEG", exif=exif(9 if damage == "value" else 6))
    if damage != "value":
        start = data.index(b"Exif\0\0") + 6
        junk = b"MM\0*\0\0\0\x08\0\x05" if damage == "bytes" else b"no TIFF at all"
        data = data[:start] + junk + data[start + len(junk) :]
    found = decode(data, where="x")
    assert found.pixels.shape == (30, 40, 3)
    assert found.notes == ("broken EXIF ignored",)
    assert shape(data, where="x") == (30, 40)


@pytest.mark.parametrize("kind", ["GIF", "PNG", "WEBP", "TIFF"])
def test_of_several_frames_the_first_is_taken_and_noted(kind: str):
    frames = [Image.fromarray(np.full((20, 20, 3), v, np.uint8)) for v in (200, 10, 90)]
    data = encoded(frames[0], kind, save_all=True, append_images=frames[1:])
    found = decode(data, where="x")
    assert np.abs(found.pixels.astype(int) - 200).max() <= 2
    assert found.notes == ("first of several pictures in a file" if kind == "TIFF" else "first frame of an animation",)


def test_content_decides_and_a_wrong_ending_is_noted():
    data = encoded(scene())
    assert decode(data, where="a.zip: cat/1.JPG").notes == ("a PNG named .jpg",)
    assert decode(data, where="1.png").notes == decode(data, where="1").notes == ()
    assert np.array_equal(decode(data, where="1.jpg").pixels, scene())


def test_odd_profiles_gamma_and_interlacing_are_read():
    plain = encoded(scene(), icc_profile=b"no profile at all")
    gamma = plain[:33] + chunk(b"gAMA", struct.pack(">I", 1)) + plain[33:]
    for data in (plain, gamma):
        assert np.array_equal(decode(data, where="x").pixels, scene())


# Sizes


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "TIFF"])
@pytest.mark.parametrize("size", [(1, 1), (1, 3000), (3000, 1), (300, 500), (500, 300), (129, 128)])
def test_the_shorter_side_is_the_side_asked_for_and_never_larger(kind: str, size: tuple[int, int]):
    data = encoded(scene(*size), kind)
    for side in (1, 7, 64, 128, 200, 1000):
        height, width = decode(data, where="x", side=side).pixels.shape[:2]
        assert min(height, width) == min(side, *size)
        factor = min(1, side / min(size))
        assert abs(height - size[0] * factor) <= 1 and abs(width - size[1] * factor) <= 1
    assert shape(data, where="x") == size


def test_scaling_down_averages_and_keeps_a_constant():
    checks = np.kron(np.indices((256, 256)).sum(0) % 2 * 255, np.ones((1, 1))).astype(np.uint8)
    assert np.abs(decode(encoded(checks), where="x", side=32).pixels.astype(int) - 127).max() <= 3
    flat = np.full((300, 400, 3), 77, np.uint8)
    assert (decode(encoded(flat), where="x", side=50).pixels == 77).all()
    assert (resized(Decoded(flat, None), 1000, 17).pixels == 77).all()


def test_missing_places_are_scaled_with_the_picture():
    pixels = np.dstack([scene(256, 256), np.full((256, 256), 255, np.uint8)])
    pixels[:, :128, 3] = 0
    found = decode(encoded(pixels), where="x", side=64)
    assert found.missing is not None and found.missing[:, :32].all() and not found.missing[:, 32:].any()
    assert (found.pixels[:, :32] == 127).all()
    whole = resized(Decoded(scene(), np.zeros((30, 40), bool)), 10, 10)
    assert whole.missing is None


def test_reading_decodes_without_importing_pillow_first():
    code = "import sys, weft.data.images; print('PIL' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
