"""How a command ends: every error becomes words on stderr and a truthful exit code."""

import errno
import os
import re
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from weft.cli import output
from weft.errors import Interrupted, WeftError, nearest
from weft.requirements import is_requirement, missing
from weft.storage.disk import EXPLAINED, storage_error

NO_MEMORY = ("allocate memory", "out of memory", "not enough memory")


def exit_code(command: Callable[[], Any], *, commands: Sequence[str], as_json: bool, debug: bool) -> int:
    """Run a command to its end; `commands` are the names that there are."""
    try:
        code = command() or 0
        if sys.stdout is not None:
            sys.stdout.flush()
    except BaseException as error:
        if isinstance(error, BrokenPipeError) or isinstance(error.__context__, BrokenPipeError):
            _settle()
            return 0  # whoever read the results has read enough
        found = explained(error, commands)
        if found is None:
            raise
        if debug:
            traceback.print_exc()
        code = 130 if isinstance(error, KeyboardInterrupt) else found.exit_code
        output.complain(found, code, as_json)
    _settle()
    return code


def explained(error: BaseException, commands: Sequence[str]) -> WeftError | None:
    """What an error means to the person who typed the command; None where it is not for them."""
    if isinstance(error, WeftError):
        return error
    if isinstance(error, KeyboardInterrupt) or type(error).__name__ == "Abort":
        return Interrupted("interrupted")
    if not isinstance(error, Exception):
        return None
    if hasattr(error, "format_message"):  # typer's errors, which have had several homes
        return _usage(error, commands)
    if isinstance(error, ImportError) and is_requirement(error):
        return missing(error)
    if isinstance(error, MemoryError) or any(words in str(error) for words in NO_MEMORY):
        fix = "choose a smaller model (--preset tiny), batch (--set batch=8) or micro-batch (--set micro=4)"
        return WeftError("this machine has not enough memory", fix=fix)
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, *EXPLAINED):
        return storage_error(error, Path(os.fsdecode(error.filename or "")))
    return Fault(
        f"an error in weft itself: {type(error).__name__}: {error}", fix="run again with --debug for the details"
    )


class Fault(WeftError):
    """Weft's own mistake."""

    exit_code = 70


def _usage(error: Any, commands: Sequence[str]) -> WeftError:
    path = getattr(getattr(error, "ctx", None), "command_path", "weft")
    where = "" if path == "weft" else path
    if unknown := re.match("No such command '(.*?)'", str(error.message)):
        below = getattr(getattr(getattr(error, "ctx", None), "command", None), "commands", {}) if where else {}
        return WeftError(
            f"there is no command {unknown[1]!r}", where=where, fix=nearest(unknown[1], [*below] or commands)
        )
    if option := getattr(error, "option_name", None) if str(error.message).startswith("No such option") else None:
        close = getattr(error, "possibilities", None)
        fix = nearest(option, close) if close else f"{path} --help"
        return WeftError(f"there is no option {option}", where=where, fix=fix)
    return WeftError(error.format_message().rstrip("."), where=where, fix=f"{path} --help")


def _settle() -> None:
    """A stream that nobody reads any more must not fail again when Python closes it."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            try:
                os.dup2(nowhere, stream.fileno())
            except (OSError, ValueError):
                pass
            finally:
                os.close(nowhere)
