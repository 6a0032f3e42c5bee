"""Mails, of a mailbox (.mbox) or alone (.eml), as texts: subject and plain text of each. Refuses to know what for."""

import email
import email.policy
import html
import re
from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path

from weft.errors import DataError, placed
from weft.files.decoding import opened, shown

ALONE = ".eml"
ENDINGS = (".mbox", ALONE)
LARGEST = 64 * 2**20  # bytes of one mail, which is held in memory
LINE = 2**20  # bytes read at a time, of lines that are longer
DEEPEST, MOST_PARTS = 50, 10_000  # parts of a mail: inside one another, and in all
LONGEST_HEADER = 10_000  # characters of a header that is understood; what follows is not
CODE = re.compile(r"<(script|style)\b")


def mails(path: Path, encoding: str | None = None) -> Iterator[str | DataError]:
    """The text of every mail in a file; one without a text is blank. `encoding` is of mails that do not name one.

    A mail of a mailbox that cannot be read costs itself alone: it is an error, not raised.
    """
    where = shown(path)
    with opened(path) as file:
        if path.suffix.lower() == ALONE:
            yield _text(file.read(LARGEST), encoding, where)
            return
        if not file.readline(LINE).startswith(b"From "):
            problem = 'not a mailbox: it does not begin with a line "From …"'
            raise DataError(problem, where=f"{where}, line 1", fix="export the mails as mbox")
        lines, size, before, number = list[bytes](), 0, b"\n", 1
        for line in iter(lambda: file.readline(LINE), b""):
            if line.startswith(b"From ") and not before.strip() and before.endswith(b"\n"):
                yield _tried(b"".join(lines), encoding, f"{where}, mail {number}")
                lines, size, number = [], 0, number + 1
            else:
                size += len(line)
                if size <= LARGEST:
                    lines.append(line)
            before = line
        yield _tried(b"".join(lines), encoding, f"{where}, mail {number}")


class _Policy(email.policy.EmailPolicy):
    """The usual one, of headers that are not endless: the library takes them apart in quadratic time."""

    def header_fetch_parse(self, name: str, value: str) -> str:
        return super().header_fetch_parse(name, value[:LONGEST_HEADER])


class _Mail(EmailMessage):
    """A mail or a part of one that is not endless, with the number of parts that it stands in."""

    depth = 0

    def __init__(self, policy: email.policy.Policy | None = None):
        super().__init__(policy)
        self.every = [self]

    def attach(self, payload: "_Mail") -> None:  # type: ignore[override]
        """Take in a part, as the library does when it meets its first line."""
        payload.depth, payload.every = self.depth + 1, self.every
        self.every.append(payload)
        if payload.depth > DEEPEST or len(self.every) > MOST_PARTS:
            problem = f"a mail of more than {MOST_PARTS:,} parts, or of {DEEPEST} inside one another"
            raise DataError(problem, fix="delete this mail, and export the mailbox again")
        super().attach(payload)


def _tried(raw: bytes, encoding: str | None, where: str) -> str | DataError:
    """The text of a mail, or why it has none."""
    try:
        return _text(raw, encoding, where)
    except DataError as error:
        return error


def _text(raw: bytes, encoding: str | None, where: str) -> str:
    """The subject and the body of one mail, quoted "From" lines restored."""
    raw = re.sub(rb"(?m)^>(>*From )", rb"\1", raw)
    with placed(where):
        message = email.message_from_bytes(raw, _class=_Mail, policy=_Policy())
    assert isinstance(message, _Mail)
    try:
        subject = str(message["subject"] or "")
        body = _body(message, encoding)
    except Exception:  # headers and parts of mails may be anything
        return ""
    text = f"{subject.strip()}\n\n{body.strip()}".strip()
    return text.encode("utf-8", "replace").decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")


def _body(message: EmailMessage, encoding: str | None) -> str:
    part = message.get_body(("plain", "html"))
    if part is None:
        return ""
    data = part.get_payload(decode=True)
    if not isinstance(data, bytes):
        return ""
    named = part.get_content_charset() or encoding or "utf-8"
    try:
        text = data.decode(named)
    except (LookupError, UnicodeDecodeError):
        text = data.decode("latin-1")
    return html.unescape(without_markup(text)) if part.get_content_subtype() == "html" else text


def without_markup(text: str) -> str:
    """A text of HTML with a blank for every tag, and for scripts and styles as a whole; in linear time."""
    kept, place, open_ended = list[str](), 0, set[str]()
    while (begin := text.find("<", place)) >= 0 and (end := text.find(">", begin)) >= 0:
        if (code := CODE.match(text, begin)) and code[1] not in open_ended:
            closing = text.find(f"</{code[1]}>", begin)
            end = end if closing < 0 else closing + len(code[1]) + 2
            open_ended |= {code[1]} if closing < 0 else set()
        kept.append(text[place:begin])
        place = end + 1
    return " ".join([*kept, text[place:]])
