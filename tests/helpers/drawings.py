"""What stands in a picture: its size, its words, and the images within it; and trainings that draw none."""

import base64
import io
import re
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image


def without_drawing() -> None:
    """From now on, what a training draws at its end is no picture: it takes longer than a tiny training itself.

    The drawings have tests of their own.
    """
    from weft.runs import training
    from weft.tasks.labels import labelling

    training.loss_curve = labelling.confusion = labelling.calibration = _undrawn


@contextmanager
def as_for_users() -> Iterator[None]:
    """Within this block, a training draws what it draws for users."""
    from weft.inspect.calibration import calibration
    from weft.inspect.confusion import confusion
    from weft.inspect.curves import loss_curve

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("weft.runs.training.loss_curve", loss_curve)
        patch.setattr("weft.tasks.labels.labelling.confusion", confusion)
        patch.setattr("weft.tasks.labels.labelling.calibration", calibration)
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
