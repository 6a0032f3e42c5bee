"""The tokenizer.json format: what weft writes, what it accepts, and what it refuses. Knows no text.

A file made elsewhere is believed only after its tokens, ids and sizes were looked at; what the tokenizers library
makes of it is then compared with that.
"""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from weft.errors import ConfigError
from weft.modalities.tokenizer_limits import check_limits

END = "<|end|>"
ENDS = (END, "<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>", "[SEP]")  # names that the end has elsewhere
MASK = "<|mask|>"
MASKS = (MASK, "[MASK]", "<mask>")  # names that a hidden token has elsewhere
UNKNOWN = "\ufffd"  # the replacement character stands for itself and for all that are unknown
BYTE_NAME = re.compile(r"<0x([0-9A-F]{2})>")  # of a token that is one byte, for characters that no other token has
MAX_VOCAB = 2**20
MAX_TOKEN = 4096  # characters of one token


@contextmanager
def typed(where: str) -> Iterator[None]:
    """Faults of the tokenizers library as errors of weft. A panic in it is no Exception, and has no type to import."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException" and type(error) not in (Exception, ValueError, TypeError):
            raise
        problem = f"the tokenizers library cannot work with this: {error!s:.300}"
        raise ConfigError(problem, where=where, fix="use another tokenizer, or repair its tokenizer.json") from None


def check_unicode(data: Any, where: str) -> None:
    """Refuse a file in which a text holds half of a surrogate pair: no text of it can be written again."""
    try:
        json.dumps(data, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        problem = f"a text in it holds {error.object[error.start]!r}, half of a surrogate pair"
        raise ConfigError(problem, where=where, fix="use another tokenizer, or repair its tokenizer.json") from None


def byte_letters() -> list[str]:
    """The letter that stands for each byte in a byte-level vocabulary, as GPT-2 chose them."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = (chr(256 + n) for n in range(256 - len(plain)))
    return [chr(byte) if byte in plain else next(others) for byte in range(256)]


def made(kind: str, names: list[str]) -> dict[str, Any]:
    """The tokenizer.json of bytes or characters; special tokens are added last."""
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    each = {"type": "Split", "pattern": {"Regex": r"[\s\S]"}, "behavior": "Isolated", "invert": False}
    split, join = (level, level) if kind == "bytes" else (each, {"type": "Fuse"})
    vocab = {name: id for id, name in enumerate(names)}
    merge = {"type": "BPE", "vocab": vocab, "merges": []}
    model = merge if kind == "bytes" else {"type": "WordLevel", "vocab": vocab, "unk_token": UNKNOWN}
    nothing = {"truncation": None, "padding": None, "normalizer": None, "post_processor": None}
    return {"version": "1.0", **nothing, "added_tokens": [], "pre_tokenizer": split, "decoder": join, "model": model}


def kind_of(data: dict[str, Any], names: list[str]) -> str:
    """The kind of a tokenizer.json: bytes and characters are what weft writes, whatever marks it puts around a text.

    Others go by their model.
    """
    added = sorted(token["id"] for token in data["added_tokens"])
    letters = names[: len(names) - len(added)]
    if added == list(range(len(letters), len(names))) and names[len(letters)] == END:
        alone = {**data, "added_tokens": [], "post_processor": None}
        if letters == byte_letters() and alone == made("bytes", letters):
            return "bytes"
        if set(map(len, letters)) == {1} and alone == made("characters", letters):
            return "characters"
    return str(data["model"].get("type", "bpe")).lower()


def check_symbols(symbols: Sequence[str]) -> None:
    """Refuse texts that cannot be one token each."""
    for symbol in symbols:
        if not 2 <= len(symbol) <= MAX_TOKEN or any(c.isspace() for c in symbol):
            problem = f"a symbol has from 2 to {MAX_TOKEN} characters and no white space, found {symbol!r:.60}"
            raise ConfigError(problem, where="symbols", fix="write it as <User:>")
    if (twice := next((one for one in symbols if symbols.count(one) > 1), None)) is not None:
        raise ConfigError(f"the symbol {twice!r} stands twice", where="symbols", fix="name it once")
    if (own := next((one for one in symbols if one in (END, MASK)), None)) is not None:
        raise ConfigError(f"{own!r} is a mark of weft's already", where="symbols", fix="use another name")


def names_by_id(data: Any, where: str) -> list[str]:
    """The tokens by id: each id from 0 to the last must belong to one token, and each token have one id."""
    try:
        vocab = data["model"]["vocab"]
        pairs = list(vocab.items()) if isinstance(vocab, dict) else [(entry[0], id) for id, entry in enumerate(vocab)]
        pairs += [(token["content"], token["id"]) for token in data.get("added_tokens") or []]
    except (TypeError, KeyError, IndexError, AttributeError):
        raise ConfigError("not a tokenizer.json: no vocabulary in a form that is known", where=where) from None
    by_id: dict[int, str] = {}
    by_name: dict[str, int] = {}
    for name, id in pairs:
        if not isinstance(name, str) or type(id) is not int or not 0 < len(name) <= MAX_TOKEN:
            problem = f"expected a token of 1 to {MAX_TOKEN} characters with a number, found {name!r:.60}: {id!r:.60}"
            raise ConfigError(problem, where=where)
        if by_id.setdefault(id, name) != name:
            raise ConfigError(f"two tokens have the id {id}: {by_id[id]!r:.60} and {name!r:.60}", where=where)
        if by_name.setdefault(name, id) != id:
            raise ConfigError(f"the token {name!r:.60} has two ids, {by_name[name]} and {id}", where=where)
    if not 0 < len(by_id) <= MAX_VOCAB:
        raise ConfigError(f"expected 1 to {MAX_VOCAB} tokens, found {len(by_id)}", where=where)
    missing = [id for id in range(len(by_id)) if id not in by_id]
    if missing:
        problem = f"{len(by_id)} tokens have ids up to {max(by_id)}, but none has the id {missing[0]}"
        raise ConfigError(problem, where=where, fix="ids must run from 0 without a hole")
    return [by_id[id] for id in range(len(by_id))]


