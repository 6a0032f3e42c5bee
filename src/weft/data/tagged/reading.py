"""Sentences with a tag for each word, from files. Tags of entities are brought to BIO; what had to be mended is counted."""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from weft.data.decoding import shown
from weft.data.faults import Faults
from weft.data.files import ending, find
from weft.data.tagged.formats import ENDINGS, EXAMPLE, Columns, read_columns, read_json_lines
from weft.data.tagged.recognising import looks_tagged
from weft.data.tagged.schemes import Scheme, as_bio, entities, scheme_of, spelled, violations
from weft.data.tagged.sentences import Tagged, TaggedFile, TaggedTexts, in_order
from weft.errors import ConfigError, DataError

LEAST = 10  # sentences to learn from
UNIVERSAL = (2, 4)  # where .conllu files have the word and its part of speech


def read_tagged(
    sources: str | Path | Sequence[str | Path],
    *,
    word: int | None = None,
    tag: int | None = None,
    skip: int | float | None = None,
    learn: bool = True,
) -> TaggedTexts:
    """Read files of columns (.conll, .conllu, .bio, .iob, .tsv, .txt) or lines of JSON, folders of them, gzip of these.

    `word` and `tag` number the columns from 1, or from the end below 0; by default the first and the last, and in .conllu
    the form and its part of speech. `skip` is how many bad sentences are left out before the data is refused, or which
    share of all. With `learn`, data is refused that nothing can be learned from.
    """
    if word == 0 or tag == 0:
        raise ConfigError(
            "columns are numbered from 1, or from the end with -1, -2, …", where="word" if word == 0 else "tag"
        )
    named = [sources] if isinstance(sources, str | Path) else list(sources)
    found = find(named, ENDINGS)
    by_hand = {os.path.realpath(name) for name in named}
    faults, notes, skipped = Faults(skip), list[str](), list(found.skipped)
    sentences: list[Tagged] = []
    files: list[TaggedFile] = []
    for path in found.paths:
        if os.path.realpath(path) not in by_hand and not looks_tagged(path):
            skipped.append((shown(path), "does not look like columns of words and tags"))
            continue
        before = len(sentences)
        default = UNIVERSAL if ending(path, ENDINGS) == ".conllu" else (1, -1)
        columns = Columns(word or default[0], tag or default[1])
        rows = read_json_lines(path) if ending(path, ENDINGS) == ".jsonl" else read_columns(path, columns)
        for row in rows:
            if isinstance(row, DataError):
                faults.take(row)
            else:
                sentences.append(row)
        files.append(TaggedFile(path, len(sentences) - before))
        notes += _passed_over(shown(path), columns)
    faults.check(len(sentences))
    where = ", ".join(map(shown, found.paths[:3]))
    _check(sentences, where, skipped, learn)
    scheme, mended, kept = _in_bio(sentences)
    return TaggedTexts(
        sentences=kept,
        tags=in_order({tag for sentence in kept for tag in sentence.tags}) if scheme != "plain" else _plain(kept),
        scheme=scheme,
        mended=mended,
        files=tuple(files),
        skipped=(*skipped, *faults.listed()),
        notes=tuple(notes),
        fingerprint=_fingerprint(kept),
        bad=faults.count,
    )


def _passed_over(name: str, columns: Columns) -> list[str]:
    found = {
        "lines of comments": columns.comments,
        "marks of a document's start": columns.starts,
        "lines of joined or added words": columns.parts,
    }
    return [f"{name}: {count:,} {what} passed over" for what, count in found.items() if count]


def _in_bio(sentences: Sequence[Tagged]) -> tuple[Scheme, int, list[Tagged]]:
    """The scheme, how many tags broke its rules, and the sentences with tags in BIO."""
    scheme = scheme_of([sentence.tags for sentence in sentences])
    if scheme == "plain":
        return scheme, 0, list(sentences)
    written = [tuple(map(spelled, sentence.tags)) for sentence in sentences]
    odd = sum(
        old != new for s, tags in zip(sentences, written, strict=True) for old, new in zip(s.tags, tags, strict=True)
    )
    mended = odd + sum(violations(tags, scheme) for tags in written)
    kept = [Tagged(s.words, as_bio(entities(tags), len(tags))) for s, tags in zip(sentences, written, strict=True)]
    return scheme, mended, kept


def _plain(sentences: Sequence[Tagged]) -> tuple[str, ...]:
    return tuple(sorted({tag for sentence in sentences for tag in sentence.tags}))


def _fingerprint(sentences: Sequence[Tagged]) -> str:
    digest = hashlib.sha256()
    for sentence in sentences:
        for text in (*sentence.words, *sentence.tags):
            data = text.encode("utf-8")
            digest.update(b"%d:%b" % (len(data), data))
        digest.update(b"\n")
    return digest.hexdigest()


def _check(sentences: Sequence[Tagged], where: str, skipped: Sequence[tuple[str, str]], learn: bool) -> None:
    """Refuse data that holds nothing, or, to learn from, too little."""
    if not sentences:
        why = "".join(f"\n     {name}: {reason}" for name, reason in skipped[:10])
        raise DataError(f"0 tagged sentences{why}", where=where, fix=EXAMPLE)
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
