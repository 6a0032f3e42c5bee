"""Users' pictures: found, decoded, held out, brought to a size, changed at random, batched.

Names are loaded when they are first used, so that a process which only decodes is quick to start.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from weft.data.images.album import Album as Album
    from weft.data.images.album import Found as Found
    from weft.data.images.decoding import Decoded as Decoded
    from weft.data.images.decoding import decode as decode
    from weft.data.images.decoding import resized as resized
    from weft.data.images.decoding import shape as shape
    from weft.data.images.reading import find_pictures as find_pictures
    from weft.data.images.reading import read_images as read_images
    from weft.data.images.split import split_album as split_album

_homes = {
    "Album": "album",
    "Decoded": "decoding",
    "Found": "album",
    "decode": "decoding",
    "find_pictures": "reading",
    "read_images": "reading",
    "resized": "decoding",
    "shape": "decoding",
    "split_album": "split",
}

__all__ = [
    "Album",
    "Decoded",
    "Found",
    "decode",
    "find_pictures",
    "read_images",
    "resized",
    "shape",
    "split_album",
]


def __getattr__(name: str) -> Any:
    if name not in _homes:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_homes[name]}"), name)
