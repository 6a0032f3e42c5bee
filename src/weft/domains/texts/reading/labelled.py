"""Texts with a label each, a class or a number, from tables or folders of classes. Refuses to know tokens.

Texts come in the order of the files; many are not held in memory (`kept`). White space around a text and a label is
dropped, inside a text it stays. Rows without a text or a label are left out and counted.
"""

import hashlib
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

from weft.domains.texts.reading.kept import Finish, kept_labelled
from weft.domains.texts.reading.labelled_tables import SAY, LabelledRow, judge_table, labelled_text, read_table
from weft.domains.texts.reading.labelled_texts import Example, LabelledTexts
from weft.errors import DataError
from weft.files.bad_rows import Skip, reasons
from weft.files.class_folders import LAYOUT, judge_folder, with_classes
from weft.files.columns import number
from weft.files.decoding import read_text, shown
from weft.files.finding import FoundFiles, ending, find
from weft.files.gather import GatheredRows, GrowingRows, ReadFile, Reading, tried
from weft.files.labels import SMALL, Kind, are_joined, in_order, joined, kind_of, parted
from weft.files.survey import Judgement, Survey, Surveyed, weakest
from weft.files.tables import ENDINGS as TABLES
from weft.files.tables import LISTS, is_list

LEAST = 10  # texts to learn from
COLUMNS = ("text", "label")  # what they are called where nobody names them


def read_labelled(
    sources: str | Path | Sequence[str | Path],
    *,
    text: str | int | None = None,
    label: str | int | None = None,
    kind: Kind | None = None,
    skip: Skip = None,
    fewest: int = 1,
    learn: bool = True,
) -> LabelledTexts:
    """Read tables (.tsv, .csv, .jsonl, each also with .gz), or folders with one sub-folder of .txt files a class.

    `text` and `label` name columns or number them from 1. `kind` says whether labels are classes or numbers; by default
    they are numbers where all are, unless they are few small whole ones. `skip` is how many bad rows are left out
    before the data is refused, or, if it is not a whole number, which share of all rows. Classes with less than
    `fewest` texts are left out. With `learn`, data is refused that nothing can be learned from.
    """
    named = [sources] if isinstance(sources, str | Path) else list(sources)
    asked = (str(text) if isinstance(text, int) else text), (str(label) if isinstance(label, int) else label)
    known = [(source, (*TABLES, *LISTS) if is_list(source) else TABLES) for source in named or [""]]
    sources_found = [(source, ends, find([source] if named else [], (*ends, ".txt"))) for source, ends in known]

    def gather(rows: GrowingRows[LabelledRow]) -> Finish:
        gathered = GatheredRows[LabelledRow](skip, rows=rows)
        columns, taken = list[tuple[str, ...]](), set[str]()
        for source, ends, found in sources_found:
            columns += _gather(gathered, Path(source), ends, found, taken, lambda path: read_table(path, asked, kind))
        first = next(filter(None, columns), ())
        return lambda rows, into: _texts(gathered, rows, into, columns=first, kind=kind, fewest=fewest)

    paths = list(dict.fromkeys(path for _, _, found in sources_found for path in found.paths))
    texts = kept_labelled(paths, [*asked, kind, skip, fewest], gather)
    _check(texts, ", ".join(shown(name) for name in named[:3]), learn)
    return texts


def _gather(
    gathered: GatheredRows[LabelledRow],
    source: Path,
    ends: tuple[str, ...],
    found: FoundFiles,
    taken: set[str],
    read: Callable[[Path], Reading[LabelledRow]],
) -> list[tuple[str, ...]]:
    """Take the rows of one source; what the columns of each of its tables are called."""
    tables, columns = [path for path in found.paths if ending(path, ends)], list[tuple[str, ...]]()
    gathered.skipped += found.skipped
    gathered.bad.files += len(tables)
    if not tables:
        columns.append(_folder(source, found.paths, gathered))
    for path in found.paths:
        if path not in tables:
            gathered.skipped += [(shown(path), "not a table, though others here are")] * bool(tables)
        elif (real := os.path.realpath(path)) not in taken:  # a table is taken once, however often it is named
            taken.add(real)
            reading = gathered.opened(partial(read, path))
            gathered.take(reading)
            columns.append(reading.columns)
    return columns


def _folder(root: Path, files: Sequence[Path], gathered: GatheredRows[LabelledRow]) -> tuple[str, ...]:
    """Take the text files of a folder, each of the class that its folder names; what its two columns are called."""
    if not root.is_dir():
        raise DataError("a text without a label", where=shown(root), fix=LAYOUT)
    counts: Counter[str] = Counter()
    gathered.bad.files += len(files)
    for path, label in with_classes(root, files):
        if label is None:
            gathered.skipped.append((shown(path), "in no folder that would name its class"))
        else:
            counts[label] += gathered.take(gathered.opened(partial(_text, path, label)))
    gathered.files += [ReadFile(root / name, count) for name, count in counts.items()]
    gathered.notes.append(f"{shown(root)}: each of {len(counts)} folders is a class")
    return COLUMNS


