"""The command line: words in, one call of the Python API, words out. Refuses to know tasks and models.

`main` turns errors into one clear line and an exit code. Torch is loaded only by commands that compute.

    app                       all commands together; an exit code comes out
    learning                  check, plan, train, soup, demo
    using                     predict, evaluate, look, embed
    trying                    lab
    serving                   serve, chat
    exchange                  import, export
    keeping                   runs, runs compare, runs clean, runs verify
    about                     tasks, doctor, completion
    words, config_file        options, numbers and settings as they are typed; run.toml
    output, text_tables       what is printed: results on stdout, the rest on stderr; tables of runs
    measured                  an evaluation in a terminal: measures, plain methods, classes, mistakes
    checked, task_pages       what `weft check` and `weft tasks` print
    doctor, completion        what this machine can do; scripts for shells
    outcome, plain_help       errors as words and exit codes; help pages
    safe_path                 where Python looks for libraries when weft is a command
"""

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
