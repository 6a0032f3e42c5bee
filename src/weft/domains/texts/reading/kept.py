"""Many texts with labels, which are not held in memory: gathered into mapped files once, and found again.

In memory stand a few bytes for each: which row it is, and its label.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from weft.domains.texts.reading.labelled_tables import LabelledRow
from weft.domains.texts.reading.labelled_texts import Example, LabelledTexts
from weft.files.bad_rows import Gaps
from weft.files.gather import GrowingRows, ReadFile
from weft.files.kept_rows import RowTexts, kept_rows
from weft.files.text_rows import GrowingTexts, TextRows
from weft.storage.prepared import PreparedEntry, StagedEntry, temporary_store

KEPT = ("kind", "classes", "columns", "skipped", "notes", "fingerprint", "bad", "dropped")
GAPS = ("without_text", "without_label")
Finish = Callable[[Sequence[LabelledRow], GrowingRows[Example]], LabelledTexts]  # what is made of the rows
Gather = Callable[[GrowingRows[LabelledRow]], Finish]


class KeptExample(Example):
    """A text in a mapped file, and its label."""

    __slots__ = ("number", "texts")
    number: int
    texts: RowTexts

    def __init__(self, texts: RowTexts, number: int, label: str):
        for name, value in (("texts", texts), ("number", number), ("label", label)):
            object.__setattr__(self, name, value)

    @property
    def text(self) -> str:  # type: ignore[override]
        """The text, decoded where it is looked at."""
        found: str = self.texts[self.number][0]
        return found


def kept_labelled(paths: Sequence[Path], asked: Sequence[Any], gather: Gather) -> LabelledTexts:
    """What `gather` finds in files, and what it then makes of the rows: many in mapped files, few in memory."""

    def make(staged: StagedEntry) -> None:
        finish = list[Finish]()

        def as_written(temporary: StagedEntry) -> None:
            raw = GrowingTexts[LabelledRow](temporary, 3, tuple)
            finish.append(gather(raw))
            raw.finished(LabelledRow)

        rows = TextRows.of(temporary_store().entry("rows", as_written), LabelledRow)
        examples = GrowingTexts[Example](staged, 2, lambda one: (one.text, one.label))
        found = finish[0](rows, examples)
        examples.finished(Example)
        staged.values.update({name: getattr(found, name) for name in KEPT})
        staged.values["gaps"] = {name: asdict(getattr(found, name)) for name in GAPS}
        staged.values["files"] = [(str(file.path), file.rows) for file in found.files]

    entry = kept_rows("labelled texts", paths, asked, make)
    if entry is not None:
        return _texts(entry)
    raw, examples = list[LabelledRow](), list[Example]()
    return gather(raw)(raw, examples)


def _texts(entry: PreparedEntry) -> LabelledTexts:
    values, rows = entry.values, TextRows.of(entry, lambda *texts: texts)
    texts, labels = RowTexts(rows), (sys.intern(label.decode("utf-8", "surrogatepass")) for _, label in rows.raw())
    return LabelledTexts(
        rows=[KeptExample(texts, number, label) for number, label in enumerate(labels)],
        kind=values["kind"],
        classes=tuple(values["classes"]),
        columns=(values["columns"][0], values["columns"][1]),
        files=tuple(ReadFile(Path(path), count) for path, count in values["files"]),
        skipped=tuple((where, reason) for where, reason in values["skipped"]),
        notes=tuple(values["notes"]),
        fingerprint=values["fingerprint"],
        without_text=Gaps(**values["gaps"]["without_text"]),
        without_label=Gaps(**values["gaps"]["without_label"]),
        bad=values["bad"],
        dropped=values["dropped"],
    )
