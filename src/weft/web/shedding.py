"""What is refused while the queue is full, before a request is taken apart: a burst of refusals holds up nobody else.

Nothing of such a request is believed or executed, so that it is not checked either. Whole requests alone are refused
here: what comes in pieces takes the usual way.
"""

import re

from weft.web.engine import Engine, crowded
from weft.web.guard import HEADERS
from weft.web.metrics import Metrics

LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*([0-9]{1,15})[ \t]*(?:\r\n|$)", re.IGNORECASE)


class Shedding:
    """The answer to requests for work that find no room."""

    def __init__(self, engine: Engine, metrics: Metrics):
        self._engine, self._metrics = engine, metrics
        response = crowded().response()
        named = [(name.decode(), value.decode()) for name, value in response.raw_headers]
        headers = {**HEADERS, "cache-control": "no-store", **dict(named), "connection": "close"}
        lines = ["HTTP/1.1 429 Too Many Requests", *(f"{name}: {value}" for name, value in headers.items())]
        self._answer = "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + bytes(response.body)

    def answer(self, head: bytes, body: bytes) -> bytes | None:
        """The refusal of a request that is whole; None where it has to be read."""
        if not self._engine.full or not head.startswith(b"POST "):
            return None
        said = LENGTH.findall(head)
        if len(said) != 1 or int(said[0]) != len(body):
            return None
        self._metrics.count("weft_refused_total")
        self._metrics.count("weft_requests_total", route="any", status="429")
        return self._answer
