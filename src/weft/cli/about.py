"""Commands that tell what weft and this machine can do: tasks, doctor."""

from typing import Annotated

import typer

from weft.cli import output
from weft.cli.words import Json

commands = typer.Typer()


@commands.command()
def tasks(
    task: Annotated[str | None, typer.Argument(metavar="TASK", help="One task, in full.")] = None,
    json: Json = False,
) -> None:
    """What can be trained, from which files, with which models, presets and settings."""
    output.prepare()
    from weft.tasks.registry import CARDS, card_named

    output.tasks([card_named(task)] if task else list(CARDS.values()), task is not None, json)


@commands.command()
def doctor(json: Json = False) -> None:
    """What this machine can do, and what would make it faster."""
    output.prepare(computes=True)
    from weft.cli.doctor import examine

    output.examined(examine(), json)
