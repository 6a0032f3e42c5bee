"""Commands that make models, and the one that looks at data first: check, train, soup, demo."""

from pathlib import Path
from typing import Annotated, Any

import typer

from weft.cli import output, tables
from weft.cli.config_file import with_file
from weft.cli.words import Json, Out, Set, examples, number, settings_of

commands = typer.Typer()


@commands.command(
    epilog=examples(
        "weft check reviews.csv                     what it is, what could be learned, what is wrong, the plan",
        "weft check photos/ -o sheet.png            a contact sheet of the pictures",
        "weft check letters.txt --set encoding=cp1252",
        "weft check pairs.xlsx --minutes 20 --json",
    )
)
def check(
    data: Annotated[list[str], typer.Argument(metavar="DATA", help="Files, folders or patterns.")],
    task: Annotated[str | None, typer.Option(metavar="TASK", help="Look at it as data of this task.")] = None,
    minutes: Annotated[
        float | None,
        typer.Option(parser=number(float, "--minutes"), metavar="X", help="Plan a training of this length."),
    ] = None,
    plan: Annotated[bool, typer.Option("--plan/--no-plan", help="Without a plan, torch is not loaded.")] = True,
    output_: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="A .png or .svg with a sheet of the pictures.")
    ] = None,
    set_: Set = None,
    json: Json = False,
) -> None:
    """Look at data before training.

    What it is, what could be learned from it, what is wrong with it.
    """
    output.prepare()
    from weft.runs.checking import check as check_

    found = check_(data, task=task, minutes=minutes, plan=plan, quiet=False, **settings_of(set_, check_))
    output.checked(found, json, output_)


@commands.command(
    epilog=examples(
        "weft train texts/ --minutes 10",
        "weft train corpus.en corpus.fr --model lstm-attention",
        "weft train book.txt                        recognised as text; sized to your machine",
        "weft train pairs.tsv --minutes 20          sentence pairs: learns to translate",
        "weft train photos/ --model vit             pictures, one sub-folder a class",
        "weft train photos/ --task reconstruct-images",
        "weft train captions.tsv photos/            pictures with sentences: learns to write about them",
        "weft train book.txt --preset tiny --set lr=1e-3 --set batch=32",
        "weft train book.txt --set lr=1e-3,3e-3     a sweep: both, and then the better one",
        "weft train --config run.toml               the same words in a file",
        "weft train --resume --out runs/book-1      go on where a stopped run was",
    )
)
def train(
    data: Annotated[list[str] | None, typer.Argument(metavar="DATA", help="Files, folders or patterns.")] = None,
    task: Annotated[
        str | None, typer.Option(metavar="TASK", help="What to learn; recognised from the files when left out.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(metavar="NAME", help="A model by name; `weft tasks TASK` lists them.")
    ] = None,
    preset: Annotated[str | None, typer.Option(metavar="NAME", help="A fixed size: tiny trains in seconds.")] = None,
    out: Out = None,
    minutes: Annotated[
        float | None,
        typer.Option(
            parser=number(float, "--minutes"), metavar="X", help="Train this long; the model is sized to fit."
        ),
    ] = None,
    steps: Annotated[
        int | None, typer.Option(parser=number(int, "--steps"), metavar="N", help="Train this many steps.")
    ] = None,
    epochs: Annotated[
        float | None,
        typer.Option(parser=number(float, "--epochs"), metavar="X", help="Train this many rounds through the data."),
    ] = None,
    start: Annotated[
        str | None, typer.Option("--from", metavar="RUN", help="Start from another run's weights.")
    ] = None,
    valid: Annotated[str | None, typer.Option(metavar="DATA", help="Held-out data; split off by default.")] = None,
    seed: Annotated[
        int | None,
        typer.Option(parser=number(int, "--seed"), metavar="N", help="All randomness follows from it; 0 by default."),
    ] = None,
    precision: Annotated[str | None, typer.Option(metavar="NAME", help="auto, fp32 or bf16.")] = None,
    set_: Set = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE.toml", help="These words in a file; those typed here win over it.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in --out that was stopped.")] = False,
    json: Json = False,
) -> None:
    """Train a model on your files and write a run folder."""
    output.prepare()
    from weft.runs import train as train_

    typed = {"data": data, "task": task, "model": model, "preset": preset, "out": out, "minutes": minutes, "steps": steps,
             "epochs": epochs, "from_": start, "valid": valid}  # fmt: skip
    settings = settings_of(set_, train_, {"seed": seed, "precision": precision})
    words, settings = with_file(
        config, {name: value for name, value in typed.items() if value not in (None, [])}, settings
    )
    if not _swept(words, settings, resume, json):
        done = train_(**{"data": (), **words}, resume=resume, **settings)
        if done.report:
            output.trained(done.report, json)


def _swept(words: dict[str, Any], settings: dict[str, Any], resume: bool, json: bool) -> bool:
    """Train a grid where a word has several values; whether that was asked for."""
    from weft.runs.sweep import is_sweep, resume_sweep, several, sweep

    out = words.get("out")
    if resume and is_sweep(out):
        done = resume_sweep(str(out), output.say)
    else:
        grid = {} if resume else several(words, settings)
        if not grid:
            return False
        rest = {name: value for name, value in words.items() if name != "out"}
        done = sweep(rest, settings, grid, out=out, say=output.say)
    if json:
        output.emit(done.to_json())
    else:
        tables.swept(done)
    return True


@commands.command(
    epilog=examples(
        "weft soup runs/a runs/b runs/c --out runs/soup      three fine-tuned runs of one model",
    )
)
def soup(
    runs: Annotated[list[str], typer.Argument(metavar="RUN", help="Runs of one model, fine-tuned differently.")],
    out: Out = None,
    data: Annotated[
        list[str] | None, typer.Option("--data", metavar="DATA", help="Measure on this; the held-out part by default.")
    ] = None,
    json: Json = False,
) -> None:
    """Average the weights of runs, if that makes a better model."""
    output.prepare(computes=True)
    from weft.runs.soup import soup as soup_

    done = soup_(runs, out, data=data or (), quiet=False)
    output.souped(done.report, done.config["soup"], json)


@commands.command()
def demo(
    minutes: Annotated[
        float, typer.Option(parser=number(float, "--minutes"), metavar="X", help="How long to train.")
    ] = 1.0,
    out: Out = None,
    json: Json = False,
) -> None:
    """Train English to French in about a minute, and look inside.

    The sentences are of weft's own phrasebook. Translates some that it never saw, and draws what was looked at.
    """
    output.prepare(computes=True)
    from weft.runs.demo import demo as demo_

    output.say("weft demo: English to French from nothing, on sentences of weft's own grammar\n")
    output.shown(demo_(minutes=minutes, out=out, say=output.say), json)
