"""Two plain text files that run side by side: line n of one is the translation of line n of the other."""

import math
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path

from weft.domains.pairs.reading.formats import PairRow
from weft.errors import DataError
from weft.files.columns import columns_of
from weft.files.decoding import shown
from weft.files.gather import Reading
from weft.files.json_lines import numbered
from weft.files.known_roles import PAIR
from weft.files.languages import language, languages_of_file
from weft.files.roles import choose
from weft.files.tables import excerpt

FIX = "make line n of one file the translation of line n of the other"


def read_parallel(paths: Sequence[Path], source: str | None, target: str | None) -> Reading[PairRow]:
    """The pairs of two files with the same number of lines."""
    first, second = paths
    if first.resolve() == second.resolve():
        raise DataError("the same file was named twice", where=shown(first), fix="name the file of each language once")
    names = [_name(path) for path in paths]
    where = f"{shown(first)} and {shown(second)}"
    a, b = choose(columns_of(names, []), PAIR, (source, target), where=where, fix="").places
    left, right = ([line for _, line in numbered(path)] for path in (paths[a], paths[b]))
    if len(left) != len(right):
        raise _unequal(paths[a], paths[b], left, right)
    rows = (PairRow(line, x, y) for line, (x, y) in enumerate(zip(left, right, strict=True), 1))
    return Reading((paths[a], paths[b]), rows, (names[a], names[b]))


def _name(path: Path) -> str:
    """What to call the side that a file is: the language that its name ends in, else its name."""
    stem = path.name.lower().removesuffix(".gz").removesuffix(".txt")
    return language(stem.rpartition(".")[2]) or languages_of_file(stem, 1)[0] or path.name


def _unequal(first: Path, second: Path, left: list[str], right: list[str]) -> DataError:
    counts = f"{shown(first)} has {len(left)} lines, {shown(second)} has {len(right)}"
    if not left or not right:
        return DataError(counts, where=shown(second if left else first), fix=FIX)
    line = departure(left, right)
    sides = (excerpt(side[line - 1]) if line <= len(side) else "nothing" for side in (left, right))
    guess = f"they seem to differ from line {line} on, where {' stands beside '.join(sides)}"
    return DataError(f"{counts}; {guess}", where=f"{shown(first)}, line {line}", fix=FIX)


def departure(a: Sequence[str], b: Sequence[str]) -> int:
    """A guess at the line, from 1, at which the longer of two files has lines that the shorter lacks.

    For one gap at any place, the cost is how ill neighbours match above it, and below it with the gap closed: by length
    (as Gale and Church, 1993), digits and last sign. The cheapest place is the guess.
    """
    longer, shorter = (a, b) if len(a) > len(b) else (b, a)
    gap, usual = len(longer) - len(shorter), math.log((sum(map(len, longer)) + 1) / (sum(map(len, shorter)) + 1))

    def cost(x: str, y: str) -> float:
        digits = [sorted(c for c in text if c.isdecimal()) for text in (x, y)]
        length = abs(math.log((len(x) + 1) / (len(y) + 1)) - usual)
        return length + (digits[0] != digits[1]) + (x[-1:] != y[-1:]) / 2

    above = [0.0, *accumulate(cost(x, y) for x, y in zip(longer, shorter, strict=False))]
    below = [0.0, *accumulate(cost(x, y) for x, y in zip(longer[gap:], shorter, strict=True))]
    return 1 + min(range(len(shorter) + 1), key=lambda place: above[place] + below[-1] - below[place])
