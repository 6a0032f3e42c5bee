"""What all routes share: the runs, the engine, limits, counts."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.requests import Request

from weft.web.engine import Engine
from weft.web.guard import Allowed
from weft.web.limits import Limits
from weft.web.metrics import Metrics
from weft.web.table import RunTable

if TYPE_CHECKING:
    from weft.web.looks import Looks


@dataclass(frozen=True)
class ServerState:
    """One server."""

    table: RunTable
    engine: Engine
    allowed: Allowed
    limits: Limits
    metrics: Metrics
    started: int  # seconds since 1970
    looks: "Looks"


def state_of(request: Request) -> ServerState:
    """The server that a request came to."""
    state: ServerState = request.app.state.weft
    return state
