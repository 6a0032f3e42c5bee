"""The laws hold for the tasks of another package too: the one below tests/plugins is installed while they are tried."""

from collections.abc import Iterator

import pytest
from helpers.plugins import installed


@pytest.fixture(scope="module", autouse=True)
def plugged_in() -> Iterator[None]:
    """The package of time series."""
    with installed():
        yield
