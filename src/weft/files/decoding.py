"""Opening a file of text and decoding it. Knows encodings and wrappings; refuses to know where files come from.

Nothing is opened that could make weft wait (pipes, devices, sockets), and no file is ever held in memory whole.
"""

import codecs
import gzip
import io
import os
import shlex
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from weft.errors import ConfigError, DataError
from weft.files import foreign
from weft.files.encodings import guessed_encoding
from weft.files.unpacking import check_whole, unpacked

HEAD = 64 * 2**10  # bytes looked at to tell text from binary
CHUNK = 2**20  # bytes decoded at a time
GZIP = b"\x1f\x8b"

BOMS = (  # the longer first: a UTF-32 LE mark begins with the UTF-16 LE one
    (codecs.BOM_UTF32_LE, "UTF-32LE"),
    (codecs.BOM_UTF32_BE, "UTF-32BE"),
    (codecs.BOM_UTF16_LE, "UTF-16LE"),
    (codecs.BOM_UTF16_BE, "UTF-16BE"),
)

CONTROLS = frozenset(range(32)) - set(b"\t\n\r\f\x1b")  # bytes that texts in one-byte encodings do not have

_encoding: ContextVar[str | None] = ContextVar("encoding", default=None)


class OtherEncoding(DataError):
    """Text that is not UTF-8: `encoding` is what it looks like."""

    def __init__(self, problem: str, *, where: str, fix: str, encoding: str):
        super().__init__(problem, where=where, fix=fix)
        self.encoding = encoding


@contextmanager
def reading_as(encoding: str | None) -> Iterator[None]:
    """Within this block, files of text are decoded by an encoding that the user named (`--set encoding=cp1252`)."""
    if encoding is not None:
        check_encoding(encoding)
    token = _encoding.set(encoding)
    try:
        yield
    finally:
        _encoding.reset(token)


def current_encoding() -> str | None:
    """The encoding that files are read by now; None is UTF-8."""
    return _encoding.get()


def check_encoding(name: str) -> None:
    """Refuse what is no encoding of text."""
    try:
        b"".decode(name)
        codecs.getincrementaldecoder(name)
    except (LookupError, ValueError, TypeError):
        fix = (
            "usual ones: utf-8, utf-16, cp1252 (Western Windows), latin-1, cp1251 (Cyrillic), cp932 (Japanese), gb18030"
        )
        raise ConfigError(f"no encoding of text is named {name!r}", where="--set encoding", fix=fix) from None


