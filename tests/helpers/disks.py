"""Writing that does not wait for the disk: what a process has written, another reads at once, even after a kill.

Waiting matters where power fails, which no test does. It takes milliseconds for each file, and tests write many
thousands. Tests in `storage` and commands in processes of their own wait as weft does.
"""

import os

fsync = os.fsync  # which waits


def without_waiting() -> None:
    """From now on, this process and those that are forked from it do not wait for the disk."""
    os.fsync = lambda file: None
