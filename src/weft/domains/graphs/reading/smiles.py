"""One molecule written as SMILES (Weininger, 1988): its atoms and bonds. Refuses to know tables.

Molecules are taken as they are written: atoms in small letters are aromatic, hydrogens that are left out are those that
the usual valences need. Isotopes, chirality and the directions of bonds are read and dropped.
"""

import re
from typing import NamedTuple

TOKEN = re.compile(
    r"(?P<atom>Br|Cl|[BCNOPSFI]|[bcnops]|\*)|\[(?P<inside>[^\[\]]*)\]|(?P<bond>[-=#$:/\\])|(?P<ring>%\d\d|\d)|(?P<other>[().])"
)
INSIDE = re.compile(
    r"\d*(?P<symbol>[A-Z][a-z]?|[a-z][a-z]?|\*)(?:@+(?:[A-Z]{2}\d+)?)?(?:(?P<h>H)(?P<many>\d*))?"
    r"(?P<charge>\++|-+|[+-]\d+)?(?::\d+)?"
)
VALENCES = {"B": (3,), "C": (4,), "N": (3, 5), "O": (2,), "P": (3, 5), "S": (2, 4, 6)}
HALOGENS = ("F", "Cl", "Br", "I")
BONDS = {"=": "DOUBLE", "#": "TRIPLE", "$": "QUADRUPLE", ":": "AROMATIC"}
ORDERS = {"DOUBLE": 2, "TRIPLE": 3, "QUADRUPLE": 4}
LONGEST = 10_000  # characters of a molecule


class Atom(NamedTuple):
    """An atom; `hydrogens` are None where the valence says how many there are."""

    element: str
    charge: int
    hydrogens: int | None
    aromatic: bool


Bond = tuple[int, int, str]


class Molecule(NamedTuple):
    """The atoms in the order of the text, and the bonds between them by their places."""

    atoms: list[Atom]
    bonds: list[Bond]


def parsed(text: str) -> Molecule:
    """The molecule that a text is; a ValueError says why it is none."""
    if len(text) > LONGEST:
        raise ValueError(f"longer than {LONGEST:,} characters")
    atoms, bonds, branches = list[Atom](), list[tuple[int, int, str]](), list[int | None]()
    rings: dict[str, tuple[int, str]] = {}
    last: int | None = None
    mark, at = "", 0
    while at < len(text):
        token = TOKEN.match(text, at)
        if token is None:
            raise ValueError(f"{text[at]!r} at character {at + 1}")
        at = token.end()
        if token["bond"] is not None:
            mark = token["bond"]
        elif token["ring"] is not None:
            if last is None:
                raise ValueError("a ring before the first atom")
            start, before = rings.pop(token["ring"], (None, ""))
            if start is None:
                rings[token["ring"]] = last, mark
            else:
                bonds.append((start, last, before or mark))
            mark = ""
        elif token["other"] is not None:
            if token["other"] == ")" and not branches:
                raise ValueError("a bracket is closed that was not opened")
            branches += [last] * (token["other"] == "(")
            last = {"(": last, ".": None}.get(token["other"]) if token["other"] != ")" else branches.pop()
        else:
            atoms.append(_atom(token))
            if last is not None:
                bonds.append((last, len(atoms) - 1, mark))
            last, mark = len(atoms) - 1, ""
    if rings or branches or not atoms or mark:
        raise ValueError("a ring or a bracket is not closed" if rings or branches else "it ends before an atom")
    return _complete(atoms, bonds)


def _atom(token: re.Match[str]) -> Atom:
    if token["atom"] is not None:
        return Atom(token["atom"].capitalize(), 0, None, token["atom"].islower())
    inside = INSIDE.fullmatch(token["inside"])
    if inside is None:
        raise ValueError(f"[{token['inside']}] is no atom")
    charge = inside["charge"] or "0"
    if charge[-1] in "+-":
        charge = f"{charge[0]}{len(charge)}"
    hydrogens = int(inside["many"] or 1) if inside["h"] else 0
    return Atom(inside["symbol"].capitalize(), int(charge), hydrogens, inside["symbol"].islower())


def _complete(atoms: list[Atom], bonds: list[Bond]) -> Molecule:
    """The bonds by their kinds, and the hydrogens that were left out."""
    near = [{b if a == place else a for a, b, _ in bonds if place in (a, b)} for place in range(len(atoms))]
    kinds = [(min(a, b), max(a, b), _kind(atoms, near, a, b, mark)) for a, b, mark in bonds]
    full = []
    for place, atom in enumerate(atoms):
        own = [kind for a, b, kind in kinds if place in (a, b)]
        needed = sum(ORDERS.get(kind, 1) for kind in own) + (atom.aromatic and "AROMATIC" in own)
        full.append(atom if atom.hydrogens is not None else atom._replace(hydrogens=_missing(atom, place, needed)))
    return Molecule(full, kinds)


def _kind(atoms: list[Atom], near: list[set[int]], a: int, b: int, mark: str) -> str:
    """The kind of a bond; one without a mark between aromatic atoms is aromatic where it is part of a ring."""
    if mark in BONDS:
        return BONDS[mark]
    if mark or not (atoms[a].aromatic and atoms[b].aromatic):
        return "SINGLE"
    seen, waiting = {a}, [other for other in near[a] if other != b]
    while waiting:
        place = waiting.pop()
        if place == b:
            return "AROMATIC"
        if place not in seen and atoms[place].aromatic:
            seen.add(place)
            waiting.extend(near[place])
    return "SINGLE"


def _missing(atom: Atom, place: int, bonds: int) -> int:
    usual = (1,) if atom.element in HALOGENS else VALENCES.get(atom.element)
    if usual is None:
        return 0
    fitting = next((valence for valence in usual if valence >= bonds), None)
    if fitting is None and not atom.aromatic:
        raise ImpossibleMolecule(f"atom {place + 1}, {atom.element}, has {bonds} bonds and may have {usual[-1]}")
    return 0 if atom.aromatic and bonds >= usual[0] else (fitting or bonds) - bonds


class ImpossibleMolecule(ValueError):
    """What is written well and is no molecule."""