def shown(path: str | Path) -> str:
    """A file's name as it can be printed: undecodable bytes and control characters are escaped."""
    text = str(path).encode("utf-8", "backslashreplace").decode("utf-8")
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def kind(info: os.stat_result) -> str:
    """What something that is not a file is, in words."""
    kinds = {stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket", stat.S_IFDIR: "a folder"}
    return kinds.get(stat.S_IFMT(info.st_mode), "a device")


def opened(path: Path) -> BinaryIO:
    """A regular file open for reading. Never waits: a pipe put in a file's place is refused."""
    try:
        number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", where=shown(path)) from None
    info = os.fstat(number)
    if not stat.S_ISREG(info.st_mode):
        os.close(number)
        raise DataError(f"expected a file, found {kind(info)}", where=shown(path))
    return os.fdopen(number, "rb")


def is_binary(head: bytes) -> bool:
    """Whether more than one byte in a thousand is NUL: a stray NUL is text, many are not."""
    return head.count(0) * 1000 > len(head)


def is_utf8(head: bytes) -> bool:
    """Whether the beginning of a file can be decoded; it may be cut in the middle of a character."""
    try:
        codecs.utf_8_decode(head, "strict", False)
    except UnicodeDecodeError:
        return False
    return True


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


def is_wide(head: bytes) -> bool:
    """Whether the beginning of a file is UTF-16 or UTF-32 that can be decoded; it may be cut in a character."""
    encoding = wide_encoding(head)
    if encoding is None or len(head) % 2:
        return False
    try:
        codecs.getincrementaldecoder(encoding)("strict").decode(head)
    except UnicodeDecodeError:
        return False
    return True


def first_bytes(path: Path, size: int) -> bytes | None:
    """The beginning of a file, unpacked where it is named so; None where it cannot be read."""
    try:
        with opened(path) as file:
            return (gzip.GzipFile(fileobj=file) if _packed(path) else file).read(size)
    except (DataError, OSError, EOFError, zlib.error):
        return None


def marked_encoding(path: Path) -> str | None:
    """UTF-16 or UTF-32, where the text of a file begins with the mark of one; None where it cannot be read."""
    start = first_bytes(path, 4) or b""
    return next((name for mark, name in BOMS if start.startswith(mark)), None)


def guessed_text(path: Path, encoding: str) -> str | None:
    """The beginning of a text by the encoding that it looks like, to tell what it holds; None where it is no text."""
    head = first_bytes(path, CHUNK) or b""
    wide = encoding.startswith(("UTF-16", "UTF-32"))
    if not head or (not wide and sum(map(CONTROLS.__contains__, head[:HEAD])) * 1000 > len(head[:HEAD])):
        return None
    text = head.decode(encoding, "replace").replace("\r\n", "\n").replace("\r", "\n")
    odd = sum(not (one.isprintable() or one.isspace()) for one in text[:HEAD])
    return None if odd * 100 > len(text[:HEAD]) else text


def decoded(content: bytes) -> str:
    """A text that is at hand whole: by the encoding that the user named, a byte order mark, or UTF-8."""
    mark, wide = next(((mark, name) for mark, name in BOMS if content.startswith(mark)), (b"", None))
    encoding = _encoding.get() or wide or "utf-8-sig"
    try:
        return content.removeprefix(mark if wide == encoding else b"").decode(encoding)
    except UnicodeDecodeError as error:
        near = content[max(0, error.start - HEAD) : error.start + HEAD]
        looks = guessed_encoding(near) if content[: error.start].isascii() else ""
        guess = f"; it looks like {looks} ({_setting(looks)})" if looks and not _encoding.get() else ""
        name = encoding.removesuffix("-sig").upper()
        problem = f"byte 0x{content[error.start]:02X} at byte offset {error.start} is not {name}{guess}"
        raise DataError(problem) from None


def read_text(path: str | Path, encoding: str | None = None) -> Iterator[str]:
    """The text of a file in pieces of at most about a million characters: UTF-8, unless another encoding is named.

    UTF-16 and UTF-32 are read where a byte order mark says so. Gzip is unpacked where the name ends in .gz. The mark is
    dropped; CRLF and CR become LF, as they do in any editor; other separators (NEL, LS, PS) are characters like all
    others and stay.
    """
    encoding = encoding or _encoding.get() or marked_encoding(Path(path))
    return _read_utf8(Path(path)) if encoding is None else _read_as(Path(path), encoding)


def _read_as(path: Path, encoding: str) -> Iterator[str]:
    """The text of a file by an encoding that the user named."""
    decoder, newlines = (
        codecs.getincrementaldecoder(encoding)("strict"),
        io.IncrementalNewlineDecoder(None, translate=True),
    )
    line, first = 1, True
    for chunk in chain(_chunks(path, binary=True), [b""]):
        try:
            text = decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            line += error.object[: error.start].decode(encoding, "replace").count("\n")
            problem = f"byte 0x{error.object[error.start]:02X} cannot be decoded as {encoding}"
            fix = "name another encoding with --set encoding=NAME, or leave it out where the file is UTF-8"
            raise DataError(problem, where=f"{shown(path)}, line {line}", fix=fix) from None
        text = newlines.decode(text.removeprefix("\ufeff") if first else text, final=not chunk)
        line, first = line + text.count("\n"), first and not text
        if text:
            yield text


def _read_utf8(path: Path) -> Iterator[str]:
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


def _chunks(path: Path, *, binary: bool = False) -> Iterator[bytes]:
    """The bytes of a file, unpacked; the first chunk is checked to be text, unless it may be `binary`."""
    where, packed = shown(path), _packed(path)
    try:
        with opened(path) as file:
            head = file.read(len(GZIP))
            file.seek(0)
            if packed != (head == GZIP):
                raise _wrong_wrapping(path, packed)
            stream: BinaryIO = gzip.GzipFile(fileobj=file) if packed else file  # type: ignore[assignment]
            fix = f"if it is what it should be, unpack it: gunzip -k {shlex.quote(where)}"
            pieces = unpacked(stream, file, CHUNK, where=where, fix=fix)
            chunk = next(pieces, b"")
            if known := foreign.by_content(path, chunk[:HEAD]):
                raise foreign.refusal(known, path, shown(path))
            if is_binary(chunk[:HEAD]) and not binary:
                raise _binary(path, chunk[:HEAD])
            if chunk:
                yield chunk
                if packed:  # who reads on will read it all
                    check_whole(stream, file, CHUNK, where=where, fix=fix)
                yield from pieces
    except EOFError:
        raise DataError("the gzip file is cut short", where=where, fix="copy or download it again") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"the gzip file is damaged: {error}", where=where, fix="copy or download it again") from None
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", where=where) from None


