"""Sentences with a tag for each word, from files. Tags of entities become BIO; mended ones are counted."""

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from weft.domains.texts.reading.conll import ENDINGS, EXAMPLE, ConllColumns, read_columns, read_json_lines
from weft.domains.texts.reading.kept import FinishTags, kept_tagged
from weft.domains.texts.reading.schemes import Scheme, as_bio, entities, scheme_of, spelled, violations
from weft.domains.texts.reading.tagged_texts import CutText, Tagged, TaggedTexts, fingerprint_of, in_order
from weft.errors import ConfigError, DataError
from weft.files.bad_rows import Skip, reasons
from weft.files.decoding import shown
from weft.files.endings import TAGGED
from weft.files.finding import ending, find
from weft.files.gather import GatheredRows, GrowingRows, Reading
from weft.files.survey import NO, Judgement, Survey, Surveyed
from weft.files.tables import is_table

LEAST = 10  # sentences to learn from
LOOK = 200  # sentences looked at to recognise a file
FOLDER_FILES = 5  # of a folder that are opened
WORDS = 4  # of a typical sentence, at least
FEW = 60  # different tags, at most, where they do not spell out entities
UNIVERSAL = (2, 4)  # where .conllu files have the word and its part of speech


def read_tagged(
    sources: str | Path | Sequence[str | Path],
    *,
    word: int | None = None,
    tag: int | None = None,
    skip: Skip = None,
    learn: bool = True,
) -> TaggedTexts:
    """Read files of columns (.conll, .conllu, .bio, .iob, .tsv, .txt, others if named) or lines of JSON; also packed.

    `word` and `tag` number the columns from 1, or from the end below 0; by default the first and the last, and in
    .conllu the form and its part of speech. `skip` is how many bad sentences are left out before the data is refused,
    or which share of all. With `learn`, data is refused that nothing can be learned from.
    """
    if word == 0 or tag == 0:
        raise ConfigError(
            "columns are numbered from 1, or from the end with -1, -2, …", where="word" if word == 0 else "tag"
        )
    named = [sources] if isinstance(sources, str | Path) else list(sources)
    found = find(named, ENDINGS, others=True)
    by_hand = {os.path.realpath(name) for name in named}
    where = ", ".join(map(shown, found.paths[:3]))

    def gather(rows: GrowingRows[Tagged]) -> FinishTags:
        gathered = GatheredRows[Tagged](skip, found.skipped, len(found.paths), rows)
        for path in found.paths:
            if os.path.realpath(path) not in by_hand and not _looks_tagged(Surveyed(path)):
                gathered.skipped.append((shown(path), "does not look like columns of words and tags"))
                continue
            sentences, columns = _rows(path, word, tag)
            gathered.take(Reading((path,), sentences))
            gathered.notes += _passed_over(shown(path), columns)
        gathered.bad.check(len(gathered.gathered))
        return lambda written, into: _texts(gathered, written, into, where, learn)

    return kept_tagged(found.paths, [word, tag, skip, learn, sorted(by_hand)], gather)


def _texts(
    gathered: GatheredRows[Tagged], rows: Sequence[Tagged], into: GrowingRows[Tagged], where: str, learn: bool
) -> TaggedTexts:
    """All that was gathered, added to `into` with its tags in BIO."""
    _check(rows, where, gathered.skipped, learn)
    scheme, mended, kept = _in_bio(rows)
    tags = set[str]()

    def added() -> Iterator[Tagged]:
        for sentence in kept:
            into.append(sentence)
            tags.update(sentence.tags)
            yield sentence

    mark = fingerprint_of(added())
    return TaggedTexts(
        sentences=into if isinstance(into, list) else [],
        tags=in_order(tags) if scheme != "plain" else tuple(sorted(tags)),
        scheme=scheme,
        mended=mended,
        files=tuple(gathered.files),
        skipped=gathered.left_out,
        notes=(*gathered.notes, *gathered.bad.lost_in_words()),
        fingerprint=mark,
        bad=gathered.bad.count,
    )


def in_columns(path: Path) -> bool:
    """Whether a file has a word in each line, by its ending or by what it holds."""
    lines = ending(path, (*TAGGED, ".tsv", ".txt"))
    return lines is not None and (lines in TAGGED or _looks_tagged(Surveyed(path)))


def words_in(path: Path, word: int | None = None) -> Iterator[CutText | DataError]:
    """The sentences of a file of columns, whatever else its lines hold; `word` numbers the column of the words."""
    first = UNIVERSAL[0] if ending(path, ENDINGS) == ".conllu" else 1
    rows = read_columns(path, ConllColumns(word or first, None))
    return (row if isinstance(row, DataError) else CutText.of(row.words) for row in rows)


