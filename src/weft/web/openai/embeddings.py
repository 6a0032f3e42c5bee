"""/v1/embeddings: vectors of texts."""

import base64

import numpy as np
from starlette.requests import Request
from starlette.responses import Response

from weft.runs.asking import checked
from weft.tasks.asks import Given
from weft.web.bodies import json_of, typed
from weft.web.jobs import AskJob, Cost
from weft.web.openai.asked import WITHOUT_EFFECT
from weft.web.openai.models import chosen
from weft.web.replies import Refusal, reply
from weft.web.sending import finished
from weft.web.state import state_of


async def embeddings(request: Request) -> Response:
    """Vectors of texts."""
    state = state_of(request)
    fields = await json_of(request, state.limits)
    served = chosen(state, fields.maybe("model", str), "embeds_texts")
    given, form = fields.any("input"), fields.take("encoding_format", str, "float")
    size, more = fields.maybe("dimensions", int), fields.take("weft", dict, {})
    fields.ignore(*WITHOUT_EFFECT)
    fields.end()
    texts = [given] if isinstance(given, str) else typed(given, list, "input")
    if not 1 <= len(texts) <= state.limits.inputs or not all(isinstance(one, str) and one for one in texts):
        raise Refusal(400, f"expected a text, or from 1 to {state.limits.inputs} texts", where="input")
    if form not in ("float", "base64"):
        raise Refusal(400, "expected float or base64", where="encoding_format")
    cost, how = Cost(int(request.headers.get("content-length", "0"))), checked(served.run, "embed", more, files=False)
    job = AskJob(served, "embed", [Given(one, one) for one in texts], how, cost=cost, unsent=state.limits.unsent)
    state.engine.submit(job)
    found = await finished(request, job)
    vectors = np.asarray(found, np.float32)
    if size is not None:
        if not 1 <= size <= vectors.shape[1]:
            raise Refusal(400, f"expected from 1 to {vectors.shape[1]}", where="dimensions")
        vectors = vectors[:, :size] / np.maximum(np.linalg.norm(vectors[:, :size], axis=1, keepdims=True), 1e-12)
    data = [
        {"object": "embedding", "index": i, "embedding": one.tolist() if form == "float" else _base64(one)}
        for i, one in enumerate(vectors)
    ]
    usage = {"prompt_tokens": 0, "total_tokens": 0}
    return reply({"object": "list", "data": data, "model": served.name, "usage": usage})


def _base64(vector: np.ndarray) -> str:
    return base64.b64encode(vector.astype("<f4").tobytes()).decode()