def _wrong_wrapping(path: Path, packed: bool) -> DataError:
    if packed:
        return DataError("named .gz, but it is not gzip", where=shown(path), fix="rename it without .gz")
    if known := foreign.by_ending(path):
        return foreign.refusal(known, path, shown(path))
    new = shlex.quote(f"{shown(path)}.gz")
    return DataError(
        "this is gzip, not plain text", where=shown(path), fix=f"rename it: mv {shlex.quote(shown(path))} {new}"
    )


def _binary(path: Path, head: bytes) -> DataError:
    if encoding := wide_encoding(head):
        problem = f"byte offset 0: not UTF-8; it looks like {encoding} ({_setting(encoding)})"
        fix = f"convert it: {_iconv(path, encoding)}"
        return OtherEncoding(problem, where=f"{shown(path)}, line 1", fix=fix, encoding=encoding)
    if known := foreign.by_ending(path):
        return foreign.refusal(known, path, shown(path))
    problem = f"binary, not text: {head.count(0)} of its first {len(head)} bytes are NUL"
    return DataError(problem, where=shown(path), fix="leave this file out, or save it as UTF-8 text")


def _not_utf8(path: Path, data: bytes, start: int, offset: int, line: int, plain: bool) -> DataError:
    """The error for the byte at data[start]: data begins at an offset of the file, all before the byte is ASCII."""
    wide = wide_encoding(data[:HEAD]) if offset == 0 else None
    if plain or wide:
        encoding = wide or guessed_encoding(data[max(0, start - HEAD) : start + HEAD])
        fix = f"convert it: {_iconv(path, encoding)}"
        guess = f"{encoding.replace('ISO-8859-1', 'Latin-1, ISO-8859-1')} ({_setting(encoding)})"
    else:
        encoding, guess = "UTF-8", "damaged UTF-8, since letters before it are UTF-8"
        fix = f"repair that place, or drop the bytes that are not UTF-8: {_iconv(path, 'UTF-8', '-c ')}"
    of_which = " of the unpacked text" if _packed(path) else ""
    problem = f"byte 0x{data[start]:02X} at byte offset {offset + start}{of_which} is not UTF-8; it looks like {guess}"
    return OtherEncoding(problem, where=f"{shown(path)}, line {line}", fix=fix, encoding=encoding)


def _setting(encoding: str) -> str:
    """The setting by which a file in another encoding is read."""
    name = {"ISO-8859-1": "latin-1"}.get(encoding, encoding.lower().replace("windows-", "cp"))
    return f"--set encoding={name} reads it so"


def _iconv(path: Path, encoding: str, options: str = "") -> str:
    """A command line that writes the file again as UTF-8."""
    name = path.name[: -len(".gz")] if _packed(path) else path.name
    old, new = shlex.quote(shown(path)), shlex.quote(shown(path.with_name(f"utf8-{name}")))
    command = f"iconv {options}-f {encoding} -t UTF-8"
    return f"gunzip -c {old} | {command} > {new}" if _packed(path) else f"{command} {old} > {new}"


def _packed(path: Path) -> bool:
    return path.name.lower().endswith(".gz")
