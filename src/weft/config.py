"""Frozen config trees: build parts, travel as JSON, take dotted settings. Knows no part by name, but for those renamed.

A part is a class with a nested frozen `Config`; the config builds the part:

    Attention.Config(heads=8).build(dim=512)

A choice is a type in a slot (`score=Additive.Config()`), so a tree of configs is a whole model.
In JSON every config is an object with its part's name under "type". Nothing in a config file is
ever imported or run: names are looked up among parts that are already defined.
"""

import dataclasses
import math
import re
import sys
import types
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from typing import Any, ClassVar, Literal, Self, Union, dataclass_transform, get_args, get_origin, get_type_hints

from weft.errors import ConfigError, nearest, placed
from weft.json_text import shown_value

RENAMED = {"Grams": "HashedNgrams", "Joint": "PerClassToken", "Shift": "TokenShift"}  # earlier names in JSON: today's

_parts: dict[str, type["Config"]] = {}


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(dataclasses.field,))
class Config:
    """Base of all configs. A subclass is made a frozen, keyword-only dataclass and checks its values' types."""

    part: ClassVar[type | None] = None

    def __init_subclass__(cls, **options: Any):
        super().__init_subclass__(**options)
        # comparing, hashing and showing are written once below: generated for each of some two hundred classes, they
        # make opening a run a sixth slower
        dataclasses.dataclass(frozen=True, kw_only=True, repr=False, eq=False)(cls)
        cls.part = None
        outer = cls.__qualname__.rpartition(".")[0]
        if cls.__name__ != "Config" and (not outer or outer.endswith("<locals>")):
            register(cls.__name__, cls)  # a config that stands alone goes by its own name; settings of a task by none

    def __post_init__(self) -> None:
        check_fields(self, type(self).__qualname__)
        self.check()

    def __eq__(self, other: object) -> bool:
        return (
            self._values() == other._values()
            if isinstance(other, Config) and type(other) is type(self)
            else NotImplemented
        )

    def __hash__(self) -> int:
        return hash(self._values())

    def __repr__(self) -> str:
        fields = zip(field_types(type(self)), self._values(), strict=True)
        return f"{type(self).__qualname__}({', '.join(f'{name}={value!r}' for name, value in fields)})"

    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in field_types(type(self)))

    def check(self) -> None:
        """Refuse values that cannot work together; subclasses raise ConfigError."""

    @classmethod
    def today(cls, fields: dict[str, Any]) -> dict[str, Any]:
        """The fields that an earlier version wrote as JSON, in today's words; subclasses say what changed."""
        return fields

    def build(self, **sizes: Any) -> Any:
        """The part this config describes."""
        if self.part is None:
            raise ConfigError(f"{type(self).__qualname__} is abstract: choose one of its kinds")
        return self.part(self, **sizes)

    def replace(self, **changes: Any) -> Self:
        """A copy with some fields changed; unknown names are refused."""
        for name in changes:
            if name not in field_types(type(self)):
                raise ConfigError(
                    f"unknown field {shown_value(name)}",
                    where=type(self).__qualname__,
                    fix=nearest(name, field_types(type(self))),
                )
        return dataclasses.replace(self, **changes)  # type: ignore[type-var]

    def set(self, path: str, value: Any) -> Self:
        """A copy with the field at a dotted path changed: `config.set("trunk.depth", "6")`."""
        return _set(self, type(self), path.split("."), value, path)

    def to_json(self) -> dict[str, Any]:
        """The tree as plain JSON values."""
        fields = {name: _to_json(getattr(self, name)) for name in field_types(type(self))}
        return {"type": part_name(type(self)), **fields}


class Part:
    """Base of everything a config builds. Defining a subclass with a nested Config makes it known by its name."""

    Config: ClassVar[Any]

    def __init_subclass__(cls, **options: Any):
        super().__init_subclass__(**options)
        if "Config" in cls.__dict__:
            register(cls.__name__, cls.Config)
            cls.Config.part = None if cls.__dict__.get("abstract") else cls


def register(name: str, config: type[Config]) -> None:
    """Make a config class known to `from_json` under a name; a name belongs to one class."""
    known = _parts.get(name)
    if known is not None and (known.__module__, known.__qualname__) != (config.__module__, config.__qualname__):
        raise ConfigError(f"two parts are called {name!r}: {known.__module__} and {config.__module__}")
    _parts[name] = config


def is_known(name: object) -> bool:
    """Whether `from_json` knows a part by this name: the file that defines it was imported."""
    return isinstance(name, str) and (name in _parts or RENAMED.get(name) in _parts)


