"""Changes in the words of the command line: `--set without=3.2`, and back. JSON of the same types is the other form.

    without=3.2             head 2 of layer 3 gives nothing         without=3  all branches of layer 3
    without=3.transform     the MLP of layer 3                      without=3.read.2  a head that reads the memory
    without=3.2~mean        its mean over the tokens instead        without=3.2@4+5   for tokens 4 and 5 alone
    scaled=3.2x0.5          half of what it gives
    unread=3.2@5:2          token 5 does not read token 2           unread=3@:2       no token does, in any head
    pinned=3.2~uniform      uniform, previous, itself or first
    hidden=2+3              tokens 2 and 3 are not there
    replaced=3@4            the stream after layer 3 at token 4, from the input that `of` names; 3.2, 3.mix: a part
    added=3x4               4 times the mean stream of the input `of`, less that of `minus`, after layer 3

Several of a kind are separated by commas. A stream is named in front: source/3.2. `changes` takes a list in JSON.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields
from typing import Any, ClassVar

from weft.config import Config, field_types
from weft.core.changes import KINDS, Change, changes_from_json
from weft.errors import ConfigError
from weft.json_text import read_json

PLACE = re.compile(
    r"((?P<stream>[A-Za-z_][\w.]*)/)?"
    r"(?P<layer>\d+)?(\.(?P<branch>mix|read|transform))?(\.(?P<head>\d+))?"
    r"(@(?P<tokens>[\d+]*)(:(?P<keys>[\d+]+))?)?"
    r"(x(?P<factor>-?[\d.]+(e-?\d+)?))?"
    r"(~(?P<word>\w+))?"
)
WORD = {"Without": "by", "Pinned": "weights"}  # the field that stands behind ~
FACTOR = {"Scaled": "factor", "Added": "strength"}  # the field that stands behind x


class ChangeWords(Config):
    """Changes as settings, by their kinds; `of` and `minus` are the other inputs that some of them need."""

    without: tuple[str, ...] = ()
    scaled: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    pinned: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    of: str | None = None
    minus: str | None = None
    changes: str | None = None

    about: ClassVar[Mapping[str, str]] = {
        "without": "heads or branches to switch off: 3.2 is head 2 of layer 3, 3.transform its MLP, 3 the whole layer",
        "scaled": "heads or branches to multiply: 3.2x0.5",
        "unread": "pairs of tokens that are not read: 3.2@5:2, token 5 does not read token 2 in head 2 of layer 3",
        "pinned": "heads whose weights are set: 3.2~uniform, previous, itself or first",
        "replaced": "the stream, a branch or a head with what another input (of) has there: 3@4, layer 3 at token 4",
        "added": "a direction added to the stream: 3x4, after layer 3 four times the mean of `of` less that of `minus`",
        "hidden": "tokens that are not there: 2+3",
        "of": "the other input of replaced, pinned and added",
        "minus": "the input whose mean is taken off, of added",
        "changes": "changes as a list in JSON",
    }

    def found(self) -> tuple[Change, ...]:
        """The changes that the settings say."""
        said = changes_from_json(read_json(self.changes, where="changes"), where="changes") if self.changes else ()
        return (*said, *self._by_kind())

    def _by_kind(self) -> Iterator[Change]:
        for kind in KINDS:
            for words in getattr(self, kind.__name__.lower()):
                yield change_of(kind, words, of=self.of, minus=self.minus)


NAMES = tuple(field_types(ChangeWords))


def taken(settings: dict[str, Any]) -> ChangeWords:
    """Take the settings that say changes out of all settings."""
    words = ChangeWords()
    for name in [name for name in settings if name in NAMES]:
        words = words.set(name, settings.pop(name))
    return words


def change_of(kind: type[Change], words: str, *, of: str | None = None, minus: str | None = None) -> Change:
    """The change of a kind that words such as 3.2 stand for."""
    name, known = kind.__name__, field_types(kind)
    where = f"--set {name.lower()}"
    if name == "Hidden" and "@" not in words:
        front, slash, rest = words.rpartition("/")
        words = f"{front}{slash}@{rest}"
    found = PLACE.fullmatch(words)
    if not words or found is None:
        raise ConfigError(f"{words!r:.60} is no place in a model", where=where, fix=f"for example {EXAMPLES[name]}")
    parts = {key: part for key, part in found.groupdict().items() if part}
    given: dict[str, Any] = {key: parts[key] for key in ("stream", "branch") if key in parts}
    given |= {key: int(parts[key]) for key in ("layer", "head") if key in parts}
    given |= {
        key: tuple(int(one) for one in parts[key].split("+") if one) for key in ("tokens", "keys") if key in parts
    }
    for table, part in ((WORD, "word"), (FACTOR, "factor")):
        if part in parts:
            given[table.get(name, part)] = parts[part] if part == "word" else float(parts[part])
    asked = {"of": of, "minus": minus} if not (name == "Pinned" and "word" in parts) else {}
    given |= {key: value for key, value in asked.items() if value is not None and key in known}
    unknown = [key for key in given if key not in known]
    missing = [key for key in ("layer", "factor", "keys", "of") if _needed(kind, key) and key not in given]
    if unknown or missing:
        problem = f"{words!r:.60} says {unknown[0]}" if unknown else f"{words!r:.60} does not say {missing[0]}"
        raise ConfigError(problem, where=where, fix=f"for example {EXAMPLES[name]}")
    return kind(**given)


EXAMPLES = {
    "Without": "without=3.2 or without=3.transform",
    "Scaled": "scaled=3.2x0.5",
    "Unread": "unread=3.2@5:2",
    "Pinned": "pinned=3.2~uniform",
    "Replaced": 'replaced=3@4 --set of="another input"',
    "Added": 'added=3x4 --set of="one input" --set minus="another"',
    "Hidden": "hidden=2+3",
}


def _needed(kind: type[Change], name: str) -> bool:
    """Whether a kind of change cannot do without a field."""
    return any(one.name == name and one.default is MISSING for one in fields(kind))


def words_of(change: Change) -> str:
    """A change in the words of the command line; other inputs that it needs are not said."""
    name, value = type(change).__name__, change.to_json().get
    stream = f"{change.stream}/" if change.stream else ""
    joined = {key: "+".join(map(str, value(key) or ())) for key in ("tokens", "keys")}
    if name == "Hidden":
        return f"hidden={stream}{joined['tokens']}"
    place = ".".join(str(part) for part in (value("layer"), value("branch"), value("head")) if part is not None)
    at = f"@{joined['tokens']}" + (f":{joined['keys']}" if joined["keys"] else "") if any(joined.values()) else ""
    factor = f"x{value(FACTOR[name]):g}" if name in FACTOR else ""
    word = value(WORD[name]) if name in WORD else None
    return f"{name.lower()}={stream}{place}{at}{factor}" + (f"~{word}" if word and word != "zero" else "")
