"""Commands that use a model: predict, evaluate, look, embed."""

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from weft.cli import output
from weft.cli.words import (
    AsText,
    Broken,
    Device,
    Join,
    Json,
    Resume,
    RunFolder,
    Set,
    Sharded,
    changed_by,
    examples,
    inputs_of,
    load_run,
    number,
    piped,
    settings_of,
)
from weft.errors import WeftError

if TYPE_CHECKING:
    from weft.runs import Run
    from weft.runs.many import Shard

commands = typer.Typer()


@commands.command(
    epilog=examples(
        'weft predict runs/book-1 "Once upon a"',
        'weft predict runs/book-1 "Once upon a" --set temperature=0.8 --set top_p=0.95 --set max_tokens=200',
        "weft predict runs/reviews-1 test.csv --output answers.csv     its columns, then label and probability",
        "weft predict runs/reviews-1 test.xlsx --output answers.xlsx --set text_column=comment",
        "weft predict runs/reviews-1 big.csv --output answers.csv --resume     goes on where it was stopped",
        "weft predict runs/reviews-1 big.csv --output answers-2.csv --shard 2/4     one of four machines",
        "weft predict runs/reviews-1 answers-?.csv --join --output answers.csv",
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
        typer.Argument(
            metavar="INPUT",
            help="Texts, or files: a table (.csv, .tsv, .jsonl, .xlsx, .parquet) has an input in each row, a file of "
            "text in each line; pictures and others are inputs themselves. By default the lines piped in (-).",
        ),
    ] = None,
    input: Annotated[Path | None, typer.Option(metavar="FILE", help="A file with inputs; - for stdin.")] = None,
    output_: Annotated[
        Path | None,
        typer.Option(
            "--output",
            metavar="FILE",
            help="Write results to a file; as .csv, .tsv, .jsonl, .xlsx or .parquet the table with the answers added.",
        ),
    ] = None,
    resume: Resume = False,
    shard: Sharded = None,
    join: Join = False,
    text: AsText = False,
    set_: Set = None,
    device: Device = "auto",
    broken: Broken = False,
    json: Json = False,
) -> int:
    """Use a trained model.

    An input that cannot be used is named on stderr, the others are answered, and the exit code is 2.
    """
    output.prepare()
    part = _checked_part(output_, resume, shard, join, json, "--output")
    loaded = load_run(run, broken=broken, device=device)
    from weft.runs.asking import check_output

    check_output(loaded, output_, [*(inputs or ()), input])
    if join:
        return _joined(loaded, "predict", inputs, output_)
    settings = settings_of(set_, loaded.predict)
    with changed_by(loaded, settings):
        return _predicted(loaded, run, inputs, input, output_, text, settings, json, part, resume, set_ or [])


def _checked_part(
    output_: Path | None, resume: bool, shard: str | None, join: bool, json: bool, option: str
) -> "Shard":
    """The shard that is asked for; refused where its answers would not go into a file."""
    from weft.runs.many import Shard

    asked = [name for name, said in (("--resume", resume), ("--shard", shard), ("--join", join)) if said]
    if asked and output_ is None:
        raise WeftError("needs a file to write to", where=asked[0], fix=f"add {option} FILE")
    if join and len(asked) > 1:
        raise WeftError(f"goes without {asked[0]}", where="--join", fix="leave it out")
    if asked and json:
        raise WeftError("a JSON object would hold all answers at once", where="--json", fix="leave it out")
    return Shard() if shard is None else Shard.read(shard)


def _joined(loaded: "Run", use: str, parts: list[str] | None, output_: Path | None) -> int:
    """The shards of a work as one file."""
    from weft.runs.embedding import npy_header
    from weft.runs.many import weights_digest
    from weft.runs.shards import checked_records, join

    assert output_ is not None
    found = checked_records([Path(part) for part in parts or ()], weights_digest(loaded), use)
    more = next(iter(found.values())).more
    first = npy_header(sum(one.count for one in found.values()), more["width"]) if use == "embed" else b""
    count = join(found, output_, first)
    output.say(f"wrote {output_}: {count:,} {'vectors' if use == 'embed' else 'rows'} of {len(found)} shards")
    return 0


