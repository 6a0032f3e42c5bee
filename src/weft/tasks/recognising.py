"""Which task fits some files. (Placeholder until surveys decide.)"""

import os
from collections.abc import Sequence
from pathlib import Path

from weft.data.captions import looks_captioned
from weft.data.decoding import shown
from weft.data.files import ending, is_pattern, missing
from weft.data.images.sources import looks_like_images
from weft.data.labelled import looks_labelled
from weft.data.tagged import looks_tagged
from weft.errors import DataError
from weft.tasks.registry import CARDS, Card


def recognise(sources: Sequence[str]) -> tuple[Card, str]:
    paths = [Path(source) for source in sources]
    for path in paths:
        if not os.path.lexists(path) and not is_pattern(path):
            raise missing(path)
    if looks_captioned(paths):
        return CARDS["caption"], ""
    for name, looks in (
        ("classify-images", looks_like_images),
        ("tag-text", looks_tagged),
        ("classify-text", looks_labelled),
    ):
        if all(looks(p) for p in paths):
            return CARDS[name], ""
    if all(p.is_file() and ending(p, (".mrg", ".parse", ".ptb", ".tree", ".trees")) for p in paths):
        return CARDS["parse"], ""
    if all(p.is_file() and ending(p, (".tsv", ".csv", ".tmx", ".po")) for p in paths) or len(paths) == 2:
        return CARDS["translate"], ""
    if all(p.is_dir() or ending(p, (".txt", ".md", ".jsonl")) for p in paths):
        return CARDS["language-model"], ""
    raise DataError("not recognised as data for any task", where=", ".join(map(shown, sources)))
