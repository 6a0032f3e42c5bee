"""Which task some files are data for: they are surveyed once, and every reader judges the survey. Imports no torch."""

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from weft.domains.registry import CARDS, all_cards, card_named, plugged_in, remark
from weft.errors import DataError
from weft.files import foreign
from weft.files.columns import NEARLY_ALL, listed
from weft.files.dataset import Reader
from weft.files.decoding import HEAD, first_bytes, shown
from weft.files.finding import ending
from weft.files.foreign_text import known_text
from weft.files.json_forms import form_of
from weft.files.json_values import read_json
from weft.files.known_roles import ALL
from weft.files.survey import LEVELS, NO, Judgement, Level, Survey, Surveyed
from weft.files.tables import Row, Table, is_table, open_table
from weft.tasks.card import Card

AnyReader = Reader[Any]
WIDTHS = 200  # rows whose columns are counted where they differ
BOOSTING = (
    "To predict one of these columns from the others, use gradient boosting: HistGradientBoostingClassifier (classes) "
    "or HistGradientBoostingRegressor (numbers) in sklearn.ensemble (pip install scikit-learn)"
)
OTHER_KINDS = "`weft tasks` lists what each task reads"


@dataclass(frozen=True)
class Use:
    """One thing that can be done with data: a task, how sure that is, why, and the settings that it needs."""

    card: Card
    level: Level
    why: str
    settings: str = ""

    def command(self, sources: Sequence[str], said: Sequence[str] = (), *, named: bool = True) -> str:
        """What to type: with the task where it is `named`, and with the options that the user `said` already."""
        own = {option.partition("=")[0] for option in self.settings.split(" ") if "=" in option}
        kept = [option for option in said if option.removeprefix("--set ").partition("=")[0] not in own]
        task = f"--task {self.card.name}" if named else ""
        return " ".join(filter(None, ["weft train", *map(shlex.quote, sources), task, self.settings, *kept]))


def recognise(sources: Sequence[str], said: Sequence[str] = ()) -> tuple[Card, str]:
    """The task that files are data for, and why: the surest is taken. `said` are options for commands to suggest."""
    survey = Survey(sources, said)
    survey.check()
    judged = judge(survey)
    taken = surest(survey, judged)
    if taken is None:
        raise unclear(survey, judged)
    return taken.card, taken.why


def judge(survey: Survey) -> dict[str, Judgement]:
    """What each task's reader says of the data, by task: weft's own, and plug-ins' where none of these claims it."""
    judged = _judged(CARDS, survey)
    if surest(survey, judged) is None and all(found.level != "sure" for found in judged.values()):
        judged |= {
            card.name: found for card in plugged_in().values() if (found := _judged_by(card, survey)) is not None
        }
    return judged


def _judged(cards: Mapping[str, Card], survey: Survey) -> dict[str, Judgement]:
    """What the readers of some tasks say; a general judgement gives way to a reader that knows more of the data."""
    said = {card.name: card.reader.judge(survey) for card in cards.values()}
    return {name: _overruled(card.reader, said[name], survey, said) for name, card in cards.items()}


def _overruled(reader: AnyReader, own: Judgement, survey: Survey, said: Mapping[str, Judgement]) -> Judgement:
    """What a reader says, or no where one that overrules it is sure of the data, or refuses a file of it."""
    for card in CARDS.values():
        if own.level == "no" or not isinstance(reader, card.reader.overrules):
            continue
        if own.general and said[card.name]:
            return NO
        refused = next(filter(None, map(card.reader.refusal, survey.sources)), None)
        if refused is not None:
            return Judgement("no", refused.problem)
    return own


def _judged_by(card: Card, survey: Survey) -> Judgement | None:
    """What a plug-in says of the data; None where it fails, which is no reason for others to fail."""
    try:
        return card.reader.judge(survey)
    except Exception as error:  # whatever a stranger's reader raises
        remark(
            f"the task {card.name!r} of a plug-in was not asked about the data: {type(error).__name__}: {error!s:.200}"
        )
        return None


def surest(survey: Survey, judged: Mapping[str, Judgement]) -> Use | None:
    """The task to take where nobody names one; None where that is not clear."""
    found = {level: [name for name in judged if judged[name].level == level] for level in LEVELS}
    best = found["sure"] or ([] if survey.tables else found["possible"])
    if len(best) != 1:
        return None
    return Use(card_named(best[0]), judged[best[0]].level, judged[best[0]].why)


