"""Finding and opening users' files. Knows names, folders and encodings; refuses to know what the text means.

A file named by hand is taken or refused with an error; a file met in a folder or by a pattern is taken or listed with the
reason. Nothing is opened that could make weft wait (pipes, devices, sockets), and no file is ever held in memory whole.
"""

import codecs
import gzip
import io
import os
import shlex
import stat
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from weft.errors import DataError, nearest

HEAD = 64 * 2**10  # bytes looked at to tell text from binary
CHUNK = 2**20  # bytes decoded at a time
GZIP = b"\x1f\x8b"
TWICE = "already taken"

BOMS = (  # the longer first: a UTF-32 LE mark begins with the UTF-16 LE one
    (codecs.BOM_UTF32_LE, "UTF-32LE"),
    (codecs.BOM_UTF32_BE, "UTF-32BE"),
    (codecs.BOM_UTF16_LE, "UTF-16LE"),
    (codecs.BOM_UTF16_BE, "UTF-16BE"),
)


@dataclass(frozen=True)
class Found:
    """Files to read, in order, and what was left out: (name, reason)."""

    paths: tuple[Path, ...]
    skipped: tuple[tuple[str, str], ...]


def shown(path: str | Path) -> str:
    """A file's name as it can be printed: undecodable bytes and control characters are escaped."""
    text = str(path).encode("utf-8", "backslashreplace").decode("utf-8")
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def ending(path: str | Path, endings: tuple[str, ...]) -> str | None:
    """Which of the endings a file's name has, whether or not `.gz` follows it; letter case does not matter."""
    name = Path(path).name.lower().removesuffix(".gz")
    return next((e for e in endings if name.endswith(e)), None)


def find(sources: Sequence[str | Path], endings: tuple[str, ...], *, text: bool = True) -> Found:
    """The files that the sources stand for: a file, a folder with all below it, or a glob pattern.

    The order is that of the sources, and by name within a folder or pattern. A file is taken once, however often it is
    met. With `text`, files in folders that hold binary data are left out.
    """
    if not sources:
        raise DataError("no data was named", fix=f"name files or folders with {_listed(endings)} files")
    search = _Search(endings, text)
    for source in sources:
        search.source(source)
    return Found(tuple(search.taken.values()), tuple(search.skipped))


