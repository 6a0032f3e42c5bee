"""HTTP as it comes in: what uvicorn's h11 protocol leaves open. A request has a deadline, and its head is strict.

Lines end in CR LF, no header goes on in a second line: what programs read in two ways is refused.
"""

import asyncio
import re
from collections.abc import Callable
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

LOOSE = re.compile(rb"(?<!\r)\n|\r\n[ \t]")  # a bare LF, or a header that goes on in the next line
END = b"\r\n\r\n"


class Receiving(H11Protocol):
    """A connection. Its limits are set by whoever starts the server."""

    seconds = 10.0
    most_head = 16 * 2**10  # bytes
    unsent = 64 * 2**10  # bytes that wait for a client, beyond which nothing more is written
    shed: Callable[[bytes, bytes], bytes | None] = staticmethod(lambda head, body: None)
    """The answer to a head and a body that are refused before they are read."""
    most_connections = 2000
    waiting: dict["Receiving", None]  # connections without a request in work, the longest idle first

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self._deadline: asyncio.TimerHandle | None = None
        self._head = b""  # of a request whose head is not complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=self.unsent)
        if len(self.connections) > self.most_connections and self.waiting:
            oldest = next(iter(self.waiting))
            del self.waiting[oldest]
            oldest.transport.abort()
        self.waiting[self] = None
        self._arm()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._disarm()
        self.waiting.pop(self, None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Check the head while it comes in; the deadline holds until the last byte of the request."""
        if self._receiving:
            self._arm()
        if self._in_head:
            head, found, body = (self._head + data).partition(END)
            if LOOSE.search(head):
                self.send_400_response("Invalid HTTP request received.")
                return
            if len(head) > self.most_head:
                self._refuse(431, b"Request Header Fields Too Large", "the head of the request is too long")
                return
            if found and not self._head and (answer := self.shed(head, body)) is not None:
                self.transport.write(answer)
                self.transport.close()
                return
            self._head = b"" if found else head
        super().data_received(data)
        if not self._receiving:
            self._disarm()
            self.waiting.pop(self, None)

    @property
    def _in_head(self) -> bool:
        """Whether what comes in is the head of a request."""
        return self.conn.their_state is h11.IDLE

    @property
    def _receiving(self) -> bool:
        """Whether a request is still coming in."""
        return self.cycle is None or self.cycle.response_complete or self.cycle.more_body

    def _arm(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(self.seconds, self._too_late)

    def _disarm(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _too_late(self) -> None:
        """The time to receive a request is over."""
        self._deadline = None
        if not self.transport.is_closing():
            self._refuse(408, b"Request Timeout", "the request did not come in in time")

    def on_response_complete(self) -> None:
        """The next request has a time of its own."""
        self._disarm()
        self.waiting[self] = None
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no request."""
        self._refuse(400, b"Bad Request", msg)

    def _refuse(self, status: int, reason: bytes, problem: str) -> None:
        """Answer where an answer can still be sent, and close."""
        headers = [("content-type", "text/plain; charset=utf-8"), ("connection", "close")]
        response = h11.Response(status_code=status, headers=headers, reason=reason)
        try:
            for part in (response, h11.Data(data=problem.encode()), h11.EndOfMessage()):
                self.transport.write(self.conn.send(part) or b"")
        except h11.LocalProtocolError:
            pass  # an answer has begun already
        self.transport.close()
