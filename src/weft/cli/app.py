"""The commands. Each turns words into one call of the Python API; torch is loaded only by those that compute."""

import errno
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import click
import typer

from weft.cli import output
from weft.errors import WeftError
from weft.version import VERSION

app = typer.Typer(
    name="weft",
    help="Train transformers on your own files, use them, and look inside.",
    epilog="Start with: weft train book.txt   or, with data that ships with weft: weft demo",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else there.")]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="A setting; may be given several times. `weft tasks TASK` lists them."
    ),
]
RunFolder = Annotated[str, typer.Argument(metavar="RUN", help="The folder of a run, e.g. runs/book-1.")]


def run(arguments: Sequence[str]) -> int:
    """Run a command; returns the exit code: 0 done, 2 the user's mistake, 70 weft's fault, 74 storage, 75 saved."""
    debug = "--debug" in arguments
    words = [word for word in arguments if word != "--debug"]
    try:
        return app(words, standalone_mode=False) or 0
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        error.show()
        return 2
    except (click.Abort, KeyboardInterrupt):
        output.complain("interrupted")
        return 130
    except WeftError as error:
        output.complain(str(error))
        if debug:
            traceback.print_exc()
        return error.exit_code
    except BrokenPipeError:
        sys.stdout = None  # type: ignore[assignment]
        return 0
    except Exception as error:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EROFS, errno.EDQUOT):
            output.complain(str(error))
            return 74
        if debug:
            traceback.print_exc()
        output.complain(
            f"a fault in weft: {type(error).__name__}: {error}\n  -> run again with --debug for the details"
        )
        return 70


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


@app.command(rich_help_panel=None)
def train(
    data: Annotated[list[str] | None, typer.Argument(metavar="[DATA]...", help="Files, folders or patterns.")] = None,
    task: Annotated[str | None, typer.Option(help="What to learn; recognised from the files when left out.")] = None,
    model: Annotated[str | None, typer.Option(help="A model by name; `weft tasks TASK` lists them.")] = None,
    preset: Annotated[str | None, typer.Option(help="A fixed size: tiny trains in seconds.")] = None,
    out: Annotated[
        str | None, typer.Option(metavar="RUN", help="The run folder; runs/<name>-<number> by default.")
    ] = None,
    minutes: Annotated[float | None, typer.Option(help="Train this long; the model is sized to fit.")] = None,
    steps: Annotated[int | None, typer.Option(help="Train this many steps.")] = None,
    epochs: Annotated[float | None, typer.Option(help="Train this many rounds through the data.")] = None,
    start: Annotated[
        str | None, typer.Option("--from", metavar="RUN", help="Start from another run's weights.")
    ] = None,
    valid: Annotated[str | None, typer.Option(metavar="DATA", help="Held-out data; split off by default.")] = None,
    seed: Annotated[int | None, typer.Option(help="All randomness follows from it. Default 0.")] = None,
    precision: Annotated[str | None, typer.Option(help="auto, fp32 or bf16.")] = None,
    set_: Set = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run that was stopped.")] = False,
    json: Json = False,
) -> None:
    r"""Train a model on your files and write a run folder.

    \b
      weft train book.txt                        recognised as text; sized to your machine
      weft train texts/ --minutes 10
      weft train book.txt --preset tiny --set lr=1e-3 --set batch=32
      weft train --resume --out runs/book-1      go on where a stopped run was
    """
    output.prepare()
    from weft.tasks import train as train_

    settings = _settings(set_)
    settings |= {k: v for k, v in {"seed": seed, "precision": precision}.items() if v is not None}
    done = train_(
        data or (), task=task, model=model, preset=preset, out=out, minutes=minutes, steps=steps, epochs=epochs,
        from_=start, valid=valid, resume=resume, **settings,
    )  # fmt: skip
    output.trained(done.report, json)


@app.command()
def predict(
    run: RunFolder,
    inputs: Annotated[
        list[str] | None, typer.Argument(metavar="[INPUT]...", help="What to continue or predict from.")
    ] = None,
    input: Annotated[Path | None, typer.Option(metavar="FILE", help="A file with one input a line.")] = None,
    output_: Annotated[Path | None, typer.Option("--output", metavar="FILE", help="Write results to a file.")] = None,
    set_: Set = None,
    json: Json = False,
) -> None:
    r"""Use a trained model.

    \b
      weft predict runs/book-1 "Once upon a"
      weft predict runs/book-1 "Once upon a" --set temperature=0.8 --set top_p=0.95 --set max_tokens=200
    """
    output.prepare()
    from weft.tasks import load

    loaded = load(run)
    asked = [*(inputs or ()), *(_lines(input) if input else ())] or _piped() or [""]
    settings = _settings(set_)
    stream = (
        output.Stream(asked) if not json and output_ is None and len(asked) == 1 and "samples" not in settings else None
    )
    found = loaded.predict(asked, listen=stream, **settings)
    report = {"run": run, "task": loaded.task.name, "predictions": found}
    output.predicted(report, json, output_, stream)


@app.command()
def evaluate(
    run: RunFolder,
    data: Annotated[
        list[str] | None,
        typer.Argument(metavar="[DATA]...", help="Data to measure on; the run's own held-out part by default."),
    ] = None,
    json: Json = False,
) -> None:
    r"""Measure a trained model on data.

    \b
      weft evaluate runs/book-1
      weft evaluate runs/book-1 other.txt --json
    """
    output.prepare()
    from weft.tasks import load

    output.evaluated(load(run).evaluate(data or None, quiet=json), json)


@app.command()
def tasks(
    task: Annotated[str | None, typer.Argument(metavar="[TASK]", help="One task, in full.")] = None,
    json: Json = False,
) -> None:
    """What can be trained, from which files, with which models, presets and settings."""
    output.prepare()
    from weft.tasks import TASKS, task_named

    output.tasks([task_named(task)] if task else list(TASKS.values()), task is not None, json)


@app.command()
def doctor(json: Json = False) -> None:
    """What this machine can do, and what would make it faster."""
    output.prepare()
    from weft.cli.doctor import examine

    output.examined(examine(), json)


@app.command()
def demo(
    minutes: Annotated[float, typer.Option(help="How long to train.")] = 0.75,
    out: Annotated[str | None, typer.Option(metavar="RUN", help="The run folder.")] = None,
) -> None:
    """Train a language model on the help texts that come with Python, measure it, and let it write."""
    output.prepare()
    from weft.tasks import train as train_

    output.say("weft demo: a language model from nothing, on the help texts that every Python carries\n")
    done = train_((), task="language-model", minutes=minutes, out=out)
    output.trained(done.report, False)
    prompt = 'The "for" statement'
    output.say(f"\nit continues {prompt!r}:\n")
    found = done.predict(prompt, max_tokens=250, temperature=0.7)
    print(output.safe(prompt + found[0]["text"]))
    output.say(f'\nyour turn:  weft predict {done.folder} "A list is"\n            weft train your-book.txt')


def _settings(pairs: list[str] | None) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    for pair in pairs or ():
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise WeftError(f"expected NAME=VALUE, found {pair!r}", where="--set", fix="for example --set lr=1e-3")
        if name in settings:
            raise WeftError(f"{name} is set twice", where="--set")
        settings[name] = value
    return settings


def _lines(path: Path) -> list[str]:
    from weft.data.files import read_text

    return "".join(read_text(path)).splitlines()


def _piped() -> list[str]:
    if sys.stdin is None or sys.stdin.closed or sys.stdin.isatty():
        return []
    return [line for line in sys.stdin.read().splitlines() if line]
