"""What a request says: bytes within the limit, or strict JSON, whose fields are taken by name and type.

A body is JSON (application/json) or the bytes of one input; plain text and forms, which any page may send without
asking first, are refused, and so are compressed bodies. Clients of LibreTranslate send forms: theirs are read where no
browser sent them.
"""

from collections.abc import Mapping
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from starlette.requests import Request

from weft.core.changes import Change, changes_from_json
from weft.errors import ConfigError, nearest
from weft.json_text import read_json
from weft.web.limits import Limits
from weft.web.replies import Refusal

T = TypeVar("T")
MOST_CHANGES = 64
FORM, MOST_FIELDS = "application/x-www-form-urlencoded", 16
BYTES = {
    "application/octet-stream": "", "image/png": ".png", "image/jpeg": ".jpg", "image/webp": ".webp",
    "image/gif": ".gif", "image/bmp": ".bmp", "image/tiff": ".tif", "application/x-netcdf": ".nc",
    "application/netcdf": ".nc", "application/x-hdf5": ".h5",
}  # fmt: skip
WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text", list: "a list",
         dict: "an object"}  # fmt: skip


def kind_of(request: Request) -> str:
    """The type of a body."""
    headers = request.headers
    if headers.get("content-encoding", "identity").lower() != "identity":
        raise Refusal(415, "compressed bodies are not taken", close=True)
    return headers.get("content-type", "").partition(";")[0].strip().lower()


async def body_of(request: Request, limits: Limits) -> bytes:
    """The bytes of a body; one that is too long is refused before it is read."""
    said = request.headers.get("content-length", "0")
    if not said.isascii() or not said.isdigit() or len(said) > 15 or int(said) > limits.body:
        raise _too_long(limits)
    parts, size = list[bytes](), 0
    async for part in request.stream():
        size += len(part)
        if size > limits.body:
            raise _too_long(limits)
        parts.append(part)
    return b"".join(parts)


async def json_of(request: Request, limits: Limits) -> "JsonFields":
    """The fields of a body of JSON."""
    if kind_of(request) != "application/json":
        raise Refusal(415, "expected a body of JSON", fix="send the header Content-Type: application/json", close=True)
    return JsonFields(strict(await body_of(request, limits)))


async def fields_of(request: Request, limits: Limits) -> "JsonFields":
    """The fields of a body of JSON, or of a form that no page sent: browsers name the origin of every form."""
    headers = request.headers
    if kind_of(request) != FORM or "origin" in headers or "sec-fetch-site" in headers or "sec-fetch-mode" in headers:
        return await json_of(request, limits)
    try:
        said = (await body_of(request, limits)).decode("ascii")
        pairs = parse_qsl(
            said, keep_blank_values=True, strict_parsing=True, errors="strict", max_num_fields=MOST_FIELDS
        )
    except ValueError:
        raise Refusal(400, "the form cannot be read") from None
    if len(dict(pairs)) != len(pairs):
        raise Refusal(400, "a field of the form stands twice")
    return JsonFields({name: int(text) if name == "alternatives" and text.isdigit() else text for name, text in pairs})


def strict(body: bytes) -> Any:
    """A value of strict JSON: UTF-8, no key twice, no NaN, no half of a character, bounded depth."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        raise Refusal(400, "the body is not UTF-8") from None
    try:
        value = read_json(text, where="")
    except ConfigError as error:
        raise Refusal(400, error.problem) from None
    if "\\u" in text and not _whole(value):
        raise Refusal(400, "the body has half of a character (a lone surrogate)")
    return value


def _whole(value: Any) -> bool:
    """Whether all texts of a value can be written as UTF-8."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            waiting += [*one.keys(), *one.values()]
        elif isinstance(one, list):
            waiting += one
        elif isinstance(one, str):
            try:
                one.encode()
            except UnicodeEncodeError:
                return False
    return True


class JsonFields:
    """An object of JSON whose fields are taken one by one; those that nobody took are refused in the end."""

    def __init__(self, value: Any, where: str = ""):
        if not isinstance(value, dict):
            raise Refusal(400, "expected an object", where=where)
        self._left: dict[str, Any] = dict(value)
        self._taken: list[str] = []

    def take(self, name: str, kind: type[T], usual: T) -> T:
        """A field of a type, or what is usual where it is absent or null."""
        value = self.any(name)
        return usual if value is None else typed(value, kind, name)

    def maybe(self, name: str, kind: type[T]) -> T | None:
        """A field of a type, or None."""
        value = self.any(name)
        return None if value is None else typed(value, kind, name)

    def any(self, name: str) -> Any:
        """A field of any type, or None."""
        self._taken.append(name)
        return self._left.pop(name, None)

    def has(self, name: str) -> bool:
        """Whether a field is there."""
        return name in self._left

    def ignore(self, *names: str) -> None:
        """Let fields stand that change nothing here."""
        for name in names:
            self.any(name)

    def end(self) -> None:
        """Refuse fields that nobody took."""
        if self._left:
            name = next(iter(self._left))
            raise Refusal(400, f"there is no field {name!r:.60}", where=name[:60], fix=nearest(name[:60], self._taken))


def changes_in(fields: JsonFields) -> tuple[Change, ...]:
    """The changes of the model that a request asks for."""
    return changes_of(fields.any("changes"), "changes")


def changes_of(value: Any, where: str) -> tuple[Change, ...]:
    """Changes as JSON has them. None may name an input, which would be opened, or a row: others may share the batch."""
    said = [] if value is None else typed(value, list, where)
    if len(said) > MOST_CHANGES:
        raise Refusal(400, f"at most {MOST_CHANGES} changes", where=where)
    found = tuple(changes_from_json(said, where=where))
    for key in ("of", "minus", "row"):
        if any(getattr(one, key, None) is not None for one in found):
            raise Refusal(400, "a change names no other input and no row here", where=where, fix=f"leave out {key}")
    return found


def typed(value: Any, kind: type[T], name: str) -> T:
    """A value that must be of a type; a whole number may stand for a number."""
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        if abs(value) < 2**53:
            return float(value)  # type: ignore[return-value]
    elif isinstance(value, kind) and not (isinstance(value, bool) and kind is not bool):
        return value
    raise Refusal(400, f"expected {WORDS.get(kind, kind.__name__)}", where=name)


def query_of(request: Request) -> Mapping[str, str]:
    """The settings that stand in an address; none may stand twice."""
    pairs = request.query_params.multi_items()
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Refusal(400, "a setting in the address stands twice")
    return found


def _too_long(limits: Limits) -> Refusal:
    return Refusal(413, f"a body has at most {limits.body:,} bytes", close=True)
