"""/api/runs and /api/predict/{run}: every run, by what its task asks for and gives."""

import base64
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from weft.config import Config
from weft.core.changes import Change
from weft.errors import WeftError, nearest
from weft.runs.asking import checked
from weft.runs.run import refuse_headless
from weft.tasks.asks import Answer, Asks, Given
from weft.tasks.request import Prediction
from weft.web.bodies import BYTES, JsonFields, changes_in, json_of, kind_of
from weft.web.inputs import content_in, given_of
from weft.web.jobs import END, AskJob, Cost, ServedJob
from weft.web.replies import Refusal, as_refusal, error_value, event, reply
from weft.web.sending import EventStream, finished
from weft.web.state import ServerState, state_of
from weft.web.table import ServedRun


async def list_runs(request: Request) -> Response:
    """All runs, with what they ask for and give."""
    table = state_of(request).table
    training = [{"name": one.name, "state": one.state} for one in table.training.values() if one.name not in table]
    return reply({"runs": [one.described() for one in table.values()], "training": training})


async def predict(request: Request) -> Response:
    """The answers of a run to inputs."""
    state = state_of(request)
    served = run_named(state, request.path_params["run"])
    refuse_headless(served.run.loaded)
    changes = tuple[Change, ...]()
    if kind_of(request) in BYTES:
        one, settings, size = await content_in(request, served.run.task.asks, state.limits)
        inputs, stream, files = [one], False, False
    else:
        fields = await json_of(request, state.limits)
        size = int(request.headers.get("content-length", "0"))
        stream, files = fields.take("stream", bool, False), fields.take("files", bool, False)
        inputs = _inputs(served, fields, state.limits.inputs)
        settings, changes = fields.take("settings", dict, {}), changes_in(fields)
        fields.end()
    how = settled(served, settings)
    if stream and not served.gives.streams:
        raise Refusal(400, "answers of this run come whole", where="stream", fix="leave it out")
    cost = Cost(size, asked_tokens(how) * len(inputs))
    job = AskJob(served, "predict", inputs, how, cost=cost, unsent=state.limits.unsent, listens=stream, changes=changes)
    state.engine.submit(job)
    if stream:
        return EventStream(lambda: _events(served, job, inputs), [job])
    found = await finished(request, job)
    if len(inputs) == 1 and len(found) == 1 and (error := found[0][1].error) is not None:
        raise error
    return reply(_report(served, found, files))


async def _events(served: ServedRun, job: ServedJob, inputs: Sequence[Given]) -> AsyncIterator[bytes]:
    """Pieces of text as they come, with the number of the answer; then all answers."""
    async for piece in job.heard():
        if piece[0] is END:
            yield event(_report(served, piece[1], False))
        else:
            yield event({"number": piece[0], "text": piece[1]})


def _report(served: ServedRun, found: Sequence[tuple[int, Answer]], files: bool) -> dict[str, Any]:
    """What is said of answers; an input that could not be used has an error in the place of its answer."""
    predictions = [_prediction(number, one, files) for number, one in found]
    return {"run": served.name, "task": served.run.task.name, "predictions": predictions}


def _prediction(number: int, answer: Answer, files: bool) -> Prediction:
    if answer.error is not None:
        refusal = as_refusal(answer.error)
        return {"number": number, **error_value(refusal.status, refusal.problem, refusal.where, refusal.fix)}
    made: Mapping[str, Any] = {
        name: base64.b64encode(content()).decode() for name, content in answer.files.items() if files
    }
    return {"number": number, **answer.values, **({"files": made} if made else {})}


def _inputs(served: ServedRun, fields: JsonFields, most: int) -> list[Given]:
    """The inputs of a body: `input` is one, `inputs` are several, of which each that is none has its own error."""
    task = served.run.task
    if fields.has("input") == fields.has("inputs"):
        if not fields.has("input") and any(one.may_lack for one in task.asks):
            return []
        raise Refusal(400, "expected `input`, or `inputs` with a list", where="input")
    if fields.has("input"):
        return [given_of(task.asks, fields.any("input"), 0)]
    values = fields.take("inputs", list, [])
    if not 1 <= len(values) <= most:
        raise Refusal(400, f"expected from 1 to {most} inputs, found {len(values)}", where="inputs")
    return [_one_of_several(task.asks, value, number) for number, value in enumerate(values)]


def _one_of_several(asks: tuple[Asks, ...], value: Any, number: int) -> Given:
    try:
        return given_of(asks, value, number)
    except Refusal as refusal:
        where = f"input {number + 1}"
        return Given(WeftError(refusal.problem, where=refusal.where or where, fix=refusal.fix), where)


def run_named(state: ServerState, name: str) -> ServedRun:
    """The run of a name, or a refusal with the nearest one."""
    found = state.table.get(name)
    if found is None:
        raise Refusal(404, "there is no such run", where="run", fix=nearest(name[:60], state.table))
    return found


def settled(served: ServedRun, settings: Mapping[str, Any]) -> Config:
    """The settings of a prediction, in the number format that the server was started with where none is said."""
    said = dict(settings)
    if hasattr(served.run.task.Predict, "precision") and "precision" not in said:
        said["precision"] = served.precision
    return checked(served.run, "predict", said, files=False)


def asked_tokens(how: Config) -> int:
    """How many tokens an input may cost: those of all samples."""
    return (getattr(how, "max_tokens", None) or 0) * getattr(how, "samples", 1)
