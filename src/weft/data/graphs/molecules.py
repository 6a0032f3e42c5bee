"""Molecules in a column of SMILES, read by RDKit where it is installed: atoms are nodes, bonds are edges."""

from pathlib import Path

import numpy as np

from weft.data.columns import plain
from weft.data.decoding import shown
from weft.data.graphs.properties import label_column
from weft.data.graphs.tables import ROLES, read_rows
from weft.data.roles import known_as
from weft.data.tables import is_table, open_table
from weft.errors import DataError, WeftError
from weft.modalities.graph import Graph

SMILES = ("smiles", "canonical_smiles", "mol", "smile")
ALSO = (*ROLES, known_as("smiles", SMILES, lambda columns: []))


def is_molecules(path: Path) -> bool:
    """Whether a table has a column that is named after SMILES."""
    if not is_table(path):
        return False
    try:
        return any(plain(name or "") in SMILES for name in open_table(path, ALSO).names)
    except (DataError, OSError):
        return False


def read_molecules(path: Path, label: str | None) -> list[Graph]:
    """The molecules of a table."""
    try:
        from rdkit import Chem
    except ImportError:
        raise WeftError("molecules as SMILES are read by RDKit, which is not installed", where=shown(path),
                        fix="pip install rdkit") from None  # fmt: skip
    rows = read_rows(path, ALSO)
    texts = rows.column(SMILES) or []
    others = {name: cells for name, cells in rows.columns.items() if plain(name) not in SMILES}
    chosen = label_column(others, label, shown(path))
    labels = others[chosen] if chosen is not None else [""] * len(texts)
    graphs = []
    for place, (text, own) in enumerate(zip(texts, labels, strict=True)):
        molecule = Chem.MolFromSmiles(text)
        if molecule is None:
            raise DataError(f"{text[:60]!r} is no SMILES", where=rows.where(place), fix="mend it, or delete the row")
        bonds = [(*sorted((b.GetBeginAtomIdx(), b.GetEndAtomIdx())), str(b.GetBondType())) for b in molecule.GetBonds()]
        atoms = [(a.GetSymbol(), str(a.GetFormalCharge()), str(a.GetTotalNumHs()), str(a.GetIsAromatic()))
                 for a in molecule.GetAtoms()]  # fmt: skip
        graphs.append(
            Graph(
                name=text,
                size=len(atoms),
                edges=np.array([bond[:2] for bond in bonds], np.int64).reshape(-1, 2),
                types=np.array([bond[2] for bond in bonds], object),
                kinds=np.array(atoms, object).reshape(len(atoms), 4),
                names=tuple(f"{atom[0]}{i}" for i, atom in enumerate(atoms)),
                label=own,
            )
        )
    return graphs
