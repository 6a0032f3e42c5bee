"""Text to ids and back. Knows alphabets and merges; refuses to know models and files of data.

Every kind is a standard tokenizer.json, so that other tools can read a run:

    bytes        one id for each byte of UTF-8; loses nothing
    characters   one id for each character seen in training; all others become one unknown id, and are counted
    bpe          bytes merged by how often they stand together (Sennrich et al., 2016); loses nothing

or one made elsewhere. One special token ends each document, another may stand for a hidden token; the name of either
written in a text is text, and never becomes its id.
"""

import codecs
import hashlib
import mmap
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from weft.config import MAX_JSON_BYTES, read_json, write_json
from weft.errors import ConfigError, DataError, StorageError, nearest
from weft.modalities.tokenizer_json import (
    END,
    ENDS,
    MASK,
    MASKS,
    MAX_VOCAB,
    UNKNOWN,
    byte_letters,
    bytes_by_id,
    kind_of,
    made,
    marks_of,
    names_by_id,
    open_library,
    typed,
)

KINDS = ("bytes", "characters", "bpe")
SPILL = 256 * 2**20  # bytes of ids kept in memory; more go to a temporary file
PART = 32 * 2**10  # characters given to the library at a time
RUN = 2**20  # characters without white space after which a text is cut all the same
WORD = 256  # the same where merges are learned: the time of learning grows with the square of a word's length

SAFE = re.compile(r"\S(?=[ \t\n])")  # from a word to the white space after it there is never a merge
LONG = re.compile(rf"\S{{{WORD}}}|\s{{{WORD}}}")
SHORT = re.compile(rf"\s{{0,{WORD}}}\S{{1,{WORD}}}|\s{{1,{WORD}}}")


