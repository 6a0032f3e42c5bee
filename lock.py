"""Writes requirements.lock: every package of `weft[all,dev,docs]`, pinned by constraints.txt, with SHA-256 of files.

    .venv/bin/python lock.py

The digests are those that the index of PyPI states, of the files for all systems. torch is left out: its files differ
between indexes (CPU, CUDA, ROCm), and so do their digests.
"""

import re
import urllib.request
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_sdist_filename, parse_wheel_filename

INDEX = "https://pypi.org/simple"
LEFT_OUT = ("torch", "weft")
ELSEWHERE = {"appnope": "darwin", "colorama": "win32", "tzdata": "win32"}  # packages that only other systems need
HEAD = """# Made by lock.py from constraints.txt. torch first, from the index for your processor, then these, then weft:
#   pip install torch==2.13.0
#   pip install --require-hashes --no-deps -r requirements.lock
#   pip install --no-deps --no-build-isolation -e .
"""


def needed(start: str) -> set[str]:
    """The packages that a requirement brings, in this environment."""
    found, waiting = set[str](), [Requirement(start)]
    while waiting:
        one = waiting.pop()
        name = canonicalize_name(one.name)
        key = f"{name}[{','.join(sorted(one.extras))}]"
        if key in found:
            continue
        found |= {key, name}
        try:
            lines = requires(name) or []
        except PackageNotFoundError:
            continue
        for line in map(Requirement, lines):
            if line.marker is None or any(line.marker.evaluate({"extra": extra}) for extra in ("", *one.extras)):
                waiting.append(line)
    return {name for name in found if "[" not in name}


def digests(name: str, version: str) -> list[str]:
    """The SHA-256 of every file of a version."""
    with urllib.request.urlopen(f"{INDEX}/{name}/") as page:
        links = re.findall(r'href="[^"#]*/([^/"#]+)#sha256=([0-9a-f]{64})"', page.read().decode())
    found = []
    for file, digest in links:
        try:
            its = parse_wheel_filename(file)[1] if file.endswith(".whl") else parse_sdist_filename(file)[1]
        except ValueError:
            continue  # eggs and installers of old
        found += [digest] if str(its) == version else []
    return sorted(set(found))


def main() -> None:
    """Write the file."""
    root, wanted = Path(__file__).parent, needed("weft[all,dev,docs]") | set(ELSEWHERE)
    pins = dict(line.split("==") for line in (root / "constraints.txt").read_text().split("\n") if "==" in line)
    lines = []
    for name, version in sorted((canonicalize_name(name), version) for name, version in pins.items()):
        if name in wanted and name not in LEFT_OUT:
            found = digests(name, version)
            assert found, f"{INDEX} has no file of {name} {version}"
            marker = f' ; sys_platform == "{ELSEWHERE[name]}"' if name in ELSEWHERE else ""
            lines.append(" \\\n    ".join([f"{name}=={version}{marker}", *(f"--hash=sha256:{one}" for one in found)]))
    (root / "requirements.lock").write_text(HEAD + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
