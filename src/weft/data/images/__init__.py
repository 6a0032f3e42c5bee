"""Users' pictures: found, decoded, held out, brought to a size, changed at random, batched."""

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
