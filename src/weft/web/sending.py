"""Results of the engine on their way to a client: whole, or as a stream of events. Who leaves ends his work."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from weft.web.jobs import ServedJob
from weft.web.replies import GONE, Refusal, as_refusal, error_value, event


async def finished(request: Request, job: ServedJob) -> Any:
    """The result of a job; where the client leaves first, the job is left."""
    work, leaving = asyncio.ensure_future(job.result()), asyncio.ensure_future(_disconnected(request.receive))
    both: set[asyncio.Future[Any]] = {work, leaving}
    try:
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            return work.result()
        raise Refusal(GONE, "the client has gone")
    finally:
        leaving.cancel()
        work.cancel()
        job.leave()


class EventStream(Response):
    """A stream of events (SSE), made as the jobs are heard. An error after the first event is an event too."""

    media_type = "text/event-stream"

    def __init__(self, events: Callable[[], AsyncIterator[bytes]], jobs: list[ServedJob]):
        super().__init__(b"", headers={"x-accel-buffering": "no"})
        del self.headers["content-length"]
        self.events, self.jobs = events, jobs

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        sending = asyncio.ensure_future(self._send_all(scope, receive, send))
        leaving = asyncio.ensure_future(_disconnected(receive))
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                sending.result()
        finally:
            for job in self.jobs:
                job.leave()
            leaving.cancel()
            sending.cancel()

    async def _send_all(self, scope: Scope, receive: Receive, send: Send) -> None:
        events, begun = self.events(), False
        try:
            async for some in events:
                if not begun:
                    await self._begin(send)
                    begun = True
                await send({"type": "http.response.body", "body": some, "more_body": True})
        except Exception as error:
            refusal = as_refusal(error)
            if not begun:
                await refusal.response()(scope, receive, send)
                return
            said = event(error_value(refusal.status, refusal.problem, refusal.where, refusal.fix))
            await send({"type": "http.response.body", "body": said, "more_body": True})
        if not begun:
            await self._begin(send)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _begin(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})


async def _disconnected(receive: Callable[[], Awaitable[Any]]) -> None:
    """Returns once the client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
