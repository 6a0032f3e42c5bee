"""What a campaign counts, and the table that it writes between two marks on a page."""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

Row = Sequence[str]


@dataclass
class Tally:
    """How often each kind was tried, and what was missed of it, in words."""

    tried: dict[str, int] = field(default_factory=dict)
    missed: dict[str, list[str]] = field(default_factory=dict)

    def count(self, kind: str, problem: str | None = None, times: int = 1) -> None:
        """One more of a kind; `problem` says what was wrong where it was missed."""
        self.tried[kind] = self.tried.get(kind, 0) + times
        if problem is not None:
            self.missed.setdefault(kind, []).append(problem)

    def add(self, other: "Tally") -> "Tally":
        """The sum of both."""
        for kind, times in other.tried.items():
            self.count(kind, times=times)
        for kind, problems in other.missed.items():
            self.missed.setdefault(kind, []).extend(problems)
        return self

    @property
    def total(self) -> int:
        """All that were tried."""
        return sum(self.tried.values())

    @property
    def problems(self) -> list[str]:
        """All that were missed."""
        return [f"{kind}: {problem}" for kind, problems in self.missed.items() for problem in problems]

    def rows(self) -> list[Row]:
        """A row for each kind, and one for all."""
        found = [[kind, f"{times:,}", str(len(self.missed.get(kind, ())))] for kind, times in self.tried.items()]
        return [*found, ["**all**", f"**{self.total:,}**", f"**{len(self.problems)}**"]]


def table(header: Row, rows: Iterable[Row], words: Collection[int] = ()) -> str:
    """A table in Markdown; the columns behind the first are numbers, but for those that have words."""
    line = ["---", *("---" if at in words else "--:" for at in range(1, len(header)))]
    return "\n".join(f"| {' | '.join(row)} |" for row in (header, line, *rows))


def write_between(page: Path, name: str, content: str) -> None:
    """Put content between the marks `<!-- campaign: name -->` and `<!-- end of name -->`, each once on the page."""
    begin, end = f"<!-- campaign: {name} -->", f"<!-- end of {name} -->"
    text = page.read_text(encoding="utf-8")
    if text.count(begin) != 1 or text.count(end) != 1:
        raise SystemExit(f"{page}: expected the marks {begin} and {end}, each once")
    between = re.escape(begin) + ".*" + re.escape(end)
    page.write_text(re.sub(between, lambda _: f"{begin}\n{content}\n{end}", text, flags=re.S), encoding="utf-8")
