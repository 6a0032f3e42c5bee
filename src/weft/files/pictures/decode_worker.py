"""A process that does nothing but decode pictures, so that a picture which crashes its decoder ends this process alone.

Run as `python -m weft.files.pictures.decode_worker SECONDS`. Requests come on standard input, answers go to standard
output; at the end of its input it ends. It imports no more than decoding needs. A picture that takes more
than SECONDS ends the process: the system's alarm does it, even while the decoder is in C code.
"""

import os
import signal
import sys
from collections.abc import Callable
from typing import IO

from PIL import Image

from weft.errors import DataError
from weft.files.pictures.decode_protocol import BUFFER, receive_request, send_answer, send_ready
from weft.files.pictures.decoding import SMALL, Decoded, decode

Decoder = Callable[[bytes, str], Decoded]


def small(content: bytes, where: str) -> Decoded:
    """A picture at the size at which all are tried."""
    return decode(content, where=where, side=SMALL)


def serve(decoder: Decoder, seconds: float) -> None:
    """Answer requests until there are no more."""
    requests, answers = os.fdopen(os.dup(0), "rb", BUFFER), os.fdopen(os.dup(1), "wb", BUFFER)
    os.dup2(2, 1)  # what a library prints must not stand between answers
    _leave_no_core()
    Image.preinit()
    send_ready(answers)
    while pictures := _asked(requests):
        for where, content in pictures:
            _limit(seconds)
            answer = _answer(decoder, content, where)
            _limit(0)
            send_answer(answers, answer)
        answers.flush()


def _asked(requests: IO[bytes]) -> list[tuple[str, bytes]]:
    try:
        return receive_request(requests)
    except EOFError:  # the parent is done, or gone
        return []


def _answer(decoder: Decoder, content: bytes, where: str) -> Decoded | DataError:
    try:
        return decoder(content, where)
    except DataError as error:
        return error
    except Exception as error:
        return DataError(f"decoding it failed: {type(error).__name__}: {error}", where=where)


def _limit(seconds: float) -> None:
    """End this process by a signal after `seconds`; 0 removes the limit."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)


def _leave_no_core() -> None:
    """Write no core dump: crashes are expected here."""
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(signal.SIGALRM, signal.SIG_DFL)  # it may have been ignored by whoever started this


if __name__ == "__main__":
    serve(small, float(sys.argv[1]))
