"""Rows and pictures that cannot be used: refused, or left out, listed and counted up to a bound. The one policy.

`skip` is how many may be bad: a whole number, or a share of all from 0.0 to 1.0. Where nobody says, no row of a table
may be bad, since a bad row there often means that columns are shifted; of pictures and of files of text one in a
hundred may, since collections of files are rarely without a broken one; and of pictures always one.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TypeVar

from weft.errors import ConfigError, DataError

LISTED = 100  # bad rows that are recorded one by one
PLACES = 5  # gaps of one kind whose places are listed
NAMED = 10  # bad pictures named in an error
SHARE = 0.01  # of pictures that may be bad, by default

T = TypeVar("T")
Skip = int | float | None
Reasons = list[tuple[str, str]]  # (where, what is wrong)

_listed: ContextVar[int] = ContextVar("listed", default=LISTED)


@contextmanager
def listing(most: int) -> Iterator[None]:
    """Within this block, this many bad rows are recorded one by one."""
    token = _listed.set(most)
    try:
        yield
    finally:
        _listed.reset(token)


def current_listing() -> int:
    """How many bad rows are recorded one by one, here and now."""
    return _listed.get()


def check_skip(skip: Skip, unit: str = "rows") -> None:
    """Refuse what is neither a number nor a share."""
    if skip is not None and (isinstance(skip, bool) or not skip >= 0 or (isinstance(skip, float) and skip > 1)):
        raise ConfigError(f"expected a number of {unit} or a share from 0.0 to 1.0, found {skip}", where="skip")


class Gap(DataError):
    """A cell left empty, which is no fault where nobody set a bound."""

    def __init__(self, missing: str, where: str):
        super().__init__(f"a row without a {missing}", where=where, fix="fill it in, or delete the row")
        self.missing = missing


@dataclass
class Gaps:
    """How often something was missing, and where the first few times."""

    count: int = 0
    first: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.count:,} ({'; '.join(self.first)}{'; …' if self.count > len(self.first) else ''})"


class BadRows:
    """The bad rows of tables so far, and the bad ones of `files`, or other things that stand alone.

    Raises where no more may be skipped.
    """

    def __init__(self, skip: Skip, files: int = 0):
        check_skip(skip)
        self.skip, self.count = skip, 0
        self.files, self.lost = files, list[DataError]()
        self.first: list[DataError] = []
        self.gaps: defaultdict[str, Gaps] = defaultdict(Gaps)  # by what is missing

    def take_file(self, error: DataError) -> None:
        """Count a file, or another thing that stands alone, which cannot be read; or raise where no more may be."""
        self.lost.append(error)
        if len(self.lost) >= self.files:
            raise error  # nothing is left
        if self.skip is not None or len(self.lost) > SHARE * self.files:
            self.take(error)

    def take(self, error: DataError) -> None:
        """Count a bad row, or raise where no more may be skipped."""
        self.count += 1
        if isinstance(error, Gap):
            self.gaps[error.missing].count += 1
            self.gaps[error.missing].first += [error.where] * (len(self.gaps[error.missing].first) < PLACES)
        elif self.skip is None:
            fix = f"{error.fix}; or leave out up to 100 bad rows: --set skip=100"
            raise DataError(error.problem, where=error.where, fix=fix)
        if len(self.first) < _listed.get():
            self.first.append(error)
        if isinstance(self.skip, int) and self.count > self.skip:
            raise self._too_many(f"{self.count} so far, allowed: {self.skip}")

    def without(self, rows: Iterable[T | DataError]) -> Iterator[T]:
        """The rows that can be used; the others are counted."""
        for row in rows:
            if isinstance(row, DataError):
                self.take(row)
            else:
                yield row

    def check(self, good: int) -> None:
        """Refuse the data where too large a share of its rows was bad."""
        share = self.count / max(self.count + good, 1)
        if isinstance(self.skip, float) and share > self.skip:
            raise self._too_many(f"{self.count} ({share:.2%}), allowed: {self.skip:.2%}")

    def listed(self) -> Reasons:
        """Where the first ones stand, and what is wrong there."""
        files = self.lost if self.skip is None else []  # the others are among the bad rows
        return [(error.where, error.problem) for error in (*files, *self.first)]

    def lost_in_words(self) -> list[str]:
        """The files that were left out, for notes."""
        if not self.lost:
            return []
        first = "; ".join(f"{error.where}: {error.problem}" for error in self.lost[:PLACES])
        return [f"files left out, as they cannot be read: {len(self.lost):,} of {self.files:,} ({first})"]

    def _too_many(self, found: str) -> DataError:
        first = self.first[0]
        fix = f"{first.fix}; or leave more out: --set skip={2 * self.count}"
        return DataError(f"bad rows: {found}; the first: {first.problem}", where=first.where, fix=fix)


def check_bad(
    bad: Sequence[tuple[str, str]], total: int, skip: Skip, where: str, *, so_far: bool = False, unit: str = "pictures"
) -> None:
    """Refuse pictures, or other units that are tried one by one, of which more are bad than may be."""
    check_skip(skip, unit)
    allowed = max(1, int(SHARE * total)) if skip is None else skip if isinstance(skip, int) else skip * total
    if len(bad) <= allowed:
        return
    count = f"at least {len(bad)}" if so_far else len(bad)
    problem = f"{count} of {total} {unit} cannot be used, allowed: {int(allowed)}:{reasons(bad)}"
    enough = 2 * len(bad) if so_far else len(bad)
    raise DataError(problem, where=where, fix=f"repair or delete them, or leave them out with --set skip={enough}")


def reasons(left_out: Sequence[tuple[str, str]]) -> str:
    """The first few of what was left out, a line each, for a message."""
    listed = "".join(f"\n     {name}: {reason}" for name, reason in left_out[:NAMED])
    return listed + (f"\n     and {len(left_out) - NAMED} more" if len(left_out) > NAMED else "")
