"""Commands that use a model: predict, evaluate, look, embed."""

from pathlib import Path
from typing import Annotated

import typer

from weft.cli import output
from weft.cli.words import Broken, Json, RunFolder, Set, examples, lines_in, load_run, number, piped, settings_of
from weft.errors import WeftError

commands = typer.Typer()


@commands.command(
    epilog=examples(
        'weft predict runs/book-1 "Once upon a"',
        'weft predict runs/book-1 "Once upon a" --set temperature=0.8 --set top_p=0.95 --set max_tokens=200',
        "weft predict runs/book-1 --input prompts.txt --output texts.jsonl",
        'weft predict runs/phrasebook-1 "My house is tiny and cozy." --set beam=5 --set best=3 --json',
        "weft predict runs/phrasebook-1 --input film.srt --output film.fr.srt",
        "weft predict runs/photos-1 picture.jpg more/*.png --json",
        "weft predict runs/tapestry-1 --set size=2048x1536 --output large.png",
    )
)
def predict(
    run: RunFolder,
    inputs: Annotated[
        list[str] | None,
        typer.Argument(metavar="INPUT", help="Texts or files to predict from; by default the lines piped in (stdin)."),
    ] = None,
    input: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A file with one input in each line; - for stdin.")
    ] = None,
    output_: Annotated[Path | None, typer.Option("--output", metavar="FILE", help="Write results to a file.")] = None,
    set_: Set = None,
    broken: Broken = False,
    json: Json = False,
) -> int:
    """Use a trained model.

    An input that cannot be used is named on stderr, the others are answered, and the exit code is 2.
    """
    output.prepare()
    loaded = load_run(run, broken=broken)
    from weft.runs.asking import check_output, predicted

    check_output(loaded, output_, [*(inputs or ()), input])
    settings = settings_of(set_, loaded.predict)
    if input is not None and str(input) != "-" and not inputs and not json:
        document = loaded.predict_file(input, **settings)
        if document is not None:
            output.document(document[0], output_)
            return 0
    task, gives = loaded.task, loaded.task.gives(loaded.loaded)
    needs_input = not any(one.may_lack for one in task.asks)
    reads_lines = str(input) == "-" or any(one.lines for one in task.asks)
    named = [] if input is None else lines_in(input, settings.get("encoding")) if reads_lines else [str(input)]
    writes = output_ is not None and output_.suffix.lower() in gives.endings
    settings |= {"output": str(output_)} if writes else {}
    asked = [*(inputs or ()), *named] or (piped() if needs_input or not settings else [])
    if not asked and not gives.streams and (needs_input or not settings):
        raise WeftError("no input", where="weft predict", fix="give texts, --input FILE, or pipe lines in")
    asked = asked or ([""] if gives.streams else [])
    streams = gives.streams and not json and output_ is None and len(asked) == 1 and "samples" not in settings
    stream = output.LiveText(asked[0]) if streams else None
    found, failed = predicted(loaded, asked, settings, listen=stream)
    report = {"run": run, "task": task.name, "predictions": found, **output.failures(failed)}
    if writes and not json:
        output.say(f"wrote {output_}")
        return 0
    output.predicted(report, task.shown, json, None if writes else output_, stream)
    return WeftError.exit_code if failed else 0


@commands.command(
    epilog=examples(
        "weft evaluate runs/book-1",
        "weft evaluate runs/book-1 other.txt --json",
    )
)
def evaluate(
    run: RunFolder,
    data: Annotated[
        list[str] | None,
        typer.Argument(metavar="DATA", help="Data to measure on; by default the run's held-out data."),
    ] = None,
    set_: Set = None,
    broken: Broken = False,
    json: Json = False,
) -> None:
    """Measure a trained model on data."""
    output.prepare()
    loaded = load_run(run, broken=broken)
    output.evaluated(loaded.evaluate(data or None, **settings_of(set_, loaded.evaluate)), json)


@commands.command(
    epilog=examples(
        'weft look runs/phrasebook-1 "My house is tiny and cozy." -o alignment.png',
        'weft look runs/phrasebook-1 "My house is tiny and cozy." --set every=true -o heads.svg',
        'weft look runs/phrasebook-1 "My house is tiny and cozy." --set token=maison --set layer=1 --set head=2',
        "weft look runs/photos-1 picture.jpg -o look.png",
        "weft look runs/photos-1 picture.jpg --set by=occlusion -o look.png",
        "weft look runs/photos-1 --what filters,positions -o learned.png",
        "weft look runs/words-1 paris france rome italy -o words.png       words on a plane",
    )
)
def look(
    run: RunFolder,
    inputs: Annotated[
        list[str] | None,
        typer.Argument(metavar="INPUT", help="A text or the file of a picture; or several words."),
    ] = None,
    output_: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="FILE", help="A .png, .svg, .html or .gif to write; without it, text is printed."
        ),
    ] = None,
    what: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Show learned weights instead of one input: filters,positions.")
    ] = None,
    set_: Set = None,
    broken: Broken = False,
    json: Json = False,
) -> None:
    """See what a model attends to: its attention weights."""
    output.prepare()
    if output_ is not None:
        from weft.inspect.views import check_ending

        check_ending(output_)
    asked = inputs or ([] if what else piped())
    loaded = load_run(run, broken=broken)
    from weft.runs.asking import check_output

    check_output(loaded, output_, asked, "-o")
    several = any(one.several for one in loaded.task.asks) and len(asked) > 1 and not what
    if len(asked) != (0 if what else 1) and not several:
        problem = f"expected {'no input beside --what' if what else 'one input'}, found {len(asked)}"
        fix = 'give a text or the name of a picture, as in: weft look RUN "My house is tiny."'
        raise WeftError(problem, where="weft look", fix=fix)
    view = loaded.look(
        asked if several else asked[0] if asked else None, **settings_of(set_, loaded.look, {"what": what})
    )
    output.looked({"run": run, "task": loaded.task.name, "look": view.to_json()}, view, json, output_)


@commands.command(
    epilog=examples(
        "weft embed runs/minilm sentences.txt -o vectors.npy",
        'weft embed runs/minilm sentences.txt --query "a sleeping cat"     the nearest sentences',
        'weft embed runs/coca photos/ --query "a dog on a beach" -o found.png     the nearest pictures',
    )
)
def embed(
    run: RunFolder,
    inputs: Annotated[
        list[str] | None, typer.Argument(metavar="INPUT", help="Texts, files with one text in each line, or pictures.")
    ] = None,
    output_: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="FILE", help="A .npy for the vectors, or a .png or .svg of the nearest pictures."
        ),
    ] = None,
    query: Annotated[
        list[str] | None, typer.Option(metavar="TEXT", help="List the inputs nearest to this text; may be repeated.")
    ] = None,
    best: Annotated[
        int, typer.Option(parser=number(int, "--best"), metavar="N", help="Number of nearest inputs to list.")
    ] = 5,
    set_: Set = None,
    broken: Broken = False,
    json: Json = False,
) -> int:
    """Turn texts or pictures into vectors (embeddings), or search."""
    output.prepare()
    from weft.runs.embedding import embed_inputs

    loaded = load_run(run, broken=broken)
    given = [line for one in inputs for line in (lines_in(Path(one)) if one == "-" else [one])] if inputs else piped()
    found, failed = embed_inputs(loaded, given, output_, query or (), best, settings_of(set_, loaded.embed))
    output.embedded({"run": run, **found, **output.failures(failed)}, json)
    return WeftError.exit_code if failed else 0
