"""Where Python looks for libraries when weft is a command. Imports nothing that could be stood in for.

Nothing in the current folder may stand in for a library, and what PYTHONPATH names is looked at last. The places of
Python's own libraries, and that of weft, stay as they are.
"""

import os
import site
import sys


def is_command() -> bool:
    """Whether this Python was started to be the `weft` command, by its name or by `python -m weft`."""
    name = os.path.basename(sys.argv[0]) if getattr(sys, "argv", None) else ""
    return name in ("weft", "weft.exe") or (name == "-m" and "weft" in sys.orig_argv)


def use_safe_path() -> None:
    """Take the current folder out of the places to look, and put those of PYTHONPATH at their end."""
    try:
        here = os.getcwd()
    except OSError:  # it was deleted
        here = ""
    home = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    libraries = {home, os.path.dirname(os.__file__), *site.getsitepackages()}
    named = {os.path.abspath(p) for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p}
    places = {p: os.path.abspath(p) if p else here for p in sys.path}
    first = [p for p, full in places.items() if full in libraries or full not in {here, *named}]
    sys.path[:] = first + [p for p, full in places.items() if p not in first and full != here]
