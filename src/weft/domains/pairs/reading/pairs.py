"""Sentence pairs: a source and its translation, from files. Refuses to know tokens.

Pairs are in the order of the files: few in memory, many in mapped files. White space around a text is dropped, inside
it stays; newlines are LF. A row that cannot be a pair (a column too few, a blank side, a number for a text) is refused
with its file and line, or, where `skip` allows for some, left out whole and counted: no row ever lends half of itself
to another.
"""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import combinations
from pathlib import Path

from weft.domains.pairs.reading.formats import ENDINGS, PairRow, as_language, read_file
from weft.domains.pairs.reading.kept import fingerprint_of, kept_pairs
from weft.domains.pairs.reading.parallel import read_parallel
from weft.domains.pairs.reading.texts import Pair, Pairs
from weft.errors import DataError
from weft.files import po
from weft.files.bad_rows import Skip, reasons
from weft.files.columns import Column, plain
from weft.files.decoding import read_text, shown
from weft.files.endings import PAIRS
from weft.files.finding import ending, find
from weft.files.gather import GatheredRows, Reading, tried
from weft.files.known_roles import OFTEN_NUMBERS, PICTURE, holds_sentences, holds_talks, holds_text
from weft.files.languages import bare, language, languages_of_file, meaning
from weft.files.survey import NO, Judgement, Survey, Surveyed, weakest
from weft.files.tables import LISTS, Table, excerpt, is_list
from weft.files.text_rows import GrowingTexts, TextRows

OTHER = (".txt", ".md", ".tsv", ".csv", ".jsonl")  # of texts that outnumber them where a folder holds something else
ALIKE = 3.0  # times that texts of one side may be longer than those of the other
SENTENCE = 3  # words of a typical text where names say that columns are something else
MANY_COLUMNS = 4  # beyond which only sentences are suggested as translations
IN_BOTH = 0.1  # of the texts of one side also stand on the other, where they are names of nodes
VARIED = 20  # rows for each different text, at most


def read_pairs(
    sources: str | Path | Sequence[str | Path],
    *,
    source: str | int | None = None,
    target: str | int | None = None,
    skip: Skip = None,
) -> Pairs:
    """Read files of pairs, folders of them, or two parallel text files.

    `source` and `target` name columns, fields or languages, or number them from 1. `skip` is how many bad rows are left
    out before the data is refused, or, if it is not a whole number, which share of all rows.
    """
    named = [sources] if isinstance(sources, str | Path) else list(sources)
    asked = (str(source) if isinstance(source, int) else source), (str(target) if isinstance(target, int) else target)
    paths = [Path(name) for name in named]
    known = (*ENDINGS, *LISTS) if any(map(is_list, paths)) else ENDINGS
    if len(paths) == 2 and all(path.is_file() and ending(path, known) is None for path in paths):
        skipped: list[tuple[str, str]] = []
        found, readings = paths, [partial(read_parallel, paths, *map(as_language, asked))]
    else:
        for path in paths:
            if path.is_file() and ending(path, known) is None:
                raise _unknown(path)
        taken = find(named, known)
        found, foreign = _in_language(taken.paths, asked[1], {os.path.realpath(name) for name in named})
        skipped = [*taken.skipped, *foreign]
        readings = [partial(read_file, path, *asked) for path in found]

    def gather(growing: GrowingTexts[Pair] | None = None) -> Pairs:
        gathered = _GatheredPairs(skip, skipped, len(readings), growing)
        for read in readings:
            gathered.file(gathered.opened(read))
        return gathered.pairs(found, gathered.rows if growing is None else growing.finished(Pair))

    return kept_pairs(found, gather, [*asked, skip, skipped])


def _unknown(path: Path) -> DataError:
    line = next(read_text(path), "").split("\n")[0]
    known = f"known endings are {', '.join((*ENDINGS, *LISTS))} (.gz may follow)"
    if ending(path, LISTS):
        fix = f'write a list of objects, [{{"source": "…", "target": "…"}}, …], or one object a line in .jsonl; {known}'
        return DataError("not a list of objects", where=shown(path), fix=fix)
    if "\t" in line:
        fix = f"line 1 has a tab in it: if tabs separate the columns, rename the file to end in .tsv; {known}"
    else:
        fix = f"name the file of the other language too, as in corpus.en corpus.fr; {known}"
    return DataError("not a file of pairs by its ending", where=shown(path), fix=fix)


