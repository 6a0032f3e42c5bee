"""Pictures made for tests, and their bytes in any format."""

import io
from pathlib import Path

import numpy as np
from PIL import Image


def scene(height: int = 30, width: int = 40, seed: int = 0) -> np.ndarray:
    """A smooth picture in colour with a little noise, different for every seed."""
    y, x = np.mgrid[:height, :width]
    smooth = np.stack([x * 200 // width, y * 200 // height, (x + y + seed * 7) % 200], -1)
    return (smooth + np.random.default_rng(seed).integers(0, 50, smooth.shape)).astype(np.uint8)


def encoded(pixels: np.ndarray | Image.Image, kind: str = "PNG", **options: object) -> bytes:
    image = pixels if isinstance(pixels, Image.Image) else Image.fromarray(pixels)
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def write(path: Path, data: bytes | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def pets(root: Path, each: int = 3, classes: tuple[str, ...] = ("cat", "dog")) -> Path:
    """A folder with a folder for each class."""
    for number, name in enumerate(classes):
        for i in range(each):
            write(root / name / f"{i}.png", encoded(scene(seed=100 * number + i)))
    return root
