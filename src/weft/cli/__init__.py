"""The command line: thin, in the same words as Python. `main` turns errors into one clear line and an exit code."""

import os
import sys


def main() -> None:
    """Run the `weft` command."""
    _safe_path()
    from weft.cli.app import run

    sys.exit(run(sys.argv[1:]))


def _safe_path() -> None:
    """Nothing in the current folder or in PYTHONPATH may stand in for a library, unless weft itself lives there."""
    home = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    given = [os.path.abspath(p) for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]
    unsafe = {os.getcwd(), *given} - {home}
    sys.path[:] = [p for p in sys.path if p and os.path.abspath(p) not in unsafe]
