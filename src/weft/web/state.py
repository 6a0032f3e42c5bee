"""What all routes share: the runs, the engine, limits, counts."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.requests import Request

from weft.web.engine import Engine
from weft.web.guard import Allowed
from weft.web.limits import Limits
from weft.web.metrics import Metrics
from weft.web.table import Table

if TYPE_CHECKING:
    from weft.web.looks import Looks


@dataclass(frozen=True)
class State:
    """One server."""

    table: Table
    engine: Engine
    allowed: Allowed
    limits: Limits
    metrics: Metrics
    started: int  # seconds since 1970
    looks: "Looks"


def state_of(request: Request) -> State:
    """The server that a request came to."""
    state: State = request.app.state.weft
    return state