def _in_language(
    paths: Sequence[Path], target: str | None, by_hand: set[str]
) -> tuple[list[Path], list[tuple[str, str]]]:
    """The files without the catalogues met in folders that are in another language than the target asked for."""
    tags = {path: po.language_of(path) for path in paths if target and ending(path, (".po",))}
    exact = target in tags.values()
    foreign = {
        path: tag
        for path, tag in tags.items()
        if tag and target and os.path.realpath(path) not in by_hand
        if (tag != target if exact else language(target) and language(tag) != language(target))
    }
    kept = [path for path in paths if path not in foreign]
    if not kept:
        return list(paths), []
    return kept, [(shown(path), f"in {tag}, not in {target}") for path, tag in foreign.items()]


class _GatheredPairs(GatheredRows[Pair]):
    """The pairs of one file after another, which must be of the same languages."""

    def __init__(self, skip: Skip, skipped: list[tuple[str, str]], files: int, rows: GrowingTexts[Pair] | None = None):
        super().__init__(skip, skipped, files, rows)
        self.columns: tuple[tuple[str, ...], Path] | None = None
        self.catalogues = Counter[str]()  # by the language they are in
        self.empty = 0

    def file(self, reading: Reading[PairRow]) -> None:
        """Take all rows of one file."""
        rows: Iterator[Pair | str | DataError] = tried(reading.rows, partial(self.pair, reading.files))
        count = self.take(Reading(reading.files, rows, notes=reading.notes))
        if count and ending(path := reading.files[0], (".po",)):
            self.catalogues.update([po.language_of(path) or ""])
        if count:
            self.same_languages(reading.columns, reading.files[0])

    def pair(self, files: Sequence[Path], row: PairRow | str) -> Pair | str | None:
        """The pair that a row of a file is; none where it is blank on both sides."""
        if isinstance(row, str):
            return row
        source, target = row.source.strip(), row.target.strip()
        if source and target:
            return Pair(source, target)
        self.empty += 1
        if not source and not target:
            return None
        side, other = (1, source) if source else (0, target)
        what = f"the {('source', 'target')[side]} is blank, the other side is {excerpt(other)}"
        fix = "fill it in or delete the row (in parallel files, on both sides)"
        raise DataError(what, where=f"{shown(files[side])}, line {row.line}", fix=fix)

    def same_languages(self, columns: tuple[str, ...], path: Path) -> None:
        """Refuse to mix languages, where both files name them."""
        if self.columns is None or not all(map(language, self.columns[0])):
            self.columns = columns, path
        elif ending(path, (".po",)) and ending(self.columns[1], (".po",)):
            return  # catalogues are compared when all are known
        elif all(map(language, columns)) and columns != self.columns[0]:
            (source, target), first = self.columns
            problem = f"holds {columns[0]} -> {columns[1]}, but {shown(first)} holds {source} -> {target}"
            raise DataError(
                problem,
                where=shown(path),
                fix="train on one pair of languages at a time, or name the columns: --set source=… --set target=…",
            )

    def one_language(self, found: Sequence[Path]) -> None:
        """Refuse catalogues of several languages, which are all translations of the same texts."""
        known = {tag: count for tag, count in sorted(self.catalogues.items()) if tag}
        if len(known) > 1:
            listed = ", ".join(f"{tag} ({count} files)" if count > 1 else tag for tag, count in known.items())
            fix = f"train on one language at a time: name its files, or --set target={next(iter(known))}"
            where = ", ".join(map(shown, found[:2])) + (", …" if len(found) > 2 else "")
            raise DataError(f"message catalogues of {len(known)} languages: {listed}", where=where, fix=fix)

    def pairs(self, found: Sequence[Path], rows: Sequence[Pair]) -> Pairs:
        """All `rows` that were gathered, if they are enough and not too much of it was bad."""
        self.bad.check(len(rows))
        self.one_language(found)
        if not rows or self.columns is None:
            where = ", ".join(map(shown, found[:3])) + (", …" if len(found) > 3 else "")
            raise DataError(
                f"0 pairs in {where}{reasons(self.left_out)}",
                fix="name files that hold sentences and their translations",
            )
        source, target = self.columns[0]
        return Pairs(
            rows=rows,
            columns=(source, target),
            files=tuple(self.files),
            skipped=self.left_out,
            notes=(*self.notes, *self.bad.lost_in_words()),
            fingerprint="" if isinstance(rows, TextRows) else fingerprint_of(rows),
            empty=self.empty,
            bad=self.bad.count,
        )


