"""Whole documents to translate: what is text in them, and how to put other text in its place.

Knows .txt (a unit is a line), .srt (a cue) and .po (a message); refuses to know who translates. All that is not text
stays as it was, byte for byte: numbers, times, keys, comments, indentation, newline style, a byte order mark.
"""

import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import zip_longest
from pathlib import Path

from weft.errors import DataError
from weft.files import po
from weft.files.decoding import current_encoding, marked_encoding, opened, read_text, shown
from weft.files.finding import ending

ENDINGS = (".txt", ".srt", ".po")
MAX_BYTES = 256 * 2**20
NEWLINE = re.compile(r"(\r\n|\r|\n)")
TIMES = re.compile(r"\s*\d+:\d\d:\d\d[,.]\d{1,3}\s*-->\s*\d+:\d\d:\d\d[,.]\d{1,3}(\s.*)?")
NUMBER = re.compile(r"\s*[0-9]+\s*")
MARKUP = re.compile(r"(\s+|</?(?:i|b|u|s|font)\b[^<>\n]*>|\{\\[^{}\n]*\})")  # not to be translated at the ends of a cue
SPEAKER = re.compile(r"\s+(?=[-–—]\s?\w)")

Slot = tuple[int, Callable[[str], str]]


@dataclass(frozen=True)
class Document:
    """Texts to translate and the file around them: pieces[0], slot 0, pieces[1], slot 1, …, the last piece.

    A slot is the place of a text in `texts` and how that text is written there; one text may stand in several.
    """

    path: Path
    texts: list[str]
    pieces: tuple[str, ...] = field(repr=False)
    slots: tuple[Slot, ...] = field(repr=False)

    def with_texts(self, texts: Sequence[str]) -> str:
        """The file with other texts in it. To be written in UTF-8 as it is, with no translation of newlines."""
        if len(texts) != len(self.texts):
            raise ValueError(f"expected {len(self.texts)} texts, found {len(texts)}")
        written = (write(texts[place]) for place, write in self.slots)
        return "".join(part for piece in zip(self.pieces, (*written, ""), strict=True) for part in piece)


class _Draft:
    """A document as it is taken apart, from front to back."""

    def __init__(self, path: Path):
        self.path = path
        self.texts: list[str] = []
        self.slots: list[Slot] = []
        self.pieces: list[str] = [""]

    def fixed(self, text: str) -> None:
        self.pieces[-1] += text

    def text(self, text: str) -> int:
        self.texts.append(text)
        return len(self.texts) - 1

    def slot(self, place: int, write: Callable[[str], str]) -> None:
        self.slots.append((place, write))
        self.pieces.append("")

    def document(self) -> Document:
        return Document(self.path, self.texts, tuple(self.pieces), tuple(self.slots))


def units(path: str | Path, *, every: bool = False) -> Document:
    """The units of a .txt, .srt or .po file. Of a .po file those without a translation, or `every` one."""
    path = Path(path)
    kind = ending(path, ENDINGS)
    if kind is None or path.name.lower().endswith(".gz"):
        problem = "not a document that can be translated, by its ending"
        raise DataError(problem, where=shown(path), fix=f"name an unpacked file that ends in {', '.join(ENDINGS)}")
    draft, text = _Draft(path), _whole(path)
    if text.startswith("\ufeff"):
        draft.fixed("\ufeff")
        text = text[1:]
    parts = [*NEWLINE.split(text), ""]
    lines, ends = parts[::2], parts[1::2]
    if kind == ".po":
        _messages(draft, lines, ends, every)
    else:
        (_cues if kind == ".srt" else _lines)(draft, lines, ends)
    return draft.document()


def _whole(path: Path) -> str:
    """A file as it is, newlines and mark included; read_text says what is wrong with it."""
    for _ in read_text(path):
        pass
    with opened(path) as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise DataError(f"larger than {MAX_BYTES >> 20} MiB", where=shown(path), fix="split the file")
    return data.decode(current_encoding() or marked_encoding(path) or "utf-8")


def _joined(lines: list[str], ends: list[str]) -> str:
    return "".join(line + end for line, end in zip_longest(lines, ends, fillvalue=""))


# Plain text


def _lines(draft: _Draft, lines: list[str], ends: list[str]) -> None:
    for line, end in zip(lines, ends, strict=True):
        if text := line.strip():
            before, _, after = line.partition(text)
            draft.fixed(before)
            draft.slot(draft.text(text), _one_line)
            draft.fixed(after + end)
        else:
            draft.fixed(line + end)


