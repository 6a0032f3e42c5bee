"""Properties of nodes by name, as tables and graph files have them: which are numbers, words, or a label."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from weft.domains.graphs.reading.cleaning import Where
from weft.errors import DataError, nearest
from weft.files.columns import ABSENT, first_named, number, plain
from weft.files.decoding import shown
from weft.files.known_roles import LABEL_NAMES
from weft.files.roles import LearnedColumn

PART_NAMES = ("split", "part", "fold", "subset")
PARTS = {"train": "train", "training": "train", "val": "val", "valid": "val", "validation": "val", "dev": "val",
         "test": "test", "testing": "test"}  # fmt: skip
MANY_WORDS = 0.5  # a property with more different words than this share of its values is a name, not a kind
DRAWN = ("viz", "color", "colour", "pos", "position", "graphics", "shape", "style")  # how a drawing looks


@dataclass(frozen=True)
class LabelColumn:
    """Which column or property holds the labels: one by its `name`, or without it one with a usual name.

    Files to predict need not have it.
    """

    name: str | None = None
    needed: bool = True


ANY_LABEL = LabelColumn()


@dataclass(frozen=True)
class Properties:
    """The properties of some nodes: numbers, words, and for each node its label ("" where none is known) and part.

    `label` is the name of that property.
    """

    features: tuple[str, ...]
    values: np.ndarray | None
    kinds: tuple[str, ...]
    words: np.ndarray | None
    labels: tuple[str, ...]
    parts: Mapping[str, np.ndarray]
    ignored: tuple[str, ...] = ()
    label: str | None = None


def sorted_properties(
    columns: Mapping[str, Sequence[str]], where: Where, *, label: LabelColumn = ANY_LABEL, file: str = ""
) -> Properties:
    """Tell apart the columns of a table of nodes; `label` is the one to learn."""
    chosen = label_column(columns, label, file)
    part = next((name for name in columns if plain(name) in PART_NAMES), None)
    features, kinds, ignored, numbers, words = [], [], [], [], []
    for name, cells in columns.items():
        if name in (chosen, part) or plain(name) in DRAWN:
            continue
        values = [number(cell) for cell in cells]
        filled = [cell for cell in cells if cell and cell.casefold() not in ABSENT]
        if filled and sum(value is not None for value in values) >= len(filled):
            numbers.append(_filled(name, cells, values, where))
            features.append(name)
        elif filled and len(set(filled)) <= max(2, MANY_WORDS * len(filled)):
            words.append(list(cells))
            kinds.append(name)
        else:
            ignored.append(name)
    labels = tuple(cell.strip() for cell in columns[chosen]) if chosen is not None else ()
    return Properties(
        tuple(features),
        np.array(numbers, np.float32).T if numbers else None,
        tuple(kinds),
        np.array(words, object).T if words else None,
        tuple("" if text.casefold() in ABSENT else text for text in labels),
        _parts(columns[part] if part is not None else (), where),
        tuple(ignored),
        chosen,
    )


def label_column(columns: Mapping[str, Sequence[str]], asked: LabelColumn, file: str) -> str | None:
    """The column of the labels: the one asked for, or else one with a usual name; None where there is none."""
    if asked.name in columns:
        return asked.name
    if asked.name is not None and not missing_learned(columns, asked):
        if not asked.needed:
            return None
        known = ", ".join(repr(shown(name)) for name in columns) or "none"
        problem = f"there is no column {asked.name!r} of labels; its columns: {known}"
        raise DataError(problem, where=file or "--set label_column", fix=nearest(asked.name, columns))
    return first_named(columns, (*LABEL_NAMES, "y"))


def missing_learned(columns: Mapping[str, Sequence[str]], asked: LabelColumn) -> bool:
    """Whether the column is one that a run learned from and that is not among these."""
    return isinstance(asked.name, LearnedColumn) and asked.name not in columns


def taken_label(name: str | None) -> dict[str, str]:
    """The column of the labels by the setting that names it."""
    return {} if name is None else {"label_column": name}


def _filled(name: str, cells: Sequence[str], values: Sequence[float | None], where: Where) -> list[float]:
    for place, value in enumerate(values):
        if value is None:
            found = f"{cells[place]!r}" if cells[place] else "nothing"
            problem = f"the property {name!r} is a number for other nodes, found {found}"
            raise DataError(problem, where=where(place), fix="fill it in, or delete the column")
    return [value for value in values if value is not None]


def _parts(cells: Sequence[str], where: Where) -> dict[str, np.ndarray]:
    found: dict[str, list[int]] = {}
    for place, cell in enumerate(cells):
        if cell.strip():
            part = PARTS.get(cell.strip().casefold())
            if part is None:
                problem = f"the part {cell.strip()[:40]!r} is none of train, val and test"
                raise DataError(problem, where=where(place), fix="leave it blank for nodes of no part")
            found.setdefault(part, []).append(place)
    return {name: np.array(nodes, np.int64) for name, nodes in found.items()}
