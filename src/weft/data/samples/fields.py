"""Fields on a globe, computed by weft."""

from weft.data.grids.grid import Fields


def travelling_waves() -> Fields:
    """An atmosphere of our own: 1,500 fields of height and winds on 24 x 48 cells, with gaps as a satellite leaves them."""
    from weft.data.samples.atmosphere import SampleFields

    return SampleFields()