def _one_line(text: str) -> str:
    """A translation must not add lines, or those after it would no longer stand beside their sources."""
    return re.sub(r"[ \t]*[\r\n]+[ \t]*", " ", text.strip("\r\n"))


# Subtitles


def _cues(draft: _Draft, lines: list[str], ends: list[str]) -> None:
    """Between the times of one cue and the number of the next stands its text, blank lines around it."""
    done = 0
    for first, last in _spans(shown(draft.path), lines):
        draft.fixed(_joined(lines[done:first], ends[done:first]))
        raw = _joined(lines[first:last], ends[first : last - 1])
        before, core, after = _framed(raw)
        draft.fixed(before)
        if core:
            text = " ".join(filter(None, map(str.strip, NEWLINE.split(core))))
            draft.slot(draft.text(text), partial(_cue, text, core, next(filter(None, ends), "\n")))
        draft.fixed(after + ends[last - 1])
        done = last
    draft.fixed(_joined(lines[done:], ends[done:]))


def _spans(name: str, lines: list[str]) -> Iterator[tuple[int, int]]:
    """The first line of the text of each cue and the line after its last; cues without text are left out."""
    fix = "a cue is a number, a line such as 00:00:01,000 --> 00:00:04,000, its text, and a blank line"
    times = [i for i, line in enumerate(lines) if "-->" in line]
    for i in times:
        if not TIMES.fullmatch(lines[i]):
            raise DataError(f"not the times of a cue: {lines[i][:60]!r}", where=f"{name}, line {i + 1}", fix=fix)
    starts = [i - 1 if i and NUMBER.fullmatch(lines[i - 1]) else i for i in times]
    stray = next((i for i in range(starts[0] if starts else len(lines)) if lines[i].strip()), None)
    if stray is not None:
        raise DataError(f"text before the first cue: {lines[stray][:60]!r}", where=f"{name}, line {stray + 1}", fix=fix)
    for i, stop in zip(times, [*starts, len(lines)][1:], strict=True):
        full = [k for k in range(i + 1, stop) if lines[k].strip()]
        if full:
            yield full[0], full[-1] + 1


def _framed(raw: str) -> tuple[str, str, str]:
    """What stands before the words of a cue, the words, and what stands after them."""
    parts = MARKUP.split(raw)  # words at even places, markup between them
    words = [i for i in range(0, len(parts), 2) if parts[i]]
    first, last = (words[0], words[-1] + 1) if words else (len(parts), len(parts))
    return "".join(parts[:first]), "".join(parts[first:last]), "".join(parts[last:])


def _cue(old: str, raw: str, newline: str, text: str) -> str:
    """A cue's text over as many lines as it had, if it fills them; unchanged text stays as it stood."""
    if text == old:
        return raw
    text = " ".join(text.replace("-->", "->").split())
    most = sum(bool(line.strip()) for line in NEWLINE.split(raw))
    speakers = SPEAKER.split(text)
    if len(speakers) == most == len(SPEAKER.split(old)):
        return newline.join(speakers)
    width = max(1, -(-len(text) // most))
    while len(lines := textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)) > most:
        width += 1 + width // 20
    return newline.join(lines)


# Message catalogues


def _messages(draft: _Draft, lines: list[str], ends: list[str], every: bool) -> None:
    """The strings after msgstr, from the first quote to the last, are what is replaced."""
    done, newline = 0, next(filter(None, ends), "\n")
    for entry in po.parse(lines, shown(draft.path)):
        if entry.is_header or entry.obsolete:
            continue
        places: dict[str, int] = {}
        for n, source in sorted(entry.sources().items(), key=lambda item: entry.spans[item[0]]):
            text = source.strip()
            if not text or (entry.strings[n].strip() and not every):
                continue
            if source not in places:
                places[source] = draft.text(text)
            before, _, after = source.partition(text)
            first, last = entry.spans[n]
            draft.fixed(_joined(lines[done:first], ends[done:first]) + lines[first][: lines[first].index('"')])
            draft.slot(places[source], partial(_string, before, after, newline))
            draft.fixed(ends[last])
            done = last + 1
    draft.fixed(_joined(lines[done:], ends[done:]))


def _string(before: str, after: str, newline: str, text: str) -> str:
    return po.quoted(before + text + after, newline)
