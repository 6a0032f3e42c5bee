"""Help pages in plain words: arguments by their names alone, without Python's types and brackets that mean nothing."""

import re
from typing import Any

TYPE = re.compile(r" <[^<>]*>$")  # as in "DATA <list[str]>"
REQUIRED = re.compile(r"\{(\w+)\}")  # as in "weft predict {RUN}"


def with_plain_help(command: Any) -> Any:
    """The command, as typer builds it, with all commands below it; its help pages name arguments as people do."""
    for below in getattr(command, "commands", {}).values():
        with_plain_help(below)
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            _make_plain(parameter)
    return command


def _make_plain(argument: Any) -> None:
    record, pieces = argument.get_help_record, argument.get_usage_pieces

    def plain_record(ctx: Any) -> tuple[str, str] | None:
        found = record(ctx)
        return found and (TYPE.sub("", found[0]), found[1])

    argument.get_help_record = plain_record
    argument.get_usage_pieces = lambda ctx: [REQUIRED.sub(r"\1", piece) for piece in pieces(ctx)]
