"""The laws hold for the tasks of another package too: the one below tests/plugins is installed while they are tried."""

from collections.abc import Iterator

import pytest
from helpers.plugins import installed

from weft.domains.fields.reading import scanned


@pytest.fixture(scope="module", autouse=True)
def plugged_in() -> Iterator[None]:
    """The package of time series."""
    with installed():
        yield


@pytest.fixture(scope="module", autouse=True)
def fields_read_here() -> Iterator[None]:
    """Fields are scanned in this process, as where no other can be started: starting one takes seconds.

    The process of its own is tried in tests/domains/fields.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scanned, "look_apart", lambda *sources, **how: None)
        yield
