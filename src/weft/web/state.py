"""What all routes share: the runs, the engine, limits, counts."""

from dataclasses import dataclass

from starlette.requests import Request

from weft.web.engine import Engine
from weft.web.guard import Allowed
from weft.web.limits import Limits
from weft.web.metrics import Metrics
from weft.web.table import Table


@dataclass(frozen=True)
class State:
    """One server."""

    table: Table
    engine: Engine
    allowed: Allowed
    limits: Limits
    metrics: Metrics
    started: int  # seconds since 1970


def state_of(request: Request) -> State:
    """The server that a request came to."""
    state: State = request.app.state.weft
    return state
