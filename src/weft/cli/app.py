"""The command line: words in, an exit code out. Commands are thin, and torch is loaded only by those that compute."""

from collections.abc import Iterable
from typing import Annotated

import typer

from weft.cli import about, exchange, keeping, learning, serving, trying, using
from weft.cli.outcome import exit_code
from weft.cli.plain_help import with_plain_help
from weft.version import VERSION

app = typer.Typer(
    name="weft",
    help="Train transformers on your own files, use them, and look inside.",
    epilog="Start with `weft demo`, or with your own text: `weft train book.txt`.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for part in (learning, using, serving, trying, exchange, about):  # the order of the help page
    app.registered_commands += part.commands.registered_commands
app.add_typer(keeping.commands)


def run(arguments: Iterable[str]) -> int:
    """Run a command; returns the exit code: 0 done, 2 the user's mistake, 70 weft's fault, 74 storage, 75 saved."""
    words = list(arguments) or ["--help"]
    options = words[: words.index("--")] if "--" in words else words
    debug = "--debug" in options
    if debug:
        words.remove("--debug")
    return exit_code(
        lambda: with_plain_help(typer.main.get_command(app))(words, standalone_mode=False, prog_name="weft"),
        commands=[
            *(command.name or command.callback.__name__ for command in app.registered_commands if command.callback),
            *(str(group.typer_instance.info.name) for group in app.registered_groups if group.typer_instance),
        ],
        as_json="--json" in options,
        debug=debug,
    )


def _version(wanted: bool) -> None:
    if wanted:
        print(f"weft {VERSION}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the whole traceback of an error.")] = False,
) -> None:
    """Train transformers on your own files, use them, and look inside."""
