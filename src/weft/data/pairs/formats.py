"""The pairs in one file of a known ending. Knows the formats; refuses to judge, count or hold what it reads.

What comes out of a file, in order, is a `Row`, or what was wrong with a row (a `DataError`, not raised: the reader
decides how many it bears), or the word for a row that its own file says is not to be used ("fuzzy"). Damage that leaves
it unclear where rows begin or which belong together is raised.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from weft.data.decoding import shown
from weft.data.files import ending
from weft.data.jsonl import numbered, read_object, read_string
from weft.data.pairs import po
from weft.data.pairs.columns import choose, is_header, is_known, label, language, languages_of_file
from weft.data.pairs.tables import read_csv, read_tsv, separator_of
from weft.data.pairs.tmx import Unit, read_tmx
from weft.errors import DataError

ENDINGS = (".tsv", ".csv", ".jsonl", ".tmx", ".po")
OBJECT = 'write {"source": "…", "target": "…"} or {"translation": {"en": "…", "fr": "…"}} on every line'
SEPARATED = {",": "commas", ";": "semicolons", "\t": "tabs"}


class Row(NamedTuple):
    """A source and a target as they stand in the file, and the line they begin on."""

    line: int
    source: str
    target: str


@dataclass(frozen=True)
class Reading:
    """How a file is read: names of the two columns, the file each is in, what to tell people, and the rows."""

    columns: tuple[str, str]
    files: tuple[Path, Path]
    rows: Iterator[Row | DataError | str]
    notes: tuple[str, ...] = ()


def excerpt(text: str) -> str:
    """The beginning of a text, for messages."""
    return repr(text if len(text) <= 40 else text[:39] + "…")


def read_file(path: Path, source: str | None, target: str | None) -> Reading:
    """The pairs of a file with one of the known endings."""
    kinds = {".jsonl": _objects, ".tmx": _memory, ".po": _catalogue}
    return kinds.get(ending(path, ENDINGS) or "", _table)(path, source, target)


# Tables


def _table(path: Path, source: str | None, target: str | None) -> Reading:
    """A .tsv or .csv file, with or without a header."""
    name, suffix, notes = shown(path), ending(path, ENDINGS) or "", []
    separator = separator_of(path) if suffix == ".csv" else "\t"
    rows = read_csv(path, separator) if suffix == ".csv" else read_tsv(path)
    if suffix == ".csv" and separator != ",":
        notes.append(f"{name}: its columns are separated by {SEPARATED[separator]}")
    first = next(((line, cells) for line, cells in rows if any(map(str.strip, cells))), None)
    if first is None:
        return Reading((source or "source", target or "target"), (path, path), iter(()))
    line, cells = first
    header = is_header(cells, source, target)
    stem = path.name.lower().removesuffix(".gz").removesuffix(suffix)
    names: Sequence[str | None] = cells if header else languages_of_file(stem, len(cells))
    a, b = choose(names, source, target, where=f"{name}, line {line}")
    columns = label(names[a], a), label(names[b], b)
    if header or len(cells) > 2 or names[0]:
        known = f"line {line} names the columns" if header else "no header"
        known += ", the file's name gives the languages" if names[0] and not header else ""
        notes.append(f"{name}: {known}; columns {a + 1} and {b + 1} of {len(cells)} are taken")
    rest = rows if header else chain([first], rows)
    return Reading(columns, (path, path), _cells(name, rest, first, (a, b)), tuple(notes))


def _cells(
    name: str, rows: Iterator[tuple[int, list[str]]], first: tuple[int, list[str]], places: tuple[int, int]
) -> Iterator[Row | DataError]:
    count, (a, b) = len(first[1]), places
    for line, cells in rows:
        if len(cells) == count:
            yield Row(line, cells[a], cells[b])
        elif not any(map(str.strip, cells)):
            yield Row(line, "", "")
        else:
            found = f"{len(cells)} column{'s' * (len(cells) != 1)}"
            problem = f"{found}, expected {count} as in line {first[0]}: {excerpt(' | '.join(cells))}"
            fix = "give every row the same columns; a separator inside a text shifts what follows it"
            yield DataError(problem, where=f"{name}, line {line}", fix=fix)


# Lines of JSON


def _objects(path: Path, source: str | None, target: str | None) -> Reading:
    """A .jsonl file: the first good line decides on the keys."""
    items, before = _mappings(path), []
    for item in items:
        before.append(item)
        if not isinstance(item, DataError):
            break
    else:
        return Reading(
            (source or "source", target or "target"), (path, path), (e for e in before if isinstance(e, DataError))
        )
    line, data = item
    where, names = f"{shown(path)}, line {line}", list(data)
    if len(names) < 2:
        raise DataError(f"expected two texts, found {len(names)} fields", where=where, fix=OBJECT)
    a, b = choose(names, source, target, where=where)
    if not (source or is_known(names[a])) or not (target or is_known(names[b])):
        problem = f"no source and target among its fields: {', '.join(map(repr, names[:8]))}"
        raise DataError(problem, where=where, fix=f"{OBJECT}, or say which field is the source and which the target")
    note = f"{shown(path)}: the fields {names[a]!r} and {names[b]!r} of {len(names)} are taken"
    rows = _texts(path, chain(before, items), (names[a], names[b]))
    return Reading((label(names[a], a), label(names[b], b)), (path, path), rows, (note,) if len(names) > 2 else ())


def _mappings(path: Path) -> Iterator[tuple[int, dict[str, Any]] | DataError]:
    """The objects of a .jsonl file, or those in their field "translation"."""
    for number, line in numbered(path):
        if line and not line.isspace():
            try:
                data = read_object(line, where=f"{shown(path)}, line {number}", fix=OBJECT)
            except DataError as error:
                yield error
            else:
                inner = data.get("translation")
                yield number, inner if isinstance(inner, dict) else data


def _texts(
    path: Path, items: Iterator[tuple[int, dict[str, Any]] | DataError], keys: tuple[str, str]
) -> Iterator[Row | DataError]:
    for item in items:
        if isinstance(item, DataError):
            yield item
            continue
        line, data = item
        where = f"{shown(path)}, line {line}"
        try:
            first, second = (read_string(data, key, where=where, fix=OBJECT) for key in keys)
        except DataError as error:
            yield error
        else:
            yield Row(line, first, second)


# Translation memories


def _memory(path: Path, source: str | None, target: str | None) -> Reading:
    """A .tmx file. A unit without one of the two languages is left out; several texts in one are several rows."""
    items, name = list(read_tmx(path)), shown(path)
    head = next((item for item in items if isinstance(item, str)), "")
    units = [item for item in items if isinstance(item, Unit)]
    counts = Counter(tag for unit in units for tag, _ in unit.texts)
    if not counts:
        return Reading((source or "source", target or "target"), (path, path), iter(()))
    tags = sorted(counts, key=lambda tag: _tongue(tag) != _tongue(head))  # the language of the header first
    tongues = list(dict.fromkeys(map(_tongue, tags)))
    if len(tongues) > 2 and (source is None or target is None):
        found = ", ".join(f"{tag} ({counts[tag]})" for tag in tags)
        raise DataError(
            f"{len(tongues)} languages: {found}", where=name, fix="say which is the source and which the target"
        )
    sides = [_variants(tags, asked) if asked else [] for asked in (source, target)]
    if not (sides[0] and sides[1]):
        places = choose(tongues, source, target, where=name)
        sides = [side or _variants(tags, tongues[place]) for side, place in zip(sides, places, strict=True)]
    if set(sides[0]) & set(sides[1]):
        raise DataError(f"source and target are both {sides[0][0]}", where=name, fix=f"name two of {', '.join(tags)}")
    columns = _tongue(sides[0][0]), _tongue(sides[1][0])
    return Reading(columns, (path, path), _combined(units, sides))


def _tongue(tag: str) -> str:
    return language(tag) or tag.lower()


def _variants(tags: list[str], asked: str) -> list[str]:
    """The tag that was asked for, else all of its language: en also takes en-US and en-GB."""
    exact = [tag for tag in tags if tag.lower().replace("_", "-") == asked.lower().replace("_", "-")]
    return exact or [tag for tag in tags if _tongue(tag) == _tongue(asked)]


def _combined(units: list[Unit], sides: list[list[str]]) -> Iterator[Row | str]:
    for unit in units:
        first, second = ([text for tag, text in unit.texts if tag in side] for side in sides)
        if not first or not second:
            yield "without one of the two languages"
        yield from (Row(unit.line, a, b) for a in first for b in second)


# Message catalogues


def _catalogue(path: Path, source: str | None, target: str | None) -> Reading:
    """A .po file: msgid -> msgstr, or back where `source` is what msgstr is written in."""
    entries = po.parse([line for _, line in numbered(path)], shown(path))
    written = language(po.facts(entries).get("language"))
    asked = [None if name is None else language(name) or name.lower() for name in (source, target)]
    turned = asked[0] in {"msgstr", written} - {None} or asked[1] == "msgid"
    fields = ["msgstr", "msgid"] if turned else ["msgid", "msgstr"]
    columns, notes = [], []
    for name, which in zip(asked, fields, strict=True):
        known = written if which == "msgstr" else None
        if name not in (None, which, known):
            if known or language(name) in (None, written):
                found = f"msgid and msgstr{f' (in {written})' if written else ''}"
                raise DataError(f"no {name!r} in it; it has {found}", where=shown(path), fix="name those, or none")
            notes.append(f"{shown(path)}: does not say the language of {which}, which is taken to be {name}")
        columns.append(known or (name if language(name) else None) or which)
    return Reading((columns[0], columns[1]), (path, path), _messages(entries, turned), tuple(notes))


def _messages(entries: list[po.Entry], turned: bool) -> Iterator[Row | str]:
    for entry in entries:
        if entry.is_header or entry.obsolete or entry.fuzzy:
            yield "header" if entry.is_header else "obsolete" if entry.obsolete else "fuzzy"
        elif not any(text.strip() for text in entry.strings.values()):
            yield "untranslated"
        else:
            for n, text in sorted(entry.sources().items())[:2]:
                pair = text, entry.strings[n]
                yield Row(entry.line, *(pair[::-1] if turned else pair))
