"""Formats that weft does not read: known by first bytes and ending, each with a command that converts it.

What is known of each stands in foreign.toml, which is read when first needed. Knows names and commands; refuses to open
anything else. Formats that are text are told apart in `foreign_text`; PDF and RTF are not what people see.
"""

import re
import shlex
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal

from weft.errors import DataError

TAR_ENDINGS = (".tar.gz", ".tar.bz2", ".tar.xz", ".tgz", ".tar")
FTYP_SOUND = (b"M4A ", b"M4B ")
FTYP_PICTURE = (b"hei", b"hev", b"mif", b"msf", b"avi")
WORD_VECTORS = re.compile(rb"\d{1,12} \d{1,5}\r?\n")  # how a binary file of word2vec begins
ZIP_START = 8192  # bytes of a zip archive in which names tell what it holds


@dataclass(frozen=True)
class Foreign:
    """A format: its name, and a command that makes a file which weft reads; the fields are those of foreign.toml."""

    name: str
    command: str = ""
    endings: Sequence[str] = ()
    starts: Sequence[str] = ()
    vague: bool = False
    inside: Sequence[str] = ()
    text: Sequence[str] = ()
    begins: str = ""
    advice: str = ""

    def about(self, **fields: str) -> "Foreign":
        """The same format with the words in capitals of its command replaced."""
        command = self.command
        for word, value in fields.items():
            command = command.replace(word, value)
        return replace(self, command=command)

    @property
    def problem(self) -> str:
        """What is wrong with a file of this format."""
        return self.name if self.advice else f"{self.name}, which weft does not read"

    def remedy(self, path: Path, shown: str) -> str:
        """What to do with one file of this format; a packed one is unpacked first."""
        if not self.command:
            return "leave this file out"
        packed = shown.lower().endswith(".gz") and not shown.lower().endswith(TAR_ENDINGS)
        unpacked = shown[: -len(".gz")] if packed else shown
        ending = next((one for one in TAR_ENDINGS if shown.lower().endswith(one)), Path(unpacked).suffix)
        stem = unpacked[: len(unpacked) - len(ending)] if ending else f"{unpacked}-converted"
        command = self.command.format(file=shlex.quote(unpacked), stem=shlex.quote(stem))
        return f"{self.advice or 'convert it'}: {f'gunzip -k {shlex.quote(shown)} && ' * packed}{command}"

    def remedy_in(self, folder: str, ending: str) -> str:
        """What to do with all files of this format in a folder and below it."""
        if not self.command:
            return "leave these files out"
        command = self.command.partition("   #")[0].format(file='"$f"', stem=f'"${{f%{ending}}}"')
        return f"convert them: find {shlex.quote(folder)} -name '*{ending}' | while read -r f; do {command}; done"


@cache
def formats() -> Mapping[str, Foreign]:
    """All formats, by their names in foreign.toml."""
    table = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    return {key: Foreign(**fields) for key, fields in table.items()}


@cache
def known_by(mark: Literal["endings", "starts", "inside", "text"]) -> Mapping[str, Foreign]:
    """The format of each ending, of each beginning, or of what stands inside a zip archive."""
    return {sign: known for known in formats().values() for sign in getattr(known, mark)}


def by_content(path: Path, head: bytes) -> Foreign | None:
    """The format that the first bytes announce; the ending tells apart what begins alike."""
    suffix, start = unpacked_suffix(path), head[:ZIP_START].decode("latin-1")
    named = known_by("endings").get(suffix)
    for sign, known in known_by("starts").items():
        if start.startswith(sign):
            return named if known.vague and named is not None else known
    if head[:4] == b"RIFF":
        return {b"WAVE": formats()["sound"], b"AVI ": formats()["film"]}.get(head[8:12])
    if head[4:8] == b"ftyp" and not head[8:12].startswith(FTYP_PICTURE):
        return formats()["sound" if head[8:12] in FTYP_SOUND else "film"]
    if suffix == ".bin" and WORD_VECTORS.match(head):
        return formats()["vectors"]
    if head.startswith(b"PK\3\4") and suffix != ".npz":
        inside = (known for sign, known in known_by("inside").items() if sign in start)
        return named or next(inside, formats()["zip"])
    return None


def by_ending(path: Path) -> Foreign | None:
    """The format that a file's name announces."""
    packed = path.name.lower().endswith(TAR_ENDINGS)
    return formats()["tar"] if packed else known_by("endings").get(unpacked_suffix(path))


def unpacked_suffix(path: Path) -> str:
    """The ending of a file's name in lower case, without the .gz of a packed one."""
    return Path(path.name.lower().removesuffix(".gz")).suffix


def refusal(known: Foreign, path: Path, shown: str) -> DataError:
    """The error for a file of a format that weft does not read."""
    return DataError(known.problem, where=shown, fix=known.remedy(path, shown))


def refusal_of_folder(where: str, files: Sequence[Path]) -> DataError | None:
    """The error for a folder in which most files are of formats that weft does not read; None where they are not."""
    found = [(known, path) for path in files if (known := by_ending(path))]
    if not found or len(found) * 2 <= len(files):
        return None
    kinds = Counter(known.name for known, _ in found)
    most, count = kinds.most_common(1)[0]
    known, path = next(one for one in found if one[0].name == most)
    problem = f"{count} of its {len(files)} files are each {most}, which weft does not read"
    return DataError(problem, where=where, fix=f"{known.remedy_in(where, path.suffix)}; then name the folder again")
