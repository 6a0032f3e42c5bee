"""/v1/models: the runs, in OpenAI's shape, and how each writes; the run that a request names."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from weft.errors import nearest
from weft.web.replies import Refusal, reply
from weft.web.state import ServerState, state_of
from weft.web.table import ServedRun


async def models(request: Request) -> Response:
    """All runs that write or give vectors, and how they do it."""
    state = state_of(request)
    return reply({"object": "list", "data": [described(state, one) for one in state.table.values()]})


async def model(request: Request) -> Response:
    """One run."""
    state = state_of(request)
    return reply(described(state, chosen(state, request.path_params["run"], "")))


def described(state: ServerState, served: ServedRun) -> dict[str, Any]:
    """A run in OpenAI's shape, with what is particular to it."""
    known: dict[str, Any] = {"task": served.run.task.name, "embeddings": served.embeds_texts}
    if served.writes:
        exact = "the same bits alone and beside others" if served.native else "within rounding of the answer alone"
        steps = "native code" if served.native else "modules"
        known |= {"context": served.window, "steps": steps, "answers": exact}
        known["chat"] = "template" if served.talks else "plain turns"
    return {"id": served.name, "object": "model", "created": state.started, "owned_by": "weft", "weft": known}


def chosen(state: ServerState, name: str | None, quality: str) -> ServedRun:
    """The run of a name; without one, the only run with a quality."""
    able = state.table.having(quality) if quality else list(state.table.values())
    if name is None and len(able) == 1:
        return able[0]
    if name is None:
        raise Refusal(400, "which model?", where="model", fix=f"one of {', '.join(one.name for one in able) or 'none'}")
    found = state.table.get(name)
    if found is None:
        raise Refusal(404, "there is no such model", where="model", fix=nearest(name[:60], state.table))
    if found not in able:
        words = {"writes": "writes no texts", "embeds_texts": "gives no vectors of texts"}
        raise Refusal(400, f"this run {words[quality]}", where="model", fix=f"POST /api/predict/{found.name}")
    return found
