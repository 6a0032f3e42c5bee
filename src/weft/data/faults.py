"""Rows that cannot be used: refused, or left out and counted up to a bound. Knows errors; refuses to know rows."""

from weft.errors import ConfigError, DataError

LISTED = 100  # bad rows that are listed one by one


class Faults:
    """What was wrong so far. `skip` is how many bad rows are borne, or, if it is not a whole number, which share of all."""

    def __init__(self, skip: int | float | None):
        if skip is not None and (isinstance(skip, bool) or not skip >= 0 or (isinstance(skip, float) and skip > 1)):
            raise ConfigError(f"expected a number of rows or a share from 0.0 to 1.0, found {skip}", where="skip")
        self.skip, self.count = skip, 0
        self.first: list[DataError] = []

    def take(self, error: DataError) -> None:
        """Count a bad row, or raise where no more are borne."""
        self.count += 1
        if self.skip is None:
            fix = f"{error.fix}; or allow for some bad rows, which are then left out and counted"
            raise DataError(error.problem, where=error.where, fix=fix)
        if len(self.first) < LISTED:
            self.first.append(error)
        if isinstance(self.skip, int) and self.count > self.skip:
            raise self._too_many(f"{self.count} so far, allowed: {self.skip}")

    def check(self, good: int) -> None:
        """Refuse the whole where too large a share of it was bad, beside so many good rows."""
        share = self.count / max(self.count + good, 1)
        if isinstance(self.skip, float) and share > self.skip:
            raise self._too_many(f"{self.count} ({share:.2%}), allowed: {self.skip:.2%}")

    def listed(self) -> list[tuple[str, str]]:
        """Where the first ones stand, and what is wrong there."""
        return [(error.where, error.problem) for error in self.first]

    def _too_many(self, found: str) -> DataError:
        first = self.first[0]
        return DataError(f"bad rows: {found}; the first: {first.problem}", where=first.where, fix=first.fix)
