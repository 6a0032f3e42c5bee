"""The page for people: a fixed table of files, read at the start. No path of a request names a file."""

from collections.abc import Awaitable, Callable
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response

KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
FILES = {"/": "index.html", "/page/page.css": "page.css", "/page/page.js": "page.js"}


def pages() -> dict[str, Callable[[Request], Awaitable[Response]]]:
    """What answers each address of the page."""
    return {address: _answer(name) for address, name in FILES.items()}


def _answer(name: str) -> Callable[[Request], Awaitable[Response]]:
    content = (files("weft.web") / "page" / name).read_bytes()
    kind = KINDS[name[name.rindex(".") :]]

    async def page(request: Request) -> Response:
        return Response(content, media_type=kind)

    return page
