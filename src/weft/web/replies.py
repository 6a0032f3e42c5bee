"""Answers as programs read them: JSON, errors in the shape of OpenAI's, and streams of events (SSE)."""

import json
import sys
import traceback
import uuid
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from weft.errors import NotNumbers, StorageError, WeftError, harmless, shortened

KINDS = {400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error",
         429: "rate_limit_error"}  # fmt: skip
GONE = 499  # the status of a request whose client has gone
LONGEST_MESSAGE = 900  # characters, of up to four bytes


class Refusal(Exception):
    """A request that is not answered: the status and why."""

    def __init__(
        self,
        status: int,
        problem: str,
        *,
        where: str = "",
        fix: str = "",
        headers: Mapping[str, str] | None = None,
        close: bool = False,
    ):
        self.status, self.problem, self.where, self.fix = status, problem, where, fix
        self.headers = {**(headers or {}), **({"connection": "close"} if close else {})}
        super().__init__(problem)

    def response(self) -> Response:
        """The refusal as an answer."""
        return error_reply(self.status, self.problem, self.where, self.fix, self.headers)


def as_refusal(error: BaseException, where: str = "") -> Refusal:
    """What an error means to a client. A fault of weft's own has a number, under which stderr has the details."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, WeftError) and not isinstance(error, StorageError | NotNumbers):
        place = error.where.removeprefix("--set ")
        return Refusal(400, error.problem, where=place or where, fix=error.fix)
    if isinstance(error, NotNumbers):
        return Refusal(500, error.problem, fix=error.fix)
    return Refusal(
        500, f"an error in weft itself, number {reported(error)}", fix="the server's own output has the details"
    )


def reported(error: BaseException) -> str:
    """The number under which stderr has where a fault came from. Messages stay away: they may hold what was asked."""
    number, one = uuid.uuid4().hex[:12], error
    lines = [f"weft serve: error {number}"]
    while one is not None:
        lines += [type(one).__name__, *"".join(traceback.format_tb(one.__traceback__)).splitlines()]
        one = one.__cause__ or one.__context__  # type: ignore[assignment]
    print("\n".join(map(harmless, lines)), file=sys.stderr, flush=True)
    return number


def error_value(status: int, problem: str, where: str = "", fix: str = "") -> dict[str, Any]:
    """An error in OpenAI's shape."""
    problem, where, fix = shortened((problem, where, fix), LONGEST_MESSAGE)
    message = f"{problem} ({fix})" if fix else problem
    kind = KINDS.get(status, "server_error" if status >= 500 else "invalid_request_error")
    return {"error": {"message": message, "type": kind, "param": where or None, "code": None}}


def error_reply(status: int, problem: str, where: str, fix: str, headers: Mapping[str, str]) -> Response:
    """The same as an answer."""
    return reply(error_value(status, problem, where, fix), status, headers)


def reply(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A value as JSON."""
    return Response(as_json(value), status, dict(headers or {}), "application/json")


def as_json(value: Any) -> bytes:
    """A value as JSON in one line; numbers of NumPy are numbers, halves of characters are replaced."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_number)
    return text.encode("utf-8", "replace")


def event(value: Any) -> bytes:
    """A value as an event of a stream."""
    return b"data: " + as_json(value) + b"\n\n"


DONE = b"data: [DONE]\n\n"


async def refused(request: Request, error: Exception) -> Response:
    """The answer to a request that failed."""
    return as_refusal(error).response()


def _number(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is no value of JSON")