def uses(judged: Mapping[str, Judgement]) -> list[Use]:
    """All that could be done with the data, the surest first; tasks that are only done when asked for stand last."""
    order = sorted((name for name in judged if judged[name].level != "no"), key=lambda name: _doubt(name, judged[name]))
    found = [Use(card_named(name), judged[name].level, judged[name].why, judged[name].settings) for name in order]
    cards = all_cards().values()
    for name in order:
        for card in cards:
            if name in card.learns_from and all(use.card.name != card.name for use in found):
                found.append(Use(card, "possible", ""))
    return found


def _doubt(name: str, judgement: Judgement) -> tuple[bool, bool]:
    """By what tasks are sorted: the sure ones first, and last those whose data files seldom are."""
    return judgement.level != "sure", card_named(name).seldom and judgement.level == "possible"


def unclear(survey: Survey, judged: Mapping[str, Judgement]) -> DataError:
    """The error for data of which it is not clear what to learn, or from which weft learns nothing."""
    sure = {name: judgement for name, judgement in judged.items() if judgement.level == "sure"}
    possible = {name: judgement for name, judgement in judged.items() if judgement.level == "possible"}
    other = next((source for source in survey.sources if source.other_objects is not None), None)
    if not sure and other is not None and other.other_objects is not None:
        return foreign.refusal(other.other_objects, other.path, shown(other.path))
    if sure or possible or survey.tables:
        return _several(survey, sure or possible)
    refused = next(filter(None, (_broken_table(source) or refusal(source) for source in survey.sources)), None)
    if refused is not None:
        return refused
    reasons = ", ".join(dict.fromkeys(judgement.why for judgement in judged.values() if judgement.why))
    return DataError(
        "not recognised as data for any task" + (f": {reasons}" if reasons else ""),
        where=str(survey),
        fix=f"name the task with --task, or give other data: {OTHER_KINDS}",
    )


def _broken_table(source: Surveyed) -> DataError | None:
    """What is wrong with a file that is a table by its name and cannot be opened as one."""
    if source.kind != "file" or not is_table(source.path):
        return None
    try:
        table = open_table(source.path, ALL)
        if not table.columns and (fault := next(table.faults(), None)) is not None:
            return fault
    except DataError as error:
        return error
    return None if table.columns else DataError("a table without rows", where=shown(source.path), fix="name other data")


def refusal(source: Surveyed) -> DataError | None:
    """The error for a source whose format weft does not read, with the command that converts it; None: not known."""
    if source.kind in ("file", "archive"):
        name, head = shown(source.path), first_bytes(source.path, HEAD)
        if head is None:
            return None
        known = foreign.by_content(source.path, head)
        if known is None and isinstance(source.start, str):  # before the ending: a .dot of Graphviz is no old document
            known = known_text(source.path, source.start)
        known = known or foreign.by_ending(source.path)
        if known is None:
            return _text_refusal(source, name)
        if source.kind == "archive":
            fix = f"unpack it and name the folder: {known.remedy(source.path, name).removeprefix('convert it: ')}"
            return DataError(f"{known.name} in which most files are not pictures", where=name, fix=fix)
        return foreign.refusal(known, source.path, name)
    return foreign.refusal_of_folder(shown(source.path), source.files)


def _text_refusal(source: Surveyed, name: str) -> DataError | None:
    """The error for text that is data in a form weft does not take for any task; None where nothing is known of it."""
    refused = next(filter(None, (card.reader.refusal(source) for card in CARDS.values())), None)
    if refused is not None:
        return refused
    suffix = ending(source.path, (".json", ".geojson", ".npz"))
    if suffix == ".npz":
        from weft.files.arrays import headers

        headers(source.path)  # one that is damaged, or lies, is refused for that
        fix = (
            "name them as a task does: x and y (pictures), edges, x and labels (a graph), lat, lon and values (a field)"
        )
        return DataError("arrays of no task, by their names and shapes", where=name, fix=fix)
    if suffix is not None and isinstance(source.start, str):
        try:
            return foreign.refusal(form_of(read_json(source.path)), source.path, name)
        except DataError as error:
            return error
    return None


