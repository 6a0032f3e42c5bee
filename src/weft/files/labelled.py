"""LabelledData: rows with a label each to train on and held out. Knows labels; refuses to know what the rows are."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from weft.errors import listed
from weft.files.bad_rows import BadRows
from weft.files.dataset import Dataset, held_in
from weft.files.held_out import SHARE, share_of_each, split_rows
from weft.files.labels import Kind, in_order, kind_of

R = TypeVar("R")


class WithLabel(Protocol):
    """A row with a label."""

    @property
    def label(self) -> str: ...


class Labelled(WithLabel, Protocol):
    """The same with a digest of what a model reads of the row, without the label."""

    @property
    def digest(self) -> bytes: ...


L = TypeVar("L", bound=Labelled)
W = TypeVar("W", bound=WithLabel)


@dataclass(frozen=True, kw_only=True)
class LabelledData(Dataset[Sequence[R], Sequence[R]]):
    """Rows with labels. `classes` are in the order of their numbers; labels that are numbers have none."""

    kind: Kind
    classes: tuple[str, ...]

    @classmethod
    def of(
        cls: "type[LabelledData[L]]",
        read: Callable[[Sequence[str]], Sequence[L]],
        sources: Sequence[str],
        valid: str | None,
        bad: BadRows,
        *,
        called: str,
    ) -> "LabelledData[L]":
        """What `read` finds in files, split; without sources, in the sample. Messages say `called` for rows."""
        rows = read(sources)
        kind = kind_of([row.label for row in rows])
        if valid is None:
            groups = [row.label for row in rows] if kind == "classes" else None
            train, held = split_rows(rows, [row.digest for row in rows], what=called, groups=groups)
            how_much = share_of_each(SHARE, len(held), len(rows), "class" if groups else "")
            rule = f"{len(held):,} of {len(rows):,} {called}: {how_much}, those with the lowest SHA-256"
        else:
            train, held, rule = list(rows), list(read([valid])), held_in(valid)
        names = listed([Path(source).name for source in sources]) or "the sample"
        described = f"{len(rows):,} {called} ({names})"
        contents = b"".join(row.digest + row.label.encode("utf-8") + b"\0" for row in (*train, *held))
        return cls(
            train=train,
            held_out=held,
            kind=kind,
            classes=in_order({row.label for row in train}) if kind == "classes" else (),
            fingerprint=hashlib.sha256(contents).hexdigest(),
            rule=rule,
            described=described,
            notes=(described, *([f"bad rows, left out: {bad.count:,}"] if bad.count else [])),
            skipped=tuple(bad.listed()),
            amounts={"train": len(train), "held_out": len(held)},
        )