def bytes_by_id(data: dict[str, Any], names: list[str], special: set[int], kind: str) -> list[bytes] | None:
    """What each token is in bytes, where a text is its tokens' bytes joined; special tokens are none."""
    decoder, symbols = data.get("decoder"), {token["id"] for token in data["added_tokens"]}
    if kind == "characters":
        value: dict[str, int] = {}
    elif isinstance(decoder, dict) and decoder.get("type") == "ByteLevel":
        value = {letter: byte for byte, letter in enumerate(byte_letters())}
    else:
        return None

    def plain(id: int, name: str) -> bytes:
        spelt = id not in symbols and all(c in value for c in name)  # a symbol is written as it is
        return bytes(value[c] for c in name) if spelt else name.encode("utf-8")

    return [b"" if id in special else plain(id, name) for id, name in enumerate(names)]


def spaced_bytes(data: dict[str, Any], names: list[str], special: set[int]) -> list[bytes] | None:
    """The bytes that each token adds to a text, where one sign stands for a space (SentencePiece); else None.

    The library's decoder removes the space before a text's first word, so a text is not quite its tokens' bytes.
    """
    decoder = data.get("decoder")
    steps = decoder.get("decoders", [decoder]) if isinstance(decoder, dict) else []
    spaces = [sign for step in steps if (sign := _space_sign(step)) is not None]
    others = {step.get("type") for step in steps} - {"Replace", "Metaspace", "ByteFallback", "Fuse", "Strip"}
    if len(spaces) != 1 or others:
        return None
    fallback = any(step.get("type") == "ByteFallback" for step in steps)

    def plain(name: str) -> bytes:
        byte = BYTE_NAME.fullmatch(name) if fallback else None
        return bytes([int(byte[1], 16)]) if byte else name.replace(spaces[0], " ").encode("utf-8")

    return [b"" if id in special else plain(name) for id, name in enumerate(names)]


def _space_sign(step: dict[str, Any]) -> str | None:
    """The sign that a step of a decoder makes a space of."""
    if step.get("type") == "Metaspace":
        return str(step.get("replacement", "\u2581"))
    if step.get("type") == "Replace" and step.get("content") == " ":
        return (step.get("pattern") or {}).get("String")
    return None


def open_library(data: dict[str, Any], text: str, names: list[str], where: str) -> Any:
    """The library's tokenizer of `data`, whose JSON is `text`: the same ids, and special tokens in texts are text."""
    from tokenizers import Tokenizer as Library

    check_limits(data, where)
    with typed(where):
        library = Library.from_str(text)
        ids = library.get_vocab(with_added_tokens=True)
    if ids != {name: id for id, name in enumerate(names)}:
        raise ConfigError("the added tokens do not have the ids that the file gives them", where=where)
    library.encode_special_tokens = True
    return library


class PairMarks(NamedTuple):
    """The ids before, between and after two texts in one row, and the segment of each of the five parts in order."""

    before: tuple[int, ...]
    between: tuple[int, ...]
    after: tuple[int, ...]
    segments: tuple[int, int, int, int, int] = (0, 0, 0, 1, 1)


def pair_marks_of(library: Any, names: list[str], where: str) -> PairMarks:
    """The ids that the file's post-processor puts around two texts, found by showing it two."""
    with typed(where):
        for probe in ("a", *names[:100]):
            shown = library.encode(probe, probe)
            if not all(shown.special_tokens_mask):
                break
        else:
            raise ConfigError("no text can be encoded", where=where)
    sides = [[i for i, side in enumerate(shown.sequence_ids) if side == number] for number in (0, 1)]
    (first, second), end = sides, len(shown.ids)
    if not first or not second or first[-1] > second[0]:
        raise ConfigError("the post-processor does not put two texts into one row", where=where)
    cuts = ((0, first[0]), (first[-1] + 1, second[0]), (second[-1] + 1, end))
    before, between, after = (tuple(shown.ids[start:stop]) for start, stop in cuts)
    if any(id >= len(names) for id in (*before, *between, *after)):
        raise ConfigError("the post-processor puts ids around texts that the vocabulary does not have", where=where)
    starts = (0, first[0], min(first[-1] + 1, end - 1), second[0], end - 1)
    parts = tuple(shown.type_ids[start] for start in starts)
    return PairMarks(before, between, after, parts)


def marks_of(library: Any, names: list[str], where: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The ids that the file's post-processor puts before and after a text, found by showing it one."""
    with typed(where):
        for probe in ("a", *names[:100]):
            shown = library.encode(probe)
            if not all(shown.special_tokens_mask):
                break
        else:
            raise ConfigError("no text can be encoded", where=where)
    inner = [i for i, special in enumerate(shown.special_tokens_mask) if not special]
    before, after = tuple(shown.ids[: inner[0]]), tuple(shown.ids[inner[-1] + 1 :])
    if any(id >= len(names) for id in (*before, *after)):
        raise ConfigError("the post-processor puts ids around a text that the vocabulary does not have", where=where)
    return before, after
