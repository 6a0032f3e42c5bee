"""What stands in a picture: its size, its words, and the images within it."""

import base64
import io
import re
import struct
from xml.etree import ElementTree

import numpy as np
from PIL import Image


def size(png: bytes) -> tuple[int, int]:
    """Width and height in pixels."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    return struct.unpack(">II", png[16:24])


def pixels(png: bytes) -> np.ndarray:
    """(H, W, 3) of 0 to 255."""
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))


def texts(svg: bytes) -> list[str]:
    """The lines of words in the order they were drawn."""
    return [element.text for element in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def images(svg: bytes) -> list[np.ndarray]:
    """The images in the order they were drawn."""
    return [pixels(base64.b64decode(found)) for found in re.findall(rb"base64,\s*([^\"]+)", svg)]
