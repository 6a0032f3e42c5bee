"""Commands that go on until they are ended: serve, chat."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from weft.cli import output
from weft.cli.words import Broken, Device, RunFolder, Set, examples, load_run, number, require_serving, settings_of

commands = typer.Typer()


@commands.command(
    epilog=examples(
        "weft serve runs/book-1 runs/photos-1     http://127.0.0.1:8000",
        "weft serve runs/     all finished runs there, new ones as they finish, those in training live",
        "weft serve runs/book-1 --port 0 --precision int8",
        "weft serve runs/book-1 --host 0.0.0.0     for others too: prints a token that they need",
        "weft serve runs/book-1 --socket /run/user/1000/weft     for this user alone",
    )
)
def serve(
    runs: Annotated[list[str], typer.Argument(metavar="RUN", help="Folders of runs, or folders that hold runs.")],
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(parser=number(int, "--port"), metavar="N", help="The port; 0 takes any that is free.")
    ] = 8000,
    token: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT", envvar="WEFT_TOKEN", help="A secret that clients must send; made where it is needed."
        ),
    ] = None,
    name: Annotated[
        list[str] | None, typer.Option(metavar="HOST", help="A further name of this server, as a proxy passes it on.")
    ] = None,
    socket: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Listen at a socket of this name instead (Unix).")
    ] = None,
    precision: Annotated[
        str, typer.Option(metavar="FORMAT", help="Number format: fp32, bf16 or int8 (quantised).")
    ] = "fp32",
    device: Device = "auto",
    broken: Broken = False,
) -> None:
    """Serve runs over HTTP: a page for people, an API for programs.

    Ends with Ctrl-C: requests in work are finished first, a second Ctrl-C ends at once.
    """
    output.prepare()
    require_serving("weft serve")
    from weft.config import parse
    from weft.requirements import check_requirements

    chosen = parse(precision, Literal["fp32", "bf16", "int8"], where="--precision")
    check_requirements()
    from weft.web.serving import serve as serve_runs

    serve_runs(
        runs, host=host, port=port, token=token, names=name or (), at=socket, precision=chosen, device=device,
        broken=broken, say=output.say,
    )  # fmt: skip


@commands.command(
    epilog=examples(
        "weft chat runs/talks-1",
        'weft chat runs/talks-1 --set temperature=0.7 --set system="Answer in one sentence."',
        "echo 'Who are you?' | weft chat runs/talks-1     answers each line",
    )
)
def chat(run: RunFolder, set_: Set = None, device: Device = "auto", broken: Broken = False) -> None:
    """Talk with a language model, in its own turns.

    Ctrl-C stops an answer, Ctrl-D ends the talk.
    """
    output.prepare()
    loaded = load_run(run, broken=broken, device=device)
    from weft.runs.conversation import Conversation

    talk = Conversation(loaded, **settings_of(set_, loaded.predict))
    for note in talk.notes:
        output.say(note)
    output.talk(talk)
