"""Pictures: read from folders, archives, tables and arrays, every one of them tried, and what is held out of them."""

from weft.data.images.album import Album, Found
from weft.data.images.decoding import Decoded, decode, resized, shape
from weft.data.images.reading import find_pictures, read_images
from weft.data.images.sources import looks_like_images
from weft.data.images.split import split_album

__all__ = [
    "Album",
    "Decoded",
    "Found",
    "decode",
    "find_pictures",
    "looks_like_images",
    "read_images",
    "resized",
    "shape",
    "split_album",
]
