"""The trial of pictures: every one is decoded once, several at a time, and comes out in its order."""

import os
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from weft.errors import DataError
from weft.files.pictures.decode_workers import Children
from weft.files.pictures.decoding import SMALL, Decoded, Passing
from weft.files.pictures.locations import PictureEntry, digest

TOGETHER = 16  # pictures that one thread tries
MESSAGE = 4 * 2**20  # bytes of files, about, that one message holds

Outcome = tuple[bytes, Decoded] | DataError  # the digest of the content, and the picture


def tried(entries: Sequence[PictureEntry], children: Children) -> Generator[tuple[PictureEntry, Outcome], None, None]:
    """Every picture decoded, or what is wrong with it, in their order. Few wait in memory at a time."""
    threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    waiting: deque[tuple[Sequence[PictureEntry], Future[list[Outcome]]]] = deque()
    with ThreadPoolExecutor(threads) as pool, children:
        try:
            for start in range(0, len(entries), TOGETHER):
                some = entries[start : start + TOGETHER]
                waiting.append((some, pool.submit(_try, some, children)))
                if len(waiting) > 2 * threads:
                    yield from _next(waiting)
            while waiting:
                yield from _next(waiting)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)  # what nobody waits for any more


def _next(
    waiting: deque[tuple[Sequence[PictureEntry], Future[list[Outcome]]]],
) -> Iterator[tuple[PictureEntry, Outcome]]:
    some, future = waiting.popleft()
    return zip(some, future.result(), strict=True)


def _try(entries: Sequence[PictureEntry], children: Children) -> list[Outcome]:
    """The outcome for each of some pictures; what is in memory as pixels needs no child."""
    outcomes: dict[int, Outcome] = {}
    message: dict[int, bytes] = {}

    def send() -> None:
        answers = children.decode([(entries[i].place.where, content) for i, content in message.items()])
        for (i, content), answer in zip(message.items(), answers, strict=True):
            outcomes[i] = answer if isinstance(answer, DataError) else (digest(content), answer)
        message.clear()

    for i, entry in enumerate(entries):
        try:
            content = entry.place.content()
            if entry.place.in_memory:
                outcomes[i] = digest(content), entry.place.decode(content, SMALL)
            else:
                message[i] = content
        except DataError as error:
            outcomes[i] = Passing(error.problem, where=error.where, fix=error.fix)
        if sum(map(len, message.values())) > MESSAGE:
            send()
    if message:
        send()
    return [outcomes[i] for i in range(len(entries))]
