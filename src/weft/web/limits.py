"""How much a server takes at once. Knows numbers alone."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What is received, what may wait, and what is computed at once; more is refused, never kept."""

    body: int = 32 * 2**20  # bytes of a request
    head: int = 16 * 2**10  # bytes of its request line and headers
    headers: int = 100
    seconds: float = 10.0  # to receive a request, from its first byte to its last
    idle: float = 5.0  # seconds that a connection may wait for its next request
    connections: int = 2000
    accepted: int = 32  # connections that are accepted between two looks at those that are there
    inputs: int = 256  # of one request
    waiting: int = 64  # requests in the queue
    tokens: int = 2**18  # that all requests in the queue and in work may still write
    bytes: int = 64 * 2**20  # of all requests in the queue and in work
    rows: int = 32  # texts that are written together; inputs that are computed together
    unsent: int = 64 * 2**10  # bytes of a stream that its client has not read
    drain: float = 20.0  # seconds that requests have to finish once the server is to end
