"""What stands in a picture: its size, its words, and the images within it; and trainings that draw none."""

import base64
import io
import re
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

DRAWINGS = {  # what a training and a measure draw, by the module that calls it
    "weft.runs.training": ("loss_curve",),
    "weft.tasks.labels.labelling": ("confusion", "calibration"),
    "weft.domains.fields.measures.model": ("skill_chart", "forecast_sheet", "filling_sheet"),
    "weft.domains.pictures.given": ("contact_sheet",),
    "weft.domains.pictures.filling": ("reconstructions",),
}
_drawn: dict[tuple[str, str], Callable[..., bytes]] = {}  # as for users


def without_drawing() -> None:
    """From now on, what a training draws is no picture: it takes longer than a tiny training itself.

    The drawings have tests of their own.
    """
    for module, names in DRAWINGS.items():
        for name in names:
            _drawn[module, name] = getattr(import_module(module), name)
            setattr(import_module(module), name, _undrawn)


@contextmanager
def as_for_users() -> Iterator[None]:
    """Within this block, a training draws what it draws for users."""
    with pytest.MonkeyPatch.context() as patch:
        for (module, name), draw in _drawn.items():
            patch.setattr(f"{module}.{name}", draw)
        yield


def _undrawn(*given: object, **more: object) -> bytes:
    return b"a picture"


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
