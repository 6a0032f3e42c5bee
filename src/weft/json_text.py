"""JSON as text, read strictly and written for people. Knows values; refuses to know configs."""

import json
from collections import Counter
from typing import Any

from weft.errors import ConfigError

MAX_JSON_BYTES = 64 * 2**20
MAX_JSON_DEPTH = 64


def read_json(text: str | bytes, *, where: str) -> Any:
    """Strict JSON: no repeated keys, no NaN, bounded size and depth."""
    if len(text) > MAX_JSON_BYTES:
        raise ConfigError(f"larger than {MAX_JSON_BYTES >> 20} MiB", where=where)

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(pairs)
        if len(result) != len(pairs):
            twice, _ = Counter(key for key, _ in pairs).most_common(1)[0]
            raise ConfigError(f"the key {shown_value(twice)} stands twice", where=where)
        return result

    def refuse(name: str) -> Any:
        raise ConfigError(f"{name} is not a number in JSON", where=where)

    try:
        data = json.loads(text, object_pairs_hook=unique, parse_constant=refuse)
    except RecursionError:
        raise ConfigError(f"nested deeper than {MAX_JSON_DEPTH}", where=where) from None
    except ValueError as error:
        raise ConfigError(f"not valid JSON: {error}", where=where) from None
    if _depth(data) > MAX_JSON_DEPTH:
        raise ConfigError(f"nested deeper than {MAX_JSON_DEPTH}", where=where)
    return data


def write_json(data: Any) -> str:
    """JSON for people: indented, unescaped letters, never NaN."""
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _depth(data: Any) -> int:
    depth, level = 0, [data]
    while level:
        depth += 1
        level = [
            v
            for item in level
            if isinstance(item, dict | list)
            for v in (item.values() if isinstance(item, dict) else item)
            if isinstance(v, dict | list)
        ]
    return depth


def shown_value(value: Any) -> str:
    """A value for a message: never long, and never a number too long to be written."""
    if isinstance(value, int) and abs(value) >= 2**64:
        return f"a whole number of {value.bit_length()} bits"
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
