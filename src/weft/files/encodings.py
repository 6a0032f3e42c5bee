"""Which encoding a text that is not UTF-8 is in, told by the letters that its bytes would be. Opens nothing.

Encodings that people still have files in are tried: letters must be common ones of the script that an encoding is for.
In a Western text letters beyond ASCII stand alone among others, in all other scripts side by side.
"""

import codecs
import re
import unicodedata
from typing import NamedTuple

SIDE_BY_SIDE = 0.7  # of the bytes beyond ASCII, in scripts that are not Western
WORD = 3  # letters side by side, on average, where each is one byte
FEWEST = 8  # bytes beyond ASCII by which a script can be told
COMMON = 0.8  # of the characters are common ones
KANA = 0.2  # of the characters of a Japanese text, at least
FREQUENT = 0.45  # of the letters of a text are among the ten that its language has most


class Doubled(NamedTuple):
    """An encoding of two bytes a character: the codec whose lower rows hold the common ones, and the last such row."""

    name: str
    codec: str
    last: int


DOUBLED = (
    Doubled("EUC-JP", "euc_jp", 0xCF),
    Doubled("SHIFT_JIS", "euc_jp", 0xCF),
    Doubled("EUC-KR", "euc_kr", 0xC8),
    Doubled("GB18030", "gb2312", 0xD7),
    Doubled("BIG5", "big5", 0xC6),
)
LETTERS = {"KOI8-R": "оеаинтсрвл", "Windows-1251": "оеаинтсрвл", "Windows-1253": "αοιετσνηυρ"}  # the ten


def guessed_encoding(near: bytes) -> str:
    """The likeliest encoding of bytes that are neither ASCII nor UTF-8, as `iconv` names it."""
    beyond = re.findall(rb"[\x80-\xff]+", near)
    alone = sum(len(row) == 1 for row in beyond)
    count = sum(map(len, beyond))
    if count < FEWEST or alone > (1 - SIDE_BY_SIDE) * count:
        return _western(near)
    shares = {one.name: _common(near, one) for one in DOUBLED}
    best = max(shares, key=lambda name: shares[name])
    if shares[best] >= COMMON:
        return best
    if count < WORD * len(beyond):
        return _western(near)
    frequent = {name: _frequent(near, name, letters) for name, letters in LETTERS.items()}
    best = max(frequent, key=lambda name: frequent[name])
    if frequent[best] >= FREQUENT:
        return best
    return _western(near)


def _western(near: bytes) -> str:
    """One of the encodings of Western Europe: only that of Windows has letters from 0x80 to 0x9F."""
    return "Windows-1252" if any(0x80 <= byte < 0xA0 for byte in near) else "ISO-8859-1"


def _common(near: bytes, encoding: Doubled) -> float:
    """The share of the characters that are common ones of an encoding; none where it cannot be."""
    try:
        text = codecs.getincrementaldecoder(encoding.name)("strict").decode(near)  # which may be cut in a character
    except UnicodeDecodeError:
        return 0.0
    found = [one for one in text if unicodedata.category(one) == "Lo"]
    kana = sum("\u3040" <= one <= "\u30ff" for one in found)
    if encoding.codec == "euc_jp" and kana < KANA * len(found):
        return 0.0
    rows = [one.encode(encoding.codec, "ignore")[:1] for one in found]
    return sum(row != b"" and 0xA1 <= row[0] <= encoding.last for row in rows) / len(rows) if rows else 0.0


def _frequent(near: bytes, encoding: str, letters: str) -> float:
    """The share of the letters beyond ASCII that are among the commonest ten of a script."""
    text = near.decode(encoding, "replace")
    found = [one for one in text if one.isalpha() and not one.isascii()]
    return sum(one in letters for one in found) / max(1, len(found))
