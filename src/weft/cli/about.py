"""Commands that tell what weft and this machine can do: tasks, doctor, completion."""

from typing import Annotated

import typer

from weft.cli import output
from weft.cli.words import Json, examples

commands = typer.Typer()


@commands.command()
def tasks(
    task: Annotated[str | None, typer.Argument(metavar="TASK", help="Show everything about one task.")] = None,
    json: Json = False,
) -> None:
    """List what can be trained: files, models, presets and settings."""
    output.prepare()
    from weft.cli import task_pages
    from weft.domains.registry import all_cards, card_named

    task_pages.tasks([card_named(task)] if task else list(all_cards().values()), task is not None, json)


@commands.command()
def doctor(json: Json = False) -> None:
    """Say what this machine can do, and what would make it faster."""
    output.prepare(computes=True)
    from weft.cli.doctor import examine

    output.examined(examine(), json)


@commands.command(
    epilog=examples(
        'eval "$(weft completion bash)"             in ~/.bashrc',
        'eval "$(weft completion zsh)"              in ~/.zshrc',
        "weft completion fish > ~/.config/fish/completions/weft.fish",
    )
)
def completion(
    context: typer.Context,
    shell: Annotated[str, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")],
) -> None:
    """Print a script that lets the Tab key complete weft's words."""
    output.prepare()
    from weft.cli.completion import script

    print(script(shell, context.find_root().command), end="")
