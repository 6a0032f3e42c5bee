"""The command that tries the lectures' claims: lab."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from weft.cli import output
from weft.cli.words import Json, Set, examples, settings_of
from weft.errors import WeftError

if TYPE_CHECKING:
    from weft.lab.running import Result

commands = typer.Typer()


@commands.command(
    epilog=examples(
        "weft lab                                  the claims, and what each takes",
        "weft lab heads -o heads.html              runs one (or D4): a figure, a number, a verdict",
        "weft lab longer --set lengths=64,256,1024 --minutes 5",
        "weft lab memorise --data letters.txt      on your own text",
        "weft lab all -o report/                   all of them; goes on where it was stopped",
        "weft lab all --sets 5 -o report/          with five times the seeds: is each set of them judged alike?",
    )
)
def lab(
    claim: Annotated[str | None, typer.Argument(metavar="CLAIM", help="A claim by its name or id, or all.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o", "--out", metavar="FILE", help="The page to write: .html, .png, .svg or .json; for all, a folder."
        ),
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(metavar="N", help="How often to repeat it, with other random numbers.")
    ] = None,
    minutes: Annotated[float | None, typer.Option(metavar="X", help="Repeat it as often as this time allows.")] = None,
    sets: Annotated[
        int | None, typer.Option(metavar="N", help="Disjoint sets of the usual number of seeds, each judged too.")
    ] = None,
    first: Annotated[
        int | None, typer.Option(metavar="N", help="The first seed; by default that of the claim.")
    ] = None,
    data: Annotated[
        str | None, typer.Option(metavar="FILE", help="Your own file, where a claim can be tried on it.")
    ] = None,
    set_: Set = None,
    json: Json = False,
) -> None:
    """Try what the lectures claim: a figure, a number and a verdict."""
    if claim is None:
        output.prepare()
        _listed(json)
        return
    output.prepare(computes=True)
    from weft.lab import pages
    from weft.lab.experiment import experiment, experiments
    from weft.lab.report import report
    from weft.lab.running import run, settings_for
    from weft.training.progress import Progress

    for word, asked in (("--seeds", seeds), ("--sets", sets)):
        if asked is not None and asked < 1:
            raise WeftError(f"expected at least 1, found {asked}", where=word)
    if sum(one is not None for one in (seeds, sets, minutes)) > 1:
        raise WeftError("each says how many seeds", where="--seeds, --sets and --minutes", fix="leave all but one out")
    chosen = experiments() if claim == "all" else [experiment(claim)]
    words = settings_of(set_, settings_for)
    if claim == "all" and (words or data):
        raise WeftError("settings and data are those of one claim", where="weft lab all", fix="name the claim")
    if claim == "all" and out is None:
        raise WeftError("no place for the report", where="weft lab all", fix="add -o report/")
    folder = out / "lab" if claim == "all" and out else None
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    results = []
    for one in chosen:
        kept = folder / f"{one.claim.name}.json" if folder else None
        settings = settings_for(one, words, data)
        share = minutes and (minutes / len(chosen))
        wanted = sets * one.claim.seeds if sets else seeds
        result = run(one, settings, seeds=wanted, minutes=share, first=first, kept=kept, progress=Progress(quiet=json))
        results.append(result)
        if folder:
            (folder / f"{one.claim.name}.png").write_bytes(pages.figure(result, "png"))
            (folder / f"{one.claim.name}.html").write_bytes(pages.web_page(result))
            (folder.parent / "lab.md").write_text(report(results, _machine(), folder.name), encoding="utf-8")
        if not json:
            output.say("\n".join(pages.told(result)))
    if folder and out:
        output.say(f"wrote {out / 'lab.md'}, with figures, pages and outcomes in {folder}")
    elif out is not None:
        _write(results[0], out)
    if json:
        output.emit({"results": [pages.as_json(result) for result in results]})


def _listed(json: bool) -> None:
    """The claims, what each compares and takes."""
    from weft.amounts import duration
    from weft.lab.experiment import experiments

    found = [one.claim for one in experiments()]
    if json:
        output.emit(
            {"claims": [{"id": one.id, "name": one.name, "says": one.says, "source": one.source} for one in found]}
        )
        return
    for one in found:
        output.say(f"{one.id:4} {one.name:12} {one.says}")
        output.say(f"{'':17} {one.compared}; about {duration(one.seconds * one.seeds)}")
    output.say("weft lab NAME -o page.html runs one; weft lab all -o report/ runs all")


def _write(result: "Result", out: Path) -> None:
    from weft.json_text import write_json
    from weft.lab import pages
    from weft.storage.store import write_file

    makers = {
        ".html": pages.web_page,
        ".png": lambda one: pages.figure(one, "png"),
        ".svg": pages.figure,
        ".json": lambda one: write_json(pages.as_json(one)).encode(),
    }
    if out.suffix.lower() not in makers:
        raise WeftError(f"expected {', '.join(makers)}, found {out.suffix or 'no ending'}", where=str(out))
    write_file(out, makers[out.suffix.lower()](result))
    output.say(f"wrote {out}")


def _machine() -> str:
    """The machine that measured, in a few words."""
    import torch

    from weft.native import state

    return f"{torch.get_num_threads()} of {os.cpu_count()} cores ({state()}), torch {torch.__version__.split('+')[0]}"
