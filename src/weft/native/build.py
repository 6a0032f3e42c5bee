"""Builds the native library from its C sources with the machine's compiler. Imports nothing heavy: setup.py uses it."""

import hashlib
import os
import shutil
import stat
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

KERNELS = Path(__file__).parent / "kernels"
SECONDS = 120.0  # the longest that a compiler may take
FLAGS = ("-std=gnu11", "-O3", "-fPIC", "-fno-math-errno", "-fno-trapping-math", "-Wno-psabi")


def sources() -> list[Path]:
    """The files that are compiled."""
    return sorted(KERNELS.glob("*.c"))


def headers() -> list[Path]:
    """The files that those include."""
    return sorted(KERNELS.glob("*.h"))


def digest() -> str:
    """What the sources are, in 16 characters: a library built from others is not used."""
    found = hashlib.sha256(repr(FLAGS).encode())
    for file in [*sources(), *headers()]:
        found.update(file.name.encode() + b"\0" + file.read_bytes())
    return found.hexdigest()[:16]


def compiler() -> str | None:
    """The compiler: the one that CC names, or cc."""
    return shutil.which(os.environ.get("CC") or "cc")


def cache_folder() -> Path:
    """Where libraries that are built at their first use are kept; `machine` names it where there is no home."""
    root = os.environ.get("WEFT_CACHE") or os.path.join(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "weft")
    return Path(os.path.expanduser(root)) / "native"


def kept(folder: Path) -> Path | None:
    """The library that was built from these sources into a folder, if it is whole; one that is torn is deleted."""
    for found in sorted(folder.glob(f"kernels-{digest()}-*.so")):
        if is_private(found) and _named(found) == found.name:
            return found
        with suppress(OSError):
            found.unlink()
    return None


def is_private(path: Path) -> bool:
    """Whether a file or folder is this user's, no link, and nobody else can write to it: what is loaded is executed."""
    if not hasattr(os, "geteuid"):
        return True  # Windows, where folders of users are their own
    try:
        info = os.lstat(path)
    except OSError:
        return False
    return not stat.S_ISLNK(info.st_mode) and info.st_uid == os.geteuid() and not info.st_mode & 0o022


def build(folder: Path) -> Path | str:
    """Compile the sources into a shared library in a folder; returns it, or what went wrong.

    With threads (OpenMP) where the compiler has them. The file appears whole or not at all, its digest in its name.
    """
    found = compiler()
    if found is None:
        return "there is no C compiler (cc)"
    problem: str | None = None
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as place:
            made = Path(place) / "kernels.so"
            for threads in (("-fopenmp",), ()):
                problem = compiled([found, *FLAGS, *threads], made)
                if problem is None:
                    return _kept_whole(made, folder)
    except OSError as error:
        problem = f"{folder} cannot be written: {error.strerror}"
    return problem or ""


def _kept_whole(made: Path, folder: Path) -> Path:
    """Move a library into a folder once all of it is on the disk."""
    made.chmod(0o700)
    with made.open("r+b") as file:
        os.fsync(file.fileno())
    return made.replace(folder / _named(made))


def _named(library: Path) -> str:
    """The name under which a library is kept: what it was built from, and what it is."""
    return f"kernels-{digest()}-{hashlib.sha256(library.read_bytes()).hexdigest()}.so"


def compiled(command: list[str], made: Path, seconds: float = SECONDS) -> str | None:
    """Compile the sources by a command; returns what went wrong, or None."""
    files = [str(file) for file in sources()]
    try:
        done = subprocess.run(
            [*command, f'-DSOURCES="{digest()}"', "-shared", *files, "-o", str(made), "-lm"],
            capture_output=True,
            text=True,
            timeout=seconds,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"the compiler did not run: {error}"
    return None if done.returncode == 0 else f"the compiler refused: {(done.stderr.strip() or '?').splitlines()[0]}"
