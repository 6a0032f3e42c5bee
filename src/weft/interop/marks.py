"""Marks: the ids that begin, end and fill texts, as config.json and generation_config.json have them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from weft.errors import ConfigError

_KEYS = {
    "bos": "bos_token_id",
    "eos": "eos_token_id",
    "pad": "pad_token_id",
    "start": "decoder_start_token_id",
    "first": "forced_bos_token_id",
}


@dataclass(frozen=True)
class Marks:
    """`bos` begins a text and any of `eos` ends it; a decoder starts with `start`, its first own token is `first`."""

    bos: int | None = None
    eos: tuple[int, ...] = ()
    pad: int | None = None
    start: int | None = None
    first: int | None = None

    @classmethod
    def read(cls, *configs: Mapping[str, Any], where: str) -> "Marks":
        """The marks of configs, those that stand in front first."""
        found: dict[str, Any] = {}
        for name, key in _KEYS.items():
            value = next((c[key] for c in configs if c.get(key) is not None), None)
            many = value if isinstance(value, list) else [] if value is None else [value]
            if not all(type(id) is int and 0 <= id < 2**31 for id in many) or (len(many) > 1 and name != "eos"):
                raise ConfigError(f"{key}: expected an id, found {value!r:.80}", where=where)
            found[name] = tuple(many) if name == "eos" else next(iter(many), None)
        return cls(**found)

    def write(self) -> dict[str, Any]:
        """The keys of a config.json."""
        ends = list(self.eos) if len(self.eos) > 1 else next(iter(self.eos), None)
        values = {name: ends if name == "eos" else getattr(self, name) for name in _KEYS}
        return {_KEYS[name]: value for name, value in values.items() if value is not None}

    def ids(self) -> set[int]:
        """All of them."""
        return {id for id in (self.bos, *self.eos, self.pad, self.start, self.first) if id is not None}

    def opening(self) -> list[int]:
        """What a decoder's text goes on from."""
        return [id for id in (self.start, self.first) if id is not None]
