"""Talks: what people asked and what was answered, in turns. Refuses to know tokens and templates.

    {"messages": [{"role": "user", "content": "…"}, {"role": "assistant", "content": "…"}]}     OpenAI
    {"conversations": [{"from": "human", "value": "…"}, {"from": "gpt", "value": "…"}]}         ShareGPT
    {"instruction": "…", "input": "…", "output": "…"}                                           Alpaca
    User: …                                                                                     a text
    Bot: …

Rows stand in .jsonl, .json, .csv, .tsv, .xlsx or .parquet. In a text a blank line ends a talk, unless one stands
between all turns.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from weft.domains.texts.reading.labelled_texts import same
from weft.errors import DataError
from weft.files.bad_rows import Skip, reasons
from weft.files.columns import plain
from weft.files.decoding import read_text, shown
from weft.files.finding import ending, find
from weft.files.gather import GatheredRows, Reading, tried
from weft.files.json_lines import kind
from weft.files.known_roles import ALL, TALK_ANSWERED, TALK_ASKED, holds_talks
from weft.files.survey import NO, Judgement, Survey, Surveyed, sure_if
from weft.files.tables import ENDINGS as TABLES
from weft.files.tables import LISTS, Row, Table, is_list, is_table, open_table

Role = Literal["system", "user", "assistant"]
ROLES: Mapping[str, Role] = {
    **dict.fromkeys(("user", "human", "prompter", "customer", "question"), "user"),
    **dict.fromkeys(("assistant", "gpt", "bot", "ai", "model", "chatgpt", "bing", "bard", "answer"), "assistant"),
    "system": "system",
}  # fmt: skip
LISTED = {"messages": ("role", "content"), "conversations": ("from", "value"), "conversation": ("from", "value")}
BESIDE = ("input", "context")
SPOKEN = re.compile(r"\s*(?:\*\*|<)?(User|Human|Bot|Assistant|AI|System)(?::\*\*|:>|\*\*:|:)[ \t]*(.*)", re.IGNORECASE)
LEAST = 10  # talks to learn from
FEWEST_TURNS = 2  # of each side in a text that is taken for a talk
SPOKEN_SHARE = 0.3  # of its lines, at least, begin a turn
LOOK = 200  # lines of a text that are looked at
OBJECT = 'write {"messages": [{"role": "user", "content": "…"}, {"role": "assistant", "content": "…"}]} on every line'
WHY = "talks: questions with answers, in turns"


@dataclass(frozen=True, slots=True)
class SpokenTurn:
    """What one side said."""

    role: Role
    text: str


@dataclass(frozen=True, slots=True)
class Talk:
    """Turns in their order, and where they stand."""

    turns: tuple[SpokenTurn, ...]
    where: str = ""

    @property
    def question(self) -> str:
        """What was asked first."""
        return next((turn.text for turn in self.turns if turn.role == "user"), "")

    @property
    def answers(self) -> list[str]:
        """What was answered."""
        return [turn.text for turn in self.turns if turn.role == "assistant"]

    def digest(self) -> bytes:
        """The same for talks that begin with the same question."""
        return hashlib.sha256(same(self.question).encode("utf-8")).digest()


@dataclass(frozen=True)
class Talks:
    """What a number of files hold, with notes for people and what was left out."""

    rows: list[Talk]
    files: tuple[Path, ...]
    notes: tuple[str, ...]
    skipped: tuple[tuple[str, str], ...]


def read_talks(sources: Sequence[str | Path], skip: Skip = None, *, learn: bool = True) -> Talks:
    """The talks in files; with `learn`, too few are refused. `skip` is how many may be bad."""
    found = find(list(sources), (*TABLES, *LISTS, ".txt", ".md"))
    gathered = GatheredRows[Talk](skip, found.skipped, len(found.paths))
    for path in found.paths:
        gathered.take(gathered.opened(partial(_reading, path)))
    gathered.bad.check(len(gathered.rows))
    where = ", ".join(shown(path) for path in found.paths[:3])
    least = LEAST if learn else 1
    if len(gathered.rows) < least:
        problem = f"{len(gathered.rows)} talks with an answer; at least {least} are needed{reasons(gathered.left_out)}"
        raise DataError(problem, where=where, fix=f"add more; {OBJECT}")
    files = tuple(file.path for file in gathered.files)
    return Talks(gathered.rows, files, (*gathered.notes, *gathered.bad.lost_in_words()), gathered.left_out)


def _reading(path: Path) -> Reading[Talk]:
    if ending(path, TABLES) or is_list(path):
        table = open_table(path, ALL, objects=OBJECT)
        return Reading((path,), table.each(partial(_talk, table)))
    return Reading((path,), tried(list(spoken("".join(read_text(path)))), partial(_checked, where=shown(path))))


def _talk(table: Table, row: Row) -> Talk:
    """The talk in a row of a table."""
    names = [name or "" for name in table.names]
    record = row.cells if isinstance(row.cells, dict) else dict(zip(names, row.cells, strict=False))
    where = table.where(row.line)
    return _checked(turns_of(record, where), where=where)


def _checked(turns: Sequence[SpokenTurn], where: str) -> Talk:
    """A talk in which something is answered; turns of one side behind each other are one."""
    joined = list[SpokenTurn]()
    for turn in turns:
        if joined and joined[-1].role == turn.role:
            turn = SpokenTurn(turn.role, f"{joined.pop().text}\n{turn.text}")
        joined.append(turn)
    while joined and joined[-1].role != "assistant":
        joined.pop()  # nobody answered
    if len(joined) < 2:
        raise DataError("a talk in which no question is answered", where=where, fix=OBJECT)
    return Talk(tuple(joined), where)


def turns_of(record: Mapping[str, Any], where: str) -> list[SpokenTurn]:
    """The turns in an object of one of the known forms."""
    for name, (role, text) in LISTED.items():
        if isinstance(said := record.get(name), list):
            return [turn for one in said if (turn := _turn(one, role, text, where)) is not None]
    fields = {plain(name): value for name, value in record.items() if value not in (None, "")}
    asked, beside, answered = (
        next((n for n in some if n in fields), None) for some in (TALK_ASKED, BESIDE, TALK_ANSWERED)
    )
    if asked is None or answered is None:
        raise DataError("no question with its answer", where=where, fix=OBJECT)
    texts = [_text(fields[name], name, where) for name in (asked, beside, answered) if name is not None]
    system = [SpokenTurn("system", _text(fields["system"], "system", where))] if "system" in fields else []
    return [*system, SpokenTurn("user", "\n\n".join(texts[:-1])), SpokenTurn("assistant", texts[-1])]


def _turn(one: Any, role: str, text: str, where: str) -> SpokenTurn | None:
    """One turn of a list; None where nothing was said."""
    if not isinstance(one, Mapping):
        raise DataError(f"a turn is {kind(one)}, expected an object", where=where, fix=OBJECT)
    who, said = (
        next((one[name] for name in names if name in one), None)
        for names in ((role, "role", "from"), (text, "content", "value"))
    )
    known = ROLES.get(str(who).lower())
    if known is None:
        problem = f"a turn of {str(who)[:40]!r}; turns are of {', '.join(('system', 'user', 'assistant'))}"
        raise DataError(problem, where=where, fix=OBJECT)
    found = _text(said, text, where)
    return SpokenTurn(known, found) if found else None


def _text(value: Any, name: str, where: str) -> str:
    """What was said; pieces of text, as newer files of OpenAI's have them, are joined."""
    if isinstance(value, list) and all(isinstance(one, Mapping) and isinstance(one.get("text"), str) for one in value):
        value = "\n".join(one["text"] for one in value)
    if value is not None and not isinstance(value, str):
        raise DataError(f'the field "{name}" is {kind(value)}, expected a string', where=where, fix=OBJECT)
    return (value or "").replace("\r\n", "\n").replace("\r", "\n").strip()