def _predicted(
    loaded: "Run",
    run: str,
    inputs: list[str] | None,
    input: Path | None,
    output_: Path | None,
    text: bool,
    settings: dict[str, Any],
    json: bool,
    shard: "Shard",
    resume: bool,
    said: list[str],
) -> int:
    """Answers on stdout or in a file; the exit code."""
    from weft.runs.answer_table import is_answered_as_table
    from weft.runs.answered import Answered

    task, gives = loaded.task, loaded.task.gives(loaded.loaded)
    own = output_ is not None and output_.suffix.lower() in gives.endings
    asked = _asked(loaded, inputs, input, text, {**settings, **({"output": output_} if own else {})})
    if len(asked) == 1 and isinstance(asked[0], Path) and not json:
        document = None if resume or shard.of > 1 else loaded.predict_file(asked[0], **settings)
        if document is not None:
            output.document(document[0], output_)
            return 0
    tabled = is_answered_as_table(loaded, asked, output_)
    writes = own and not tabled
    if writes and (resume or shard.of > 1):
        problem = f"all answers go into one {output_.suffix if output_ else ''} file, which is made at once"
        raise WeftError(problem, where="--resume" if resume else "--shard", fix="leave it out")
    settings |= {"output": str(output_)} if writes else {}
    asked = asked or ([""] if gives.streams else [])
    streams = gives.streams and not json and output_ is None and len(asked) == 1 and "samples" not in settings
    stream = (
        output.LiveText(str(asked[0]) if gives.continues else "") if streams and isinstance(asked[0], str) else None
    )
    found = Answered(loaded, asked, settings, listen=stream, shard=shard, said=said)
    to_file = output_ is not None and not writes
    if to_file or tabled:
        predictions = output.answered(found, output_, json, table=tabled, resume=resume)
    else:
        predictions = found.predictions()
    report = {"run": run, "task": task.name, "predictions": predictions,
              **output.failures(found.failed, found.all_failed)}  # fmt: skip
    if json or not (to_file or tabled or writes):
        output.predicted(report, task.shown, json, stream)
    elif writes:
        output.say(f"wrote {output_}")
    return WeftError.exit_code if found.all_failed else 0


def _asked(
    loaded: "Run", inputs: list[str] | None, input: Path | None, text: bool, settings: dict[str, Any]
) -> list[object]:
    """What is to be predicted: words of the command line, a file that was named, or the lines piped in."""
    task, streams = loaded.task, loaded.task.gives(loaded.loaded).streams
    needs_input = not any(one.may_lack for one in task.asks)
    asked = inputs_of(loaded, "predict", inputs, input, text=text, encoding=settings.get("encoding"))
    if not asked and (needs_input or not settings):
        asked = list(piped())
    if not asked and not streams and (needs_input or not settings):
        raise WeftError("no input", where="weft predict", fix="give texts, a file, or pipe lines in")
    return asked


@commands.command(
    epilog=examples(
        "weft evaluate runs/book-1",
        "weft evaluate runs/book-1 other.txt --json",
        "weft evaluate runs/reviews-1 test.csv --set text_column=comment --set label_column=stars",
    )
)
def evaluate(
    run: RunFolder,
    data: Annotated[
        list[str] | None,
        typer.Argument(metavar="DATA", help="Data to measure on; by default the run's held-out data."),
    ] = None,
    set_: Set = None,
    device: Device = "auto",
    broken: Broken = False,
    json: Json = False,
) -> None:
    """Measure a trained model on data."""
    output.prepare()
    loaded = load_run(run, broken=broken, device=device)
    settings = settings_of(set_, loaded.evaluate)
    with changed_by(loaded, settings):
        output.evaluated(loaded.evaluate(data or None, **settings), json)


