"""Fields on a grid to learn from and later fields held out: the split is by time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, final

import numpy as np

from weft.batches.order import key
from weft.domains.fields.reading import recognising
from weft.domains.fields.reading.calendars import gaps, step_in_words
from weft.domains.fields.reading.climatology import pieces
from weft.domains.fields.reading.grid import Fields, FieldSpan
from weft.domains.fields.reading.measured import measured_fields
from weft.domains.fields.reading.scanned import OpenedFields, fingerprint, open_fields
from weft.errors import DataError, listed
from weft.files.dataset import Count, Dataset, Reader, held_in
from weft.files.survey import Judgement, Survey

YEAR = 365.0  # days
YEARS = 3  # fewest years of data of which the last year is held out
SHARE = 5  # else the last fifth
LEAST = 8  # fields: fewer hold nothing to learn from


class FieldSettings(Protocol):
    """What may be said of the fields: the names of the variables to use, with commas between them."""

    @property
    def variables(self) -> str | None: ...


@dataclass(frozen=True, kw_only=True)
class FieldData(Dataset[FieldSpan, FieldSpan]):
    """Fields on a grid: those of earlier times to train on, the last held out."""

    @property
    def fields(self) -> Fields:
        """What is trained on, and read before it."""
        return self.train.fields


@final
class GriddedFields(Reader[FieldData]):
    """Fields in netCDF files and zarr stores."""

    sample = "atmosphere"

    def judge(self, survey: Survey) -> Judgement:
        return recognising.judge(survey)

    def read(
        self, sources: Sequence[str], valid: str | None, asked: FieldSettings, count: Count | None = None
    ) -> FieldData:
        from weft.domains.fields.sample import SampleFields

        fields = open_fields(sources, names_of(asked.variables), count=count) if sources else SampleFields()
        opened = fields if isinstance(fields, OpenedFields) else None
        name = "weft's atmosphere" if opened is None else listed([path.name for path in opened.paths])
        if valid is None:
            train, held_out, rule = split_by_time(fields, name)
        else:
            train, rule = FieldSpan(fields, 0, len(fields)), held_in(valid)
            held_out = measured_fields([valid], fields.layers, fields.grid, fields.times.step)
        for part, word in ((train, "to train on"), (held_out, "held out")):
            _refuse_single(part, word, name if part.fields is fields else str(valid))
        described = described_fields(fields)
        marks = [fingerprint(fields)] + ([fingerprint(held_out.fields)] if valid is not None else [])
        return FieldData(
            train=train,
            held_out=held_out,
            rule=rule,
            fingerprint=key(*marks, train.start, train.stop, held_out.start, held_out.stop),
            described=described,
            notes=(described, *(opened.notes if opened else ())),
            skipped=opened.skipped if opened else (),
            columns=tuple(layer.name for layer in fields.layers),
            amounts={"train": len(train), "held_out": len(held_out), "layers": len(fields.layers)},
        )


def names_of(variables: str | None) -> tuple[str, ...]:
    """The names in a setting, with commas between them."""
    return tuple(name.strip() for name in (variables or "").split(",") if name.strip())


def split_by_time(fields: Fields, name: str) -> tuple[FieldSpan, FieldSpan, str]:
    """What is trained on, what is held out, and the rule: the last year of several, else the last fifth."""
    total, days = len(fields), fields.times.days
    if total < LEAST:
        problem = f"{total} {'field is' if total == 1 else 'fields are'} too few to learn from"
        raise DataError(problem, where=name, fix=f"expected at least {LEAST} times; join several files")
    year = int(np.searchsorted(days, days[-1] + fields.times.step - YEAR - 0.5 * fields.times.step))
    dated = bool(np.ptp(fields.times.season) or np.ptp(fields.times.hour))
    by_year = dated and days[-1] + fields.times.step - days[0] >= YEARS * 360 and total - year >= 4
    cut = year if by_year else total - max(1, total // SHARE)
    labels = fields.times.labels
    words = "the last year" if by_year else "the last fifth"
    rule = f"{words}: {total - cut} fields from {labels[cut]} to {labels[-1]}"
    return FieldSpan(fields, 0, cut), FieldSpan(fields, cut, total), rule


def _refuse_single(stretch: FieldSpan, word: str, name: str) -> None:
    """Refuse fields of which none follows another by one step: there would be nothing to predict."""
    if not any(
        stop - start > 1 for start, stop in pieces(stretch.fields.times, max(0, stretch.start - 1), stretch.stop)
    ):
        problem = f"of the {len(stretch)} fields {word} none follows another by one step"
        raise DataError(
            problem, where=name, fix="expected at least 2 in a row; see the gaps in time, or join several files"
        )


def described_fields(fields: Fields) -> str:
    """Fields in a sentence."""
    labels, broken = fields.times.labels, gaps(fields.times)
    rhythm = step_in_words(fields.times.step) + " " if fields.times.step != 1.0 or len(labels) > 1 else ""
    names = [f"{layer.name} ({layer.units})" if layer.units else layer.name for layer in fields.layers]
    cells = "{} x {}".format(*fields.grid.shape)
    words = f"{len(fields):,} {rhythm}fields {labels[0]} … {labels[-1]} of {listed(names)} on {cells} cells"
    return f"{words}; " + (f"{len(broken)} gaps in time: {listed(broken)}" if broken else "no gaps in time")
