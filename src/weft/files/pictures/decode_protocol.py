"""What a process that decodes pictures is asked and answers, as bytes. Knows no processes.

Every part of a message is its length in eight bytes, then itself: JSON, the content of a file, or raw pixels. A request
holds several pictures, as going to and fro costs more than a small picture does.
"""

import json
import struct
from collections.abc import Sequence
from typing import IO, Any

import numpy as np

from weft.errors import DataError
from weft.files.pictures.decoding import Decoded, Passing

READY = b"ready to decode"
BUFFER = 2**16  # bytes that are sent and received at a time
LENGTH = struct.Struct("<Q")


def send_request(stream: IO[bytes], pictures: Sequence[tuple[str, bytes]]) -> None:
    """Ask for pictures to be decoded: the name of each, for messages, and its content."""
    _send(stream, _json([where for where, _ in pictures]))
    for _, content in pictures:
        _send(stream, content)
    stream.flush()


def receive_request(stream: IO[bytes]) -> list[tuple[str, bytes]]:
    """The pictures of one request, all of them before the first is answered: else both sides might wait to be read."""
    return [(where, receive(stream)) for where in json.loads(receive(stream))]


def send_answer(stream: IO[bytes], answer: Decoded | DataError) -> None:
    """Answer for one picture; it need not leave before the stream is flushed."""
    if isinstance(answer, DataError):
        words = {"problem": answer.problem, "where": answer.where, "fix": answer.fix}
        _send(stream, _json({**words, "passing": isinstance(answer, Passing)}))
    else:
        known = answer.missing is None
        _send(stream, _json({"shape": answer.pixels.shape, "known": known, "notes": answer.notes, "span": answer.span}))
        stream.write(answer.pixels.data)
        if answer.missing is not None:
            stream.write(answer.missing.data)


def receive_answer(stream: IO[bytes]) -> Decoded | DataError:
    """The picture, or what is wrong with it."""
    head = json.loads(receive(stream))
    if "problem" in head:
        fault = Passing if head["passing"] else DataError
        return fault(head["problem"], where=head["where"], fix=head["fix"])
    height, width, channels = head["shape"]
    pixels = _array(stream, (height, width, channels), np.uint8)
    missing = None if head["known"] else _array(stream, (height, width), np.bool_)
    return Decoded(pixels, missing, tuple(head["notes"]), head["span"])


def send_ready(stream: IO[bytes]) -> None:
    """Say that requests can be answered."""
    _send(stream, READY)
    stream.flush()


def receive(stream: IO[bytes]) -> bytes:
    """One part of a message; `EOFError` where the other side has ended."""
    (length,) = LENGTH.unpack(_exactly(stream, LENGTH.size))
    return _exactly(stream, length)


def _exactly(stream: IO[bytes], length: int) -> bytes:
    data = stream.read(length)
    if len(data) < length:
        raise EOFError
    return data


def _array(stream: IO[bytes], shape: tuple[int, ...], kind: type[np.generic]) -> np.ndarray:
    values = np.empty(shape, kind)
    if stream.readinto(values.data.cast("B")) < values.nbytes:  # type: ignore[attr-defined]
        raise EOFError
    return values


def _send(stream: IO[bytes], data: bytes) -> None:
    stream.write(LENGTH.pack(len(data)))
    stream.write(data)


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()
