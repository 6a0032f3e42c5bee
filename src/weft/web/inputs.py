"""Values of a request as inputs of a task. A text is a text: nothing here is ever the name of a file, or an address.

text                    "a text"
picture                 {"base64": "…"} or {"pixels": [[[r, g, b], …], …]}
picture and question    {"picture": as above, "question": "…"}
place                   "48.1, 11.6" or [48.1, 11.6]; a table of places as a file
file                    {"base64": "…", "ending": ".nc"}; a list of numbers; a graph as an object
"""

import base64
import binascii
import json
from typing import Any

import numpy as np
from starlette.requests import Request

from weft.tasks.asks import Asks, Content, Given, Questioned, Spot, Value
from weft.web.bodies import BYTES, JsonFields, body_of, kind_of, query_of, typed
from weft.web.limits import Limits
from weft.web.replies import Refusal

DEEPEST = 3  # of lists that are pixels


def given_of(asks: tuple[Asks, ...], value: Any, number: int) -> Given:
    """An input of one of the kinds that a task asks for, with its name in the answer."""
    where, kind = f"input {number + 1}", asks[0]
    if isinstance(value, str) and kind.kind in ("text", "place"):
        return Given(value, value)
    if kind.kind == "text" and isinstance(value, dict) and "question" in value:
        fields = JsonFields(value, where)
        passage, asked = fields.take("context", str, ""), fields.take("question", str, "")
        fields.end()
        return Given(Questioned(passage, asked), where)
    if kind.kind == "text":
        picture = next((one for one in asks if one.kind == "picture"), None)
        if picture is None or not isinstance(value, dict):
            raise Refusal(400, "expected a text", where=where)
        kind = picture
    if kind.kind == "place" and not isinstance(value, dict):
        numbers = [typed(one, float, where) for one in typed(value, list, where)]
        return Given(Spot(tuple(numbers)), ", ".join(f"{one:g}" for one in numbers))
    if kind.kind == "picture and question":
        fields = JsonFields(value, where)
        picture, question = fields.any("picture"), fields.maybe("question", str)
        fields.end()
        found = _picture(picture, where)
        return Given(found if question is None else Questioned(found, question), where)
    if kind.kind == "picture":
        if isinstance(value, str) and any(one.kind == "text" for one in asks):
            return Given(value, value)
        return Given(_picture(value, where), where)
    return Given(_file(value, kind, where), where)


def content_of(asks: tuple[Asks, ...], body: bytes, ending: str, question: str | None) -> Given:
    """The input whose bytes are a body."""
    kind = asks[0].kind
    if kind not in ("picture", "picture and question", "file", "place"):
        raise Refusal(415, "this run takes texts: send JSON", where="content-type")
    pictures = kind.startswith("picture")
    content = Content(body, ending if pictures else _ending(ending, asks[0]))
    return Given(content if question is None or not pictures else Questioned(content, question), "input 1")


async def content_in(request: Request, asks: tuple[Asks, ...], limits: Limits) -> tuple[Given, dict[str, Any], int]:
    """The input whose bytes are the body of a request, the settings in its address, and its size."""
    body, settings = await body_of(request, limits), dict[str, Any](query_of(request))
    ending, question = settings.pop("ending", BYTES[kind_of(request)]), settings.pop("question", None)
    return content_of(asks, body, ending, question), settings, len(body)


def _picture(value: Any, where: str) -> Content | np.ndarray:
    fields = JsonFields(value, where)
    said, pixels, ending = fields.maybe("base64", str), fields.maybe("pixels", list), fields.take("ending", str, "")
    fields.end()
    if (said is None) == (pixels is None):
        raise Refusal(400, 'expected a picture: {"base64": "…"} or {"pixels": […]}', where=where)
    if said is not None:
        return Content(_bytes(said, where), ending[:8])
    try:
        found = np.array(pixels)
        good = found.dtype.kind in "iu" and found.ndim in (2, DEEPEST) and found.min() >= 0 and found.max() <= 255
    except (ValueError, OverflowError):
        good = False
    if not good:
        raise Refusal(400, "expected rows of pixels, of numbers from 0 to 255", where=where)
    return found.astype(np.uint8)


def _file(value: Any, asks: Asks, where: str) -> Value:
    """What a file would hold: bytes with their ending, numbers in words, or an object that would be a .json file."""
    if isinstance(value, str):
        return value  # numbers in words where the task knows such; else it refuses
    if isinstance(value, list):
        return json.dumps(value)
    if isinstance(value, dict) and "base64" not in value and ".json" in asks.endings:
        return Content(json.dumps(value).encode(), ".json")
    fields = JsonFields(value, where)
    said, ending = fields.maybe("base64", str), fields.take("ending", str, "")
    fields.end()
    if said is None:
        raise Refusal(400, f'expected {asks.called}: {{"base64": "…", "ending": "{asks.endings[0]}"}}', where=where)
    return Content(_bytes(said, where), _ending(ending, asks))


def _ending(said: str, asks: Asks) -> str:
    """The ending of a file, which must be a known one: it becomes part of a name."""
    if said.lower() not in asks.endings:
        problem = f"expected the ending of {asks.called}: one of {', '.join(asks.endings)}"
        raise Refusal(400, problem, where="ending")
    return said.lower()


def _bytes(text: str, where: str) -> bytes:
    try:
        found = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        found = b""
    if not found:
        raise Refusal(400, "expected bytes in base64", where=where)
    return found
