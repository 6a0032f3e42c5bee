"""Who may ask, and what every answer says to browsers. Decides by the ASGI scope alone, never by an address made of it.

A page of another site must not reach a server on this machine: by its own requests (Origin, Sec-Fetch-Site), by a name
that leads here (DNS rebinding: Host), or by a form (types of bodies, see `bodies`). All are lists of what is allowed.
"""

import hmac
import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass, field

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from weft.web.limits import Limits
from weft.web.replies import Refusal

METHODS = ("GET", "HEAD", "POST")
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; "
    "connect-src 'self'; frame-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'; "
    "require-trusted-types-for 'script'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "x-frame-options": "DENY",
}


@dataclass(frozen=True)
class Allowed:
    """Which hosts may be named, with the port that is bound (None: a socket of the file system), and the token."""

    port: int | None
    bound: str = "127.0.0.1"
    names: tuple[str, ...] = ()  # further names, as a proxy passes them on
    token: str | None = field(default=None, repr=False)

    def hosts(self, scope: Scope) -> set[str]:
        """What may stand in Host."""
        plain = {*LOOPBACK}
        if not is_loopback(self.bound):
            plain |= {_bracketed(self.bound), _bracketed(str((scope.get("server") or ("", 0))[0]))} - {"", "0.0.0.0"}
        known = set(self.names)
        for name in (*plain, *self.names):
            known |= {f"{name}:{self.port}"} | ({name} if self.port in (80, None) else set())
        return {name.lower() for name in known}

    def check(self, scope: Scope, limits: Limits) -> None:
        """Refuse what may not be asked."""
        headers = scope["headers"]
        if scope["method"] not in METHODS:
            raise Refusal(405, "only GET, HEAD and POST are answered", headers={"allow": ", ".join(METHODS)})
        if len(headers) > limits.headers:
            raise Refusal(431, f"more than {limits.headers} headers", close=True)
        if not scope.get("raw_path", b"/").startswith(b"/"):
            raise Refusal(400, "expected a path as the target of the request", close=True)
        hosts = self.hosts(scope)
        host = _only(headers, b"host")
        if host is None or host.lower() not in hosts:
            problem = "this server does not answer to that name (Host)"
            raise Refusal(403, problem, fix="use the address that it printed, or start it with --name NAME")
        origin = _only(headers, b"origin")
        if origin is not None and origin.lower() not in {f"{kind}://{name}" for name in hosts for kind in self._kinds}:
            raise Refusal(403, "pages of other origins may not ask (Origin)")
        if _only(headers, b"sec-fetch-site") not in (None, "same-origin", "none"):
            raise Refusal(403, "pages of other sites may not ask (Sec-Fetch-Site)")
        if _only(headers, b"content-length") is not None and _only(headers, b"transfer-encoding") is not None:
            raise Refusal(400, "Content-Length and Transfer-Encoding exclude each other", close=True)

    @property
    def _kinds(self) -> tuple[str, ...]:
        return ("http", "https") if self.names else ("http",)

    def check_token(self, scope: Scope) -> None:
        """Refuse who does not know the token; called by every route that is not open."""
        if self.token is None:
            return
        said = _only(scope["headers"], b"authorization") or ""
        kind, _, word = said.partition(" ")
        known = hmac.compare_digest(word.strip().encode(), self.token.encode())
        if kind.lower() != "bearer" or not known:
            problem = "this server needs its token"
            fix = "send the header Authorization: Bearer TOKEN; the page takes it from #token= in its address"
            raise Refusal(401, problem, fix=fix, headers={"www-authenticate": "Bearer"})


class Guard:
    """The application behind the checks; every answer gets the headers."""

    def __init__(self, app: ASGIApp, allowed: Allowed, limits: Limits):
        self.app, self.allowed, self.limits = app, allowed, limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                said = {name.lower() for name, _ in message["headers"]}
                more = [(n.encode(), v.encode()) for n, v in HEADERS.items() if n.encode() not in said]
                kept = [] if b"cache-control" in said else [(b"cache-control", b"no-store")]
                message["headers"] = [*message["headers"], *more, *kept]
            await send(message)

        try:
            self.allowed.check(scope, self.limits)
        except Refusal as refusal:
            await refusal.response()(scope, receive, guarded)
            return
        await self.app(scope, receive, guarded)


def is_loopback(host: str) -> bool:
    """Whether an address to bind is of this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _only(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> str | None:
    """The value of a header; one that stands twice is refused."""
    found = [value for key, value in headers if key == name]
    if len(found) > 1:
        raise Refusal(400, f"the header {name.decode()} stands twice", close=True)
    return found[0].decode("latin-1") if found else None
