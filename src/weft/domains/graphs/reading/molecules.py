"""Molecules in a column of SMILES, read by RDKit where it is installed: atoms are nodes, bonds are edges."""

from pathlib import Path
from typing import Any

import numpy as np

from weft.domains.graphs.reading.atoms import SURROUNDINGS, surroundings
from weft.domains.graphs.reading.graph_set import GraphSet
from weft.domains.graphs.reading.properties import LabelColumn, label_column
from weft.domains.graphs.reading.tables import ROLES, read_rows
from weft.errors import DataError, WeftError
from weft.files.columns import ABSENT, plain
from weft.files.decoding import shown
from weft.files.roles import known_as
from weft.files.tables import is_table, open_table
from weft.modalities.graph import Graph

SMILES = ("smiles", "canonical_smiles", "mol", "smile")
PROPERTIES = ("element", "charge", "hydrogens", "aromatic", *SURROUNDINGS)  # of an atom
ALSO = (*ROLES, known_as("smiles", SMILES))


def is_molecules(path: Path) -> bool:
    """Whether a table has a column that is named after SMILES."""
    if not is_table(path):
        return False
    try:
        return any(plain(name or "") in SMILES for name in open_table(path, ALSO).names)
    except (DataError, OSError):
        return False


def read_molecules(path: Path, label: LabelColumn) -> GraphSet:
    """The molecules of a table."""
    rows = read_rows(path, ALSO)
    texts = rows.column(SMILES) or []
    others = {name: cells for name, cells in rows.columns.items() if plain(name) not in SMILES}
    chosen = label_column(others, label, shown(path))
    labels = others[chosen] if chosen is not None else [""] * len(texts)
    graphs = [
        molecule(text, rows.where(place), "" if own.casefold() in ABSENT else own)
        for place, (text, own) in enumerate(zip(texts, labels, strict=True))
    ]
    return GraphSet(graphs=graphs, kinds=PROPERTIES)


def molecule(text: str, where: str, label: str = "") -> Graph:
    """The molecule that a text of SMILES stands for."""
    try:
        from rdkit import Chem, rdBase
    except ImportError:
        raise WeftError("molecules as SMILES are read by RDKit, which is not installed", where=where,
                        fix="pip install rdkit") from None  # fmt: skip
    with rdBase.BlockLogs():  # what is wrong with a molecule is said below, with its line
        found = Chem.MolFromSmiles(text)
        if found is None or not text:
            raise DataError(_problem(Chem, text), where=where, fix="correct it, or delete the row")
    return _graph(found, text, label)


def _problem(chem: Any, text: str) -> str:
    """What is wrong with a text that should be SMILES: its writing, or the chemistry."""
    if not text:
        return "no SMILES in this row"
    drawn = chem.MolFromSmiles(text, sanitize=False)
    if drawn is None:
        return f"{text[:60]!r} is no SMILES"
    wrong = [problem.Message() for problem in chem.DetectChemistryProblems(drawn)]
    return f"{text[:60]!r} is no possible molecule" + (f": {wrong[0]}" if wrong else "")


def _graph(molecule: Any, text: str, label: str) -> Graph:
    bonds = [(*sorted((b.GetBeginAtomIdx(), b.GetEndAtomIdx())), str(b.GetBondType())) for b in molecule.GetBonds()]
    around = surroundings([a.GetSymbol() for a in molecule.GetAtoms()], bonds)
    atoms = [
        (a.GetSymbol(), str(a.GetFormalCharge()), str(a.GetTotalNumHs()), str(a.GetIsAromatic()), *around[a.GetIdx()])
        for a in molecule.GetAtoms()
    ]
    return Graph(
        name=text,
        size=len(atoms),
        edges=np.array([bond[:2] for bond in bonds], np.int64).reshape(-1, 2),
        types=np.array([bond[2] for bond in bonds], object),
        kinds=np.array(atoms, object).reshape(len(atoms), len(PROPERTIES)),
        names=tuple(f"{atom[0]}{i}" for i, atom in enumerate(atoms)),
        label=label,
    )
