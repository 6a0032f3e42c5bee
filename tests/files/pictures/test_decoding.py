import struct
import sys
import threading
import time
import tracemalloc
import warnings
import zlib

import numpy as np
import pytest
from helpers import processes
from helpers.pictures import chunk, encoded, png_header, scene
from PIL import Image, ImageFile

from weft.errors import DataError
from weft.files.pictures.decoding import Decoded, decode, resized, shape
from weft.requirements import is_requirement, missing

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


def test_every_flipped_bit_of_a_png_is_noticed():
    data, draw = encoded(scene(90, 120), "PNG"), np.random.default_rng(1)
    for place in draw.integers(0, 8 * len(data), 200):
        bad = bytearray(data)
        bad[place // 8] ^= 1 << place % 8
        refused(bytes(bad))


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
    ids=["nothing", "web page", "PDF", "Photoshop", "HEIC", "FITS", "noise", "PNG"],
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


def test_a_missing_library_is_not_blamed_on_the_picture(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ImportError) as caught:
        decode(b"any", where="x")
    assert is_requirement(caught.value) and "pillow>=12" in str(missing(caught.value))


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
    part = np.zeros((8, 8), bool)
    part[:, :1], part[:, 4:7] = True, True  # a quarter of the left half, three quarters of the right
    halves = resized(Decoded(scene(8, 8), part), 1, 2)
    assert halves.missing is not None and halves.missing.tolist() == [[False, True]]
    whole = resized(Decoded(scene(), np.zeros((30, 40), bool)), 10, 10)
    assert whole.missing is None


def test_reading_decodes_without_importing_pillow_first():
    code = "import sys, weft.files.pictures.decoding; print('PIL' in sys.modules)"
    done = processes.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
