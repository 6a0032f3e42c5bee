"""Bounds on a tokenizer.json, checked before any library reads it: what takes endless memory or time is refused.

A few bytes may ask for gigabytes: a table that states its size, a text put before every text, a replacement that makes
a text grow, repeated. The vocabulary has bounds too (`tokenizer_json.names_by_id`).
"""

import base64
import binascii
from collections.abc import Iterator
from typing import Any

from weft.errors import ConfigError

MAX_STRING = 4096  # characters of any text in the file, but for the table of a normalizer
MAX_PARTS = 256  # entries of any list: steps of a normalizer, pieces of a template
MAX_GROWTH = 64  # rules may make a text at most this many times as long, and put this many characters before it
MAX_TABLE = 16 * 2**20  # bytes of a normalizer's table
MAX_DEPTH = 32
OUTSIDE = ("model", "added_tokens", "version", "truncation", "padding")  # checked elsewhere, or put out of force
FIX = "use the tokenizer.json that the model was published with"

Item = tuple[str, Any]


def check_limits(data: dict[str, Any], where: str) -> None:
    """Refuse a tokenizer.json with a field that is beyond all use."""
    for section, value in data.items():
        if section in OUTSIDE:
            continue
        for name, part in _parts(section, value, where):
            if isinstance(part, str) and name.endswith(".precompiled_charsmap"):
                _check_table(part, f"{where}, {name}")
            elif isinstance(part, str) and len(part) > MAX_STRING:
                raise _beyond(f"{len(part):,} characters", f"at most {MAX_STRING:,}", f"{where}, {name}")
    for section in ("normalizer", "pre_tokenizer", "decoder"):
        _check_growth(section, data.get(section), where)


def _parts(name: str, value: Any, where: str, depth: int = 0) -> Iterator[Item]:
    """All that a section holds, by its path."""
    if depth > MAX_DEPTH:
        raise _beyond("parts within parts", f"at most {MAX_DEPTH} deep", f"{where}, {name[:100]}")
    yield name, value
    if isinstance(value, list | dict) and len(value) > MAX_PARTS:
        raise _beyond(f"{len(value):,} entries", f"at most {MAX_PARTS}", f"{where}, {name}")
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in entries:
        yield from _parts(f"{name}.{key!s:.40}", part, where, depth + 1)


def _check_table(text: str, where: str) -> None:
    """The table of a `Precompiled` normalizer begins with the length of its index in bytes, which must be there."""
    if len(text) > MAX_TABLE * 4 // 3:
        raise _beyond(f"{len(text):,} characters", f"at most {MAX_TABLE:,} bytes", where)
    try:
        table = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ConfigError("not base64", where=where, fix=FIX) from None
    size = int.from_bytes(table[:4], "little")
    if len(table) < 4 or size % 4 or size > len(table) - 4:
        raise _beyond(f"an index of {size:,} bytes", f"one within the {len(table):,} bytes of the table", where)


def _check_growth(section: str, rules: Any, where: str) -> None:
    """How much longer rules make a text, one after another. A pattern may match between any two characters."""
    growth, before = 1.0, 0
    for name, part in _parts(section, rules, where):
        if not isinstance(part, dict):
            continue
        if isinstance(text := part.get("prepend"), str):
            before += len(text)
        content, pattern = part.get("content"), part.get("pattern")
        if isinstance(content, str) and isinstance(pattern, dict):
            exact = pattern.get("String")
            length = len(exact) if isinstance(exact, str) else 0
            growth *= max(1.0, len(content) / length) if length else 1.0 + len(content)
        if growth > MAX_GROWTH or before > MAX_GROWTH:
            found = f"a text {growth:,.0f} times as long, after {before:,} characters"
            raise _beyond(found, f"at most {MAX_GROWTH} of each", f"{where}, {name}")


def _beyond(found: str, expected: str, where: str) -> ConfigError:
    return ConfigError(f"expected {expected}, found {found}", where=where, fix=FIX)
