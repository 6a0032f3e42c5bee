"""Builds the native library from its C sources with the machine's compiler. Imports nothing heavy: setup.py uses it."""

import hashlib
import os
import shutil
import subprocess
import tempfile
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


def build(target: Path) -> str | None:
    """Compile the sources into a shared library; returns what went wrong, or None.

    With threads (OpenMP) where the compiler has them. The file appears whole or not at all.
    """
    found = compiler()
    if found is None:
        return "there is no C compiler (cc)"
    problem: str | None = None
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as folder:
            made = Path(folder) / target.name
            for threads in (("-fopenmp",), ()):
                problem = _compile([found, *FLAGS, *threads, f'-DSOURCES="{digest()}"'], made)
                if problem is None:
                    os.replace(made, target)
                    return None
    except OSError as error:
        problem = f"{target.parent} cannot be written: {error.strerror}"
    return problem


def _compile(command: list[str], made: Path) -> str | None:
    files = [str(file) for file in sources()]
    try:
        done = subprocess.run(
            [*command, "-shared", *files, "-o", str(made), "-lm"], capture_output=True, text=True, timeout=SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"the compiler did not run: {error}"
    return None if done.returncode == 0 else f"the compiler refused: {(done.stderr.strip() or '?').splitlines()[0]}"
