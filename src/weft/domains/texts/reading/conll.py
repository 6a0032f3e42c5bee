"""The tagged sentences in one file: columns as at the CoNLL shared tasks, or lines of JSON. Refuses to judge tags.

    # a comment                     a word a line: in the first column the word, in the last the tag
    EU      NNP  B-NP  B-ORG        a blank line, -DOCSTART- or EOS ends a sentence
    rejects VBZ  B-VP  O

What comes out, in order, is a `Tagged`, or what was wrong with a sentence (a `DataError`, not raised).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from weft.domains.texts.reading.tagged_texts import Tagged
from weft.errors import DataError
from weft.files.decoding import shown
from weft.files.finding import ending
from weft.files.gather import tried
from weft.files.json_lines import kind, numbered, objects_on

ENDINGS = (".conll", ".conllu", ".bio", ".iob", ".iob2", ".tsv", ".txt", ".jsonl")
START, END = "-DOCSTART-", "EOS"  # lines of their own: a document begins; a sentence ends, as MeCab writes it
WORDS = ("tokens", "words")
TAGS = ("tags", "ner_tags", "labels", "pos_tags", "ner", "pos")
EXAMPLE = "write a word and its tag on every line, and a blank line after each sentence"
OBJECT = 'write {"tokens": ["Ada", "met", …], "tags": ["B-PER", "O", …]} on every line'


@dataclass
class ConllColumns:
    """Which columns hold word and tag (from 1; the tag's from the end if below 0), and what was passed over.

    Without a `tag`, words are read alone, and their tags are blank.
    """

    word: int = 1
    tag: int | None = -1
    comments: int = 0
    starts: int = 0
    parts: int = 0  # of words that were written twice, joined and apart
    ends: int = 0

    def pick(self, cells: list[str]) -> tuple[str, str] | None:
        """The word and the tag of a line, if it has those columns and they are filled."""
        asked = [column for column in (self.word, self.tag) if column is not None]
        places = [column - 1 if column > 0 else len(cells) + column for column in asked]
        if not all(0 <= place < len(cells) for place in places) or len(set(places)) < len(places):
            return None
        found = [cells[place].strip() for place in places]
        return (found[0], found[1] if len(found) > 1 else "") if all(found) else None


@dataclass
class _Lines:
    """The lines of a sentence that are read so far, and what was first wrong with it."""

    words: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    fault: DataError | None = None

    def sentence(self) -> Iterator[Tagged | DataError]:
        if self.fault is not None:
            yield self.fault
        elif self.words:
            yield Tagged(tuple(self.words), tuple(self.tags))


Numbered = Iterable[tuple[int, str]]  # lines with their numbers


def read_columns(path: Path, columns: ConllColumns, found: Numbered | None = None) -> Iterator[Tagged | DataError]:
    """The sentences of a file of columns, which tabs part if there is one in the first line, else white space.

    `found` are lines of it that are at hand already.
    """
    universal = ending(path, ENDINGS) == ".conllu"
    lines, size, tabs = _Lines(), 0, universal
    for number, line in numbered(path) if found is None else found:
        tabs = tabs or (not size and "\t" in line)
        cells = line.split("\t") if tabs else line.split()
        if not line.strip() or cells[0].strip() == START or line.strip() == END:
            columns.starts += START in line
            columns.ends += line.strip() == END
            yield from lines.sentence()
            lines = _Lines()
        elif line.startswith("#") and len(cells) != size:
            columns.comments += 1
        elif universal and not cells[0].isdecimal():
            columns.parts += 1  # 3-4 is the word that 3 and 4 are parts of; 5.1 is not in the text
        else:
            size = size or len(cells)
            picked = columns.pick(cells) if len(cells) == size else None
            if picked is None:
                lines.fault = lines.fault or _misfit(path, number, cells, size, columns)
            else:
                lines.words.append(picked[0])
                lines.tags.append(picked[1])
    yield from lines.sentence()


def _misfit(path: Path, number: int, cells: list[str], size: int, columns: ConllColumns) -> DataError:
    where = f"{shown(path)}, line {number}"
    if len(cells) != size:
        problem = f"{len(cells)} column{'s' * (len(cells) != 1)}, expected {size} as in the first line"
    elif columns.tag is not None and (len(cells) == 1 or max(columns.word, abs(columns.tag)) > len(cells)):
        problem = f"{len(cells)} column{'s' * (len(cells) != 1)}, but the tag is looked for in column {columns.tag}"
        problem = f"a word without a tag: {shown(cells[0][:40])!r}" if len(cells) == 1 else problem
    else:
        problem = "the word is blank" if columns.tag is None else "the word or its tag is blank"
    return DataError(problem, where=where, fix=EXAMPLE)


def read_json_lines(path: Path, found: Numbered | None = None) -> Iterator[Tagged | DataError]:
    """The sentences of a .jsonl file, from the fields of known names."""
    objects = objects_on(numbered(path) if found is None else found, path, OBJECT)
    return tried(objects, lambda one: _sentence(one[1], f"{shown(path)}, line {one[0]}"))


def _sentence(data: dict[str, Any], where: str) -> Tagged:
    lists = []
    for names in (WORDS, TAGS):
        name = next((name for name in names if name in data), names[0])
        if name not in data:
            found = ", ".join(map(repr, list(data)[:8])) or "none"
            raise DataError(f'no field "{name}"; its fields: {found}', where=where, fix=OBJECT)
        values = data[name]
        if not isinstance(values, list):
            raise DataError(f'the field "{name}" is {kind(values)}, expected a list', where=where, fix=OBJECT)
        odd = next((value for value in values if not isinstance(value, str | int) or isinstance(value, bool)), None)
        if odd is not None or any(str(value).strip() == "" for value in values):
            what = "a blank" if odd is None else kind(odd)
            raise DataError(f'the field "{name}" has {what} in it, expected strings', where=where, fix=OBJECT)
        lists.append(tuple(str(value).strip() for value in values))
    if not lists[0] or len(lists[0]) != len(lists[1]):
        raise DataError(f"{len(lists[0])} words, but {len(lists[1])} tags", where=where, fix=OBJECT)
    return Tagged(*lists)
