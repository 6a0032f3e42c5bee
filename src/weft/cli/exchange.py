"""Commands that take models from other tools and hand them over: import, export."""

from typing import Annotated

import typer

from weft.cli import output
from weft.cli.words import Broken, Json, Out, RunFolder, examples, load_run, settings_of

commands = typer.Typer()


@commands.command(
    name="import",
    epilog=examples(
        "weft import models/minilm --out runs/minilm      a folder with config.json and model.safetensors",
        "weft import sentence-transformers/all-MiniLM-L6-v2   fetched from the Hub, because you named it",
        "weft import vectors.txt --out runs/glove         word vectors: word2vec's text or binary, GloVe's text, .npz",
    ),
)
def import_(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE", help="A Hugging Face folder, owner/name on the Hub, or a file of word vectors."
        ),
    ],
    out: Out = None,
    task: Annotated[
        str | None,
        typer.Option(
            metavar="TASK",
            help="What it is to be used for, where a model serves several tasks: GIT captions and answers.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Turn a Hugging Face model, or word vectors, into a run."""
    output.prepare(computes=True)
    from weft.runs.importing import import_run
    from weft.runs.run import Run

    loaded, remarks = import_run(source, out, task)
    output.imported(Run(loaded).report, remarks, json)


@commands.command(
    epilog=examples(
        "weft export runs/book-1 --to hf --out book-hf       for transformers: AutoModel, AutoTokenizer",
        "weft export runs/book-1 --to onnx --out book-onnx   for onnxruntime; any batch size and length",
        "weft export runs/nllb --out nllb-de --set target_language=de   a translator of several languages, into German",
        "weft export runs/words-1 --to word2vec --out words.txt   word vectors as text; words.bin is binary",
    )
)
def export(
    run: RunFolder,
    out: Annotated[
        str,
        typer.Option(metavar="FOLDER", help="The folder to write, or the file of word vectors; it must not exist yet."),
    ],
    to: Annotated[str, typer.Option(metavar="NAME", help="hf, onnx or word2vec.")] = "hf",
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="For translators of several languages: source_language and target_language, which the export is "
            "written for.",
        ),
    ] = None,
    broken: Broken = False,
    json: Json = False,
) -> None:
    """Write a run for another tool, checked to compute the same."""
    output.prepare(computes=True)
    from weft.runs.exporting import check_target

    check_target(to)
    loaded = load_run(run, broken=broken, device="cpu")
    output.exported(loaded.export(out, to=to, **settings_of(set_, loaded.export)), json)  # type: ignore[arg-type]
