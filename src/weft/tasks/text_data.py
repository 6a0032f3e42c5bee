"""The user's text as ids: read, split, tokenized; and the record of it in a run. Knows no model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from weft.amounts import amount
from weft.data.decoding import shown
from weft.data.files import ending, is_pattern
from weft.data.readers.corpus import ENDINGS, Corpus, Given, read_corpus
from weft.data.split import CorpusPart, split
from weft.data.windows import TextWindows
from weft.errors import ConfigError, DataError
from weft.modalities import tokenizer_making as tokenizers
from weft.modalities.encoding import encode_pieces
from weft.modalities.tokenizer import Tokenizer
from weft.training.folder import RunFolder

SEVERAL = 3  # names that are listed in full


@dataclass(frozen=True)
class Read:
    """The user's text as ids, with what was learned on the way."""

    corpus: Corpus
    tokenizer: Tokenizer
    train: np.ndarray
    valid: np.ndarray
    valid_bytes: int
    rule: str
    fingerprint: str

    def windows(self, context: int, seed: int) -> TextWindows:
        """The samples of a model that reads so many tokens."""
        return TextWindows(self.train, self.valid, context=context, fingerprint=self.fingerprint, seed=seed)


def looks_like_text(source: Path) -> bool:
    """Whether a file, folder or pattern is likely to be text."""
    if source.is_dir():
        return any(ending(path, ENDINGS) for path in source.rglob("*"))
    return ending(source, ENDINGS) is not None or (is_pattern(source) and not source.suffix)


def read_text(
    sources: Sequence[str | Given],
    valid: str | None,
    tokenizer: Tokenizer | None = None,
    *,
    kind: str | None = None,
    vocab: int | None = None,
    mask: bool = False,
) -> Read:
    """The user's files as ids, split into what is trained on and what is held out.

    With no tokenizer one is made, of a kind and size that suit the text unless they are given; `mask` asks for a token
    that stands for hidden ones.
    """
    corpus = read_corpus(sources)
    train: Corpus | CorpusPart
    held: Corpus | CorpusPart
    if valid is not None:
        train, held = corpus, read_corpus([valid])
        rule, fingerprint = f"the file {shown(valid)}", f"{corpus.fingerprint} {held.fingerprint}"
    else:
        parts = split(corpus)
        train, held, rule, fingerprint = parts.train, parts.valid, parts.rule, corpus.fingerprint
    if tokenizer is None:
        chosen, size = tokenizers.choose(corpus.characters, corpus.distinct, corpus.bytes)
        kind = kind or ("bpe" if vocab else chosen)
        tokenizer = tokenizers.train(
            kind, train.pieces(), vocab or (size or 1024 if kind == "bpe" else None), mask=mask
        )
    ids, held_ids = encode_pieces(tokenizer, train.pieces()), encode_pieces(tokenizer, held.pieces())
    if len(ids) < 3 or len(held_ids) < 2:
        where = ", ".join(shown(str(source)) for source in sources)
        raise DataError(f"{corpus.characters} characters are too few to train on", where=where, fix="add more text")
    return Read(corpus, tokenizer, ids, held_ids, held.bytes, rule, fingerprint)


def named(sources: Sequence[str]) -> dict[str, Any]:
    """Where the data is. No sources: the sample that ships."""
    return {"sources": [str(Path(source).absolute()) for source in sources], "sample": not sources}


def data_record(sources: Sequence[str], valid: str | None, read: Read) -> dict[str, Any]:
    """What config.json says of the data."""
    corpus = read.corpus
    return {
        **named(sources),
        "valid": None if valid is None else str(Path(valid).absolute()),
        "rule": read.rule,
        "documents": corpus.documents,
        "bytes": corpus.bytes,
        "characters": corpus.characters,
        "described": f"{several([shown(file.path.name) for file in corpus.files])} ({amount(corpus.bytes)})",
        "tokenizer": read.tokenizer.kind,
        "tokenizer_digest": read.tokenizer.digest,
        "vocabulary": read.tokenizer.size,
        "train_tokens": len(read.train),
        "held_out_tokens": len(read.valid),
        "skipped": [list(item) for item in corpus.skipped],
    }


def described(corpus: Corpus) -> str:
    """The data in a line: how much there is, and what was left out and why."""
    text = f"{amount(corpus.bytes)} in {corpus.documents:,} document{'s' if corpus.documents != 1 else ''}"
    if corpus.skipped:
        text += f"; skipped: {several([f'{name} ({reason})' for name, reason in corpus.skipped])}"
    return text


def tokenizer_of(folder: RunFolder, config: Mapping[str, Any], size: int | None) -> Tokenizer:
    """The tokenizer of a run, which must be the one that its model of `size` tokens learned with."""
    where = str(folder.path / "tokenizer.json")
    tokenizer = _parsed(folder.text("tokenizer.json"), where)
    fix = "put the run's own tokenizer.json back"
    if size is None or tokenizer.size > size:  # some models have room for more tokens than there are
        problem = f"the tokenizer has {tokenizer.size} tokens, the model {size}: they are of different runs"
        raise ConfigError(problem, where=where, fix=fix)
    if config.get("data", {}).get("tokenizer_digest", tokenizer.digest) != tokenizer.digest:
        problem = "this is not the tokenizer that the run was trained with, though it has as many tokens"
        raise ConfigError(problem, where=where, fix=fix)
    return tokenizer


@lru_cache(maxsize=4)
def _parsed(text: str, where: str) -> Tokenizer:
    return Tokenizer.from_json(text, where)


def several(names: list[str]) -> str:
    """The first few names, and how many more there are."""
    more = f" and {len(names) - SEVERAL} more" if len(names) > SEVERAL else ""
    return ", ".join(names[:SEVERAL]) + more