class Tokenizer:
    """A vocabulary, read in both directions. Made by `train`, `load` or `Tokenizer.from_json`."""

    def __init__(self, data: dict[str, Any], names: list[str], end: str, where: str):
        """`data` is a tokenizer.json that was checked, `names` its tokens by id."""
        self.kind, self.size, self.end = kind_of(data, names), len(names), names.index(end)
        self.names, self._where = tuple(names), where
        self.dtype = np.dtype(np.uint16 if self.size <= 2**16 else np.uint32)
        self._json = write_json(data)
        self.digest = hashlib.sha256(self._json.encode("utf-8")).hexdigest()
        self._library = open_library(self._json, names, where)
        model, special = data["model"], {t["id"]: t["content"] for t in data["added_tokens"] if t["special"]}
        unknown = model.get("unk_token")
        self._unknown = names.index(unknown) if unknown in names else model.get("unk_id")
        self._reserved = np.array([id for id in special if id != self._unknown], self.dtype)
        self.mask = next((id for name in MASKS for id in special if special[id] == name), None)
        self.special = np.array(sorted({*special, *([] if self._unknown is None else [self._unknown])}), np.int64)
        self.processed = data.get("post_processor") is not None
        inside = (f"(?<={re.escape(name[0])})(?={re.escape(name[1:])})" for name in special.values() if len(name) > 1)
        self._inside_special = re.compile("|".join(inside))
        self._bytes = bytes_by_id(data, names, set(special), self.kind)
        self._lookup = None
        if self.kind == "characters":
            self._lookup = np.full(0x110000, self._unknown, self.dtype)
            letters = [ord(name) for name in names if len(name) == 1]
            self._lookup[letters] = range(len(letters))
        words = np.concatenate(self.encode_all(["ab", " cd", "\nef"]))
        self.cuts_at_words = np.array_equal(self.encode("ab cd\nef"), words)

    @classmethod
    def from_json(cls, text: str, where: str = "tokenizer.json", *, mask: bool = False) -> "Tokenizer":
        """A tokenizer from the text of a tokenizer.json.

        Truncation, padding and dropout set in it are put out of force: encoding is a function of the text and loses
        none of it. An end token is added where none is known, and, if asked for, a token that stands for hidden ones.
        """
        data = read_json(text, where=where)
        names = names_by_id(data, where)
        end = next((name for name in ENDS if name in names), END)
        if end not in names:
            names.append(end)
        flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False}
        added = [{**flags, **token} for token in data.get("added_tokens") or [] if token["content"] != end]
        added.append({**flags, "id": names.index(end), "content": end, "special": True})
        if mask and not any(token["content"] in MASKS and token["special"] for token in added):
            names += [MASK] if MASK not in names else []
            added = [token for token in added if token["content"] != MASK]
            added.append({**flags, "id": names.index(MASK), "content": MASK, "special": True})
        data |= {"truncation": None, "padding": None, "added_tokens": sorted(added, key=lambda token: token["id"])}
        if data["model"].get("dropout") is not None:
            data["model"]["dropout"] = None
        return cls(data, names, end, where)

    def to_json(self) -> str:
        """The text of a tokenizer.json that gives this tokenizer again."""
        return self._json

    @cached_property
    def marks(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The ids that stand before and after a text for a model that reads all of it at once.

        Those that a file made elsewhere says; the end on both sides where it says nothing, as weft's own files do.
        """
        if self.processed:
            return marks_of(self._library, list(self.names), self._where)
        return (self.end,), (self.end,)

    def encode(self, text: str) -> np.ndarray:
        """The ids of a text, with no mark at its start or end."""
        if self._lookup is not None:
            return self._lookup[_codes(text)]
        data = _utf8(text)
        return np.frombuffer(data, np.uint8).astype(self.dtype) if self.kind == "bytes" else self.encode_all([text])[0]

    def encode_all(self, texts: list[str]) -> list[np.ndarray]:
        """The ids of several texts, by the library, on all cores."""
        result = self._ids(texts)
        if not result or not np.isin(np.concatenate(result), self._reserved).any():
            return result
        for i, ids in enumerate(result):
            if np.isin(ids, self._reserved).any():
                # Some models find the name of a special token in a text by themselves: show them the name in two.
                result[i] = np.concatenate(self._ids(self._inside_special.split(texts[i])))
                if np.isin(result[i], self._reserved).any():
                    raise DataError("the text holds what this tokenizer can only read as a special token")
        return result

    def encode_words(self, sentences: Sequence[Sequence[str]]) -> list[tuple[np.ndarray, np.ndarray]]:
        """For each sentence the ids of its words, as in running text, and where each word begins among them.

        Every word has at least one id: where the vocabulary has nothing for it, the unknown one, else the end.
        """
        blank = " " if self.cuts_at_words else ""  # others put it themselves where a word begins
        led = [[word if i == 0 else blank + word for i, word in enumerate(words)] for words in sentences]
        pieces = list(dict.fromkeys(piece for words in led for piece in words))
        nothing = np.array([self.end if self._unknown is None else self._unknown], self.dtype)
        known = {p: ids if len(ids) else nothing for p, ids in zip(pieces, self.encode_all(pieces), strict=True)}
        result = []
        for words in led:
            parts = [known[piece] for piece in words]
            starts = np.cumsum([0, *(len(part) for part in parts)])[:-1]
            result.append((np.concatenate(parts) if parts else nothing[:0], starts))
        return result

    def _ids(self, texts: list[str]) -> list[np.ndarray]:
        with typed("tokenizer"):
            found = self._library.encode_batch_fast(texts, add_special_tokens=False)
            return [np.array(encoding.ids, self.dtype) for encoding in found]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids. Special tokens have none; bytes that are not UTF-8 become the replacement character."""
        checked = self._checked(ids)
        if self._bytes is not None:
            return b"".join(self._bytes[id] for id in checked).decode("utf-8", "replace")
        with typed("tokenizer"):
            return str(self._library.decode(checked, skip_special_tokens=True))

    def stream(self) -> "Decoder":
        """A decoder to be fed ids one at a time."""
        return Decoder(self)

    def unknown(self, text: str) -> int:
        """How many tokens of a text stand for something that the vocabulary does not have."""
        count = 0 if self._unknown is None else int((self.encode(text) == self._unknown).sum())
        return count - text.count(UNKNOWN) if self.kind == "characters" else count

    def _checked(self, ids: Iterable[int]) -> list[int]:
        numbers = np.asarray(ids if isinstance(ids, np.ndarray) else list(ids), np.int64).ravel()
        if numbers.size and (numbers.min() < 0 or numbers.max() >= self.size):
            found = int(numbers[(numbers < 0) | (numbers >= self.size)][0])
            raise DataError(f"expected ids below {self.size}, the size of the vocabulary; found {found}")
        return list(numbers.tolist())


class Decoder:
    """Text from ids as they come. What `feed` and at last `finish` give, joined, is what `decode` gives for all."""

    def __init__(self, tokenizer: Tokenizer):
        self._tokenizer = tokenizer
        self._incomplete = codecs.getincrementaldecoder("utf-8")("replace")
        self._before: list[int] = []
        self._waiting: list[int] = []

    def feed(self, id: int) -> str:
        """What has become complete with this id."""
        table, checked = self._tokenizer._bytes, self._tokenizer._checked([id])
        if table is not None:
            return self._incomplete.decode(table[checked[0]])
        self._waiting += checked
        return self._released(patience=8)

    def finish(self) -> str:
        """What stayed incomplete, as replacement characters."""
        return self._incomplete.decode(b"", final=True) + self._released(patience=0)

    def _released(self, patience: int) -> str:
        # A library's decoder looks at neighbours, to put spaces: decode with the ids before, and give what is new.
        known = self._tokenizer.decode(self._before)
        text = self._tokenizer.decode(self._before + self._waiting)
        if len(text) <= len(known) or (text.endswith(UNKNOWN) and len(self._waiting) < patience):
            return ""
        self._before, self._waiting = self._waiting, []
        return text[len(known) :]


def choose(characters: int, distinct: int, bytes: int) -> tuple[str, int | None]:
    """The kind of tokenizer and size of vocabulary for an amount of text.

    Below 2 MB, with at most 256 distinct characters, `characters`: so little text cannot teach what a few thousand
    tokens mean. Otherwise `bpe`, with twice the vocabulary for five times the text:

        below 0.4 MB 512 · from 0.4 MB 1024 · 2 MB 2048 · 10 MB 4096 · 50 MB 8192 · 250 MB 16384 · 1.25 GB 32768
    """
    if bytes < 2_000_000 and distinct <= 256 and characters > 0:
        return "characters", None
    return "bpe", 512 << sum(bytes >= 400_000 * 5**step for step in range(6))


def train(kind: str, pieces: Iterable[str | None], vocab: int | None = None, *, mask: bool = False) -> Tokenizer:
    """A tokenizer of a kind for a text, which is streamed. A kind that ends in .json is the path of one to load.

    With `mask` it has a token that stands for hidden ones, which `vocab` counts.
    """
    if kind != "bpe" and vocab is not None:
        raise ConfigError("only bpe has a size to choose", where="vocab", fix="leave it out")
    if kind.endswith(".json"):
        return load(kind, mask=mask)
    if kind not in KINDS:
        raise ConfigError(f"unknown tokenizer {kind!r}", fix=f"{nearest(kind, KINDS)}, or the path of a tokenizer.json")
    if kind == "bpe":
        return _train_bpe(pieces, vocab, mask)
    if kind == "bytes":
        return Tokenizer.from_json(write_json(made("bytes", byte_letters())), mask=mask)
    seen = np.zeros(0x110000, bool)
    for piece in pieces:
        seen[_codes(piece or "")] = True
    seen[ord(UNKNOWN)] = False
    names = [UNKNOWN, *map(chr, np.flatnonzero(seen))]
    return Tokenizer.from_json(write_json(made("characters", names)), mask=mask)


def _train_bpe(pieces: Iterable[str | None], vocab: int | None, mask: bool) -> Tokenizer:
    if vocab is None or not 257 + mask <= vocab <= MAX_VOCAB:
        special = "the end and the mask" if mask else "and the end"
        problem = f"expected a size from {257 + mask} (256 bytes {special}) to {MAX_VOCAB}, found {vocab}"
        raise ConfigError(problem, where="vocab")
    from tokenizers import Tokenizer as Library
    from tokenizers import decoders, models, pre_tokenizers, trainers

    library = Library(models.BPE())
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)  # type: ignore[assignment]
    library.decoder = decoders.ByteLevel()  # type: ignore[assignment]
    trainer = trainers.BpeTrainer(
        vocab_size=vocab - 1 - mask, min_frequency=2, initial_alphabet=byte_letters(), show_progress=False
    )
    words = (word for part in _parts(pieces, PART, RUN) if part for word in _short_words(part))
    with typed("bpe"):
        library.train_from_iterator(words, trainer)
        return Tokenizer.from_json(library.to_str(), mask=mask)


