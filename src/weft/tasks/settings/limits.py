"""Limits of settings, and how the user's words become a config; no torch."""

import shlex
from collections.abc import Mapping
from typing import Any, TypeVar, get_args

from weft.config import Config, field_types
from weft.errors import ConfigError, nearest_setting
from weft.training.settings import Training

Settings = TypeVar("Settings", bound=Config)


def within(settings: Training, name: str, least: int, most: int) -> None:
    """Refuse a setting that is given and out of bounds."""
    value = getattr(settings, name)
    if value is not None and not least <= value <= most:
        raise ConfigError(f"expected from {least} to {most}, found {value}", where=name)


def share(settings: Training, name: str) -> None:
    """Refuse a setting that is given and is no share."""
    value = getattr(settings, name)
    if value is not None and not 0 <= value < 1:
        raise ConfigError(f"must be at least 0 and below 1, found {value}", where=name)


def with_settings(config: Settings, settings: Mapping[str, object], *, prefix: str = "") -> Settings:
    """A config with the user's settings; unknown names are refused with the nearest known one."""
    for name, value in settings.items():
        head = name.split(".")[0]
        if head not in field_types(type(config)):
            fix = nearest_setting(head, field_types(type(config)), getattr(type(config), "about", {}))
            raise ConfigError(f"unknown setting {prefix + name!r}", where="--set", fix=fix)
        try:
            config = config.set(name, _natural(value, field_types(type(config))[head]))
        except ConfigError as error:
            where = f"--set {prefix}{name}" if error.where in (name, head) else f"--set {prefix}{name}: {error.where}"
            raise ConfigError(error.problem, where=where, fix=error.fix) from None
    return config


def as_options(settings: Mapping[str, object]) -> tuple[str, ...]:
    """Settings in the words of the command line; truth and lists as they are written there."""
    return tuple(f"--set {shlex.quote(f'{name}={_written(value)}')}" for name, value in settings.items())


def _written(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def take_baselines(settings: dict[str, Any]) -> bool:
    """Take the word `baselines` out of all settings: whether plain methods are measured beside the model."""
    said = settings.pop("baselines", True)
    if said not in (True, False, "true", "false"):
        raise ConfigError(f"expected true or false, found {said!r}", where="--set baselines")
    return said in (True, "true")


def _natural(value: object, kind: Any) -> object:
    """A value as the setting takes it: what is named by a text, as a node or a column is, may be a number in Python."""
    if not isinstance(value, str) and hasattr(value, "item") and not getattr(value, "shape", ()):
        value = value.item()  # a number of NumPy
    kinds = {kind, *get_args(kind)}
    if isinstance(value, int) and not isinstance(value, bool) and str in kinds and not kinds & {int, float, bool}:
        return str(value)
    if isinstance(value, list | tuple) and kind == tuple[str, ...]:
        return [_natural(one, str) for one in value]
    return value


def take_prepared(settings: dict[str, Any]) -> str | None:
    """Take the word `prepared` out of all settings: the folder where prepared data is kept; "none" keeps nothing."""
    said = settings.pop("prepared", None)
    if said is not None and (not isinstance(said, str) or not said):
        raise ConfigError(f"expected a folder, or none, found {said!r}", where="--set prepared")
    return said
