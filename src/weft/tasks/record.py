"""DataRecord: what config.json says of a run's data."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, Self

from weft.config import Config
from weft.files.dataset import Dataset

MOST_LISTED = 100  # things left out that are listed by name


class DataRecord(Config):
    """Where the data is, how it was split and how much there was. A run on weft's own sample has no `sources`."""

    sources: tuple[str, ...] = ()
    sample: bool = False
    valid: str | None = None
    rule: str = ""
    described: str = ""
    columns: tuple[str, ...] = ()
    amounts: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    skipped: tuple[tuple[str, ...], ...] = ()
    taken: Mapping[str, str] = field(default_factory=dict)  # columns of tables, by the settings that name them
    usual: str | None = None  # the answer that is right most often, by which a run is compared once its data is gone

    @classmethod
    def of(
        cls,
        data: Dataset[Any, Any],
        sources: Sequence[str],
        valid: str | None,
        amounts: Mapping[str, float],
        usual: str | None = None,
    ) -> Self:
        """The record of data that was just read."""
        return cls(
            valid=None if valid is None else str(Path(valid).absolute()),
            rule=data.rule,
            described=data.described,
            columns=data.columns,
            taken=data.taken,
            amounts={**data.amounts, **amounts},
            usual=usual,
            notes=data.notes,
            skipped=data.skipped[:MOST_LISTED],
        ).moved(sources)

    def moved(self, sources: Sequence[str]) -> Self:
        """The same data in another place."""
        return self.replace(sources=tuple(str(Path(source).absolute()) for source in sources), sample=not sources)

    def amount(self, name: str) -> str:
        """One of the amounts in words; a dash where it is not known."""
        return f"{self.amounts[name]:,}" if name in self.amounts else "–"
