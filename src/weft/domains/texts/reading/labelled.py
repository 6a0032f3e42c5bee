"""Texts with a label each, a class or a number, from tables or folders of classes. Refuses to know tokens.

Texts are held in memory, in the order of the files. White space around a text and a label is dropped, inside a text it
stays. Rows without a text or a label are left out and counted.
"""

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from weft.domains.texts.reading.labelled_tables import SAY, LabelledRow, judge_table, read_table
from weft.domains.texts.reading.labelled_texts import Example, Gaps, LabelledTexts, TextFile, fingerprint_of
from weft.errors import DataError
from weft.files.bad_rows import BadRows, Skip, reasons
from weft.files.class_folders import LAYOUT, judge_folder, read_classes
from weft.files.columns import number
from weft.files.decoding import shown
from weft.files.finding import ending, find
from weft.files.labels import SMALL, Kind, in_order, kind_of
from weft.files.survey import Judgement, Survey, Surveyed, weakest
from weft.files.tables import ENDINGS as TABLES
from weft.files.tables import LISTS, is_list

LEAST = 10  # texts to learn from


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
    `fewest` texts are left out. With `learn`, data is refused that nothing can be learned from; without, a file may
    name its columns otherwise than the one that was learned from.
    """
    named = [sources] if isinstance(sources, str | Path) else list(sources)
    asked = (None if text is None else str(text)), (None if label is None else str(label))
    gathered = _Gathered(skip)
    for source in named or [""]:
        known = (*TABLES, *LISTS) if is_list(source) else TABLES
        found = find([source] if named else [], (*known, ".txt"))
        tables = [path for path in found.paths if ending(path, known)]
        gathered.skipped += found.skipped
        if not tables:
            gathered.folder(Path(source), found.paths)
        for path in found.paths:
            if path in tables:
                gathered.table(path, asked, learn)
            elif tables:
                gathered.skipped.append((shown(path), "not a table, though others here are"))
    texts = gathered.texts(kind, fewest)
    _check(texts, ", ".join(shown(name) for name in named[:3]), learn)
    return texts


class _Gathered:
    """The rows of one file after another, and what was wrong with others."""

    def __init__(self, skip: Skip):
        self.rows: list[LabelledRow] = []
        self.files: list[TextFile] = []
        self.notes: list[str] = []
        self.skipped: list[tuple[str, str]] = []
        self.columns: list[tuple[str, str]] = []
        self.taken: set[str] = set()
        self.without_text, self.without_label = Gaps(), Gaps()
        self.bad = BadRows(skip)

    def table(self, path: Path, asked: tuple[str | None, str | None], strict: bool) -> None:
        """Take all rows of one table; a table is taken once, however often it is named."""
        real = os.path.realpath(path)
        if real in self.taken:
            return
        self.taken.add(real)
        before, reading = len(self.rows), read_table(path, asked, strict)
        for row in reading.rows:
            if isinstance(row, DataError):
                self.bad.take(row)
            else:
                self.take(*row)
        self.columns += reading.columns
        self.notes += reading.notes
        self.files.append(TextFile(path, len(self.rows) - before))

    def folder(self, root: Path, files: Sequence[Path]) -> None:
        """Take the text files of a folder, each of the class that its folder names."""
        if not root.is_dir():
            raise DataError("a text without a label", where=shown(root), fix=LAYOUT)
        counts: Counter[str] = Counter()
        for path, label, text in read_classes(root, files):
            if text is None:
                self.skipped.append((shown(path), "in no folder that would name its class"))
            else:
                self.take(text, shown(label), shown(path))
                counts[label] += 1
        self.files += [TextFile(root / name, count) for name, count in counts.items()]
        self.notes.append(f"{shown(root)}: each of {len(counts)} folders is a class")
        self.columns.append(("text", "label"))

    def take(self, text: str, label: str, where: str) -> None:
        """Take one text with its label, or note what is missing."""
        text, label = text.strip(), label.strip()
        if text and label:
            self.rows.append(LabelledRow(text, label, where))
            return
        (self.without_label if text else self.without_text).add(where)
        missing = "label" if text else "text"
        self.bad.take(
            DataError(f"a row without a {missing}", where=where, fix="fill it in, or delete the row"), gap=True
        )

    def texts(self, kind: Kind | None, fewest: int) -> LabelledTexts:
        """All that was gathered, if it is enough and not too much of it was bad."""
        kind = kind or kind_of([row.label for row in self.rows])
        examples = [Example(row.text, label) for row in self.rows if (label := self.label(row, kind)) is not None]
        self.bad.check(len(examples))
        counts, total = Counter(row.label for row in examples), len(examples)
        if kind == "classes":
            examples = [row for row in examples if counts[row.label] >= fewest]
        return LabelledTexts(
            rows=examples,
            kind=kind,
            classes=in_order({row.label for row in examples}) if kind == "classes" else (),
            columns=self.columns[0] if self.columns else ("text", "label"),
            files=tuple(self.files),
            skipped=(*self.skipped, *self.bad.listed()),
            notes=tuple(self.notes),
            fingerprint=fingerprint_of(examples),
            without_text=self.without_text,
            without_label=self.without_label,
            bad=self.bad.count - self.without_text.count - self.without_label.count,
            dropped=total - len(examples),
        )

    def label(self, row: LabelledRow, kind: Kind) -> str | None:
        """The label in the one way of writing it; None where a number was expected and something else stands."""
        value = number(row.label)
        if kind == "numbers" and value is None:
            problem = f"the label {shown(row.label[:40])!r} is not a number, as the others are"
            self.bad.take(DataError(problem, where=row.where, fix="correct it, or delete the row"))
            return None
        whole = value is not None and value.is_integer() and abs(value) < SMALL
        return f"{value:.0f}" if whole and kind == "classes" and "." in row.label else row.label


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
