"""A domain of another package, as it stands on the path of a process once somebody has installed it."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from weft.domains import registry

SERIES = Path(__file__).parents[1] / "plugins" / "series"  # a package with its .dist-info, as pip lays them out


@contextmanager
def installed(place: Path = SERIES) -> Iterator[None]:
    """Within this block, the packages in a folder are installed in this process."""
    sys.path.append(str(place))
    registry.plugged_in.cache_clear()
    try:
        yield
    finally:
        sys.path.remove(str(place))
        registry.plugged_in.cache_clear()
