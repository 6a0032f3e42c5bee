"""Folders of text files in which the folder around a file names its class. Knows paths, not what labels mean."""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from weft.errors import DataError
from weft.files.decoding import shown
from weft.files.finding import ending
from weft.files.survey import NO, Judgement, Surveyed

TRAIN, HELD = ("train", "training"), ("test", "val", "valid", "validation", "dev")
LAYOUT = (
    "put the texts of each class into a folder of its name, as in mails/spam/1.txt and mails/wanted/1.txt, and name "
    "the folder above them; or name a .csv file with the columns text and label"
)
METADATA = (".json", ".xml", ".yaml", ".yml")  # of files that say something about the text of the same name
SHORT = 20_000  # bytes of a typical text; a folder of longer ones is more likely a library than a set of classes
LOOK = 2000  # files of a class that are looked at


def with_classes(root: Path, files: Sequence[Path]) -> Iterator[tuple[Path, str | None]]:
    """Text files below a folder, with the class that the folder around each names; None where none names one."""
    parts = [path.relative_to(root).parts for path in files]
    depth = _wrapping(parts)
    tops = {part[depth].lower() for part in parts if len(part) > depth + 1}
    if train := next((name for name in TRAIN if name in tops), None):
        held = next((name for name in HELD if name in tops), "test")
        above = "/".join([shown(root), *map(shown, parts[0][:depth])])
        fix = f"name them apart: weft train {above}/{train} --valid {above}/{held}"
        raise DataError("holds training and test data in one", where=shown(root), fix=fix)
    for path, part in zip(files, parts, strict=True):
        yield path, part[depth] if len(part) > depth + 1 else None


def _wrapping(parts: Sequence[tuple[str, ...]]) -> int:
    """How many folders stand around everything else, as the one that most archives begin with."""
    depth = 0
    while parts and all(len(part) > depth + 2 for part in parts) and len({part[depth] for part in parts}) == 1:
        depth += 1
    return depth


def judge_folder(source: Surveyed) -> Judgement:
    """Whether a folder has sub-folders with a number of short text files each, and no text beside them."""
    try:
        inside = [entry for entry in sorted(source.path.iterdir()) if not entry.name.startswith(".")]
        folders = [entry for entry in inside if entry.is_dir()]
        if any(ending(entry, (".txt", ".md")) for entry in inside if entry.is_file()):
            return NO
        if len(folders) < 2 or any(folder.name.lower() in (*TRAIN, *HELD) for folder in folders):
            return NO
        sizes, beside = [], 0
        for folder in folders:
            entries = list(islice(folder.iterdir(), LOOK))
            texts = [entry for entry in entries if ending(entry, (".txt",)) and entry.is_file()]
            stems = {text.name.split(".")[0] for text in texts}
            about = [one for one in entries if one.suffix.lower() in METADATA and one.name.split(".")[0] in stems]
            if len(texts) < 2 or len(texts) * 2 < len(entries) - len(about):
                return NO
            sizes += [text.stat().st_size for text in texts]
            beside += len(about)
    except OSError:
        return NO
    if sum(sizes) / len(sizes) > SHORT:
        return NO
    told = f"; {beside:,} files beside the texts that are named as they are ({', '.join(METADATA)}) are no texts"
    return Judgement("sure", f"{len(folders)} folders, each with the short texts of a class{told * bool(beside)}")
