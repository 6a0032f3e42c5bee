"""Gettext .po files: entries, and strings both ways. Knows the syntax; refuses to know what is translated by whom."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from weft.errors import DataError
from weft.files.decoding import read_text
from weft.files.languages import language

KEYWORD = re.compile(r"(msgctxt|msgid_plural|msgid|msgstr(?:\[(\d{1,3})\])?|domain)\s*(?=\")")
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"\s*')
ESCAPE = re.compile(r"\\(x[0-9A-Fa-f]{1,2}|[0-7]{1,3}|.)")
PLAIN = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
LANGUAGE = re.compile(r'^"Language:\s*([^\s"\\]+)', re.MULTILINE)
QUOTED = {ord(char): f"\\{name}" for name, char in PLAIN.items()}


@dataclass
class PoMessage:
    """A message: its texts, its translations by number (0 where there is no plural), and where each of those stands."""

    line: int  # from 1, of its first keyword
    obsolete: bool = False
    fuzzy: bool = False
    context: str | None = None
    id: str | None = None
    plural: str | None = None
    strings: dict[int, str] = field(default_factory=dict)
    spans: dict[int, tuple[int, int]] = field(default_factory=dict)  # first and last line of a translation, from 0

    @property
    def is_header(self) -> bool:
        """Whether this is the entry with an empty msgid, which holds facts about the file."""
        return self.id == "" and self.context is None

    def sources(self) -> dict[int, str]:
        """What each translation is a translation of: the singular for the first, the plural for all others.

        A language with one form for all numbers has it stand for the plural, which is what most numbers take.
        """
        if self.plural is None:
            return {0: self.id or ""}
        only = len(self.strings) == 1
        return {n: (self.id or "") if n == 0 and not only else self.plural for n in self.strings}


def parse(lines: Sequence[str], name: str) -> list[PoMessage]:
    """The entries of a file, given as lines without their newlines."""
    parser = _Parser(name)
    for number, line in enumerate(lines, 1):
        parser.line(number, line)
    parser.finish()
    return parser.entries


def facts(entries: Sequence[PoMessage]) -> dict[str, str]:
    """What the header says: names in lower case, as in {"language": "fr"}."""
    text = next((e.strings.get(0, "") for e in entries if e.is_header and not e.obsolete), "")
    return {key.strip().lower(): value.strip() for key, _, value in (line.partition(":") for line in text.split("\n"))}


def language_of(path: Path) -> str | None:
    """The language that a file is in, as its header says (pt_BR), else as its name or those of its folders do."""
    stated = LANGUAGE.search(next(read_text(path), "")[:65536])
    names = [path.name.removesuffix(".gz").removesuffix(".po"), *(folder.name for folder in path.absolute().parents)]
    return stated[1] if stated else next((name for name in names[:4] if language(name)), None)


def quoted(text: str, newline: str) -> str:
    """A string as gettext writes it: over several lines where it has several."""
    lines = [f'"{line.translate(QUOTED)}"' for line in re.findall(r"[^\n]*\n|[^\n]+", text)] or ['""']
    return lines[0] if len(lines) == 1 else newline.join(['""', *lines])


class _Parser:
    """One pass over the lines: the entry that is open, the keyword whose string may go on, the flags that wait."""

    def __init__(self, name: str):
        self.name, self.number = name, 0
        self.entries: list[PoMessage] = []
        self.entry: PoMessage | None = None
        self.open: str | int | None = None  # a field's name, or the number of a translation
        self.fuzzy = False

    def line(self, number: int, line: str) -> None:
        self.number = number
        text = line.strip()
        obsolete = text.startswith("#~")
        if obsolete:
            text = text[2:].lstrip()
            if text.startswith("|"):
                return
        if not text or text.startswith("#"):
            self.fuzzy = self.fuzzy or (text.startswith("#,") and "fuzzy" in re.split(r"[,\s]+", text))
        elif text.startswith('"'):
            self.more(self.string(text))
        elif match := KEYWORD.match(text):
            self.keyword(match, self.string(text[match.end() :]), obsolete)
        else:
            found = repr(text if len(text) <= 40 else text[:39] + "…")
            raise self.error(
                f"expected msgid, msgstr, a quoted string or a comment, found {found}", "correct this line"
            )

    def string(self, text: str) -> str:
        match = STRING.fullmatch(text)
        if not match:
            raise self.error("the quote is not closed, or text follows it", 'write a quote in a string as \\"')
        return ESCAPE.sub(self.escape, match[1])

    def escape(self, match: re.Match[str]) -> str:
        code = match[1]
        if code in PLAIN:
            return PLAIN[code]
        if code[0] == "x" and len(code) > 1:
            return chr(int(code[1:], 16))
        if code[0] in "01234567":
            return chr(int(code, 8))
        raise self.error(f"unknown escape \\{code}", "write a backslash in a string as \\\\")

    def keyword(self, match: re.Match[str], value: str, obsolete: bool) -> None:
        name = match[1]
        if name == "domain":
            return
        if name == "msgctxt" or (name == "msgid" and (self.entry is None or self.entry.id is not None)):
            self.finish()
            self.entry = PoMessage(self.number, obsolete, self.fuzzy)
            self.fuzzy = False
        entry = self.entry
        if entry is None or (name not in ("msgctxt", "msgid") and entry.id is None):
            raise self.error(f"{name} without a msgid before it", "put the msgid first")
        if name.startswith("msgstr"):
            self.open = int(match[2] or 0)
            if self.open in entry.strings or (entry.plural is None) != (match[2] is None):
                raise self.error(
                    f"{name} does not fit here", "msgstr once, or with msgid_plural msgstr[0], msgstr[1], …"
                )
            entry.strings[self.open], entry.spans[self.open] = value, (self.number - 1, self.number - 1)
            return
        self.open = {"msgctxt": "context", "msgid": "id", "msgid_plural": "plural"}[name]
        if getattr(entry, self.open) is not None or entry.strings:
            raise self.error(f"{name} does not fit here", "the order is msgctxt, msgid, msgid_plural, msgstr")
        setattr(entry, self.open, value)

    def more(self, value: str) -> None:
        if self.entry is None or self.open is None:
            raise self.error("a string that continues nothing", "put msgid or msgstr before it")
        if isinstance(self.open, int):
            self.entry.strings[self.open] += value
            self.entry.spans[self.open] = (self.entry.spans[self.open][0], self.number - 1)
        else:
            setattr(self.entry, self.open, getattr(self.entry, self.open) + value)

    def finish(self) -> None:
        if self.entry is not None:
            if not self.entry.strings:
                self.number = self.entry.line
                raise self.error("an entry without msgstr", 'give it one, if only msgstr ""')
            self.entries.append(self.entry)
        self.entry, self.open = None, None

    def error(self, problem: str, fix: str) -> DataError:
        return DataError(problem, where=f"{self.name}, line {self.number}", fix=fix)
