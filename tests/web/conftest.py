"""One server for all tests that only ask; others start their own."""

import importlib.util
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

HAS_EXTRA = all(importlib.util.find_spec(name) is not None for name in ("starlette", "uvicorn"))
collect_ignore_glob = [] if HAS_EXTRA else ["test_*.py"]  # where the extra `serve` is not installed

if TYPE_CHECKING:
    from helpers.serving import Running

    from weft.web.table import RunTable


@pytest.fixture(scope="session")
def table() -> "RunTable":
    """A language model, a classifier, a translator."""
    from helpers.serving import FINISHED

    from weft.web.table import RunTable

    return RunTable.of(FINISHED / name for name in ("language-model", "classify-text", "translate", "classify-images"))


@pytest.fixture(scope="session")
def server(table: "RunTable") -> Iterator["Running"]:
    """A server of these runs."""
    from helpers.serving import Running

    made = Running(table)
    yield made
    made.close()
