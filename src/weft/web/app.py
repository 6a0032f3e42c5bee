"""The application: all routes, behind the guard."""

import time
from collections.abc import Awaitable, Callable

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from weft.errors import WeftError
from weft.web import libre
from weft.web.engine import Engine
from weft.web.guard import Allowed, Guard
from weft.web.limits import Limits
from weft.web.looks import Looks, kept, look
from weft.web.metrics import Metrics
from weft.web.openai.chat import chat
from weft.web.openai.completions import completions
from weft.web.openai.embeddings import embeddings
from weft.web.openai.models import model, models
from weft.web.openapi import description
from weft.web.pages import pages
from weft.web.predict import list_runs, predict
from weft.web.replies import GONE, Refusal, as_refusal, error_reply, reply
from weft.web.state import ServerState, state_of
from weft.web.sweeps import sweep
from weft.web.table import RunTable
from weft.web.training import in_training, watched

Endpoint = Callable[[Request], Awaitable[Response]]


def application(table: RunTable, allowed: Allowed, limits: Limits | None = None) -> tuple[ASGIApp, ServerState]:
    """The application for some runs, and its state."""
    limits, metrics = limits or Limits(), Metrics()
    state = ServerState(table, Engine(limits, metrics), allowed, limits, metrics, int(time.time()), Looks())
    routes = [
        route("/healthz", health, open=True),
        route("/readyz", ready, open=True),
        route("/metrics", metrics_page),
        route("/openapi.json", described),
        route("/api/runs", list_runs),
        route("/api/predict/{run}", predict, "POST"),
        route("/api/training", in_training),
        route("/api/training/{run}", watched),
        route("/api/look/{run}", look, "POST"),
        route("/api/sweep/{run}", sweep, "POST"),
        route("/look/{look}", kept, open=True),
        route("/v1/models", models),
        route("/v1/models/{run}", model),
        route("/v1/completions", completions, "POST"),
        route("/v1/chat/completions", chat, "POST"),
        route("/v1/embeddings", embeddings, "POST"),
        route("/translate", libre.translate, "POST"),
        route("/languages", libre.languages),
    ]
    routes += [route(address, page, open=True) for address, page in pages().items()]
    handlers = {HTTPException: _no_route, 404: _no_route, 405: _no_route}
    app = Starlette(routes=routes, exception_handlers=handlers)
    app.router.redirect_slashes = False
    app.state.weft = state
    return Guard(app, allowed, limits), state


def route(path: str, endpoint: Endpoint, method: str = "GET", *, open: bool = False) -> Route:
    """A route that knows the token, unless it is open, counts, and turns errors into answers."""

    async def answered(request: Request) -> Response:
        state, begun = state_of(request), time.perf_counter()
        try:
            if not open:
                state.allowed.check_token(request.scope)
            response = await endpoint(request)
        except ClientDisconnect:
            response = Response(status_code=GONE)
        except (Refusal, WeftError) as error:
            response = as_refusal(error).response()
        except Exception as error:
            response = as_refusal(error).response()
        state.metrics.count("weft_requests_total", route=path, status=str(response.status_code))
        state.metrics.observe("weft_request_seconds", time.perf_counter() - begun)
        return response

    return Route(path, answered, methods=[method])


async def health(request: Request) -> Response:
    """Whether the process lives: 200, or 500 where the thread that computes has died."""
    return reply({"status": "ok"}) if state_of(request).engine.alive else reply({"status": "dead"}, 500)


async def ready(request: Request) -> Response:
    """Whether requests are taken: 200, or 503 while the server is about to end."""
    engine = state_of(request).engine
    good = engine.alive and not engine.draining
    return reply({"status": "ready" if good else "ending"}, 200 if good else 503)


async def metrics_page(request: Request) -> Response:
    """Counts for Prometheus."""
    return Response(state_of(request).metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


async def described(request: Request) -> Response:
    """What can be asked, as OpenAPI."""
    return reply(description(state_of(request).table))


async def _no_route(request: Request, error: Exception) -> Response:
    status = getattr(error, "status_code", 404)
    problem = "there is no such address" if status == 404 else "this address does not answer to that method"
    return error_reply(status, problem, "", "GET /openapi.json lists all", getattr(error, "headers", None) or {})
