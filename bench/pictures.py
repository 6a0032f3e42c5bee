"""Reading and changing pictures: JPEGs of 500 x 375 to 64 and 224 pixels, pictures a second, beside plain Pillow.

The JPEGs are made here, smooth with some noise, about 40 kB each. A run decodes each picture once at its start and
keeps it small; what a training step costs after that is the last column of the second table.
"""

import io
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from race import race
from report import Table, arguments, hand_in

from weft.domains.pictures.encoded.augment import Augment
from weft.domains.pictures.encoded.frames import frames_of
from weft.domains.pictures.reading.trying import read_images
from weft.files.pictures.decoding import decode

PICTURES = 128


def jpegs(count: int) -> list[bytes]:
    """Files as a camera would write them."""
    draw, found = np.random.default_rng(0), []
    for _ in range(count):
        coarse = draw.integers(0, 256, (12, 16, 3), np.uint8)
        picture = np.asarray(Image.fromarray(coarse).resize((500, 375), Image.Resampling.BICUBIC)).astype(int)
        noisy = np.clip(picture + draw.normal(0, 8, picture.shape), 0, 255).astype(np.uint8)
        file = io.BytesIO()
        Image.fromarray(noisy).save(file, "JPEG", quality=88)
        found.append(file.getvalue())
    return found


def pillow(data: bytes) -> np.ndarray:
    """As most scripts do it."""
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


def measure(*, quick: bool = False, bf16: bool = False) -> list[Table]:
    """Decoding, and what training takes from memory."""
    files = jpegs(8 if quick else PICTURES)
    with ThreadPoolExecutor(torch.get_num_threads()) as pool, tempfile.TemporaryDirectory() as folder:
        contestants = {
            "Pillow, whole pictures": lambda: list(map(pillow, files)),
            "weft, whole pictures": lambda: [decode(data, where="") for data in files],
            "weft, shorter side 224": lambda: [decode(data, where="", side=224) for data in files],
            "weft, shorter side 80 (for models of 64 pixels)": lambda: [
                decode(data, where="", side=80) for data in files
            ],
            f"Pillow, {torch.get_num_threads()} threads": lambda: list(pool.map(pillow, files)),
            f"weft, shorter side 80, {torch.get_num_threads()} threads": lambda: list(
                pool.map(lambda data: decode(data, where="", side=80), files)
            ),
        }
        timings = race(contestants, rounds=1 if quick else 4, least=0.0 if quick else 1.0)
        first = timings["Pillow, whole pictures"]
        rows = [[n, len(files) / t.best, len(files) / t.median, first.best / t.best] for n, t in timings.items()]
        decoded = Table(
            f"Decoding {len(files)} JPEGs of 500 x 375", ["reading", "pictures/s, best", "median", "Pillow = 1"], rows
        )
        for i, data in enumerate(files):
            place = Path(folder) / f"{'ab'[i % 2]}" / f"{i}.jpg"
            place.parent.mkdir(exist_ok=True)
            place.write_bytes(data)
        album = read_images(folder).train
        return [decoded, changed(album, len(files), quick)]


def changed(album: object, count: int, quick: bool) -> Table:
    """Random parts of the pictures that are in memory, changed lightly to heavily."""
    lines, rows = [], np.arange(count)
    for size in (64, 224):
        frames = frames_of(album, size, 3)
        contestants = {
            name: (lambda how=how, frames=frames: frames.changed(rows, rows, how, key="bench"))
            for name, how in (
                ("light", Augment.light(True)),
                ("medium", Augment.medium(True)),
                ("heavy", Augment.heavy(True)),
            )
        }
        for name, timing in race(contestants, rounds=1 if quick else 4, least=0.0 if quick else 1.0).items():
            lines.append([f"{size} pixels, {name}", count / timing.best, count / timing.median])
    return Table("Random parts of them from memory, augmented", ["to", "pictures/s, best", "median"], lines)


if __name__ == "__main__":
    given = arguments(__doc__).parse_args()
    hand_in(measure(quick=given.quick, bf16=given.bf16), given.json)