def load(path: str | Path, *, mask: bool = False) -> Tokenizer:
    """The tokenizer of a tokenizer.json file; with `mask`, a token that stands for hidden ones is added if it has none."""
    path = Path(path)
    if not path.is_file():
        raise ConfigError("no such file", where=str(path), fix=f"kinds of tokenizer: {', '.join(KINDS)}")
    if path.stat().st_size > MAX_JSON_BYTES:
        raise ConfigError(f"larger than {MAX_JSON_BYTES >> 20} MiB", where=str(path))
    try:
        return Tokenizer.from_json(path.read_text(encoding="utf-8-sig"), where=str(path), mask=mask)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot be read: {error}", where=str(path)) from None


def encode_pieces(tokenizer: Tokenizer, pieces: Iterable[str | None]) -> np.ndarray:
    """A stream of documents as one array of ids: the end token, then each document with an end token after it.

    More than 256 MiB of ids are kept in a temporary file that has no name, and mapped into memory to be read.
    """
    end = np.array([tokenizer.end], tokenizer.dtype)
    try:
        with tempfile.SpooledTemporaryFile(max_size=SPILL) as spool:
            spool.write(end.tobytes())
            for ids in _encoded(tokenizer, pieces):
                spool.write((end if ids is None else ids).tobytes())
            size = spool.tell()
            if size > SPILL:
                spool.flush()
                return np.frombuffer(mmap.mmap(spool.fileno(), size, access=mmap.ACCESS_READ), tokenizer.dtype)
            spool.seek(0)
            return np.frombuffer(bytearray(spool.read()), tokenizer.dtype)
    except OSError as error:
        problem, fix = f"no room for the ids: {error.strerror}", "free some space, or set TMPDIR to another folder"
        raise StorageError(problem, where=tempfile.gettempdir(), fix=fix) from None


