"""What weft tells people when something is wrong. Knows nothing but words and exit codes.

Every message says what was wrong and where, what was expected, and what to do.
"""

import difflib
import re
from collections.abc import Iterable, Sequence

SHOWN = 4  # names in a message
# Control characters, bidirectional overrides and halves of characters: what can steer a terminal or break a stream.
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


class WeftError(Exception):
    """The user's mistake, or bad input: exit code 2."""

    exit_code = 2

    def __init__(self, problem: str, *, where: str = "", fix: str = ""):
        """`where` is a file, line or field; `fix` says what to do next."""
        self.problem, self.where, self.fix = problem, where, fix
        super().__init__(problem, where, fix)

    def __str__(self) -> str:
        message = f"{self.where}: {self.problem}" if self.where else self.problem
        return f"{message}\n  -> {self.fix}" if self.fix else message


class ConfigError(WeftError):
    """A setting, a config file or a model definition that cannot be used."""


class DataError(WeftError):
    """A user's file that cannot be read as what it should be."""


class Diverged(WeftError):
    """Non-finite numbers: the run stops before they reach the weights."""


class StorageError(WeftError):
    """The disk refused: full, read-only, damaged. Exit code 74."""

    exit_code = 74


class Interrupted(WeftError):
    """Asked to stop, and saved: exit code 75."""

    exit_code = 75


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint for a misspelt name: the closest known one, else the whole list."""
    options = sorted(known)
    close = closest(name, options)
    return f"known: {', '.join(options)}" if close is None else f"did you mean {close!r}?"


def closest(name: str, known: Iterable[str]) -> str | None:
    """The known name that a misspelt one is most like; None where none is like it."""
    options = sorted(known)
    swapped = [option for option in options if sorted(option) == sorted(name)]  # the commonest typo
    return next(iter(swapped or difflib.get_close_matches(name, options, n=1, cutoff=0.5)), None)


def listed(names: Sequence[str]) -> str:
    """Some names for a message, and how many more there are."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def harmless(text: str) -> str:
    """A text that may be printed on a terminal, wherever it comes from."""
    return STEERING.sub("\N{REPLACEMENT CHARACTER}", text)
