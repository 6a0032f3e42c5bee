"""What weft tells people when something is wrong. Knows nothing but words and exit codes.

Every message says what was wrong and where, what was expected, and what to do.
"""

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

SHOWN = 4  # names in a message
LONGEST = 1400  # characters of a message, whatever a file says that it quotes
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
        where, problem, fix = shortened((self.where, self.problem, self.fix), LONGEST)
        message = f"{where}: {problem}" if where else problem
        return f"{message}\n  -> {fix}" if fix else message


class ConfigError(WeftError):
    """A setting, a config file or a model definition that cannot be used."""


class DataError(WeftError):
    """A user's file that cannot be read as what it should be."""


class Unfit(ConfigError):
    """Parts of a model that do not fit each other, or what it is given: found when it computes."""


class NotNumbers(WeftError):
    """A model computes values that are not finite: its weights are damaged, or its training diverged."""


class Diverged(WeftError):
    """Non-finite numbers: the run stops before they reach the weights."""


class StorageError(WeftError):
    """The disk refused: full, read-only, damaged. Exit code 74."""

    exit_code = 74


class Interrupted(WeftError):
    """Asked to stop, and saved: exit code 75."""

    exit_code = 75


@contextmanager
def placed(where: str) -> Iterator[None]:
    """Errors raised within say `where` they are: what is made of a file does not know which file it was read from."""
    try:
        yield
    except WeftError as error:
        if where not in error.where:
            error.where = f"{where}: {error.where}" if error.where else where
            error.args = (error.problem, error.where, error.fix)
        raise


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint for a misspelt name: the closest known one, else the whole list."""
    options = sorted(known)
    close = closest(name, options)
    return f"known: {', '.join(options)}" if close is None else f"did you mean {close!r}?"


def nearest_setting(name: str, known: Iterable[str], about: Mapping[str, str]) -> str:
    """A hint for an unknown setting, which may be the usual name of a known one: learning_rate for lr.

    `about` says in words what the known settings mean.
    """
    options, usual = set(known), name.lower().replace("_", " ").replace("-", " ")
    meant = [option for option, words in about.items() if option in options and " " in usual and usual in words.lower()]
    return f"did you mean {meant[0]!r}?" if meant else nearest(name, options)


def closest(name: str, known: Iterable[str]) -> str | None:
    """The known name that a misspelt one is most like; None where none is like it."""
    options = sorted(known)
    swapped = [option for option in options if sorted(option) == sorted(name)]  # the commonest typo
    return next(iter(swapped or difflib.get_close_matches(name, options, n=1, cutoff=0.5)), None)


def listed(names: Sequence[str]) -> str:
    """Some names for a message, and how many more there are."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def shortened(texts: Sequence[str], most: int) -> list[str]:
    """Texts that have at most `most` characters together: long ones are cut behind, short ones stay whole."""
    left, found = most, list(texts)
    for rest, i in enumerate(sorted(range(len(texts)), key=lambda i: len(texts[i]))):
        room = left // (len(texts) - rest)
        if len(texts[i]) > room:
            found[i] = texts[i][: room - 1] + "…"
        left -= len(found[i])
    return found


def harmless(text: str) -> str:
    """A text that may be printed on a terminal, wherever it comes from."""
    return STEERING.sub("\N{REPLACEMENT CHARACTER}", text)
