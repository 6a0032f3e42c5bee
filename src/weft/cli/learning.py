"""Commands that make models: train, soup, demo."""

from typing import Annotated

import typer

from weft.cli import output
from weft.cli.words import Json, Out, Set, examples, number, settings_of

commands = typer.Typer()


@commands.command(
    epilog=examples(
        "weft train book.txt                        recognised as text; sized to your machine",
        "weft train texts/ --minutes 10",
        "weft train pairs.tsv --minutes 20          sentence pairs: learns to translate",
        "weft train corpus.en corpus.fr --model lstm-attention",
        "weft train photos/ --model vit             pictures, one sub-folder a class",
        "weft train photos/ --task reconstruct-images",
        "weft train captions.tsv photos/            pictures with sentences: learns to write about them",
        "weft train book.txt --preset tiny --set lr=1e-3 --set batch=32",
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
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in --out that was stopped.")] = False,
    json: Json = False,
) -> None:
    """Train a model on your files and write a run folder."""
    output.prepare()
    from weft.runs import train as train_

    settings = settings_of(set_, train_, {"seed": seed, "precision": precision})
    done = train_(
        data or (), task=task, model=model, preset=preset, out=out, minutes=minutes, steps=steps, epochs=epochs,
        from_=start, valid=valid, resume=resume, **settings,
    )  # fmt: skip
    if done.report:
        output.trained(done.report, json)


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
