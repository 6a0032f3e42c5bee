"""/api/look/{run}: what a model does inside with an input, as the page of `weft look`. A few are kept to be opened.

A page that is kept has an address that nobody can guess, so that a browser may open it without the token. It stands in
a sandbox: it reaches neither this server nor any other.
"""

import secrets
import threading
from collections import OrderedDict

from starlette.requests import Request
from starlette.responses import Response

from weft.core.changes import Change
from weft.generate.stopping import Stop
from weft.runs.asking import checked
from weft.runs.asking import look as looked
from weft.tasks.asks import Given
from weft.web.bodies import BYTES, JsonFields, changes_in, json_of, kind_of
from weft.web.inputs import content_in, given_of
from weft.web.jobs import CallJob, Cost
from weft.web.predict import run_named
from weft.web.replies import Refusal, reply
from weft.web.sending import finished
from weft.web.state import state_of
from weft.web.table import ServedRun

MOST_KEPT, MOST_BYTES = 16, 64 * 2**20
SANDBOX = "sandbox allow-scripts allow-downloads; frame-ancestors 'self'"  # the page for people shows it in place


class Looks:
    """The latest pages, by their names; the oldest go when there are too many."""

    def __init__(self) -> None:
        self._pages: OrderedDict[str, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def keep(self, page: bytes) -> str:
        """Keep a page; returns its name."""
        name = secrets.token_urlsafe(24)
        with self._lock:
            self._pages[name] = page
            while len(self._pages) > MOST_KEPT or sum(map(len, self._pages.values())) > MOST_BYTES:
                self._pages.popitem(last=False)
        return name

    def keep_once(self, page: bytes) -> str:
        """The address of a page, which is kept if it is not yet."""
        with self._lock:
            known = next((name for name, kept in self._pages.items() if kept is page), None)
        return f"/look/{known or self.keep(page)}"

    def page(self, name: str) -> bytes:
        """The page of a name."""
        with self._lock:
            if name not in self._pages:
                raise Refusal(404, "this look is no longer kept", fix="look again")
            return self._pages[name]


async def look(request: Request) -> Response:
    """What the model does inside: words, and the address of its page; the page itself where HTML is asked for."""
    state = state_of(request)
    served = run_named(state, request.path_params["run"])
    task, changes = served.run.task, tuple[Change, ...]()
    if kind_of(request) in BYTES:
        one, settings, size = await content_in(request, task.asks, state.limits)
        inputs = [one]
    else:
        fields = await json_of(request, state.limits)
        size, inputs = int(request.headers.get("content-length", "0")), inputs_in(served, fields, "input")
        settings, changes = fields.take("settings", dict, {}), changes_in(fields)
        fields.end()
    how = checked(served.run, "look", settings, files=False)

    def call(stop: Stop) -> tuple[str, bytes]:
        view = looked(served.run, inputs, how)
        return view.text(), view.page()

    job = CallJob(served, call, cost=Cost(size), unsent=state.limits.unsent, changes=changes)
    state.engine.submit(job)
    words, page = await finished(request, job)
    if "text/html" in request.headers.get("accept", ""):
        return _shown(page)
    report = {"run": served.name, "task": task.name, "text": words}
    return reply({**report, "page": f"/look/{state.looks.keep(page)}"})


def inputs_in(served: ServedRun, fields: JsonFields, name: str) -> list[Given]:
    """The input in a field, as `look` takes it: one, several where the task takes several at once, or none."""
    asks, given = served.run.task.asks, fields.any(name)
    values = given if isinstance(given, list) and any(one.several for one in asks) else [given]
    return [] if given is None else [given_of(asks, value, number) for number, value in enumerate(values)]


async def kept(request: Request) -> Response:
    """A page that is kept."""
    return _shown(state_of(request).looks.page(request.path_params["look"]))


def _shown(page: bytes) -> Response:
    return Response(
        page, headers={"content-security-policy": SANDBOX, "x-frame-options": "SAMEORIGIN"}, media_type="text/html"
    )
