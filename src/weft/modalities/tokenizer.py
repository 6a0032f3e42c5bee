"""Text to ids and back. Knows alphabets and merges; refuses to know models and files of data.

Every kind is a standard tokenizer.json, so that other tools can read a run:

    bytes        one id for each byte of UTF-8; loses nothing
    characters   one id for each character seen in training; all others become one unknown id, and are counted
    bpe          bytes merged by how often they stand together (Sennrich et al., 2016); loses nothing

or one made elsewhere. One special token ends each document, another may stand for a hidden token; the name of either
written in a text is text, and never becomes its id. Symbols, such as <User:>, are texts that are one token each.
"""

import codecs
import hashlib
import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from weft.errors import DataError
from weft.json_text import read_json, write_json
from weft.modalities.tokenizer_json import (
    END,
    ENDS,
    MASK,
    MASKS,
    UNKNOWN,
    PairMarks,
    bytes_by_id,
    check_symbols,
    check_unicode,
    kind_of,
    marks_of,
    names_by_id,
    open_library,
    pair_marks_of,
    spaced_bytes,
    typed,
)


class Tokenizer:
    """A vocabulary, read in both directions. Made by `tokenizer_making`, or of the text of a tokenizer.json."""

    def __init__(self, data: dict[str, Any], names: list[str], end: str, where: str):
        """`data` is a tokenizer.json that was checked, `names` its tokens by id."""
        self.kind, self.size, self.end = kind_of(data, names), len(names), names.index(end)
        self.names, self._where = tuple(names), where
        self.dtype = np.dtype(np.uint16 if self.size <= 2**16 else np.uint32)
        self._json = write_json(data)
        self.digest = hashlib.sha256(self._json.encode("utf-8")).hexdigest()
        self._library = open_library(data, self._json, names, where)
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
        self._added_bytes = self._bytes or spaced_bytes(data, names, set(special))
        self.symbols = tuple(t["content"] for t in data["added_tokens"] if not t["special"])
        self._symbol = any_of(self.symbols)
        self._lookup = None
        if self.kind == "characters":
            self._lookup = np.full(0x110000, self._unknown, self.dtype)
            letters = [ord(name) for name in names if len(name) == 1]
            self._lookup[letters] = range(len(letters))
        words = np.concatenate(self.encode_all(["ab", " cd", "\nef"]))
        self.cuts_at_words = np.array_equal(self.encode("ab cd\nef"), words)

    @classmethod
    def from_json(
        cls,
        text: str,
        where: str = "tokenizer.json",
        *,
        mask: bool = False,
        symbols: Sequence[str] = (),
        marks: Sequence[str] = (),
    ) -> "Tokenizer":
        """A tokenizer from the text of a tokenizer.json.

        Truncation, padding and dropout set in it are put out of force: encoding is a function of the text and loses
        none of it. An end token is added where none is known, and, if asked for, a token that stands for hidden ones,
        `symbols`, which are tokens wherever a text holds them, and `marks`, which no text holds.
        """
        data = read_json(text, where=where)
        check_unicode(data, where)
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
        check_symbols((*symbols, *marks))
        known = {token["content"] for token in added}
        for name in (*symbols, *marks):
            if name not in known:
                names += [name] if name not in names else []
                added.append({**flags, "id": names.index(name), "content": name, "special": name in marks})
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

    @cached_property
    def pair_marks(self) -> PairMarks:
        """The ids around two texts in one row: those that a file made elsewhere says, else the end three times."""
        if self.processed:
            return pair_marks_of(self._library, list(self.names), self._where)
        return PairMarks((self.end,), (self.end,), (self.end,))

    @property
    def token_bytes(self) -> Sequence[bytes] | None:
        """The bytes that each token adds to a text, if its neighbours do not matter; special tokens add none."""
        return self._added_bytes

    @cached_property
    def word_starts(self) -> tuple[int, ...]:
        """The ids that begin with the space before a word; none where the tokens of a text do not show their spaces."""
        if self._bytes is None or not self.cuts_at_words:
            return ()
        return tuple(id for id, content in enumerate(self._bytes) if content.startswith(b" "))

    def encode(self, text: str) -> np.ndarray:
        """The ids of a text, with no mark at its start or end."""
        if self.kind not in ("bytes", "characters"):
            _utf8(text)
            return self.encode_all([text])[0]
        if self._symbol is None:
            return self._letters(text)
        parts = self._symbol.split(text)  # every second one is a symbol
        one = (
            np.array([self.names.index(part)], self.dtype) if i % 2 else self._letters(part)
            for i, part in enumerate(parts)
        )
        return np.concatenate(list(one))

    def _letters(self, text: str) -> np.ndarray:
        """The ids of the characters or bytes of a text."""
        if self._lookup is not None:
            return self._lookup[codes_of(text)]
        return np.frombuffer(_utf8(text), np.uint8).astype(self.dtype)

    def encode_marked(self, text: str) -> np.ndarray:
        """The ids of a text in which the names of special tokens stand for these, as in a chat template."""
        with typed(self._where):
            return np.array(self._marking.encode(text, add_special_tokens=False).ids, self.dtype)

    @cached_property
    def _marking(self) -> Any:
        """The library's tokenizer that finds special tokens in texts."""
        from tokenizers import Tokenizer as Library

        with typed(self._where):
            return Library.from_str(self._json)

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

    def encode_places(self, text: str) -> tuple[np.ndarray, np.ndarray]:
        """The ids of a text, and the first and last character (not included) that each stands for."""
        _utf8(text)
        with typed(self._where):
            found = self._library.encode(text, add_special_tokens=False)
        pieces, before = [(found.ids, found.offsets)], [0]
        if np.isin(np.array(found.ids, self.dtype), self._reserved).any():
            parts = self._inside_special.split(text)
            with typed(self._where):
                whole = [self._library.encode(part, add_special_tokens=False) for part in parts]
            pieces = [(one.ids, one.offsets) for one in whole]
            before = np.cumsum([0, *map(len, parts)])[:-1].tolist()
        ids = np.concatenate([np.array(some, self.dtype) for some, _ in pieces])
        if np.isin(ids, self._reserved).any():
            raise DataError("the text holds what this tokenizer can only read as a special token")
        places = [
            np.array(spans, np.int64).reshape(-1, 2) + shift for (_, spans), shift in zip(pieces, before, strict=True)
        ]
        return ids, np.concatenate(places)

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
        with typed(self._where):
            found = self._library.encode_batch_fast(texts, add_special_tokens=False)
            return [np.array(encoding.ids, self.dtype) for encoding in found]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids. Special tokens have none; bytes that are not UTF-8 become the replacement character."""
        checked = self._checked(ids)
        if self._bytes is not None:
            return b"".join(self._bytes[id] for id in checked).decode("utf-8", "replace")
        with typed(self._where):
            return str(self._library.decode(checked, skip_special_tokens=True))

    def stream(self, after: Iterable[int] = ()) -> "Decoder":
        """A decoder to be fed ids one at a time, which go on with those `after` which they come."""
        return Decoder(self, after)

    @property
    def unwritten(self) -> tuple[int, ...]:
        """Ids that a model never writes: the one that stands for all characters that were not seen in training."""
        return (self._unknown,) if self.kind == "characters" and self._unknown is not None else ()

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
    """Text from ids as they come. What `feed` and at last `finish` give, joined, is what `decode` gives for all.

    `after` are ids before these: the text is then what these add to theirs, such as a space before a word.
    """

    def __init__(self, tokenizer: Tokenizer, after: Iterable[int] = ()):
        self._tokenizer = tokenizer
        self._incomplete = codecs.getincrementaldecoder("utf-8")("replace")
        self._before = list(after)
        self._waiting: list[int] = []

    def feed(self, id: int) -> str:
        """What has become complete with this id."""
        if not 0 <= id < self._tokenizer.size:
            self._tokenizer._checked([id])
        if (table := self._tokenizer._bytes) is not None:
            return self._incomplete.decode(table[id])
        self._waiting.append(id)
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


def any_of(symbols: Sequence[str]) -> re.Pattern[str] | None:
    """What finds symbols in a text, the longest where several begin at one place; None where there are none."""
    names = sorted(symbols, key=len, reverse=True)
    return re.compile(f"({'|'.join(map(re.escape, names))})") if names else None


def codes_of(text: str) -> np.ndarray:
    """The code points of a text's characters."""
    _utf8(text)
    return np.frombuffer(text.encode("utf-32-le"), np.uint32)


def _utf8(text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        problem = f"character {error.start + 1} of the text, {text[error.start]!r}, is half of a surrogate pair"
        raise DataError(problem, fix="give the text as UTF-8") from None
