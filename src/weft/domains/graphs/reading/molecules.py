"""Molecules in a column of SMILES: atoms are nodes, bonds are edges."""

import re
import shlex
from pathlib import Path

import numpy as np

from weft.domains.graphs.reading.atoms import SURROUNDINGS, surroundings
from weft.domains.graphs.reading.graph_set import GraphSet
from weft.domains.graphs.reading.properties import LabelColumn, label_column, missing_learned, taken_label
from weft.domains.graphs.reading.smiles import ImpossibleMolecule, Molecule, parsed
from weft.domains.graphs.reading.tables import ROLES, read_rows
from weft.errors import DataError
from weft.files.bad_rows import PLACES, BadRows
from weft.files.columns import ABSENT, NEARLY_ALL, Column, plain
from weft.files.decoding import shown
from weft.files.known_roles import SMILES_NAMES
from weft.files.roles import known_as
from weft.files.survey import NO, Judgement, Surveyed
from weft.files.tables import Table, is_table, open_table
from weft.modalities.graph import Graph

OTHER_NAMES = ("mol", "molecule", "drug", "structure", "compound")  # of SMILES where the cells look like it
LIKE_SMILES = re.compile(r"(?=.*[CcNnOo])[A-Za-z0-9@+\-\[\]()=#$:/\\.%*]+")
PROPERTIES = ("element", "charge", "hydrogens", "aromatic", *SURROUNDINGS)  # of an atom
ALSO = (*ROLES, known_as("smiles", SMILES_NAMES))


def is_molecules(path: Path) -> bool:
    """Whether a table has a column of SMILES."""
    if not is_table(path):
        return False
    try:
        return smiles_column(open_table(path, ALSO)) is not None
    except (DataError, OSError):
        return False


def smiles_column(table: Table) -> str | None:
    """The name of the column of SMILES: by its name, or a more general one where nearly all cells look like it."""
    named = {plain(column.name or ""): column for column in reversed(table.columns)}
    sure = next((named[name] for name in SMILES_NAMES if name in named), None)
    return (
        sure or next((named[n] for n in OTHER_NAMES if n in named and _looks_so(named[n])), Column(0, None, ()))
    ).name


def _looks_so(column: Column) -> bool:
    fitting = sum(LIKE_SMILES.fullmatch(value) is not None for value in column.values)
    marked = sum(any(mark in value for mark in "()=#[]") for value in column.values)
    return fitting >= NEARLY_ALL * max(len(column.values), 1) and 2 * marked > len(column.values)


def judge_molecules(source: Surveyed) -> Judgement:
    """Whether a table holds molecules, and which column is their label."""
    table = open_table(source.path, ALSO)
    name = smiles_column(table)
    if name is None:
        return NO
    if _label(table.columns, name) is not None:
        return Judgement("sure", f"molecules as SMILES (column {name}) with a label each")
    others = _possible(table.columns, name)
    if not others:
        return Judgement("no", f"molecules as SMILES (column {name}) without a label: add a column label")
    ask = f"--set label_column={shlex.quote(others[0].name or '')}"
    return Judgement("possible", f"molecules as SMILES (column {name}); which column is the label is not clear", ask)


def _possible(columns: tuple[Column, ...], smiles: str) -> list[Column]:
    """The columns that could be labels: numbers and classes that do not count the rows."""
    return [
        c
        for c in columns
        if c.name and c.name != smiles and len(set(c.values)) > 1
        if c.is_number or (c.is_class and c.looks in ("number", "label"))
    ]


def _label(columns: tuple[Column, ...], smiles: str) -> str | None:
    """The column of the labels: one with a usual name, else the only one that could be it."""
    found = label_column({c.name: c.values for c in columns if c.name and c.name != smiles}, LabelColumn(), "")
    others = _possible(columns, smiles)
    return found or (others[0].name if len(others) == 1 else None)


def read_molecules(path: Path, label: LabelColumn) -> GraphSet:
    """The molecules of a table."""
    rows, table = read_rows(path, ALSO), open_table(path, ALSO)
    name = smiles_column(table) or ""
    others = {other: cells for other, cells in rows.columns.items() if other != name}
    usual = _label(table.columns, name) if label.name is None or missing_learned(others, label) else None
    chosen = usual or label_column(others, label, shown(path))
    if chosen is None and label.needed:
        listed = ", ".join(map(shown, others)) or "none"
        problem = f"which column is the label of the molecules is not clear; its other columns: {listed}"
        raise DataError(problem, where=shown(path), fix="name it: --set label_column=NAME")
    labels = others[chosen] if chosen is not None else [""] * len(rows.lines)
    graphs, bad = [], BadRows(None, len(rows.lines))
    for place, (text, own) in enumerate(zip(rows.columns[name], labels, strict=True)):
        try:
            graphs.append(molecule(text, rows.where(place), "" if own.casefold() in ABSENT else own))
        except DataError as error:
            bad.take_file(error)
    first = "; ".join(f"{error.where}: {error.problem}" for error in bad.lost[:PLACES])
    notes = (f"molecules left out: {len(bad.lost):,} of {len(rows.lines):,} ({first})",) if bad.lost else ()
    return GraphSet(graphs=graphs, kinds=PROPERTIES, notes=notes, taken=taken_label(chosen))


def molecule(text: str, where: str, label: str = "") -> Graph:
    """The molecule that a text of SMILES stands for."""
    return _graph(_molecule(text, where), text, label)


def _molecule(text: str, where: str) -> Molecule:
    """The molecule in a row, or what is wrong with it."""
    fix = "correct it, or delete the row"
    if not text:
        raise DataError("no SMILES in this row", where=where, fix=fix)
    try:
        return parsed(text)
    except ImpossibleMolecule as error:
        raise DataError(f"{text[:60]!r} is no possible molecule: {error}", where=where, fix=fix) from None
    except ValueError as error:
        raise DataError(f"{text[:60]!r} is no SMILES: {error}", where=where, fix=fix) from None


def _graph(molecule: Molecule, text: str, label: str) -> Graph:
    around = surroundings([atom.element for atom in molecule.atoms], molecule.bonds)
    atoms = [
        (atom.element, str(atom.charge), str(atom.hydrogens), str(atom.aromatic), *beside)
        for atom, beside in zip(molecule.atoms, around, strict=True)
    ]
    return Graph(
        name=text,
        size=len(atoms),
        edges=np.array([bond[:2] for bond in molecule.bonds], np.int64).reshape(-1, 2),
        types=np.array([bond[2] for bond in molecule.bonds], object),
        kinds=np.array(atoms, object).reshape(len(atoms), len(PROPERTIES)),
        names=tuple(f"{atom[0]}{i}" for i, atom in enumerate(atoms)),
        label=label,
    )
