"""The page for people: a fixed table of files, read at the start. No path of a request names a file."""

from collections.abc import Awaitable, Callable
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response

KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
NAMES = ("page.css", "page.js", "made.js", "forms.js", "answers.js", "inside.js", "changing.js", "training.js")
FILES = {"/": "index.html", **{f"/page/{name}": name for name in NAMES}}


def pages() -> dict[str, Callable[[Request], Awaitable[Response]]]:
    """What answers each address of the page."""
    return {address: _answer(name) for address, name in FILES.items()}


def _answer(name: str) -> Callable[[Request], Awaitable[Response]]:
    content = (files("weft.web") / "page" / name).read_bytes()
    kind = KINDS[name[name.rindex(".") :]]

    async def page(request: Request) -> Response:
        return Response(content, media_type=kind)

    return page
