"""A picture whose colours are values at places."""

from weft.data.readers.places import Places


def woven_picture() -> Places:
    """A picture of our own of 256 x 256 pixels, with fine threads and wide shades."""
    from weft.data.readers.place_grids import picture_places
    from weft.data.samples.tapestry import sample_tapestry

    return picture_places((sample_tapestry(), None), "weft's tapestry")
