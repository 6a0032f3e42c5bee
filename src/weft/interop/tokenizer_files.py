"""The tokenizer of a model folder: tokenizer.json, or one made of GPT-2's older pair of files; and as it is written."""

import json
from collections.abc import Sequence
from pathlib import Path

from weft.errors import ConfigError, DataError, listed
from weft.interop.weights import inside
from weft.json_text import read_json
from weft.modalities.tokenizer import Tokenizer
from weft.modalities.tokenizer_json import names_by_id, typed
from weft.storage import store

END = "<|endoftext|>"


def read_tokenizer(folder: Path, family: str) -> str | None:
    """The text of a tokenizer.json; None where the folder has none that can be read."""
    path = folder / "tokenizer.json"
    if inside(path, folder):
        return _text(path)
    vocab, merges = folder / "vocab.json", folder / "merges.txt"
    if family == "gpt2" and inside(vocab, folder) and inside(merges, folder):
        return _from_pair(vocab, merges)
    return None


def within_table(tokenizer_json: str, vocab: int, *, where: str) -> tuple[str, list[str]]:
    """A tokenizer without special tokens beyond the table of embeddings, which texts never have; and remarks on them.

    People add such tokens, as one that fills, to a tokenizer and leave the model as it is.
    """
    data = read_json(tokenizer_json, where=where)
    names = names_by_id(data, where)
    own = data["model"]["vocab"]
    beyond = {t["id"]: t["content"] for t in data.get("added_tokens") or [] if t.get("special") and t["id"] >= vocab}
    if not beyond or len(beyond) < len(names) - vocab or any(name in own for name in beyond.values()):
        return tokenizer_json, []
    data["added_tokens"] = [token for token in data["added_tokens"] if token["id"] not in beyond]
    said = f"special tokens that the model has no vectors for are left out: {listed(list(beyond.values()))}"
    return json.dumps(data), [said]


def check_tokenizer(tokenizer_json: str, vocab: int, *, where: str) -> None:
    """Refuse a tokenizer with ids beyond the table of embeddings."""
    names = names_by_id(read_json(tokenizer_json, where=where), where)
    if len(names) > vocab:
        raise ConfigError(
            f"the tokenizer has {len(names)} tokens, the model has vectors for {vocab}: {names[vocab]!r:.60} has none",
            where=where,
            fix="use the tokenizer that the model was trained with",
        )


def marked_tokenizer(tokenizer: Tokenizer, before: Sequence[int], after: Sequence[int]) -> str:
    """The tokenizer.json of a tokenizer that puts these ids around a text; one that puts some already keeps them.

    White space beside the mask belongs to the word that is hidden, where a vocabulary has words with their white space.
    """
    data, names = json.loads(tokenizer.to_json()), tokenizer.names
    if not tokenizer.processed and (before or after):
        front, back = ([{"SpecialToken": {"id": names[id], "type_id": 0}} for id in ids] for ids in (before, after))
        text, other = ({"Sequence": {"id": side, "type_id": i}} for i, side in enumerate("AB"))
        last = [{"SpecialToken": {"id": names[id], "type_id": 1}} for id in after]
        data["post_processor"] = {
            "type": "TemplateProcessing",
            "single": [*front, text, *back],
            "pair": [*front, text, *back, other, *last],
            "special_tokens": {
                names[id]: {"id": names[id], "ids": [id], "tokens": [names[id]]} for id in sorted({*before, *after})
            },
        }
    for token in data["added_tokens"]:
        if token["id"] == tokenizer.mask and tokenizer.kind not in ("bytes", "characters"):
            token |= {"lstrip": True, "rstrip": not tokenizer.cuts_at_words}
    return Tokenizer.from_json(json.dumps(data)).to_json()


def unmarked_tokenizer(text: str) -> str:
    """A tokenizer.json that says nothing of marks around a text, as one that says that there are none."""
    data = json.loads(text)
    if data.get("post_processor") is None:
        first, other = ({"Sequence": {"id": side, "type_id": i}} for i, side in enumerate("AB"))
        inside = {"single": [first], "pair": [first, other], "special_tokens": {}}
        data["post_processor"] = {"type": "TemplateProcessing", **inside}
    return json.dumps(data, ensure_ascii=False)


def _text(path: Path) -> str:
    try:
        return store.read_file(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"not UTF-8: {error}", where=store.shown(path)) from None


def _from_pair(vocab: Path, merges: Path) -> str:
    """Byte-level BPE from a vocabulary and its merges, as GPT-2 was published."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

    ids = read_json(_text(vocab), where=store.shown(vocab))
    lines = [line for line in _text(merges).splitlines() if line and not line.startswith("#version")]
    odd = next((line for line in lines if line.count(" ") != 1), None)
    if odd is not None:
        raise DataError(f"expected two tokens in each line, found {odd!r:.80}", where=store.shown(merges))
    pairs = [(left, right) for left, _, right in (line.partition(" ") for line in lines)]
    with typed(store.shown(vocab)):
        library = Tokenizer(models.BPE(vocab=ids, merges=pairs))
        library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        library.decoder = decoders.ByteLevel()
        library.post_processor = processors.ByteLevel(trim_offsets=False)
        if END in ids:
            library.add_special_tokens([END])
        return library.to_str()
