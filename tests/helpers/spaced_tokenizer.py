"""A tokenizer as SentencePiece makes them: a sign for the space before a word, bytes for unknown characters."""

import json
import string

from weft.modalities.tokenizer import Tokenizer

SPACE = "\u2581"
MERGED = ["he", "ll", "lo", "hell", "hello", SPACE + "the", SPACE + "cat", "th"]


def spaced() -> Tokenizer:
    """Letters and digits with and without the space before them, some merged, and all bytes."""
    names = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), SPACE]
    names += [*string.ascii_letters, *string.digits, *'.,:-"{}[]', SPACE + "t", SPACE + "c", SPACE + "th", SPACE + "ca"]
    names += MERGED
    merges = ["h e", "l l", "l o", "he ll", "hell o", f"{SPACE} t", f"{SPACE} c", f"{SPACE}t h", f"{SPACE}th e"]
    merges += [f"{SPACE}c a", f"{SPACE}ca t", "t h"]
    replaced = {"type": "Replace", "pattern": {"String": " "}, "content": SPACE}
    restored = {"type": "Replace", "pattern": {"String": SPACE}, "content": " "}
    stripped = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
    model = {"type": "BPE", "vocab": {name: id for id, name in enumerate(names)}, "merges": merges}
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    data = {
        "version": "1.0",
        "added_tokens": [{"id": id, "content": names[id], **flags} for id in range(3)],
        "normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": SPACE}, replaced]},
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": {
            "type": "Sequence",
            "decoders": [restored, {"type": "ByteFallback"}, {"type": "Fuse"}, stripped],
        },
        "model": {**model, "unk_token": "<unk>", "byte_fallback": True, "fuse_unk": True},
    }
    return Tokenizer.from_json(json.dumps(data))
