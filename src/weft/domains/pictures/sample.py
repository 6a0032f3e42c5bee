"""Pictures that come with scikit-learn: digits written by hand."""

from weft.domains.pictures.reading.album import Album
from weft.domains.pictures.reading.arrays import album_of
from weft.errors import DataError


def digits() -> Album:
    """Scikit-learn's digits: 1,797 grey pictures of 8 x 8 pixels, written by 43 people."""
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        fix = "install it with: pip install 'weft[samples]', or name a folder of pictures"
        raise DataError("the sample of pictures comes with scikit-learn, which is not installed", fix=fix) from None
    found = load_digits()
    return album_of("digits", (found.images * (255 / 16)).round().astype("uint8"), found.target)
