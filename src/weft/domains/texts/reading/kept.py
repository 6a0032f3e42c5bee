"""Many texts with labels or tags, which are not held in memory: gathered into mapped files once, and found again.

In memory stand a few bytes for each: which row it is, and its label.
"""

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from weft.domains.texts.reading.labelled_tables import LabelledRow
from weft.domains.texts.reading.labelled_texts import Example, LabelledTexts
from weft.domains.texts.reading.tagged_texts import Tagged, TaggedTexts
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
    def text(self) -> str:
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


KEPT_TAGS = ("tags", "scheme", "mended", "skipped", "notes", "fingerprint", "bad")
FinishTags = Callable[[Sequence[Tagged], GrowingRows[Tagged]], TaggedTexts]  # what is made of the sentences


class KeptTagged(Tagged):
    """A sentence in a mapped file: its words and its tags as lists of JSON."""

    __slots__ = ("number", "texts")
    number: int
    texts: RowTexts

    def __init__(self, texts: RowTexts, number: int):
        object.__setattr__(self, "texts", texts)
        object.__setattr__(self, "number", number)

    @property
    def words(self) -> tuple[str, ...]:
        """The words, decoded where they are looked at."""
        return tuple(json.loads(self.texts[self.number][0]))

    @property
    def tags(self) -> tuple[str, ...]:
        """A tag for each."""
        return tuple(json.loads(self.texts[self.number][1]))


def kept_tagged(
    paths: Sequence[Path], asked: Sequence[Any], gather: Callable[[GrowingRows[Tagged]], FinishTags]
) -> TaggedTexts:
    """The same for sentences with tags."""

    def make(staged: StagedEntry) -> None:
        finish = list[FinishTags]()

        def as_written(temporary: StagedEntry) -> None:
            raw = GrowingTexts[Tagged](temporary, 2, _written)
            finish.append(gather(raw))
            raw.finished(_tagged)

        rows = TextRows.of(temporary_store().entry("rows", as_written), _tagged)
        sentences = GrowingTexts[Tagged](staged, 2, _written)
        found = finish[0](rows, sentences)
        sentences.finished(_tagged)
        staged.values.update({name: getattr(found, name) for name in KEPT_TAGS})
        staged.values["files"] = [(str(file.path), file.rows) for file in found.files]

    entry = kept_rows("tagged sentences", paths, asked, make)
    if entry is None:
        raw, sentences = list[Tagged](), list[Tagged]()
        return gather(raw)(raw, sentences)
    values, texts = entry.values, RowTexts(TextRows.of(entry, lambda *texts: texts))
    return TaggedTexts(
        sentences=[KeptTagged(texts, number) for number in range(len(texts.rows))],
        tags=tuple(values["tags"]),
        scheme=values["scheme"],
        mended=values["mended"],
        files=tuple(ReadFile(Path(path), count) for path, count in values["files"]),
        skipped=tuple((where, reason) for where, reason in values["skipped"]),
        notes=tuple(values["notes"]),
        fingerprint=values["fingerprint"],
        bad=values["bad"],
    )


def _written(one: Tagged) -> tuple[str, str]:
    return json.dumps(one.words), json.dumps(one.tags)


def _tagged(words: str, tags: str) -> Tagged:
    return Tagged(tuple(json.loads(words)), tuple(json.loads(tags)))
