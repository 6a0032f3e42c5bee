"""Questions about words to measure vectors by: analogies (a is to b as c is to d), and pairs of words with a likeness.

Analogies stand four words a line, in sections that begin with ": name", as in questions-words.txt. Pairs stand two
words and a number a line, between tabs, commas or spaces, as in wordsim353.tsv. Lines that begin with # say nothing.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from weft.errors import DataError
from weft.files.decoding import read_text, shown

LOOKED_AT = 50  # lines that tell what a file is
ANALOGY_FIX = (
    "every line must hold four words, as in: Athens Greece Oslo Norway; sections begin with a colon: ': capitals'"
)
PAIR_FIX = "every line must hold two words and a number, as in: tiger<tab>cat<tab>7.35"


@dataclass(frozen=True)
class Analogies:
    """Questions with their answers, by section: (a, b, c, d)."""

    sections: dict[str, list[tuple[str, str, str, str]]]

    @property
    def digest(self) -> str:
        """Changes when a question changes."""
        return hashlib.sha256(repr(self.sections).encode()).hexdigest()


@dataclass(frozen=True)
class Likeness:
    """Pairs of words, and how alike people find them."""

    pairs: list[tuple[str, str]]
    values: np.ndarray

    @property
    def digest(self) -> str:
        """Changes when a pair or its number changes."""
        return hashlib.sha256(repr((self.pairs, self.values.tolist())).encode()).hexdigest()


Questions = Analogies | Likeness


def questions_in(path: str | Path) -> Questions | None:
    """The questions in a file; None where it is no file of questions, but a text."""
    if not Path(path).is_file():
        return None
    first = [line for _, line in zip(range(LOOKED_AT), _lines(path), strict=False)]
    if first and (first[0][1].startswith(": ") or all(len(line.split()) == 4 for _, line in first)):
        return _analogies(path)
    cells = [_cells(line) for _, line in first]
    numbers = sum(len(row) == 3 and _number(row[2]) is not None for row in cells)
    return _likeness(path) if len(cells) > 1 and numbers >= len(cells) - 1 else None


def _lines(path: str | Path) -> Iterator[tuple[int, str]]:
    """The lines of a file that say something, with their numbers."""
    text = "".join(read_text(Path(path)))
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip() and not line.startswith("#"):
            yield number, line.strip()


def _analogies(path: str | Path) -> Analogies:
    sections: dict[str, list[tuple[str, str, str, str]]] = {}
    name = "all"
    for number, line in _lines(path):
        if line.startswith(":"):
            name = line[1:].strip()
            continue
        words = line.split()
        if len(words) != 4:
            problem = f"expected four words, found {len(words)}"
            raise DataError(problem, where=f"{shown(str(path))}, line {number}", fix=ANALOGY_FIX)
        sections.setdefault(name, []).append((words[0], words[1], words[2], words[3]))
    if not sections:
        raise DataError("no questions in this file", where=shown(str(path)), fix=ANALOGY_FIX)
    return Analogies(sections)


def _likeness(path: str | Path) -> Likeness:
    pairs, values = [], []
    for row, (number, line) in enumerate(_lines(path)):
        cells = _cells(line)
        value = _number(cells[2]) if len(cells) == 3 else None
        if value is None and row == 0:
            continue  # a header
        if value is None:
            problem = f"expected two words and a number, found {line[:60]!r}"
            raise DataError(problem, where=f"{shown(str(path))}, line {number}", fix=PAIR_FIX)
        pairs.append((cells[0], cells[1]))
        values.append(value)
    return Likeness(pairs, np.array(values))


def _cells(line: str) -> Sequence[str]:
    separator = next((sign for sign in ("\t", ",", ";") if line.count(sign) >= 2), None)
    return [cell.strip() for cell in line.split(separator)]


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if np.isfinite(value) else None
