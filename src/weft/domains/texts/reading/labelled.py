"""Texts with a label each, a class or a number, from tables or folders of classes. Refuses to know tokens.

Texts are held in memory, in the order of the files. White space around a text and a label is dropped, inside a text it
stays. Rows without a text or a label are left out and counted.
"""

import os
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from weft.domains.texts.reading.labelled_tables import SAY, LabelledRow, judge_table, labelled_text, read_table
from weft.domains.texts.reading.labelled_texts import Example, LabelledTexts, fingerprint_of
from weft.errors import DataError
from weft.files.bad_rows import Skip, reasons
from weft.files.class_folders import LAYOUT, judge_folder, with_classes
from weft.files.columns import number
from weft.files.decoding import read_text, shown
from weft.files.finding import ending, find
from weft.files.gather import GatheredRows, ReadFile, Reading, tried
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
    gathered = GatheredRows[LabelledRow](skip)
    columns, taken = list[tuple[str, ...]](), set[str]()
    for source in named or [""]:
        known = (*TABLES, *LISTS) if is_list(source) else TABLES
        found = find([source] if named else [], (*known, ".txt"))
        tables = [path for path in found.paths if ending(path, known)]
        gathered.skipped += found.skipped
        gathered.bad.files += len(tables)
        if not tables:
            columns.append(_folder(Path(source), found.paths, gathered))
        for path in found.paths:
            if path not in tables:
                gathered.skipped += [(shown(path), "not a table, though others here are")] * bool(tables)
            elif (real := os.path.realpath(path)) not in taken:  # a table is taken once, however often it is named
                taken.add(real)
                reading = gathered.opened(partial(read_table, path, asked, kind))
                gathered.take(reading)
                columns.append(reading.columns)
    texts = _texts(gathered, next(filter(None, columns), ()), kind, fewest)
    _check(texts, ", ".join(shown(name) for name in named[:3]), learn)
    return texts


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
    gathered: GatheredRows[LabelledRow], columns: tuple[str, ...], kind: Kind | None, fewest: int
) -> LabelledTexts:
    """All that was gathered, if it is enough and not too much of it was bad."""
    labels = [row.label for row in gathered.rows]
    kind = kind or ("several" if are_joined(labels) else kind_of(labels))
    written = tried(gathered.rows, partial(_example, kind=kind))
    examples = list(gathered.bad.without(written))
    gathered.bad.check(len(examples))
    counts, total = Counter(label for row in examples for label in row.labels), len(examples)
    if kind == "classes":
        examples = [row for row in examples if counts[row.label] >= fewest]
    elif kind == "several" and fewest > 1:
        kept = {label for label, count in counts.items() if count >= fewest}
        examples = [Example(row.text, joined(label for label in row.labels if label in kept)) for row in examples]
    without_text, without_label = (gathered.bad.gaps[missing] for missing in COLUMNS)
    text, label = columns or COLUMNS
    return LabelledTexts(
        rows=examples,
        kind=kind,
        classes=() if kind == "numbers" else in_order({label for row in examples for label in row.labels}),
        columns=(text, label),
        files=tuple(gathered.files),
        skipped=gathered.left_out,
        notes=(*gathered.notes, *gathered.bad.lost_in_words()),
        fingerprint=fingerprint_of(examples),
        without_text=without_text,
        without_label=without_label,
        bad=gathered.bad.count - without_text.count - without_label.count,
        dropped=total - len(examples),
    )


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
