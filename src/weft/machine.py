"""Faults of machines that would end a process: matrix tiles that are not there, a user without a home folder, and
too little memory.

Libraries are told by environment variables, before they are imported. Imports nothing heavy.
"""

import atexit
import contextlib
import os
import shutil
import stat
import tempfile
from functools import cache
from pathlib import Path

AMX_LEAF = 0x1D  # where a processor describes its matrix tiles (AMX)
WITHOUT_AMX = "AVX512_CORE_FP16"
CACHES = {"weft": "WEFT_CACHE", "huggingface": "HF_HOME", "matplotlib": "MPLCONFIGDIR"}  # who keeps files in a home


def avoid_broken_amx(info: Path = Path("/proc/cpuinfo")) -> None:
    """Keep torch from matrix tiles (AMX) where a virtual machine offers them but hides their description.

    Products in bf16 die there of an illegal instruction. Torch's library asks for this variable at its first product,
    so it has to be set before; a user's own choice is left alone.
    """
    try:
        text = info.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    facts = {name.strip(): value for name, _, value in (line.partition(":") for line in text.splitlines())}
    level = facts.get("cpuid level", "").strip()
    if "amx_tile" in facts.get("flags", "").split() and level.isdecimal() and int(level) < AMX_LEAF:
        os.environ.setdefault("ONEDNN_MAX_CPU_ISA", WITHOUT_AMX)


def do_without_home() -> None:
    """Give caches a private folder among temporary files where a user has no home, or one that cannot be written.

    A cache that is in the home already is used as it is, and so is one that a user's own variable names.
    """
    home = os.path.expanduser(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    needed = [name for name, variable in CACHES.items() if variable not in os.environ]
    if not needed or (os.path.isabs(home) and _can_write(Path(home))):
        return
    with contextlib.suppress(OSError):  # no room for temporary files either: what needs a cache will say so
        private = _private_folder()
        for name in needed:
            if not (os.path.isabs(home) and os.path.isdir(os.path.join(home, name))):
                os.environ[CACHES[name]] = str(private / name)


def _can_write(folder: Path) -> bool:
    """Whether files can be made in a folder, or in the one that it would be made in."""
    try:
        there = next(place for place in (folder, *folder.parents) if place.exists())
    except (OSError, StopIteration):
        return False
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)


def _private_folder() -> Path:
    """A folder that only this user can read or change. One of that name which somebody else made is not used."""
    user = os.getuid() if hasattr(os, "getuid") else None
    folder = Path(tempfile.gettempdir(), "weft" if user is None else f"weft-{user}")
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    found = folder.lstat()
    if stat.S_ISDIR(found.st_mode) and (user is None or (found.st_uid == user and not found.st_mode & 0o077)):
        return folder
    fresh = tempfile.mkdtemp(prefix="weft-")
    atexit.register(shutil.rmtree, fresh, ignore_errors=True)
    return Path(fresh)


@cache
def memory() -> float:
    """Bytes of memory that this process may use; asked of the system once."""
    return memory_within(Path("/sys/fs/cgroup/memory.max"))


def memory_within(limits: Path) -> float:
    """Bytes of memory that a process may use: the machine's, or what a container or `ulimit -v` leaves of it."""
    found = [float("inf")]
    with contextlib.suppress(AttributeError, ValueError, OSError):
        found.append(float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")))
    with contextlib.suppress(ValueError, OSError):
        found.append(float(limits.read_text()))
    with contextlib.suppress(ImportError):
        import resource

        asked = resource.getrlimit(resource.RLIMIT_AS)[0]
        found += [] if asked == resource.RLIM_INFINITY else [max(0.0, float(asked) - _addresses_in_use())]
    return min(found)


def _addresses_in_use() -> float:
    """Bytes of addresses that this process has, which `ulimit -v` counts; 0 where the system does not tell."""
    with contextlib.suppress(OSError, ValueError):
        return float(os.sysconf("SC_PAGE_SIZE") * int(Path("/proc/self/statm").read_text().split()[0]))
    return 0.0
