"""Memory that a training step has freed, kept for the next one. Knows the C library, no tensor."""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

# the numbers of glibc's malloc.h
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
LARGEST_MMAP_THRESHOLD = 32 << 20  # bytes: larger blocks always come from the system, and go back to it
USUAL_TRIM_THRESHOLD = 2 * LARGEST_MMAP_THRESHOLD  # free bytes that glibc comes to keep by itself
KEPT = 1 << 30  # free bytes that are kept while training


@contextmanager
def kept_memory() -> Iterator[None]:
    """Keep what is freed within, up to a gigabyte.

    Every step frees its activations and gradients, and glibc gives much of that back to the system. The next step gets it
    anew page by page, each page cleared first: 10,000 pages a step of 4 layers, 160 wide. Other C libraries have no such
    switch, and nothing is changed.
    """
    try:
        library = ctypes.CDLL(None)
        keep, trim = library.mallopt, library.malloc_trim
    except (OSError, AttributeError, TypeError):
        yield
        return
    keep(MMAP_THRESHOLD, LARGEST_MMAP_THRESHOLD)
    keep(TRIM_THRESHOLD, KEPT)
    try:
        yield
    finally:
        keep(TRIM_THRESHOLD, USUAL_TRIM_THRESHOLD)
        trim(0)
