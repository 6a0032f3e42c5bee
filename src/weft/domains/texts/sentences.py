"""Sentences that come in words, to be tagged as they are cut: files of columns, and tables with a list of words."""

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from weft.domains.texts.reading.conll import WORDS
from weft.domains.texts.reading.tagged import words_in
from weft.domains.texts.reading.tagged_texts import CutText
from weft.errors import DataError
from weft.files.columns import plain
from weft.files.known_roles import TEXT, TEXT_NAMES
from weft.files.roles import known_as
from weft.modalities.words import words
from weft.tasks.asks import Given
from weft.tasks.table_inputs import InputRow

TOKENS_OR_TEXT = known_as("text", (*WORDS, *TEXT_NAMES), TEXT.by_content, like=".*_text", last=True)


def words_of(text: str) -> Sequence[str]:
    """The words of a text: those it came in, else as they are told apart here."""
    return text.words if isinstance(text, CutText) else words(text)


def cut_texts(path: Path, word: int | None) -> Iterator[Given]:
    """The sentences of a file with a word in each line; `word` numbers the column of the words."""
    for number, one in enumerate(words_in(path, word), 1):
        yield Given(one, one.where) if isinstance(one, DataError) else Given(one, f"{path.name}, sentence {number}")


def text_in_row(row: InputRow) -> Given:
    """The text in a row of a table, or its words where the column is one of tokens."""
    place = row.places[0]
    if place is None or plain(row.table.names[place] or "") not in WORDS:
        return Given(row.text(), row.text())
    text = CutText.of(_words(row.value(), row))
    return Given(text, text)


def _words(value: Any, row: InputRow) -> list[str]:
    """The words in a cell: a list, a list as JSON or Python writes it, or words with spaces between them."""
    found = list(value) if isinstance(value, list | tuple) else _listed(row.text())
    if not found or not all(isinstance(one, str) and one.strip() for one in found):
        raise DataError(f"expected a list of words, found {str(value)[:60]!r}", where=row.where, fix="fill it in")
    return [one.strip() for one in found]


def _listed(cell: str) -> list[Any]:
    """A list in a cell of text."""
    if not cell.startswith("["):
        return cell.split()
    try:
        found = ast.literal_eval(cell)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return []
    return found if isinstance(found, list) else []
