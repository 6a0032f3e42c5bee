"""Commands that make models, and those that look at data first: check, plan, train, soup, demo."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from weft.cli import output
from weft.cli import text_tables as tables
from weft.cli.config_file import with_file
from weft.cli.words import Json, Out, Set, examples, number, require_serving, settings_of
from weft.errors import WeftError

commands = typer.Typer()


@commands.command(
    epilog=examples(
        "weft check reviews.csv                     what is in the file, what can be learned, its faults, the plan",
        "weft check photos/ -o sheet.png            a contact sheet of the pictures",
        "weft check letters.txt --set encoding=cp1252",
        "weft check pairs.xlsx --minutes 20 --json",
    )
)
def check(
    data: Annotated[list[str], typer.Argument(metavar="DATA", help="Files, folders, patterns, addresses (s3://…).")],
    task: Annotated[str | None, typer.Option(metavar="TASK", help="Read the data for this task.")] = None,
    minutes: Annotated[
        float | None,
        typer.Option(parser=number(float, "--minutes"), metavar="X", help="Plan a training run of this length."),
    ] = None,
    plan: Annotated[bool, typer.Option("--plan/--no-plan", help="Also plan the training; --no-plan is faster.")] = True,
    output_: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write a contact sheet of the pictures: .png or .svg."),
    ] = None,
    set_: Set = None,
    json: Json = False,
) -> None:
    """Look at data before training.

    Says what the data is, what can be learned from it, and what is wrong with it.
    """
    output.prepare()
    from weft.files.writing import refuse_output
    from weft.runs.checking import check as check_

    refuse_output(output_, data, option="-o")
    found = check_(data, task=task, minutes=minutes, plan=plan, quiet=False, **settings_of(set_, check_))
    output.checked(found, json, output_)


@commands.command(
    epilog=examples(
        "weft plan book.txt                         memory and minutes on this machine",
        "weft plan texts/ --preset large --set recompute=true",
        "weft plan texts/ --set devices=8 --set memory=80 --set parallel=shard   eight that share weights",
        "weft plan texts/ --set devices=64 --set parallel=shard --set replicas=8 --set network=100 --json",
    )
)
def plan(
    data: Annotated[list[str], typer.Argument(metavar="DATA", help="Files, folders, patterns, addresses (s3://…).")],
    task: Annotated[str | None, typer.Option(metavar="TASK", help="What to learn; found by itself otherwise.")] = None,
    model: Annotated[str | None, typer.Option(metavar="MODEL", help="The model, as in weft train.")] = None,
    preset: Annotated[str | None, typer.Option(metavar="PRESET", help="The size, as in weft train.")] = None,
    minutes: Annotated[
        float | None, typer.Option(parser=number(float, "--minutes"), metavar="X", help="A run of this length.")
    ] = None,
    steps: Annotated[
        int | None, typer.Option(parser=number(int, "--steps"), metavar="N", help="A run of N steps.")
    ] = None,
    epochs: Annotated[
        float | None, typer.Option(parser=number(float, "--epochs"), metavar="E", help="A run of E epochs.")
    ] = None,
    set_: Set = None,
    json: Json = False,
) -> None:
    """Say what a training would take, and train nothing.

    Parameters, memory, bytes on the network, minutes. --set devices=N, memory=GB (of a device), network=Gb/s and
    speed=TFLOP/s (that a device reaches) describe machines that you do not have yet; without them it is this one. All
    settings of weft train count.
    """
    output.prepare()
    from weft.runs.scaling import plan as plan_

    settings = settings_of(set_, plan_)
    found = plan_(data, task=task, model=model, preset=preset, minutes=minutes, steps=steps, epochs=epochs,
                  quiet=False, **settings)  # fmt: skip
    output.planned(found, json)


@commands.command(
    epilog=examples(
        "weft train texts/ --minutes 10",
        "weft train corpus.en corpus.fr --model lstm-attention",
        "weft train book.txt                        recognised as text; sized to your machine",
        "weft train pairs.tsv --minutes 20          sentence pairs: learns to translate",
        "weft train photos/ --model vit             pictures, one sub-folder for each class",
        "weft train photos/ --task reconstruct-images",
        "weft train captions.tsv photos/            pictures with captions: learns to write captions",
        "weft train book.txt --preset tiny --set lr=1e-3 --set batch=32",
        "weft train book.txt --set lr=1e-3,3e-3     a sweep: trains both, tells which is better",
        "weft train book.txt --watch                a page in the browser on the run in progress",
        "weft train --config run.toml               options and settings from a file",
        "weft train --resume --out runs/book-1      continue a run that was stopped",
        "weft train book.txt --resume --out runs/b  begin it, or continue it: one command for a scheduler",
    )
)
def train(
    data: Annotated[
        list[str] | None, typer.Argument(metavar="DATA", help="Files, folders, patterns, addresses (s3://…).")
    ] = None,
    task: Annotated[
        str | None, typer.Option(metavar="TASK", help="What to learn; recognised from the files when left out.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(metavar="NAME", help="A model by name; `weft tasks TASK` lists them.")
    ] = None,
    preset: Annotated[
        str | None, typer.Option(metavar="NAME", help="A fixed model size: tiny trains in seconds.")
    ] = None,
    out: Out = None,
    minutes: Annotated[
        float | None,
        typer.Option(
            parser=number(float, "--minutes"), metavar="X", help="Train this long; the model size is chosen to fit."
        ),
    ] = None,
    steps: Annotated[
        int | None, typer.Option(parser=number(int, "--steps"), metavar="N", help="Train this many steps.")
    ] = None,
    epochs: Annotated[
        float | None,
        typer.Option(
            parser=number(float, "--epochs"), metavar="X", help="Train this many epochs (passes through the data)."
        ),
    ] = None,
    start: Annotated[
        str | None, typer.Option("--from", metavar="RUN", help="Fine-tune: start from the weights of this run.")
    ] = None,
    valid: Annotated[
        str | None, typer.Option(metavar="DATA", help="Held-out data (validation); by default a part of DATA.")
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(parser=number(int, "--seed"), metavar="N", help="Random seed; 0 by default."),
    ] = None,
    precision: Annotated[str | None, typer.Option(metavar="NAME", help="auto, fp32, bf16 or fp16.")] = None,
    set_: Set = None,
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE.toml", help="A file with options and settings; those typed here come first."),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Continue the stopped run in --out; with DATA, begin it if it is not there."),
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Show the run in the browser while it trains: curves, answers, time left.")
    ] = False,
    json: Json = False,
) -> None:
    """Train a model on your files and write a run folder."""
    output.prepare()
    from weft.runs import train as train_

    typed = {"data": data, "task": task, "model": model, "preset": preset, "out": out, "minutes": minutes,
             "steps": steps, "epochs": epochs, "from_": start, "valid": valid}  # fmt: skip
    settings = settings_of(set_, train_, {"seed": seed, "precision": precision})
    words, settings = with_file(
        config, {name: value for name, value in typed.items() if value not in (None, [])}, settings
    )
    if watch:
        require_serving("--watch")
    if not _swept(words, settings, resume, json, watch):
        with watching() if watch else nullcontext() as begun:
            done = train_(**{"data": (), **words}, resume=resume, begun=begun, **settings)
            if done.report:
                output.trained(done.report, json)


@contextmanager
def watching() -> Iterator[Callable[[Path, Callable[[str], None]], None]]:
    """What begins to show a run once it has its folder. At a terminal a finished run is shown until Ctrl-C."""
    from weft.web.beside import Companion

    begun: list[Companion] = []
    try:
        yield lambda folder, say: begun.append(Companion(folder, say))
        if begun and begun[0].address and sys.stdin is not None and sys.stdin.isatty():
            output.say(f"the run is shown at {begun[0].address} until Ctrl-C")
            begun[0].wait()
    finally:
        for one in begun:
            one.close()


def _swept(words: dict[str, Any], settings: dict[str, Any], resume: bool, json: bool, watch: bool) -> bool:
    """Train a grid where a word has several values; whether that was asked for."""
    from weft.runs.sweep import is_sweep, resume_sweep, several, sweep
    from weft.training.folder import RunFolder

    out = words.get("out")
    if resume and is_sweep(out):
        done = resume_sweep(str(out), output.say)
    else:
        begun = resume and (out is None or RunFolder(out).exists or not (words.get("data") or words.get("task")))
        grid = {} if begun else several(words, settings)
        if not grid:
            return False
        if watch:
            fix = "leave it out, and watch all runs of the sweep: weft serve FOLDER"
            raise WeftError("one run is shown, and this is a sweep of several", where="--watch", fix=fix)
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
    runs: Annotated[
        list[str], typer.Argument(metavar="RUN", help="Runs fine-tuned from one model with different settings.")
    ],
    out: Out = None,
    data: Annotated[
        list[str] | None,
        typer.Option("--data", metavar="DATA", help="Data to measure on; by default the held-out part."),
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

    The sentences come from weft's own phrasebook. The model translates sentences that it never saw, and their attention
    is drawn.
    """
    output.prepare(computes=True)
    from weft.runs.demo import demo as demo_

    output.say("weft demo: trains English to French from scratch, on sentences of weft's own phrasebook\n")
    output.shown(demo_(minutes=minutes, out=out, say=output.say), json)
