"""The commands. Each turns words into one call of the Python API; torch is loaded only by those that compute."""

import inspect
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from weft.cli import output
from weft.cli.outcome import exit_code
from weft.config import parse
from weft.errors import WeftError
from weft.version import VERSION

app = typer.Typer(
    name="weft",
    help="Train transformers on your own files, use them, and look inside.",
    epilog="Start with `weft demo`, or with a text of yours: `weft train book.txt`.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def number(kind: type, option: str) -> Callable[[str], Any]:
    """Numbers as `--set` and config files have them: 010, 0x10, 1_000 and nan are refused."""
    return lambda text: parse(str(text), kind, where=option)


def examples(*lines: str) -> str:
    """Lines for the end of a help page, kept as they are."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else there.")]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A setting, as often as needed. `weft tasks TASK` lists them."),
]
RunFolder = Annotated[str, typer.Argument(metavar="RUN", help="The folder of a run, e.g. runs/book-1.")]
Out = Annotated[str | None, typer.Option(metavar="RUN", help="The run folder; runs/<name>-<number> by default.")]


def run(arguments: Iterable[str]) -> int:
    """Run a command; returns the exit code: 0 done, 2 the user's mistake, 70 weft's fault, 74 storage, 75 saved."""
    words = list(arguments) or ["--help"]
    options = words[: words.index("--")] if "--" in words else words
    debug = "--debug" in options
    if debug:
        words.remove("--debug")
    return exit_code(
        lambda: app(words, standalone_mode=False, prog_name="weft"),
        commands=[command.name or command.callback.__name__ for command in app.registered_commands if command.callback],
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


@app.command(
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
    from weft.tasks import train as train_

    settings = _settings(set_, train_, {"seed": seed, "precision": precision})
    done = train_(
        data or (), task=task, model=model, preset=preset, out=out, minutes=minutes, steps=steps, epochs=epochs,
        from_=start, valid=valid, resume=resume, **settings,
    )  # fmt: skip
    if done.report:
        output.trained(done.report, json)


@app.command(
    epilog=examples(
        'weft predict runs/book-1 "Once upon a"',
        'weft predict runs/book-1 "Once upon a" --set temperature=0.8 --set top_p=0.95 --set max_tokens=200',
        "weft predict runs/book-1 --input prompts.txt --output texts.jsonl",
        'weft predict runs/phrasebook-1 "My house is tiny and cozy." --set beam=5 --set best=3 --json',
        "weft predict runs/phrasebook-1 --input film.srt --output film.fr.srt",
        "weft predict runs/photos-1 picture.jpg more/*.png --json",
    )
)
def predict(
    run: RunFolder,
    inputs: Annotated[
        list[str] | None,
        typer.Argument(metavar="INPUT", help="What to continue or predict from; by default what is piped in."),
    ] = None,
    input: Annotated[Path | None, typer.Option(metavar="FILE", help="A file with one input a line.")] = None,
    output_: Annotated[Path | None, typer.Option("--output", metavar="FILE", help="Write results to a file.")] = None,
    set_: Set = None,
    json: Json = False,
) -> None:
    """Use a trained model."""
    output.prepare()
    from weft.tasks import load

    loaded = load(run)
    settings = _settings(set_, loaded.predict)
    if input is not None and not inputs and not json:
        document = loaded.predict_file(input, **settings)
        if document is not None:
            output.document(document[0], output_)
            return
    asked = [*(inputs or ()), *(_lines(input) if input else ())] or _piped()
    if not asked and not loaded.task.streams:
        raise WeftError("no input", where="weft predict", fix="give texts, --input FILE, or pipe lines in")
    asked = asked or [""]
    streams = loaded.task.streams and not json and output_ is None and len(asked) == 1 and "samples" not in settings
    stream = output.Stream(asked[0]) if streams else None
    found = loaded.predict(asked, listen=stream, **settings)
    report = {"run": run, "task": loaded.task.name, "predictions": found}
    output.predicted(report, loaded.task.shown, json, output_, stream)


@app.command(
    epilog=examples(
        'weft look runs/phrasebook-1 "My house is tiny and cozy." -o alignment.png',
        'weft look runs/phrasebook-1 "My house is tiny and cozy." --set every=true -o heads.svg',
        'weft look runs/phrasebook-1 "My house is tiny and cozy." --set token=maison --set layer=1 --set head=2',
        "weft look runs/photos-1 picture.jpg -o look.png",
        "weft look runs/photos-1 --what filters,positions -o learned.png",
    )
)
def look(
    run: RunFolder,
    inputs: Annotated[
        list[str] | None, typer.Argument(metavar="INPUT", help="What to look at the model with; one input.")
    ] = None,
    output_: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="A .png, .svg or .html to write; else words are printed."),
    ] = None,
    what: Annotated[
        str | None, typer.Option(metavar="NAMES", help="What was learned instead of one input: filters,positions.")
    ] = None,
    set_: Set = None,
    json: Json = False,
) -> None:
    """See what a model attends to."""
    output.prepare()
    from weft.tasks import load

    kind = None if output_ is None else output_.suffix.lower()
    if kind not in (None, ".png", ".svg", ".html"):
        raise WeftError(f"a picture cannot be written as {kind or 'a file without an ending'}", where=f"-o {output_}",
                        fix="use .png, .svg or .html")  # fmt: skip
    asked = inputs or ([] if what else _piped())
    if len(asked) != (0 if what else 1):
        problem = f"expected {'no input beside --what' if what else 'one input'}, found {len(asked)}"
        fix = 'give a text or the name of a picture, as in: weft look RUN "My house is tiny."'
        raise WeftError(problem, where="weft look", fix=fix)
    loaded = load(run)
    view = loaded.look(asked[0] if asked else None, **_settings(set_, loaded.look, {"what": what}))
    output.looked({"run": run, "task": loaded.task.name, "look": view.to_json()}, view, json, output_)


@app.command(
    epilog=examples(
        "weft evaluate runs/book-1",
        "weft evaluate runs/book-1 other.txt --json",
    )
)
def evaluate(
    run: RunFolder,
    data: Annotated[
        list[str] | None,
        typer.Argument(metavar="DATA", help="Data to measure on; the run's own held-out part by default."),
    ] = None,
    json: Json = False,
) -> None:
    """Measure a trained model on data."""
    output.prepare()
    from weft.tasks import load

    output.evaluated(load(run).evaluate(data or None), json)


@app.command(
    name="import",
    epilog=examples(
        "weft import models/minilm --out runs/minilm      a folder with config.json and model.safetensors",
        "weft import sentence-transformers/all-MiniLM-L6-v2   fetched from the Hub, because you named it",
    ),
)
def import_(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A Hugging Face folder, or owner/name on the Hub.")],
    out: Out = None,
    json: Json = False,
) -> None:
    """Make a run of a model from the Hugging Face library."""
    output.prepare()
    from weft.tasks.importing import import_run
    from weft.tasks.run import Run

    loaded, remarks = import_run(source, out)
    output.imported(Run(loaded).report, remarks, json)


@app.command(
    epilog=examples(
        "weft export runs/book-1 --to hf --out book-hf       for transformers: AutoModel, AutoTokenizer",
        "weft export runs/book-1 --to onnx --out book-onnx   for onnxruntime; free batch and length",
    )
)
def export(
    run: RunFolder,
    out: Annotated[str, typer.Option(metavar="FOLDER", help="The folder to write; it must not exist yet.")],
    to: Annotated[str, typer.Option(metavar="NAME", help="hf or onnx.")] = "hf",
    json: Json = False,
) -> None:
    """Write a run for another tool, and let that tool prove that it computes the same."""
    output.prepare()
    from weft.tasks import load
    from weft.tasks.exporting import check_target

    check_target(to)
    output.exported(load(run).export(out, to=to), json)  # type: ignore[arg-type]


@app.command(
    epilog=examples(
        "weft embed runs/minilm sentences.txt -o vectors.npy",
        'weft embed runs/minilm sentences.txt --query "a sleeping cat"     the nearest sentences',
    )
)
def embed(
    run: RunFolder,
    inputs: Annotated[
        list[str] | None, typer.Argument(metavar="INPUT", help="Texts, files with one text a line, or pictures.")
    ] = None,
    output_: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="A .npy file for the vectors.")
    ] = None,
    query: Annotated[str | None, typer.Option(metavar="TEXT", help="List the inputs nearest to this one.")] = None,
    best: Annotated[int, typer.Option(parser=number(int, "--best"), metavar="N", help="How many to list.")] = 5,
    set_: Set = None,
    json: Json = False,
) -> None:
    """Vectors of texts or pictures, in which like things are near each other."""
    output.prepare()
    from weft.tasks import load
    from weft.tasks.embedding import embed_inputs

    loaded = load(run)
    found = embed_inputs(loaded, inputs or _piped(), output_, query, best, _settings(set_, loaded.embed))
    output.embedded({"run": run, **found}, json)


@app.command(
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
    output.prepare()
    from weft.tasks.soup import soup as soup_

    done = soup_(runs, out, data=data or (), quiet=False)
    output.souped(done.report, done.config["soup"], json)


@app.command()
def tasks(
    task: Annotated[str | None, typer.Argument(metavar="TASK", help="One task, in full.")] = None,
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
    minutes: Annotated[
        float, typer.Option(parser=number(float, "--minutes"), metavar="X", help="How long to train.")
    ] = 1.0,
    out: Out = None,
    json: Json = False,
) -> None:
    """Train English to French on weft's own phrasebook, translate unseen sentences, and draw what was looked at."""
    output.prepare()
    from weft.tasks.demo import demo as demo_

    output.say("weft demo: English to French from nothing, on sentences of weft's own grammar\n")
    output.shown(demo_(minutes=minutes, out=out, say=output.say), json)


def _settings(
    pairs: list[str] | None, call: Callable[..., Any], options: dict[str, Any] | None = None
) -> dict[str, Any]:
    """The settings of a command. What has an option of its own, or is an argument of the call, is not a setting."""
    settings = {name: value for name, value in (options or {}).items() if value is not None}
    words = {name.strip("_") for name, p in inspect.signature(call).parameters.items() if p.kind != p.VAR_KEYWORD}
    for pair in pairs or ():
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise WeftError(f"expected NAME=VALUE, found {pair!r}", where="--set", fix="for example --set lr=1e-3")
        if name in settings:
            raise WeftError(f"{name} is given twice", where="--set")
        if name.strip("_") in words:
            raise WeftError(f"{name} is not a setting", where="--set", fix=f"give it as --{name.strip('_')}")
        settings[name] = value
    return settings


def _lines(path: Path) -> list[str]:
    from weft.data.decoding import read_text

    return "".join(read_text(path)).splitlines()


def _piped() -> list[str]:
    if sys.stdin is None or sys.stdin.closed or sys.stdin.isatty():
        return []
    return [line for line in sys.stdin.read().splitlines() if line]