class _Search:
    """One search: what was taken (by real path), which folders were entered, what was skipped."""

    def __init__(self, endings: tuple[str, ...], text: bool):
        self.endings, self.text = endings, text
        self.taken: dict[str, Path] = {}
        self.entered: set[tuple[int, int]] = set()
        self.skipped: list[tuple[str, str]] = []

    def source(self, source: str | Path) -> None:
        path = Path(source)
        if not os.path.lexists(path):
            self.pattern(path)
            return
        try:
            info = path.stat()
        except OSError as error:
            raise DataError(f"cannot be read: {error.strerror}", where=shown(path)) from None
        if stat.S_ISDIR(info.st_mode):
            self.several(path, path, [path])
        else:
            self.named(path, info)

    def named(self, path: Path, info: os.stat_result) -> None:
        """A file named by hand: anything wrong with it is an error."""
        if not stat.S_ISREG(info.st_mode):
            fix = "save what it holds as a file first"
            raise DataError(f"expected a file or folder, found {_kind(info)}", where=shown(path), fix=fix)
        if ending(path, self.endings) is None:
            fix = f"rename it, or convert it: known endings are {_listed(self.endings)}"
            raise DataError("the ending of this file is not known", where=shown(path), fix=fix)
        with opened(path):
            self.take(path)

    def pattern(self, path: Path) -> None:
        """What a glob pattern matches. `**` does not follow links, so a loop of links cannot trap it."""
        fixed = next((i for i, part in enumerate(path.parts) if any(c in part for c in "*?[")), None)
        if fixed is None:
            names = os.listdir(path.parent) if path.parent.is_dir() else []
            fix = nearest(path.name, names) if 0 < len(names) <= 1000 else ""
            raise DataError("no such file or folder", where=shown(path), fix=fix)
        root = Path(*path.parts[:fixed])
        try:
            matches = sorted(root.glob("/".join(path.parts[fixed:])))
        except (ValueError, OSError) as error:
            raise DataError(f"not a usable pattern: {error}", where=shown(path)) from None
        self.several(path, root, matches)

    def several(self, source: Path, root: Path, starts: list[Path]) -> None:
        """Walk from starting points at or below a root; at least one file must come of it."""
        known, before, run = len(self.taken), len(self.skipped), lru_cache(None)(is_run)
        for start in starts:
            if any(part.startswith(".") for part in start.relative_to(root).parts):
                self.skip(start, "hidden")
            elif any(run(folder) for folder in start.parents if folder.is_relative_to(root)):
                self.skip(start, "in a run of weft's, not data")
            else:
                self.walk(start)
        fresh = self.skipped[before:]
        if len(self.taken) == known and not any(reason == TWICE for _, reason in fresh):
            listed = "".join(f"\n     {name}: {reason}" for name, reason in fresh[:10])
            more = f"\n     and {len(fresh) - 10} more" if len(fresh) > 10 else ""
            problem = f"0 files to read, {len(fresh)} skipped{':' if fresh else ''}{listed}{more}"
            raise DataError(problem, where=shown(source), fix=f"known endings are {_listed(self.endings)}")

    def walk(self, start: Path) -> None:
        """Take or skip everything from a starting point down, in order of name. Nothing here raises."""
        waiting = [start]
        while waiting:
            path = waiting.pop()
            if path != start and path.name.startswith("."):
                self.skip(path, "hidden")
                continue
            try:
                info = path.stat()
                if stat.S_ISDIR(info.st_mode):
                    waiting.extend(reversed(self.enter(path, info)))
                elif reason := self.unfit(path, info):
                    self.skip(path, reason)
                else:
                    self.take(path)
            except OSError as error:
                self.skip(path, f"cannot be read: {error.strerror}")
            except DataError as error:
                self.skip(path, error.problem)

    def enter(self, path: Path, info: os.stat_result) -> list[Path]:
        """The entries of a folder in order; none where it was read before or is a run of weft's."""
        place = (info.st_dev, info.st_ino)
        if place in self.entered:
            if path.is_symlink():
                self.skip(path, "a link to a folder already read")
            return []
        self.entered.add(place)
        if is_run(path):
            self.skip(path, "a run of weft's, not data")
            return []
        return [path / name for name in sorted(os.listdir(path))]

    def unfit(self, path: Path, info: os.stat_result) -> str:
        """Why a file met on the way is left out, or nothing."""
        if not stat.S_ISREG(info.st_mode):
            return _kind(info)
        if ending(path, self.endings) is None:
            return f"not {_listed(self.endings)}"
        with opened(path) as file:
            # Text in the wrong wrapping (gzip, UTF-16) is let through: reading refuses it aloud, with the remedy.
            head = file.read(HEAD) if self.text else b""
        return "binary" if is_binary(head) and not head.startswith(GZIP) and wide_encoding(head) is None else ""

    def take(self, path: Path) -> None:
        real = os.path.realpath(path)
        if real in self.taken:
            self.skip(path, TWICE)
        else:
            self.taken[real] = path

    def skip(self, path: Path, reason: str) -> None:
        self.skipped.append((shown(path), reason))


def _listed(endings: tuple[str, ...]) -> str:
    return f"{', '.join(endings)} (.gz may follow)"


