"""What config.json of a run says under each name, by its type: checked once, when it is read. Loads no torch.

What stands inside the model, the codecs, the settings and the record of the data is checked by those who build them.
"""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from weft.errors import ConfigError
from weft.json_text import shown_value
from weft.training.schedule import Budget

TEXTS = ("weft", "task", "model_name", "preset", "from", "fingerprint")
OBJECTS = (
    "model",
    "objective",
    "training",
    "budget",
    "data",
    "codecs",
    "result",
    "base",
    "began_with",
    "imported",
    "sizing",
)
NEVER_NONE = (
    "result",
    "codecs",
    "began_with",
    "imported",
    "data",
    "sizing",
)  # are left out where there is nothing to say
OF_A_TASK = (
    "model",
    "objective",
    "training",
    "budget",
    "data",
    "codecs",
    "fingerprint",
)  # stand in every run of a task
NAMES_IN_IMPORTED = {"source": str, "family": str, "marks": dict}


def check_types(config: Mapping[str, Any], where: str) -> None:
    """Refuse a config.json in which something is not of the type that it has in every run."""
    for name in TEXTS:
        _expect(config.get(name), str, "text", f"{where}: {name}", optional=True)
    for name in OBJECTS:
        optional = name not in config or name not in (*NEVER_NONE, *(("training",) if config.get("task") else ()))
        _expect(config.get(name), dict, "an object", f"{where}: {name}", optional=optional)
    absent = [name for name in OF_A_TASK if name not in config] if config.get("task") is not None else []
    if absent:
        fix = "put the run's own config.json back"
        raise ConfigError(f"not what weft wrote: there is no {', '.join(absent)}", where=where, fix=fix)
    for name in ("codecs", "began_with"):
        for key, value in config.get(name, {}).items():
            _expect(value, dict, "an object", f"{where}: {name}.{key:.60}")
    _check_result(config.get("result", {}), f"{where}: result")
    for name, kind in NAMES_IN_IMPORTED.items():
        if name in config.get("imported", {}):
            _expect(
                config["imported"][name], kind, "an object" if kind is dict else "text", f"{where}: imported.{name}"
            )
    if config.get("budget") is not None or config.get("task") is not None:
        budget_of(config, where)


def budget_of(config: Mapping[str, Any], where: str) -> Budget:
    """How long a run is to be trained, as its config.json says."""
    said = config.get("budget")
    known = {field.name for field in fields(Budget)}
    if not isinstance(said, dict) or set(said) != known:
        raise ConfigError(
            f"expected an object with {', '.join(sorted(known))}, found {shown_value(said)}", where=f"{where}: budget"
        )
    try:
        return Budget(**said)
    except ConfigError as error:
        raise ConfigError(error.problem, where=f"{where}: budget", fix=error.fix) from None


def _check_result(result: Mapping[str, Any], where: str) -> None:
    if "metrics" in result:
        _expect(result["metrics"], dict, "an object", f"{where}.metrics")
        for name, value in result["metrics"].items():
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise ConfigError(f"expected a number, found {shown_value(value)}", where=f"{where}.metrics.{name:.60}")


def _expect(value: Any, kind: type, described: str, where: str, *, optional: bool = False) -> None:
    if not isinstance(value, kind) and not (optional and value is None):
        raise ConfigError(f"expected {described}, found {shown_value(value)}", where=where)