def at_least(config: Config, least: float, *names: str) -> None:
    """Refuse a config in which one of these fields is set below `least`: for use in `check`."""
    for name in names:
        value = getattr(config, name)
        if value is not None and value < least:
            where = f"{part_name(type(config))}.{name}"
            raise ConfigError(f"must be at least {least}, found {value}", where=where)


def at_most(config: Config, most: float, *names: str) -> None:
    """Refuse a config in which one of these fields is set above `most`: for use in `check`."""
    for name in names:
        value = getattr(config, name)
        if value is not None and value > most:
            where = f"{part_name(type(config))}.{name}"
            raise ConfigError(f"must be at most {most}, found {value}", where=where)


def below_one(config: Config, *names: str) -> None:
    """Refuse a config in which one of these fields, a share such as dropout, is not from 0 to below 1."""
    for name in names:
        value = getattr(config, name)
        if not 0 <= value < 1:
            where = f"{part_name(type(config))}.{name}"
            raise ConfigError(f"must be at least 0 and below 1, found {value}", where=where)


def part_name(config: type[Config]) -> str:
    """The name a config class has in JSON."""
    return config.__qualname__.removesuffix(".Config").rsplit(".", 1)[-1]


def check_fields(record: Any, where: str) -> None:
    """Refuse a dataclass whose values do not have the types of their fields; dataclasses inside it are checked too."""
    for name, kind in field_types(type(record)).items():
        value = getattr(record, name)
        if not _fits(value, kind):
            raise ConfigError(f"expected {_describe(kind)}, found {shown_value(value)}", where=f"{where}.{name}")
        if dataclasses.is_dataclass(value) and not isinstance(value, Config):  # a config has checked itself
            check_fields(value, f"{where}.{name}")


def field_types(config: type) -> dict[str, Any]:
    """Field names with their types, in order of definition."""
    cached = config.__dict__.get("_field_types")
    if cached is None:
        hints = get_type_hints(config)
        cached = {f.name: hints[f.name] for f in dataclasses.fields(config)}
        config._field_types = cached  # type: ignore[attr-defined]
    return cached


def from_json(data: Any, kind: Any = Config, *, where: str = "config") -> Any:
    """The config that `to_json` wrote. Unknown names and wrong types are refused with the nearest valid name."""
    if isinstance(kind, type) and issubclass(kind, Config):
        return _config_from_json(data, kind, where)
    origin, args = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        if data is None and type(None) in args:
            return None
        choices = [a for a in args if a is not type(None)]
        return from_json(data, choices[0] if len(choices) == 1 else _union_member(data, choices), where=where)
    if origin is tuple:
        if not isinstance(data, list):
            raise ConfigError(f"expected a list, found {shown_value(data)}", where=where)
        return tuple(from_json(item, args[0], where=f"{where}[{i}]") for i, item in enumerate(data))
    if not _fits(data, kind):
        raise ConfigError(f"expected {_describe(kind)}, found {shown_value(data)}", where=where)
    return float(data) if kind is float else data


def _config_from_json(data: Any, kind: type[Config], where: str) -> Config:
    if not isinstance(data, dict):
        raise ConfigError(f"expected an object, found {shown_value(data)}", where=where)
    name = data.get("type")
    if not isinstance(name, str):
        raise ConfigError('every part needs its name under "type"', where=where)
    if name not in _parts:  # runs of earlier versions keep loading
        name = RENAMED.get(name, name)
    if name not in _parts:
        fitting = [n for n, c in _parts.items() if issubclass(c, kind)]
        raise ConfigError(
            f"unknown part {shown_value(name)}",
            where=where,
            fix=f"{nearest(name, fitting)} (a part of your own must be defined before it is loaded)",
        )
    config = _parts[name]
    if not issubclass(config, kind):
        raise ConfigError(f"{name} cannot stand here: expected {_describe(kind)}", where=where)
    hints, data = field_types(config), config.today(data)
    for key in data:
        if key != "type" and key not in hints:
            raise ConfigError(f"unknown key {shown_value(key)}", where=f"{where} ({name})", fix=nearest(key, hints))
    values = {k: from_json(v, hints[k], where=f"{where}.{k}") for k, v in data.items() if k != "type"}
    try:
        with placed(where):
            return config(**values)
    except (
        TypeError,
        ArithmeticError,
    ) as error:  # a field that is missing, or numbers beyond what can be reckoned with
        raise ConfigError(str(error), where=f"{where} ({name})") from None