def _rows(path: Path, word: int | None, tag: int | None) -> tuple[Iterator[Tagged | DataError], ConllColumns]:
    """The sentences of a file, and the columns that they are read from."""
    suffix = ending(path, ENDINGS)
    default = UNIVERSAL if suffix == ".conllu" else (1, -1)
    columns = ConllColumns(word or default[0], tag or default[1])
    return read_json_lines(path) if suffix == ".jsonl" else read_columns(path, columns), columns


def _passed_over(name: str, columns: ConllColumns) -> list[str]:
    found = {
        "lines of comments": columns.comments,
        "marks of a document's start": columns.starts,
        "marks of a sentence's end": columns.ends,
        "lines of joined or added words": columns.parts,
    }
    return [f"{name}: {count:,} {what} skipped" for what, count in found.items() if count]


class _Tags:
    """The tags of all sentences, as often as they are gone over."""

    def __init__(self, sentences: Sequence[Tagged]):
        self.sentences = sentences

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        return (sentence.tags for sentence in self.sentences)


def _in_bio(sentences: Sequence[Tagged]) -> tuple[Scheme, int, Iterable[Tagged]]:
    """The scheme, how many tags broke its rules, and the sentences with tags in BIO."""
    scheme = scheme_of(_Tags(sentences))
    if scheme == "plain":
        return scheme, 0, sentences
    mended = 0
    for tags in _Tags(sentences):
        written = tuple(map(spelled, tags))
        mended += sum(old != new for old, new in zip(tags, written, strict=True)) + violations(written, scheme)
    return scheme, mended, (Tagged(one.words, _bio(one.tags)) for one in sentences)


def _bio(tags: Sequence[str]) -> tuple[str, ...]:
    return as_bio(entities(tuple(map(spelled, tags))), len(tags))


def _check(sentences: Sequence[Tagged], where: str, skipped: Sequence[tuple[str, str]], learn: bool) -> None:
    """Refuse data that holds nothing, or, to learn from, too little."""
    if not sentences:
        raise DataError(f"0 tagged sentences{reasons(skipped)}", where=where, fix=EXAMPLE)
    if not learn:
        return
    if len(sentences) < LEAST:
        problem = f"{len(sentences)} tagged sentences are too few: at least {LEAST} are needed"
        raise DataError(problem, where=where, fix=f"add more; {EXAMPLE}")
    tags = {tag for sentence in sentences for tag in sentence.tags}
    words = sum(len(sentence.words) for sentence in sentences)
    if len(tags) == 1:
        problem = f"every word has the same tag, {shown(next(iter(tags)))!r}: there is nothing to tell apart"
        raise DataError(problem, where=where, fix="choose another column of tags: --set tag_column=2")
    if len(tags) * 2 > words:
        problem = f"{len(tags):,} different tags for {words:,} words: this does not look like tags"
        raise DataError(problem, where=where, fix="choose another column of tags: --set tag_column=2")


# Recognition


def judge(survey: Survey) -> Judgement:
    """Whether these are files of words with tags. Careful: tables and plain text are other readers' data."""
    return survey.weakest(_judge_source)


def _judge_source(source: Surveyed) -> Judgement:
    if source.kind in ("folder", "pattern"):
        most = source.share(TAGGED) > 0.5
        first = [Surveyed(file) for file in source.files[:FOLDER_FILES]]
        if not most and first and all(ending(one.path, (".txt",)) and _looks_tagged(one) for one in first):
            return Judgement("sure", "files of sentences with a tag for each word")
        return Judgement("sure", "columns of words and tags, by their endings") if most else NO
    return Judgement("sure", "sentences with a tag for each word") if _looks_tagged(source) else NO


def _looks_tagged(source: Surveyed) -> bool:
    """Whether a file holds words with tags, beyond doubt."""
    path, suffix, columns = source.path, ending(source.path, ENDINGS), ConllColumns()
    if source.kind != "file" or (suffix is None and is_table(path)):
        return False
    if suffix in TAGGED:
        return True
    rows = read_json_lines(path, source.lines) if suffix == ".jsonl" else read_columns(path, columns, source.lines)
    found = list(islice(rows, LOOK))
    good = [row for row in found if not isinstance(row, DataError)]
    if not good or len(good) < 0.9 * len(found):
        return False
    if suffix == ".jsonl":
        return True
    words = sum(len(sentence.words) for sentence in good)
    tags = {tag for sentence in good for tag in sentence.tags}
    # A table has no blank lines, so that all of it would be one sentence; words have no blanks in them.
    spaced = any(" " in word for sentence in good for word in sentence.words)
    if len(good) < 2 or words < WORDS * len(good) or spaced:
        return False
    if scheme_of([sentence.tags for sentence in good]) != "plain":
        return True
    # Parts of speech are written in capitals; verses of two words are not. Few words do where marks end sentences.
    share = 2 if columns.ends else 5
    return len(tags) <= min(FEW, words / share) and not any(map(str.islower, tags))