# Recognition


def judge(survey: Survey) -> Judgement:
    """Whether these are files of pairs, or two files named after languages."""
    if len(survey.sources) == 2 and all(map(_named_after_language, survey.sources)):
        return Judgement("sure", "two files that are named after languages")
    return survey.weakest(_judge_source)


def _named_after_language(source: Surveyed) -> bool:
    """Whether a file's ending is the name of a language: corpus.en, corpus.fr.gz."""
    suffixes = [suffix for suffix in source.path.suffixes if suffix != ".gz"]
    known = bool(suffixes) and language(suffixes[-1][1:]) is not None
    return source.kind == "file" and known and ending(source.path, ENDINGS) is None


def _judge_source(source: Surveyed) -> Judgement:
    own, other = (sum(source.endings[ending] for ending in endings) for endings in (PAIRS, OTHER))
    if source.kind != "archive" and own > other:
        return Judgement("sure", "message catalogues or translation memories, by the ending")
    return weakest(map(judge_table, source.tables))


def judge_table(table: Table) -> Judgement:
    """Whether a table has a source and a target, by the names of its columns, its own name, or what they hold."""
    names, columns = table.names, [column for column in table.columns if holds_text(column) and column.values]
    if len(columns) < 2 or "text" in names or PICTURE.by_content(table.columns) or holds_talks(names):
        return NO
    stem = table.path.name.lower().removesuffix(".gz").rpartition(".")[0]
    known = {meaning(column.name) for column in columns if bare(column.name or "") not in OFTEN_NUMBERS} - {None}
    if len(known) > 1 and not _are_edges(columns):
        return Judgement("sure", f"columns named {', '.join(sorted(filter(None, known)))}")
    if not table.header and table.separator is not None and any(languages_of_file(stem, len(names))):
        return Judgement("sure", "a table whose name has the languages of its columns")
    if len(columns) == 2 and _translations(*columns, named=table.header or table.separator is None):
        return Judgement("sure", "two columns of different texts of similar length", _ask(*columns))
    crowded = len(table.columns) > MANY_COLUMNS  # whose names of things are no sentences
    texts = [column for column in columns if (holds_sentences(column) if crowded else column.looks == "text")]
    both = next((pair for pair in combinations(texts, 2) if _translations(*pair, named=True)), None)
    why = "columns of text, of which two may be a source and a target"
    return Judgement("possible", why, _ask(*both)) if both else NO


def _are_edges(columns: Sequence[Column]) -> bool:
    """Whether the ends of edges stand in columns named source and target: names that are in both of them."""
    ends = [set(column.values) for column in columns if plain(column.name or "") in ("source", "target")]
    return len(ends) == 2 and len(ends[0] & ends[1]) > IN_BOTH * min(map(len, ends))


def _ask(source: Column, target: Column) -> str:
    return f"--set source={source.called} --set target={target.called}"


def _translations(first: Column, second: Column, *, named: bool) -> bool:
    """Whether two columns look like sentences and their translations. With `named` columns, only whole sentences do."""
    lengths = sorted((first.length, second.length))
    varied = sorted(column.distinct / len(column.values) for column in (first, second))
    if lengths[1] > ALIKE * lengths[0] or varied[0] * VARIED < 1 or varied[1] * 2 < 1:
        return False
    return not named or min(first.words, second.words) >= SENTENCE
