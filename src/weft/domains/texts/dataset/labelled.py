"""Texts with a label each to learn from and texts held out."""

from collections.abc import Sequence
from pathlib import Path
from typing import final

from weft.domains.texts.dataset.running import RunningText
from weft.domains.texts.reading import labelled
from weft.domains.texts.reading.labelled import read_labelled
from weft.domains.texts.reading.labelled_texts import Example, LabelledTexts, overlap, split_labelled
from weft.domains.texts.settings import LabelTraining
from weft.errors import listed
from weft.files.dataset import Count, Reader
from weft.files.known_roles import LABELLED
from weft.files.labelled import LabelledData
from weft.files.labels import Kind
from weft.files.survey import Judgement, Survey


@final
class LabelledDocuments(Reader[LabelledData[Example]]):
    """Texts in tables or in folders that name their class."""

    sample = "classify-text"
    roles = LABELLED
    overrules = (RunningText,)

    def judge(self, survey: Survey) -> Judgement:
        return labelled.judge(survey)

    def read(
        self, sources: Sequence[str], valid: str | None, asked: LabelTraining, count: Count | None = None
    ) -> LabelledData[Example]:
        from weft.domains.texts.sample.opinions import labelled_opinions

        found = read_texts(sources, asked) if sources else labelled_opinions()
        fingerprint = found.fingerprint
        if valid is None:
            train, held_out, rule = split_labelled(found.rows, found.kind)
        else:
            held = read_texts([valid], asked, kind=found.kind)
            train, held_out, rule = found.rows, held.rows, f"{len(held)} texts: those in {Path(valid).name}"
            fingerprint = f"{fingerprint} {held.fingerprint}"
        twice = overlap(train, held_out)
        return LabelledData(
            train=train,
            held_out=held_out,
            kind=found.kind,
            classes=found.classes,
            fingerprint=fingerprint,
            rule=rule,
            described=f"{len(found):,} texts ({listed([file.path.name for file in found.files])})",
            notes=(*found.report(), *([f"texts both trained on and held out: {twice:,}"] if twice else [])),
            skipped=found.skipped,
            columns=found.columns,
            taken=dict(zip(("text_column", "label_column"), found.columns, strict=True)) if sources else {},
            amounts={"train": len(train), "held_out": len(held_out), "overlap": twice},
        )


def read_texts(
    sources: Sequence[str], asked: LabelTraining, *, kind: Kind | None = None, learn: bool = True
) -> LabelledTexts:
    """The labelled texts in files. Without `learn` they are only measured on: few are enough, and none are dropped."""
    return read_labelled(
        list(sources),
        text=asked.text_column,
        label=asked.label_column,
        kind=kind or asked.labels,
        skip=asked.allowed,
        fewest=asked.fewest if learn else 1,
        learn=learn,
    )