def _several(survey: Survey, possible: Mapping[str, Judgement]) -> DataError:
    """The error for data that could be of several tasks, or of none for sure: its columns, and what could be done."""
    table = next(iter(survey.tables), None)
    whys = list(dict.fromkeys(found.why for found in possible.values() if found.why))
    problem = "what to learn from it is not clear" + (f" ({whys[0]})" if len(whys) == 1 and table is None else "")
    if table is not None:
        problem = f"what to learn from this table is not clear; its columns:{listed(table.columns)}"
    sources = [str(source.path) for source in survey.sources]
    ways = [f"{Use(card_named(name), found.level, '', found.settings).command(sources, survey.said)}"
            for name, found in sorted(possible.items(), key=lambda item: _doubt(*item))]  # fmt: skip
    lines = "\n     ".join(ways)
    fix = f"say what to learn, for example:\n     {lines}" if ways else _no_task(table)
    if ways and table is None and (beside := _beside_pictures(survey)):
        fix = f"{fix}\n     or, to learn what else is in it: {beside}"
    return DataError(problem, where=str(survey), fix=fix)


def _beside_pictures(survey: Survey) -> str:
    """What to do with the first file of JSON that stands among pictures and is read by no task as it is."""
    for source in survey.sources:
        found = [*source.path.glob("*.json"), *source.path.glob("*/*.json")] if source.kind == "folder" else []
        for file in sorted(found):
            if not is_table(file) and (refused := refusal(Surveyed(file))) is not None:
                return refused.fix
    return ""


def _no_task(table: Table | None) -> str:
    """What to do with a table from which no task learns."""
    if table is not None and (hint := separator_hint(table)):
        return hint
    needed = (
        "no task of weft's learns from such columns alone: a text with its label, a sentence with its translation, or "
        "a picture with its class or caption in each row is needed"
    )
    kinds = Counter(column.looks for column in (table.columns if table else ()))
    if kinds["text"] and kinds["text"] + kinds["label"] > 1:
        needed += (
            ".\n     If two of these columns are that, name the task and them: --set text_column=COLUMN --set "
            "label_column=COLUMN for classify-text, --set source=COLUMN --set target=COLUMN for translate"
        )
    plain = [column for column in (table.columns if table else ()) if column.looks in ("number", "label")]
    return f"{needed}.\n     {BOOSTING}" if len(plain) > 1 else needed


def separator_hint(table: Table) -> str:
    """What to do with a table whose columns are separated by something that weft does not look for, or unevenly."""
    name = shown(table.path)
    if len(table.columns) == 1 and table.separator:
        values = [value for value in table.columns[0].values if value][:100]
        for mark, word, command in (
            ("|", "bars", f"tr '|' '\\t' < {shlex.quote(name)}"),
            (":", "colons", f"tr ':' '\\t' < {shlex.quote(name)}"),
            (None, "blanks", f"tr -s ' ' '\\t' < {shlex.quote(name)}"),
        ):
            counts = {len(value.split(mark)) for value in values}
            if len(counts) == 1 and counts != {1} and len(values) > 1:
                new = shlex.quote(f"{name.rsplit('.', 1)[0]}-tabs.tsv")
                return f"its columns seem to be separated by {word}; write them with tabs: {command} > {new}"
    if not table.even:
        widths = Counter(
            len(row.cells) for row in islice(open_table(table.path, ALL).items, WIDTHS) if isinstance(row, Row)
        )
        [(width, count)] = widths.most_common(1)
        if width != len(table.columns) and count >= NEARLY_ALL * (widths.total() - 1) and not name.endswith(".gz"):
            quoted, new = shlex.quote(name), shlex.quote(f"{table.path.stem}-rows{table.path.suffix}")
            return (
                f"line {table.line} has {len(table.columns)} columns and nearly all others {width}, so that it names "
                f"no columns: leave it out: tail -n +{table.line + 1} {quoted} > {new}"
            )
        return (
            "its rows have different numbers of columns, so that a column cannot be told from the next: "
            f"`weft check {name}` lists them; "
            'a separator inside a text needs quotes around the text, as in "one, two"'
        )
    return ""
