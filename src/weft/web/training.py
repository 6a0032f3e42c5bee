"""/api/training: the runs in training, as their folders tell it."""

from starlette.requests import Request
from starlette.responses import Response

from weft.errors import nearest
from weft.web.replies import Refusal, reply
from weft.web.state import state_of


async def in_training(request: Request) -> Response:
    """The names of all runs that are served, and of those in training."""
    table = state_of(request).table
    training = [{"name": one.name, "state": one.state} for one in table.training.values()]
    return reply({"runs": list(table), "training": training})


async def watched(request: Request) -> Response:
    """How a run in training is doing: curves, the time that is left, what it answers by now."""
    state, name = state_of(request), request.path_params["run"]
    found = state.table.training.get(name)
    if found is None:
        fix = nearest(name[:60], state.table.training)
        raise Refusal(404, "there is no such run in training", where="run", fix=fix)
    return reply(found.told(state.looks.keep_once))