def _encoded(tokenizer: Tokenizer, pieces: Iterable[str | None]) -> Iterator[np.ndarray | None]:
    if tokenizer.kind in ("bytes", "characters"):
        yield from (None if piece is None else tokenizer.encode(piece) for piece in pieces)
        return
    parts = _parts(pieces, PART, RUN) if tokenizer.cuts_at_words else _parts(pieces, 16 * RUN, 16 * RUN)
    while batch := list(islice(parts, 64)):
        ids = iter(tokenizer.encode_all([part for part in batch if part is not None]))
        yield from (None if part is None else next(ids) for part in batch)


def _parts(pieces: Iterable[str | None], size: int, run: int) -> Iterator[str | None]:
    """The same text cut anew, where a word meets the white space after it: parts of `size` characters or a little more.

    A word is whole even where two pieces met in it; only one of more than `run` characters is cut.
    """
    rest = ""
    for piece in pieces:
        if piece is None:
            yield from (rest, None) if rest else (None,)
            rest = ""
            continue
        text, start = rest + piece, 0
        while cut := SAFE.search(text, start + size - 1):
            yield text[start : cut.end()]
            start = cut.end()
        rest = text[start:]
        while len(rest) > size + run:
            yield rest[: size + run]
            rest = rest[size + run :]
    if rest:
        yield rest


def _short_words(text: str) -> list[str]:
    return SHORT.findall(text) if LONG.search(text) else [text]


def _codes(text: str) -> np.ndarray:
    _utf8(text)
    return np.frombuffer(text.encode("utf-32-le"), np.uint32)


def _utf8(text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        problem = f"character {error.start + 1} of the text, {text[error.start]!r}, is half of a surrogate pair"
        raise DataError(problem, fix="give the text as UTF-8") from None
