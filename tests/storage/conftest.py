import os

import pytest
from helpers import disks


@pytest.fixture(autouse=True)
def waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are written to the disk as weft does."""
    monkeypatch.setattr(os, "fsync", disks.fsync)