def parse(text: str, kind: Any, *, where: str) -> Any:
    """The value that a command-line text stands for, by the type it must have.

    Numbers are written as in JSON (`1e-4`, `32`); `010`, `0x10`, `1_000`, NaN and Infinity are refused.
    Truth is `true` or `false`. `none` stands for "not set" where that is allowed. The name of a part is the part with
    its defaults, where every field has one.
    """
    origin, args = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        if type(None) in args and text.lower() in ("none", "null"):
            return None
        choices = [a for a in args if a is not type(None)]
        for choice in choices[:-1]:
            try:
                return parse(text, choice, where=where)
            except ConfigError:
                continue
        return parse(text, choices[-1], where=where)
    if origin is tuple:
        return tuple(parse(item, args[0], where=where) for item in text.split(",")) if text else ()
    if kind is bool and text in ("true", "false"):
        return text == "true"
    if kind is int and re.fullmatch(r"-?(0|[1-9][0-9]{0,18})", text) and _fits(int(text), int):
        return int(text)
    number = re.fullmatch(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?", text)
    if kind is float and number and math.isfinite(float(text)):
        return float(text)
    if kind is str or (origin is Literal and text in args):
        return text
    if isinstance(kind, type) and issubclass(kind, Config) and issubclass(part := _parts.get(text, Config), kind):
        with suppress(TypeError):  # a field without a default
            return part()
    raise ConfigError(f"expected {_describe(kind)}, found {shown_value(text)}", where=where)


def _set(current: Any, kind: Any, path: list[str], value: Any, whole: str) -> Any:
    """What stands here, of this type, with the value put in at the path below it."""
    if not path:
        if isinstance(value, str):
            return parse(value, kind, where=whole)
        if isinstance(value, list) and get_origin(kind) is tuple:
            return tuple(value)
        return float(value) if kind is float and _fits(value, kind) else value
    head, *rest = path
    if isinstance(current, tuple):
        if not re.fullmatch("[0-9]{1,9}", head) or int(head) >= len(current):
            raise ConfigError(f"expected an index below {len(current)}, found {shown_value(head)}", where=whole)
        index, (item, *_) = int(head), get_args(kind)
        return (*current[:index], _set(current[index], item, rest, value, whole), *current[index + 1 :])
    if not isinstance(current, Config):
        raise ConfigError("nothing to set below this point", where=whole)
    hints = field_types(type(current))
    if head not in hints:
        raise ConfigError(f"unknown name {shown_value(head)}", where=whole, fix=nearest(head, hints))
    return current.replace(**{head: _set(getattr(current, head), hints[head], rest, value, whole)})


def _to_json(value: Any) -> Any:
    if isinstance(value, Config):
        return value.to_json()
    if isinstance(value, tuple):
        return [_to_json(item) for item in value]
    return dict(value) if isinstance(value, Mapping) else value


def _union_member(data: Any, choices: list[Any]) -> Any:
    parts = [choice for choice in choices if isinstance(choice, type) and issubclass(choice, Config)]
    if isinstance(data, dict) and parts:
        named = _parts.get(str(data.get("type")), Config)
        return next((choice for choice in parts if issubclass(named, choice)), parts[0])
    return next((choice for choice in choices if _fits(data, choice)), choices[-1])


def _fits(value: Any, kind: Any) -> bool:
    return _test(kind)(value)


@cache
def _test(kind: Any) -> Callable[[Any], bool]:
    """What says whether a value has a type; a type is taken apart once."""
    origin, args = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        tests = [_test(a) for a in args]
        return lambda value: any(fits(value) for fits in tests)
    if origin in (tuple, list):
        item = _test(args[0])
        return lambda value: isinstance(value, origin) and all(map(item, value))
    if origin is Literal:
        return lambda value: isinstance(value, str | int | None) and value in args
    if origin in (dict, Mapping) or origin is Callable or kind is Any:
        return lambda value: True
    if kind is float:
        return _is_number
    if kind is int:
        return _is_whole
    return lambda value: isinstance(value, kind)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _is_whole(value: Any) -> bool:
    """Of 64 bits, as everywhere below."""
    return isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63


def _describe(kind: Any) -> str:
    origin, args = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return " or ".join(_describe(a) for a in args)
    if origin is Literal:
        return "one of " + ", ".join(map(str, args))
    if origin is tuple:
        return f"a list of {_describe(args[0])}"
    if isinstance(kind, type) and issubclass(kind, Config):
        kinds = sorted(n for n, c in _parts.items() if issubclass(c, kind) and c.part is not None)
        return f"one of the parts {', '.join(kinds)}" if kinds else part_name(kind)
    plain = {int: "a whole number", float: "a number", str: "text", bool: "true or false", type(None): "none"}
    return plain.get(kind, str(kind))
