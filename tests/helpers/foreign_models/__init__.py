"""Small models of the Hugging Face library by name: an architecture and the keys of its config.

A name is "family" or "family, what is special about it": the first of each family runs with `make test`, the others
with `make test-all`. The table of families in docs/interop.md is made of the same models.
"""

from collections.abc import Iterable

import pytest


def mostly_slow(names: Iterable[str]) -> list[object]:
    """The names as parameters of a test: those with something special are slow."""
    return [pytest.param(name, marks=pytest.mark.slow) if "," in name else name for name in names]
