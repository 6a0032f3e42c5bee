"""Random changes of files: of JSON, bytes, tensors, and what stands in a file's place. Each says what it did."""

import json
import os
import random
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Change = Callable[[Path, random.Random], str]

ODD: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 3, 7, 64, -(2**31), 2**31, 2**53, 2**63 - 1, 2**63, 2**70, 10**400, 0.0, -0.5, 0.5,
    1.5, 1e-320, 1e308, -1e308, float("nan"), float("inf"), float("-inf"), "", "x", "a" * 100_000, "\ud800", "\x00",
    "é\u202e",
    "../config.json", "/etc/passwd", "none", "true", "1", [], {}, [[]], [{}], {"": None}, ["a"], [1], [-1], [0] * 5000,
    {"type": "x"}, {"type": "Stream"}, {"type": "Linear"}, {"type": ["a"]}, {"a": {"a": {"a": 1}}},
)  # fmt: skip


def nested(depth: int) -> Any:
    """Lists within lists."""
    found: Any = []
    for _ in range(depth):
        found = [found]
    return found


def walk(tree: Any, chance: random.Random) -> tuple[Any, Any]:
    """A container somewhere in a tree, and a key or index of it. Half the time all containers are equally likely."""
    if chance.random() < 0.5:
        tree = chance.choice([*(one for one in (tree, *_containers(tree)) if one)])
        return tree, chance.choice(list(tree) if isinstance(tree, dict) else range(len(tree)))
    while True:
        keys = list(tree) if isinstance(tree, dict) else range(len(tree))
        key = chance.choice(keys)
        child = tree[key]
        if not isinstance(child, dict | list) or not child or chance.random() < 0.2:
            return tree, key
        tree = child


def _containers(tree: Any) -> Iterator[Any]:
    """The objects and lists within a tree; of a long one, those in its first parts."""
    for child in list(tree.values() if isinstance(tree, dict) else tree)[:50]:
        if isinstance(child, dict | list):
            yield child
            yield from _containers(child)


def other_value(value: Any, chance: random.Random) -> Any:
    """A value near another one, or an odd one."""
    near: list[Any] = [nested(100)]
    if isinstance(value, bool):
        near += [not value, int(value)]
    elif isinstance(value, int | float):
        near += [
            -value,
            value + 1,
            value - 1,
            value * 2,
            value * 1000,
            value // 2,
            value * 0.5 if abs(value) < 2**63 else 0,
            str(value)[:99],
            [value],
        ]
    elif isinstance(value, str):
        near += [value + "x", value[:-1], value.upper(), [value], {value: value}, value * 2]
    elif isinstance(value, list):
        near += [value[:-1], value[1:], value * 2, value[::-1], dict.fromkeys(map(str, value[:50])), [*value, None]]
    elif isinstance(value, dict):
        near += [list(value), list(value.values()), dict(list(value.items())[1:]), {**value, "odd": 1}]
    return chance.choice(near) if chance.random() < 0.5 else chance.choice(ODD)


def change_tree(tree: Any, chance: random.Random) -> str:
    """Change one thing somewhere in a tree of JSON values, in place."""
    if not tree:
        return "nothing to change"
    home, key = walk(tree, chance)
    how = chance.choice(("value", "value", "value", "value", "remove", "rename", "add", "swap"))
    if how == "remove" or (how == "rename" and isinstance(home, list)):
        del home[key]
        return f"{key!r:.60} removed"
    if how == "rename":
        new = chance.choice((str(key) + "s", str(key).upper(), "", "type", "x" * 5000))
        home[new] = home.pop(key)
        return f"{key!r:.60} renamed to {new!r:.60}"
    if how == "add" and isinstance(home, dict):
        value = chance.choice(ODD)
        home[chance.choice(("odd", "auto_map", "trust_remote_code", "base", "imported", "seal", "part", "self"))] = (
            value
        )
        return f"a key added beside {key!r:.60}: {value!r:.60}"
    if how == "swap":
        other, there = walk(tree, chance)
        home[key], other[there] = other[there], home[key]
        return f"{key!r:.60} and {there!r:.60} swapped"
    value = other_value(home[key], chance)
    home[key] = value
    return f"{key!r:.60} set to {value!r:.60}"


def dumped(tree: Any) -> bytes:
    """JSON as Python writes it: NaN, infinity and halves of characters too."""
    return json.dumps(tree, indent=2, ensure_ascii=False).encode("utf-8", "surrogatepass")


def change_json(path: Path, chance: random.Random) -> str:
    """One to three changes of values and keys in a JSON file."""
    tree = json.loads(path.read_text(encoding="utf-8"))
    done = []
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        if isinstance(tree, dict | list) and tree:
            done.append(change_tree(tree, chance))
    path.write_bytes(dumped(tree))
    return "; ".join(done)


def change_json_text(path: Path, chance: random.Random) -> str:
    """A change of a JSON file that no JSON value has: keys that stand twice, depth, an encoding."""
    text = path.read_text(encoding="utf-8")
    how = chance.choice(
        ("twice", "deep", "utf-16", "utf-8-sig", "latin-1", "0xff", "surrogate", "nul", "list", "tail", "long")
    )
    changed: bytes
    if how == "twice":
        at = chance.choice([i for i, c in enumerate(text) if c == "{"])
        changed = (text[: at + 1] + '"type": 1, "type": 2,' + text[at + 1 :]).encode()
    elif how == "deep":
        changed = b"[" * chance.choice((100, 5000, 200_000))
    elif how in ("utf-16", "utf-8-sig"):
        changed = text.encode(how)
    elif how == "latin-1":
        changed = text.replace("e", "é", 1).encode("latin-1", "replace")
    elif how == "surrogate":
        changed = text.replace('": "', '": "\\ud800', 1).encode()
    else:
        odd = {"0xff": b"\xff", "nul": b"\x00", "list": b"[]", "tail": b"{}", "long": b"9" * 5000}[how]
        data, at = text.encode(), chance.randrange(len(text) + 1)
        changed = odd if how == "list" else data + odd if how == "tail" else data[:at] + odd + data[at:]
    path.write_bytes(changed)
    return f"text: {how}"


