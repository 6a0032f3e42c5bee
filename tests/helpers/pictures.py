"""Pictures made for tests, their bytes in any format, and what comes of reading them."""

import io
import struct
import tarfile
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from weft.domains.pictures.reading import trying as reading
from weft.domains.pictures.reading.album import Album
from weft.domains.pictures.reading.trying import read_images
from weft.errors import DataError
from weft.files.pictures.decode_workers import Answers, Children, Pictures


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


def chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png_header(width: int, height: int, depth: int = 8, colour: int = 2) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0))


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


def zipped(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def tarred(path: Path, members: dict[str, bytes], mode: str = "w") -> Path:
    with tarfile.open(path, mode) as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


def files(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def reasons(album: Album) -> dict[str, str]:
    return dict(album.skipped)


def wrong(*sources: Path, **options: object) -> DataError:
    with pytest.raises(DataError) as caught:
        read_images(list(sources), **options)
    return caught.value


class NoChildren(Children):
    """Decodes in the process that asks."""

    def decode(self, pictures: Pictures) -> Answers:
        return self._decode_here(pictures)

    def __exit__(self, *_: object) -> None:
        self.alone = 0  # as if others had done it


def decoded_here() -> None:
    """From now on pictures are decoded without processes of their own, which take long to start.

    These have tests of their own, in tests/files/pictures.
    """
    reading.Children = NoChildren
