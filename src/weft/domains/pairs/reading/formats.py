"""The pairs in one file of a known ending. Knows the formats; refuses to judge, count or hold what it reads.

Damage that leaves it unclear where rows begin or which belong together is raised.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from weft.domains.pairs.reading.tmx import Unit, read_tmx
from weft.errors import DataError
from weft.files import po
from weft.files.columns import columns_of
from weft.files.decoding import shown
from weft.files.finding import ending
from weft.files.gather import Reading, tried
from weft.files.json_lines import numbered
from weft.files.known_roles import PAIR
from weft.files.languages import language, languages_of_file, meaning
from weft.files.roles import LearnedColumn, choose
from weft.files.tables import ENDINGS as TABLES
from weft.files.tables import SEPARATORS, Row, Table, open_table

ENDINGS = (*TABLES, ".tmx", ".po")
OBJECT = 'write {"source": "…", "target": "…"} or {"translation": {"en": "…", "fr": "…"}} on every line'


class PairRow(NamedTuple):
    """A source and a target as they stand in the file, and the line they begin on."""

    line: int
    source: str
    target: str


def read_file(path: Path, source: str | None, target: str | None) -> Reading[PairRow]:
    """The pairs of a file with one of the known endings."""
    if (read := {".tmx": _memory, ".po": _catalogue}.get(ending(path, ENDINGS) or "")) is None:
        return _table(path, source, target)
    return read(path, as_language(source), as_language(target))


def as_language(name: str | None) -> str | None:
    """What was asked for, for files without columns: of the column that a run learned from, the language alone."""
    return language(name) if isinstance(name, LearnedColumn) else name


# Tables


def _table(path: Path, source: str | None, target: str | None) -> Reading[PairRow]:
    """A .tsv, .csv or .jsonl file. A header names two languages or sides; other first rows are pairs."""
    table = open_table(path, PAIR, (source, target), objects=OBJECT, doubtful=False)
    if not table.columns:
        return Reading((path, path), table.faults())
    if table.separator is None:
        return _fields(table, source, target)
    table = by_file_name(table)
    (a, b), _ = table.choose(PAIR, (source, target), fix="")
    names, name = table.names, shown(path)
    notes = []
    if table.separator != "," and ending(path, ENDINGS) == ".csv":
        notes.append(f"{name}: its columns are separated by {SEPARATORS[table.separator or ',']}")
    if table.header or len(names) > 2 or names[0]:
        known = table.known + ", the file's name gives the languages" * bool(names[0] and not table.header)
        notes.append(f"{name}: {known}; columns {a + 1} and {b + 1} of {len(names)} are taken")
    return _columns(table, a, b, tuple(notes))


def by_file_name(table: Table) -> Table:
    """A table without a header, with the names of the languages that the file's name has (corpus.en-fr.tsv)."""
    if table.header or table.separator is None:
        return table
    stem = table.path.name.lower().removesuffix(".gz").rpartition(".")[0]
    return table.renamed(languages_of_file(stem, len(table.columns)))


def _columns(table: Table, a: int, b: int, notes: tuple[str, ...]) -> Reading[PairRow]:
    """Two columns of a table; each is called by its language, else its name, else its number."""
    names = tuple(language(table.names[place]) or table.names[place] or table.title(place) for place in (a, b))

    def read(row: Row) -> PairRow:
        return PairRow(row.line, *(("", "") if row.cells == [] else (table.text(row, a), table.text(row, b))))

    return Reading((table.path, table.path), tried(table.rows(), read), names, notes)


def _fields(table: Table, source: str | None, target: str | None) -> Reading[PairRow]:
    """Lines of JSON: without names that say what they hold, fields are not taken for a source and a target."""
    names, where = [name or "" for name in table.names], table.where(table.line)
    if len(names) < 2:
        raise DataError(f"expected two texts, found {len(names)} fields", where=where, fix=OBJECT)
    (a, b), _ = table.choose(PAIR, (source, target), fix="")
    if not (source or meaning(names[a])) or not (target or meaning(names[b])):
        problem = f"no source and target among its fields: {', '.join(map(repr, names[:8]))}"
        raise DataError(problem, where=where, fix=f"{OBJECT}, or name the fields: --set source=… --set target=…")
    note = f"{shown(table.path)}: the fields {names[a]!r} and {names[b]!r} of {len(names)} are taken"
    return _columns(table, a, b, (note,) if len(names) > 2 else ())


# Translation memories


def _memory(path: Path, source: str | None, target: str | None) -> Reading[PairRow]:
    """A .tmx file. A unit without one of the two languages is left out; several texts in one are several rows."""
    items, name = list(read_tmx(path)), shown(path)
    head = next((item for item in items if isinstance(item, str)), "")
    units = [item for item in items if isinstance(item, Unit)]
    counts = Counter(tag for unit in units for tag, _ in unit.texts)
    if not counts:
        return Reading((path, path), ())
    tags = sorted(counts, key=lambda tag: _tongue(tag) != _tongue(head))  # the language of the header first
    tongues = list(dict.fromkeys(map(_tongue, tags)))
    if len(tongues) > 2 and (source is None or target is None):
        found = ", ".join(f"{tag} ({counts[tag]})" for tag in tags)
        raise DataError(
            f"{len(tongues)} languages: {found}",
            where=name,
            fix="say which to translate from and into: --set source=… --set target=…",
        )
    sides = [_variants(tags, asked) if asked else [] for asked in (source, target)]
    if not (sides[0] and sides[1]):
        places = choose(columns_of(tongues, []), PAIR, (source, target), where=name, fix="").places
        sides = [side or _variants(tags, tongues[place]) for side, place in zip(sides, places, strict=True)]
    if set(sides[0]) & set(sides[1]):
        raise DataError(f"source and target are both {sides[0][0]}", where=name, fix=f"name two of {', '.join(tags)}")
    columns = _tongue(sides[0][0]), _tongue(sides[1][0])
    return Reading((path, path), _combined(units, sides), columns)


def _tongue(tag: str) -> str:
    return language(tag) or tag.lower()


def _variants(tags: list[str], asked: str) -> list[str]:
    """The tag that was asked for, else all of its language: en also takes en-US and en-GB."""
    exact = [tag for tag in tags if tag.lower().replace("_", "-") == asked.lower().replace("_", "-")]
    return exact or [tag for tag in tags if _tongue(tag) == _tongue(asked)]


def _combined(units: list[Unit], sides: list[list[str]]) -> Iterator[PairRow | str]:
    for unit in units:
        first, second = ([text for tag, text in unit.texts if tag in side] for side in sides)
        if not first or not second:
            yield "without one of the two languages"
        yield from (PairRow(unit.line, a, b) for a in first for b in second)


# Message catalogues


def _catalogue(path: Path, source: str | None, target: str | None) -> Reading[PairRow]:
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
    return Reading((path, path), _messages(entries, turned), tuple(columns), tuple(notes))


def _messages(entries: list[po.PoMessage], turned: bool) -> Iterator[PairRow | str]:
    for entry in entries:
        if entry.is_header or entry.obsolete or entry.fuzzy:
            yield "header" if entry.is_header else "obsolete" if entry.obsolete else "fuzzy"
        elif not any(text.strip() for text in entry.strings.values()):
            yield "untranslated"
        else:
            for n, text in sorted(entry.sources().items())[:2]:
                pair = text, entry.strings[n]
                yield PairRow(entry.line, *(pair[::-1] if turned else pair))
