"""Files as the system describes them, by which one that was read is known again without being read.

What is trusted: device, inode, size, and the times of the last change of content and of the inode, in nanoseconds. No
program can set the last of them, so that a change shows even where somebody puts the time of the content back.
"""

import os
import stat
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

SETTLED_SECONDS = 2.0  # since a file was last changed, before its times are trusted: some disks count no finer


@dataclass(frozen=True)
class FileMarks:
    """The marks of some files, in order: name, device, inode, size, and both times."""

    files: tuple[tuple[str, int, int, int, int, int], ...]
    settled: bool  # all were last changed long enough ago

    @staticmethod
    def of(paths: Iterable[str | Path], *, absent: bool = False) -> "FileMarks | None":
        """The marks of files; None where one is not a plain file that is there. `absent`: that it is not, is a mark."""
        found, now = [], time.time()
        for path in paths:
            try:
                real = os.path.realpath(path)
                seen = os.stat(real)
                plain = stat.S_ISREG(seen.st_mode)
            except OSError:
                plain = False
            if not plain and not absent:
                return None
            if not plain:
                found.append((real, 0, 0, 0, 0, 0))
                continue
            found.append((real, seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns))
        newest = max((max(one[4:]) for one in found), default=0) / 1e9
        return FileMarks(tuple(found), newest + SETTLED_SECONDS <= now)

    def trusted(self, paths: Iterable[str | Path]) -> bool:
        """Whether what was just read may be known by these marks: nothing has changed, and nothing was too new."""
        again = FileMarks.of(paths, absent=True)
        return self.settled and again is not None and again.files == self.files

    @property
    def bytes(self) -> int:
        """The size of all files."""
        return sum(one[3] for one in self.files)
