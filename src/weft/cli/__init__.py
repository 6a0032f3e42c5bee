"""The command line: thin, in the same words as Python. `main` turns errors into one clear line and an exit code."""

import os
import sys

from weft.cli.safe_path import use_safe_path


def main() -> None:
    """Run the `weft` command."""
    use_safe_path()
    os.umask(os.umask(0o022) | 0o002)  # nothing that weft writes may be changed by everyone
    try:
        from weft.cli.app import run
    except ImportError as error:
        from weft.requirements import missing

        print(f"weft: {missing(error)}", file=sys.stderr)
        sys.exit(2)
    sys.exit(run(sys.argv[1:]))