def change_lines(path: Path, chance: random.Random) -> str:
    """A change of one line of a file with a JSON object a line."""
    lines = path.read_bytes().split(b"\n")
    at = chance.randrange(len(lines))
    try:
        row = json.loads(lines[at])
        said = change_tree(row, chance)
        lines[at] = dumped(row).replace(b"\n", b" ")
    except ValueError:
        said, lines[at] = "garbage", b"\xff{"
    path.write_bytes(b"\n".join(lines))
    return f"line {at + 1}: {said}"


def change_bytes(path: Path, chance: random.Random) -> str:
    """Bits flipped, bytes cut off, put in, zeroed or replaced."""
    data = bytearray(path.read_bytes())
    how = chance.choice(("flip", "flips", "cut", "zero", "empty", "grow", "noise", "drop", "head"))
    at = chance.randrange(len(data)) if data else 0
    if how in ("flip", "flips", "head") and data:
        for _ in range(1 if how == "flip" else 20):
            data[chance.randrange(min(len(data), 64 if how == "head" else len(data)))] ^= 1 << chance.randrange(8)
    elif how == "cut":
        del data[at:]
    elif how == "zero":
        data[at : at + 64] = bytes(len(data[at : at + 64]))
    elif how == "empty":
        data = bytearray()
    elif how == "grow":
        data += chance.randbytes(chance.choice((1, 8, 4096)))
    elif how == "noise":
        data = bytearray(chance.randbytes(len(data)))
    else:
        del data[at : at + chance.choice((1, 4, 100))]
    path.write_bytes(bytes(data))
    return f"bytes: {how} at {at}"


def change_place(path: Path, chance: random.Random) -> str:
    """Put something else in a file's place: a folder, a pipe, a link out of it or to itself, another file, nothing."""
    how = chance.choice(("gone", "folder", "pipe", "link out", "loop", "dangling", "device", "another", "unreadable"))
    outside = path.parent.parent / "outside" / path.name
    data = path.read_bytes()
    path.unlink()
    if how == "folder":
        path.mkdir()
    elif how == "pipe":
        os.mkfifo(path)
    elif how == "link out":
        outside.parent.mkdir(exist_ok=True)
        outside.write_bytes(data)
        path.symlink_to(outside)
    elif how in ("loop", "dangling", "device"):
        path.symlink_to({"loop": path.name, "dangling": "nowhere", "device": "/dev/zero"}[how])
    elif how == "another":
        path.write_bytes(chance.choice([p for p in path.parent.iterdir() if p.is_file()]).read_bytes())
    elif how == "unreadable":
        path.write_bytes(data)
        path.chmod(0)
    return f"in its place: {how}"


def change_header(path: Path, chance: random.Random) -> str:
    """A change in the header of a .safetensors file, whose length is put right or not."""
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + size])
    said = change_tree(header, chance)
    text = dumped(header)
    told = len(text) if chance.random() < 0.9 else chance.choice((0, 1, len(text) + 1, 2**40, 2**63, 2**64 - 1))
    path.write_bytes(struct.pack("<Q", told) + text + data[8 + size :])
    return f"header: {said}, length {told}"


def change_tensors(path: Path, chance: random.Random) -> str:
    """Tensors taken out, added, renamed, of another shape or type, or with other numbers; the file is sound."""
    import torch
    from safetensors.torch import load_file, save_file

    tensors = load_file(path)
    if not tensors:
        return change_bytes(path, chance)
    name = chance.choice(sorted(tensors))
    one = tensors[name]
    how = chance.choice(("gone", "added", "renamed", "longer", "shorter", "flat", "turned", "double", "int", "half",
                         "nan", "inf", "huge", "negative", "zero", "none"))  # fmt: skip
    if how in ("gone", "renamed"):
        del tensors[name]
    if how in ("added", "renamed"):
        tensors[name + chance.choice(("x", ".weight", "é", "y" * 3000))] = one.clone()
    numbers: dict[str, Callable[[], Any]] = {
        "longer": lambda: torch.cat((one, one)) if one.ndim else one[None],
        "shorter": lambda: one[:-1] if one.ndim else one[None],
        "flat": lambda: one.reshape(-1),
        "turned": lambda: one.T if one.ndim == 2 else one[None],
        "double": lambda: one.double(),
        "int": lambda: one.to(torch.int64),
        "half": lambda: one.to(torch.float16),
        "nan": lambda: one.float().fill_(float("nan")),
        "inf": lambda: one.float().fill_(float("inf")),
        "huge": lambda: one.float().fill_(3e38),
        "negative": lambda: -one.float(),
        "zero": lambda: one * 0,
        "none": lambda: one[:0] if one.ndim else one,
    }
    if how in numbers:
        tensors[name] = numbers[how]().contiguous()
    save_file(tensors, path)
    return f"tensor {name}: {how}"


def changes_of(path: Path) -> list[Change]:
    """What can be done to a file, likelier changes more than once."""
    special: dict[str, list[Change]] = {
        ".json": [change_json] * 10 + [change_json_text] * 2,
        ".jsonl": [change_lines] * 6,
        ".safetensors": [change_header] * 4 + [change_tensors] * 4,
    }
    return [*special.get(path.suffix, []), change_bytes, change_bytes, change_place]
