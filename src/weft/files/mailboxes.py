"""Mails, of a mailbox (.mbox) or alone (.eml), as texts: subject and plain text of each. Refuses to know what for."""

import email
import email.policy
import html
import re
from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path

from weft.errors import DataError
from weft.files.decoding import opened, shown

ALONE = ".eml"
ENDINGS = (".mbox", ALONE)
LARGEST = 64 * 2**20  # bytes of one mail, which is held in memory
MARKUP = re.compile(r"(?s)<(script|style)\b.*?</\1>|<[^>]*>")


def mails(path: Path, encoding: str | None = None) -> Iterator[str]:
    """The text of every mail in a file; one without a text is blank. `encoding` is of mails that do not name one."""
    where = shown(path)
    with opened(path) as file:
        if path.suffix.lower() == ALONE:
            yield _text(file.read(LARGEST), encoding)
            return
        if not file.readline().startswith(b"From "):
            problem = 'not a mailbox: it does not begin with a line "From …"'
            raise DataError(problem, where=f"{where}, line 1", fix="export the mails as mbox")
        lines, size, before = list[bytes](), 0, b"\n"
        for line in file:
            if line.startswith(b"From ") and not before.strip():
                yield _text(b"".join(lines), encoding)
                lines, size = [], 0
            else:
                size += len(line)
                if size <= LARGEST:
                    lines.append(line)
            before = line
        yield _text(b"".join(lines), encoding)


def _text(raw: bytes, encoding: str | None) -> str:
    """The subject and the body of one mail, quoted "From" lines restored."""
    raw = re.sub(rb"(?m)^>(>*From )", rb"\1", raw)
    message = email.message_from_bytes(raw, policy=email.policy.default)
    assert isinstance(message, EmailMessage)
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
    return html.unescape(MARKUP.sub(" ", text)) if part.get_content_subtype() == "html" else text
