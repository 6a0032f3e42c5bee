"""Translation memories (.tmx). Knows units, languages and segments; refuses entities, and with them every XML bomb.

A file is streamed through expat. Declaring an entity is an error, nothing outside the file is ever opened, and the
file, a segment and a single token of XML are bounded. Tags inside a segment are taken out: codes with what they hold
(<ph>, <bpt>, …), marks such as <hi> without.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

from weft.errors import DataError
from weft.files.decoding import read_text, shown

MAX_FILE = 4 * 2**30  # characters of a whole file, unpacked
MAX_SEGMENT = 2**20  # characters of one segment
MAX_TOKEN = 8 * 2**20  # bytes of one tag or comment: older expats read it again with every chunk
CODES = {"bpt", "ept", "it", "ph", "ut"}
SPACE = re.compile(r"[ \t\n]+")


@dataclass
class Unit:
    """The texts of one <tu>, each with its language as the file writes it, and the line the unit begins on."""

    line: int
    texts: list[tuple[str, str]] = field(default_factory=list)


def read_tmx(path: Path) -> Iterator[Unit | str]:
    """The source language of the whole file, if its header has one, then the units."""
    reader, size = _Reader(shown(path)), 0
    for piece in read_text(path):
        size += len(piece)
        if size > MAX_FILE:
            raise DataError(f"larger than {MAX_FILE >> 30} GiB of text", where=shown(path), fix="split the file")
        yield from reader.feed(piece)
    yield from reader.feed("", last=True)


class _Reader:
    """What is open at one moment: a unit, a language, a segment, and how many codes deep inside it."""

    def __init__(self, name: str):
        self.name, self.fed, self.root = name, 0, False
        self.out: list[Unit | str] = []
        self.unit: Unit | None = None
        self.language: str | None = None
        self.segment: list[str] | None = None
        self.length, self.codes = 0, 0
        parser = self.parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler, parser.EndElementHandler = self.start, self.end
        parser.CharacterDataHandler = self.text
        parser.EntityDeclHandler = self.entity
        parser.ExternalEntityRefHandler = self.entity
        parser.SkippedEntityHandler = self.entity

    def feed(self, piece: str, *, last: bool = False) -> list[Unit | str]:
        try:
            self.parser.Parse(piece, last)
        except expat.ExpatError as error:
            reason = expat.ErrorString(error.code)
            raise self.error(f"not valid XML: {reason}", "export the file again", error.lineno) from None
        self.fed += len(piece.encode("utf-8"))
        if not last and self.fed - self.parser.CurrentByteIndex > MAX_TOKEN:
            raise self.error(f"a tag or comment longer than {MAX_TOKEN >> 20} MiB", "export the file again")
        out, self.out = self.out, []
        return out

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if not self.root and name != "tmx":
            raise self.error(f"expected a <tmx> file, found <{name[:40]}>", "name a translation memory")
        self.root = True
        if self.segment is not None:
            if name in ("tu", "tuv", "seg"):
                raise self.error(f"<{name}> inside a <seg>", "close the <seg> first")
            self.codes += self.codes > 0 or name in CODES
        elif name == "header" and attributes.get("srclang", "*all*") != "*all*":
            self.out.append(attributes["srclang"])
        elif name == "tu":
            self.unit = Unit(self.parser.CurrentLineNumber)
        elif name == "tuv":
            self.language = attributes.get("xml:lang") or attributes.get("lang")
        elif name == "seg":
            if self.unit is None or not self.language:
                raise self.error("a <seg> without the language of its <tuv>", 'write <tuv xml:lang="en">')
            self.segment, self.length = [], 0

    def end(self, name: str) -> None:
        if self.segment is not None:
            if self.codes:
                self.codes -= 1
            elif name == "seg" and self.unit is not None and self.language:
                self.unit.texts.append((self.language, SPACE.sub(" ", "".join(self.segment)).strip()))
                self.segment = None
        elif name == "tuv":
            self.language = None
        elif name == "tu" and self.unit is not None:
            self.out.append(self.unit)
            self.unit = None

    def text(self, data: str) -> None:
        if self.segment is not None:
            self.length += len(data)
            if self.length > MAX_SEGMENT:
                raise self.error(f"a segment longer than {MAX_SEGMENT} characters", "split it")
            if not self.codes:
                self.segment.append(data)

    def entity(self, *_: object) -> NoReturn:
        raise self.error("entities are refused: a file can hide bombs and other files in them", "write the characters")

    def error(self, problem: str, fix: str, line: int = 0) -> DataError:
        return DataError(problem, where=f"{self.name}, line {line or self.parser.CurrentLineNumber}", fix=fix)