def _kind(info: os.stat_result) -> str:
    kinds = {stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket", stat.S_IFDIR: "a folder"}
    return kinds.get(stat.S_IFMT(info.st_mode), "a device")


def is_run(folder: Path) -> bool:
    """Whether a folder is what a training run of weft's leaves behind."""
    holds = [(folder / name).is_file() for name in ("config.json", "metrics.jsonl", "model.safetensors")]
    return holds[0] and (holds[1] or holds[2])


def opened(path: Path) -> BinaryIO:
    """A regular file open for reading. Never waits: a pipe put in a file's place is refused."""
    try:
        number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", where=shown(path)) from None
    info = os.fstat(number)
    if not stat.S_ISREG(info.st_mode):
        os.close(number)
        raise DataError(f"expected a file, found {_kind(info)}", where=shown(path))
    return os.fdopen(number, "rb")


def is_binary(head: bytes) -> bool:
    """Whether more than one byte in a thousand is NUL: a stray NUL is text, many are not."""
    return head.count(0) * 1000 > len(head)


def wide_encoding(head: bytes) -> str | None:
    """UTF-16 or UTF-32, told by the mark at the start, else by where the NULs of plain letters stand."""
    for mark, name in BOMS:
        if head.startswith(mark):
            return name
    share = [head[k::4].count(0) * 4 / max(len(head), 1) for k in range(4)]
    many, few = [x > 0.5 for x in share], [x < 0.1 for x in share]
    if many[2] and many[3] and few[0]:
        return "UTF-32LE"
    if many[0] and many[1] and few[3]:
        return "UTF-32BE"
    if many[1] and many[3] and few[0] and few[2]:
        return "UTF-16LE"
    return "UTF-16BE" if many[0] and many[2] and few[1] and few[3] else None


def read_text(path: str | Path) -> Iterator[str]:
    """The text of a UTF-8 file in pieces of at most about a million characters.

    Gzip is unpacked where the name ends in .gz. A byte order mark is dropped; CRLF and CR become LF, as they do in any
    editor; other separators (NEL, LS, PS) are characters like all others and stay.
    """
    path = Path(path)
    newlines = io.IncrementalNewlineDecoder(None, translate=True)
    offset, line, tail, plain = 0, 1, b"", True
    for chunk in chain(_chunks(path), [b""]):
        if offset == 0 and not tail and chunk.startswith(codecs.BOM_UTF8):
            chunk, offset = chunk[3:], 3
        data, last = tail + chunk, not chunk
        try:
            text, used = codecs.utf_8_decode(data, "strict", last)
        except UnicodeDecodeError as error:
            before = data[: error.start].decode("utf-8")
            line += newlines.decode(before, final=True).count("\n")
            raise _not_utf8(path, data, error.start, offset, line, plain and before.isascii()) from None
        offset, tail, plain = offset + used, data[used:], plain and text.isascii()
        text = newlines.decode(text, final=last)
        line += text.count("\n")
        if text:
            yield text


def _chunks(path: Path) -> Iterator[bytes]:
    """The bytes of a file, unpacked; the first chunk is checked to be text."""
    where, packed = shown(path), _packed(path)
    try:
        with opened(path) as file:
            head = file.read(len(GZIP))
            file.seek(0)
            if packed != (head == GZIP):
                raise _wrong_wrapping(path, packed)
            stream: BinaryIO = gzip.GzipFile(fileobj=file) if packed else file  # type: ignore[assignment]
            chunk = stream.read(CHUNK)
            if is_binary(chunk[:HEAD]):
                raise _binary(path, chunk[:HEAD])
            while chunk:
                yield chunk
                chunk = stream.read(CHUNK)
    except EOFError:
        raise DataError("the gzip file is cut short", where=where, fix="copy or download it again") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"the gzip file is damaged: {error}", where=where, fix="copy or download it again") from None
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", where=where) from None


def _wrong_wrapping(path: Path, packed: bool) -> DataError:
    if packed:
        return DataError("named .gz, but it is not gzip", where=shown(path), fix="rename it without .gz")
    return DataError("this is gzip, not plain text", where=shown(path), fix=f"rename it to {shown(path.name)}.gz")


def _binary(path: Path, head: bytes) -> DataError:
    if encoding := wide_encoding(head):
        problem = f"byte offset 0: not UTF-8; it looks like {encoding}"
        return DataError(problem, where=f"{shown(path)}, line 1", fix=f"convert it: {_iconv(path, encoding)}")
    problem = f"binary, not text: {head.count(0)} of its first {len(head)} bytes are NUL"
    return DataError(problem, where=shown(path), fix="leave this file out, or save it as UTF-8 text")


def _not_utf8(path: Path, data: bytes, start: int, offset: int, line: int, plain: bool) -> DataError:
    """The error for the byte at data[start]: data begins at an offset of the file, all before the byte is plain ASCII."""
    wide = wide_encoding(data[:HEAD]) if offset == 0 else None
    if plain or wide:
        near = data[max(0, start - HEAD) : start + HEAD]
        latin = "Windows-1252" if any(0x80 <= byte < 0xA0 for byte in near) else "ISO-8859-1"
        guess, fix = wide or latin, f"convert it: {_iconv(path, wide or latin)}"
        guess = guess.replace("ISO-8859-1", "Latin-1 (ISO-8859-1)")
    else:
        guess = "damaged UTF-8, since letters before it are UTF-8"
        fix = f"mend that place, or drop the bytes that do not fit: {_iconv(path, 'UTF-8', '-c ')}"
    unpacked = " of the unpacked text" if _packed(path) else ""
    problem = f"byte 0x{data[start]:02X} at byte offset {offset + start}{unpacked} is not UTF-8; it looks like {guess}"
    return DataError(problem, where=f"{shown(path)}, line {line}", fix=fix)


def _iconv(path: Path, encoding: str, options: str = "") -> str:
    """A command line that writes the file again as UTF-8."""
    name = path.name[: -len(".gz")] if _packed(path) else path.name
    old, new = shlex.quote(shown(path)), shlex.quote(shown(path.with_name(f"utf8-{name}")))
    command = f"iconv {options}-f {encoding} -t UTF-8"
    return f"gunzip -c {old} | {command} > {new}" if _packed(path) else f"{command} {old} > {new}"


def _packed(path: Path) -> bool:
    return path.name.lower().endswith(".gz")