@commands.command(
    epilog=examples(
        'weft look runs/phrasebook-1 "My house is tiny and cozy." -o alignment.png',
        'weft look runs/phrasebook-1 "My house is tiny and cozy." --set every=true -o heads.svg',
        'weft look runs/phrasebook-1 "My house is tiny and cozy." --set token=maison --set layer=1 --set head=2',
        "weft look runs/reviews-1 test.csv --row 3 -o look.png     the third row of a table",
        "weft look runs/photos-1 picture.jpg -o look.png",
        "weft look runs/photos-1 picture.jpg --set by=occlusion -o look.png",
        'weft look runs/book-1 "Once upon a" --set without=3.2     without head 2 of layer 3',
        'weft look runs/book-1 "Once upon a time" --beside "Once upon a dog" -o both.html     two inputs',
        'weft look runs/book-1 "Once upon a" --beside-run runs/book-2 -o both.html     two runs',
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
            "-o",
            "--output",
            metavar="FILE",
            help="A .png, .svg, .pdf, .html or .gif to write; without it, text is printed.",
        ),
    ] = None,
    what: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Show learned weights instead of one input: filters,positions.")
    ] = None,
    row: Annotated[
        int | None,
        typer.Option(parser=number(int, "--row"), metavar="N", help="The row of a table to look at, from 1."),
    ] = None,
    beside: Annotated[
        str | None, typer.Option(metavar="INPUT", help="A second input, beside the first on one scale (.html).")
    ] = None,
    beside_run: Annotated[
        str | None,
        typer.Option(metavar="RUN", help="A second run that looks at the same input, or at that of --beside."),
    ] = None,
    text: AsText = False,
    set_: Set = None,
    device: Device = "auto",
    broken: Broken = False,
    json: Json = False,
) -> None:
    """See what a model attends to: its attention weights."""
    output.prepare()
    if output_ is not None:
        from weft.inspect.views import check_ending

        check_ending(output_)
    loaded = load_run(run, broken=broken, device=device)
    asked = inputs_of(loaded, "look", inputs, None, text=text) or ([] if what else list(piped()))
    from weft.runs.asking import check_output

    check_output(loaded, output_, [*asked, *([] if beside is None else [beside])], "-o")
    several = any(one.several for one in loaded.task.asks) and len(asked) > 1 and not what
    if len(asked) != (0 if what else 1) and not several:
        problem = f"expected {'no input beside --what' if what else 'one input'}, found {len(asked)}"
        fix = 'give a text or the name of a picture, as in: weft look RUN "My house is tiny."'
        raise WeftError(problem, where="weft look", fix=fix)
    words = settings_of(set_, loaded.look, {"what": what})
    one = asked if several else asked[0] if asked else None
    with changed_by(loaded, settings := dict(words)):
        view = loaded.look(one, row=row, **settings)
        report = {"run": run, "task": loaded.task.name, "look": view.to_json()}
        if beside is None and beside_run is None:
            output.looked(report, view, json, output_)
            return
        other = loaded if beside_run is None else load_run(beside_run, broken=broken, device=device)
        if beside is not None:
            one = inputs_of(other, "look", [beside], None, text=text)[0]
        with nullcontext() if other is loaded else changed_by(other, settings := dict(words)):
            second = other.look(one, row=row, **settings)
            report |= {"beside": {"run": beside_run or run, "task": other.task.name, "look": second.to_json()}}
            output.looked(report, view.beside(second), json, output_)


@commands.command(
    epilog=examples(
        "weft embed runs/minilm sentences.txt -o vectors.npy",
        "weft embed runs/minilm papers.csv -o vectors.npy --set text_column=abstract     a vector for each row",
        'weft embed runs/minilm sentences.txt --query "a sleeping cat"     the nearest sentences',
        'weft embed runs/coca photos/ --query "a dog on a beach" -o found.png     the nearest pictures',
    )
)
def embed(
    run: RunFolder,
    inputs: Annotated[
        list[str] | None,
        typer.Argument(metavar="INPUT", help="Texts; tables, files with one text in each line; or pictures."),
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
    resume: Resume = False,
    shard: Sharded = None,
    join: Join = False,
    text: AsText = False,
    set_: Set = None,
    device: Device = "auto",
    broken: Broken = False,
    json: Json = False,
) -> int:
    """Turn texts or pictures into vectors (embeddings), or search."""
    output.prepare()
    part = _checked_part(output_, resume, shard, join, False, "-o")
    from weft.runs.embedding import embed_inputs

    loaded = load_run(run, broken=broken, device=device)
    if join:
        return _joined(loaded, "embed", inputs, output_)
    given = inputs_of(loaded, "embed", inputs, None, text=text) if inputs else list(piped())
    settings = settings_of(set_, loaded.embed)
    with changed_by(loaded, settings):
        found, failed, count = embed_inputs(
            loaded, given, output_, query or (), best, settings, resume=resume, shard=part, said=set_ or []
        )
    output.embedded({"run": run, **found, **output.failures(failed, count)}, json)
    return WeftError.exit_code if count else 0