def _text(path: Path, label: str) -> Reading[LabelledRow]:
    """A file that is one text."""
    return Reading((), tried(["".join(read_text(path))], lambda text: labelled_text(text, shown(label), shown(path))))


def _texts(
    gathered: GatheredRows[LabelledRow],
    rows: Sequence[LabelledRow],
    examples: GrowingRows[Example],
    *,
    columns: tuple[str, ...],
    kind: Kind | None,
    fewest: int,
) -> LabelledTexts:
    """All that was gathered, added to `examples`, if it is enough and not too much of it was bad."""
    labels = [sys.intern(row.label) for row in rows]
    kind = kind or ("several" if are_joined(labels) else kind_of(labels))
    counts, total = Counter[str](), 0
    for row in gathered.bad.without(tried(rows, partial(_example, kind=kind))):
        counts.update(row.labels)
        total += 1
    gathered.bad.check(total)
    print_of, classes = hashlib.sha256(), set[str]()
    for row in _frequent(rows, kind, {label for label, count in counts.items() if count >= fewest}):
        examples.append(row)
        classes.update(row.labels)
        print_of.update(b"".join(b"%d:%b" % (len(data), data) for data in (row.text.encode(), row.label.encode())))
    without_text, without_label = (gathered.bad.gaps[missing] for missing in COLUMNS)
    text, label = columns or COLUMNS
    return LabelledTexts(
        rows=examples if isinstance(examples, list) else [],
        kind=kind,
        classes=() if kind == "numbers" else in_order(classes),
        columns=(text, label),
        files=tuple(gathered.files),
        skipped=gathered.left_out,
        notes=(*gathered.notes, *gathered.bad.lost_in_words()),
        fingerprint=print_of.hexdigest(),
        without_text=without_text,
        without_label=without_label,
        bad=gathered.bad.count - without_text.count - without_label.count,
        dropped=total - len(examples),
    )


def _frequent(rows: Iterable[LabelledRow], kind: Kind, frequent: set[str]) -> Iterator[Example]:
    """The texts that can be used, with labels that are frequent enough; numbers are labels of no class."""
    for row in tried(rows, partial(_example, kind=kind)):
        if isinstance(row, DataError):
            continue
        if kind == "several":
            yield Example(row.text, joined(label for label in row.labels if label in frequent))
        elif kind == "numbers" or row.label in frequent:
            yield row


def _example(row: LabelledRow, kind: Kind) -> Example:
    """A text with its label in the one way of writing it."""
    if kind == "several":
        return Example(row.text, joined(parted(row.label)))
    value = number(row.label)
    if kind == "numbers" and value is None:
        problem = f"the label {shown(row.label[:40])!r} is not a number, as the others are"
        raise DataError(problem, where=row.where, fix="correct it, or delete the row")
    whole = value is not None and value.is_integer() and abs(value) < SMALL
    return Example(row.text, f"{value:.0f}" if whole and kind == "classes" and "." in row.label else row.label)


def _check(found: LabelledTexts, where: str, learn: bool) -> None:
    """Refuse data that holds nothing, or, to learn from, too little."""
    left = f"; rows without a text: {found.without_text}" * bool(found.without_text.count)
    left += f"; rows without a label: {found.without_label}" * bool(found.without_label.count)
    if not found.rows:
        raise DataError(
            f"0 labelled texts{left}{reasons(found.skipped)}", where=where, fix="name files that hold texts with labels"
        )
    if not learn:
        return
    if len(found.rows) < LEAST:
        problem = f"{len(found.rows)} labelled texts are too few: at least {LEAST} are needed{left}"
        raise DataError(problem, where=where, fix="add more")
    different = len({row.label for row in found.rows})
    if found.kind == "several" and not found.classes:
        raise DataError("no text has a label", where=where, fix=SAY)
    if different == 1:
        problem = f"every text has the same label, {shown(found.rows[0].label)!r}: there is nothing to tell apart"
        raise DataError(problem, where=where, fix=f"add texts with other labels; or {SAY}")
    if found.kind == "classes" and different * 2 > len(found.rows):
        problem = f"{different:,} different labels for {len(found.rows):,} texts: this does not look like classes"
        raise DataError(problem, where=where, fix=f"give every class at least two texts; or {SAY}")


# Recognition


def judge(survey: Survey) -> Judgement:
    """Whether these are tables with a text and its label in a row, or folders of classes."""
    return survey.weakest(_judge_source)


def _judge_source(source: Surveyed) -> Judgement:
    tables = weakest(map(judge_table, source.tables))
    return judge_folder(source) if source.kind == "folder" and tables.level == "no" else tables
