"""Places with a value each to learn from and places held out."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

import numpy as np

from weft.batches.order import key, permuted
from weft.domains.places.reading import tables
from weft.domains.places.reading.rows import GLOBE, FoundPlaces, Kind, PlaceRows, read_places
from weft.domains.places.settings import PlaceTraining
from weft.errors import DataError, listed
from weft.files.dataset import Count, Dataset, Reader, as_learned, held_in
from weft.files.held_out import SHARE, Split, held_digests, share_of_each
from weft.files.known_roles import PLACED
from weft.files.labels import in_order
from weft.files.pictures.locations import is_one_picture
from weft.files.survey import Judgement, Survey

THINGS = {"colours": "pixels", "numbers": "places", "classes": "places"}


@dataclass(frozen=True, kw_only=True)
class PlaceData(Dataset[PlaceRows, PlaceRows]):
    """Places with values. `found` is what the files hold, before the split; `classes` are by number."""

    found: FoundPlaces
    classes: tuple[str, ...] = ()

    @property
    def kind(self) -> Kind:
        """What the values are."""
        return self.found.kind


@final
class PlacesWithValues(Reader[PlaceData]):
    """Tables of places, grids over the globe, or the pixels of one picture."""

    sample = "tapestry"
    roles = PLACED

    def judge(self, survey: Survey) -> Judgement:
        if is_one_picture(survey):
            return Judgement("sure", "one picture, whose colours are learned as a function of the place")
        return tables.judge(survey)

    def read(
        self, sources: Sequence[str], valid: str | None, asked: PlaceTraining, count: Count | None = None
    ) -> PlaceData:
        from weft.domains.places.sample import woven_picture

        found = read_places(sources, asked) if sources else woven_picture()
        fingerprint, taken = found.fingerprint, _taken(found) if sources else {}
        if valid is None:
            train, held, rule = split_places(found)
        else:
            given = read_places([valid], as_learned(asked, taken), learn=False)
            check_alike(found, given, valid)
            train, held, rule = found.rows, given.rows, held_in(valid)
            fingerprint = key(fingerprint, given.fingerprint)
        name = listed([Path(source).name for source in sources]) if sources else "weft's tapestry"
        things = THINGS[found.kind]
        classes = in_order(set(train.values.tolist())) if found.kind == "classes" else ()
        of = f" of {len(classes)} classes" if classes else ""
        described = f"{len(found.rows):,} {things}{of} ({name})"
        return PlaceData(
            train=train,
            held_out=held,
            found=found,
            classes=classes,
            fingerprint=fingerprint,
            rule=rule,
            described=described,
            notes=(described, *found.notes),
            skipped=found.skipped,
            columns=found.columns,
            taken=taken,
            amounts={"train": len(train), "held_out": len(held)},
        )


def _taken(found: FoundPlaces) -> dict[str, str]:
    """The columns of tables by the settings that name them; those of a plane are asked for in any case."""
    if found.cells is not None or found.axes[: len(GLOBE)] != GLOBE:
        return {}
    return {f"{axis}_column": column for axis, column in zip((*found.axes, "value"), found.columns, strict=True)}


def check_alike(found: FoundPlaces, given: FoundPlaces, where: str) -> None:
    """Refuse other data whose places or values are not of the same kind."""
    for name, ours, theirs in (("places", found.axes, given.axes), ("values", found.kind, given.kind)):
        if ours != theirs:
            problem = f"its {name} are {theirs}, expected {ours} as in the data to learn from"
            raise DataError(problem, where=where, fix="name data of the same kind")


def split_places(found: FoundPlaces) -> Split[PlaceRows, PlaceRows]:
    """Hold out a tenth. Cells are drawn by their number alone; rows of tables by their place, of every class alike."""
    rows, things = found.rows, THINGS[found.kind]
    if found.cells is not None:
        drawn = permuted(np.arange(len(rows)), len(rows), key("held-out cells", len(rows)))
        held = drawn < max(1, round(SHARE * len(rows)))
        how = "drawn by their number"
    else:
        digests = [hashlib.sha256(place.tobytes()).digest() for place in np.ascontiguousarray(rows.where)]
        groups = rows.values.tolist() if found.kind == "classes" else None
        lowest = set(held_digests(digests, SHARE, what="places", groups=groups))
        held = np.array([digest in lowest for digest in digests])
        how = "those whose coordinates have the lowest SHA-256, so that equal places fall on the same side"
    grouped = "class" if found.kind == "classes" and found.cells is None else ""
    how_much = share_of_each(SHARE, int(held.sum()), len(rows), grouped)
    rule = f"{held.sum():,} of {len(rows):,} {things}: {how_much}, {how}"
    return Split(rows.take(np.flatnonzero(~held)), rows.take(np.flatnonzero(held)), rule)
