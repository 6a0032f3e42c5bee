"""Whether a text is words at all: tables, numbers and codes in files of text are told by their lines. Opens nothing."""

import json
import re
from collections.abc import Sequence
from statistics import mean

from weft.files.columns import NEARLY_ALL, looks_like, number

FEWEST_ROWS = 8  # lines needed to recognise a table
MANY_ROWS = 30  # lines needed to recognise one below a title
TITLES = 10  # lines of title, at most
MEASURED = 0.5  # of the columns of a table without its ending hold numbers; of one with bars or semicolons, one column
WIDE_WORD = 40  # characters between two blanks, on average, beyond which there are no words
FEWEST_CHARACTERS = 400  # needed to judge whether a text has words
LOOK = 50  # records looked at
VECTOR = 8  # numbers behind a word, at least
SEPARATED = {",": "commas", ";": "commas", "|": "bars"}  # keys in foreign.toml
TWO_SIDES = re.compile(r" (?:::|\|\|\|) ")
ENTRY = re.compile(r"\s*([^:\s][^:]{0,40}?)\s*:(?:\s|$)")
FEWEST_RECORDS = 3  # that begin with the same name
SPARSE = re.compile(r"[-+]?\d[\d.,eE+-]*(?:\s+(?:qid|\d+):[-+\d.eE]+)*\s*(?:#.*)?")


def no_prose(lines: Sequence[str]) -> str | None:
    """The key in foreign.toml of what lines are instead of words; None where they may be text to read.

    The lines are the first of a file, without blank ones.
    """
    rows = [line.strip() for line in lines if not line.startswith(("#", "%"))]
    if len(rows) > 1 and _is_vectors(rows):
        return "vectors"
    if len(rows) > 1 and all(map(SPARSE.fullmatch, rows)) and 2 * sum(":" in row for row in rows) > len(rows):
        return "sparse"
    if found := _is_json(rows):
        return found
    if len(rows) >= FEWEST_ROWS and sum(len(TWO_SIDES.findall(row)) == 1 for row in rows) >= NEARLY_ALL * len(rows):
        return "two-sides"
    tabbed = 2 * sum("\t" in row for row in rows) > len(rows)  # which are tables of another kind
    if (
        len(rows) >= FEWEST_ROWS
        and not tabbed
        and (found := _is_table([line.rstrip() for line in lines if line.strip() in rows]))
    ):
        return found
    if len(rows) >= MANY_ROWS and not tabbed and _is_titled(rows):
        return "titled"
    return "no-words" if _has_no_words(rows) else None


def is_records(start: str) -> bool:
    """Whether a text is records of names and values, a line each, all of which begin with the same name.

    Between them stand blank lines, or lines of // or %%.
    """
    parts = [part.strip("\n").split("\n") for part in re.split(r"(?m)^(?://|%%|[ \t]*)\n", start) if part.strip()][:-1]
    names = [[found[1] if (found := ENTRY.match(line)) else "" for line in part] for part in parts[:LOOK]]
    if len(names) < FEWEST_RECORDS or min(map(len, names)) < 2:
        return False
    alike = sum(one[0] == names[0][0] != "" for one in names)
    whole = sum(all(one) and len(set(one)) == len(one) for one in names)
    return min(alike, whole) >= NEARLY_ALL * len(names)


def _is_vectors(rows: Sequence[str]) -> bool:
    """Whether each line has a word and as many numbers as the others, perhaps below a line of the two counts."""
    head = re.fullmatch(r"\d+\s+(\d+)", rows[0])
    cells = [row.split(" ") for row in rows[1 if head else 0 :]]
    wide = int(head[1]) if head else len(cells[0]) - 1
    if wide < (2 if head else VECTOR) or (not head and all(number(row[0]) is not None for row in cells)):
        return False
    return all(len(row) > wide and all(number(one) is not None for one in row[-wide:]) for row in cells)


def _is_json(rows: Sequence[str]) -> str | None:
    """Whether lines are JSON: objects line by line, or the beginning of one value."""
    if not rows or not rows[0].startswith(("{", "[")):
        return None
    try:
        if len(rows) > 1 and all(isinstance(json.loads(row), dict) for row in rows[:FEWEST_ROWS]):
            return "json-lines"
    except (ValueError, RecursionError):
        pass
    start = "".join(rows)
    return "json-value" if re.match(r"\{\s*\"[^\"]*\"\s*:|\[\s*[\[{]\s*[\"\d{\[]", start) else None


def _is_table(rows: Sequence[str]) -> str | None:
    """Whether lines are rows of a table: with one separator, set in columns, or numbers between blanks."""
    for mark, key in SEPARATED.items():
        cells = [row.split(mark) for row in rows]
        if len(cells[0]) > 1 and _even(cells) and _numeric(cells) >= (MEASURED if mark == "," else 1 / len(cells[0])):
            return key
    if _even(cells := [row.split() for row in rows]) and len(cells[0]) > 1 and _numeric(cells) >= MEASURED:
        return "blanks"
    if _even(cells[1:]) and len(cells[0]) == len(cells[1]) - 1 > 1 and _numeric(cells) >= MEASURED:
        return "named-rows"
    if _even(cells := [re.split(r"\s{2,}", row.strip()) for row in rows]) and len(cells[0]) > 2 and _numeric(cells):
        return "fixed-width"
    tokens = [token for row in rows for token in re.split(r"[\s,;|]+", row) if token]
    return "numbers" if sum(number(one) is not None for one in tokens) >= NEARLY_ALL * len(tokens) else None


def _is_titled(rows: Sequence[str]) -> bool:
    """Whether all rows below some lines are numbers, as many in each."""
    numbers = [[number(one) is not None for one in re.split(r"[\s,;]+", row)] for row in rows]
    titles = next((place for place, cells in enumerate(numbers) if all(cells)), len(rows))
    below = numbers[titles:-1]
    return 0 < titles <= TITLES and len(below[0]) > 1 and all(all(one) and len(one) == len(below[0]) for one in below)


def _even(cells: Sequence[Sequence[str]]) -> bool:
    """Whether nearly all rows have as many cells as the last but one, which is no title and not cut off."""
    return sum(len(row) == len(cells[-2]) for row in cells) >= NEARLY_ALL * len(cells) and len(cells[0]) == len(
        cells[-2]
    )


def _numeric(cells: Sequence[Sequence[str]]) -> float:
    """The share of the columns whose values, below what may be names, are nearly all numbers."""
    size = len(cells[-2])
    columns = list(zip(*(row for row in cells[1:] if len(row) == size), strict=True))
    counts = [sum(looks_like("number", one.strip().strip("'\"") or "0") for one in column) for column in columns]
    most = [count >= NEARLY_ALL * len(column) for count, column in zip(counts, columns, strict=True)]
    return mean(most) if most else 0.0


def _has_no_words(rows: Sequence[str]) -> bool:
    """Whether blanks are too far apart for words in a script that has them: codes, sequences of letters, base64."""
    text = "\n".join(rows)
    plain = sum(map(str.isascii, text)) >= NEARLY_ALL * len(text)
    return plain and len(text) >= FEWEST_CHARACTERS and len(text) > WIDE_WORD * len(text.split())
