"""Commands about runs that are there: weft runs, weft runs compare, clean and verify."""

from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core

from weft.cli import output
from weft.cli import text_tables as tables
from weft.cli.words import Json, examples
from weft.errors import WeftError, closest


class FolderOrCommand(typer.core.TyperGroup):
    """`weft runs FOLDER` lists the runs there: what is no command is the name of a folder, and `list` takes it."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if self.get_command(ctx, args[0]) is None:
            if not _is_place(args[0]) and closest(args[0], self.commands) is None:
                fix = "name a folder of runs; without one, `weft runs` lists those in ./runs"
                raise WeftError("no such folder", where=f"weft runs {args[0]}", fix=fix)
            if _is_place(args[0]):
                args = ["list", *args, *["--json"] * bool(ctx.params.get("json"))]
        return super().resolve_command(ctx, args)


def _is_place(word: str) -> bool:
    """Whether a word is meant as a folder: it is there, or is written as a path."""
    return Path(word).exists() or "/" in word or "\\" in word


commands = typer.Typer(
    name="runs",
    cls=FolderOrCommand,
    help="List, compare, clean and verify runs.",
    epilog=examples(
        "weft runs                                  all runs in ./runs",
        "weft runs elsewhere/runs                   all runs in that folder",
        "weft runs compare runs/a runs/b -o curves.png",
        "weft runs clean --dry-run                  how much space what only training needs takes",
        "weft runs verify",
    ),
)

Runs = Annotated[
    list[str] | None, typer.Argument(metavar="RUN", help="Runs, or folders of runs; all in ./runs by default.")
]


@commands.callback(invoke_without_command=True)
def all_runs(context: typer.Context, json: Json = False) -> None:
    """List, compare, clean and verify runs. Without a word more: list those in ./runs."""
    if context.invoked_subcommand is None:
        list_(None, json)


@commands.command("list")
def list_(runs: Runs = None, json: Json = False) -> None:
    """A table of runs: task, data, state, measures, size."""
    output.prepare()
    from weft.runs.listing import list_runs

    found = list_runs(_places(runs))
    if json:
        output.emit({"runs": [entry.to_json() for entry in found]})
        return
    tables.runs(found)


@commands.command(
    epilog=examples(
        "weft runs compare runs/small runs/large",
        "weft runs compare runs/* --data unseen.txt -o curves.png      measures all runs again, on the same data",
    )
)
def compare(
    runs: Annotated[list[str], typer.Argument(metavar="RUN", help="Two runs or more.")],
    data: Annotated[
        list[str] | None, typer.Option("--data", metavar="DATA", help="Measure all runs on this data; takes longer.")
    ] = None,
    output_: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Draw the loss curves: .png or .svg.")
    ] = None,
    json: Json = False,
) -> None:
    """Compare runs: settings that differ, measures, and loss curves."""
    output.prepare(computes=bool(data))
    from weft.runs.comparing import compare as compare_

    if output_ is not None and output_.suffix.lower() not in (".png", ".svg"):
        raise WeftError("unknown kind of picture", where=f"-o {output_}", fix="use .png or .svg")
    from weft.files.writing import refuse_output

    refuse_output(output_, data or (), map(Path, runs), option="-o")
    found = compare_(runs, data or ())
    if output_ is not None:
        from weft.files.writing import write_made

        write_made(output_, found.picture(output_.suffix.lower()[1:]))
        output.say(f"wrote {output_}")
    if json:
        output.emit(found.to_json())
        return
    tables.comparison(found)


@commands.command()
def clean(
    runs: Runs = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be removed.")] = False,
    prepared: Annotated[
        bool, typer.Option("--prepared", help="Remove prepared data too; a training that needs it prepares it again.")
    ] = False,
    json: Json = False,
) -> None:
    """Remove checkpoints and kept features of finished runs.

    Checkpoints hold the state of the optimizer, features what a frozen encoder gave. With --prepared also data that was
    prepared for training.
    """
    output.prepare()
    from dataclasses import asdict

    from weft.runs.cleaning import clean_prepared, clean_runs
    from weft.runs.listing import list_runs

    found = clean_runs([entry.run for entry in list_runs(_places(runs))], dry=dry_run)
    data = clean_prepared(dry=dry_run or not prepared)
    if json:
        kept = {**asdict(data), "removed": prepared and not dry_run}
        output.emit({"dry_run": dry_run, "runs": [asdict(one) for one in found], "prepared": kept})
        return
    tables.cleaned(found, dry=dry_run)
    tables.cleaned_data(data, asked=prepared, dry=dry_run)


@commands.command()
def verify(runs: Runs = None, json: Json = False) -> None:
    """Check that the files of runs are as weft wrote them.

    The exit code is 74 if a file that weft reads has changed.
    """
    output.prepare()
    from weft.errors import StorageError
    from weft.runs.listing import list_runs
    from weft.runs.verifying import verify_run

    found = {entry.run: verify_run(entry.run) for entry in list_runs(_places(runs))}
    if json:
        output.emit({"runs": {run: {**vars(one), "whole": one.whole} for run, one in found.items()}})
    else:
        tables.verified(found)
    broken = [run for run, one in found.items() if one.refused]
    if broken:
        raise StorageError(
            f"{len(broken)} of {len(found)} runs are not what weft wrote",
            where=", ".join(broken),
            fix="copy them again from an undamaged copy; --broken uses a run as it is",
        )


def _places(runs: list[str] | None) -> list[str]:
    return runs or ["runs"]