def spoken(text: str) -> Iterator[list[SpokenTurn]]:
    """The talks in a text whose lines begin with who speaks."""
    turns, blank, gaps = list[SpokenTurn](), False, list[bool]()  # gaps: whether a blank line stands before a turn
    for line in text.split("\n"):
        begun = SPOKEN.fullmatch(line)
        if begun is not None:
            turns.append(SpokenTurn(ROLES[begun[1].lower()], begun[2].strip()))
            gaps.append(blank)
        elif turns and (line.strip() or turns[-1].text):
            last = turns.pop()
            turns.append(
                SpokenTurn(last.role, f"{last.text}\n{line}".strip("\n") if line.strip() else last.text + "\n")
            )
        blank = not line.strip()
    turns = [SpokenTurn(turn.role, turn.text.strip()) for turn in turns]
    apart = not all(gaps[1:])  # else a blank line stands between all turns, and ends nothing
    talk = list[SpokenTurn]()
    for turn, gap in zip(turns, gaps, strict=True):
        if talk and gap and apart and turn.role != "assistant":
            yield talk
            talk = []
        talk += [turn] if turn.text else []
    if talk:
        yield talk


# Recognition


def judge(survey: Survey) -> Judgement:
    """Whether these are talks."""
    return survey.weakest(_judge_source)


def _judge_source(source: Surveyed) -> Judgement:
    if source.tables:
        return sure_if(all(holds_talks(table.names) for table in source.tables), WHY)
    if source.kind != "file" or is_table(source.path):
        return NO
    lines = [line for _, line in source.lines[:LOOK] if line.strip()]
    said = [found for line in lines if (found := SPOKEN.fullmatch(line)) is not None]
    roles = [ROLES[found[1].lower()] for found in said]
    both = min(roles.count("user"), roles.count("assistant")) >= FEWEST_TURNS
    begins = bool(lines) and SPOKEN.fullmatch(lines[0]) is not None
    return sure_if(begins and both and len(said) >= SPOKEN_SHARE * len(lines), WHY)
