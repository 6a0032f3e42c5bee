"""Models with adapters: a trained model becomes one of which only small matrices learn, and a plain one again.

A model's adapters stand in its trunks' configs, so a run with adapters is built from its JSON like any other.
"""

import copy
from typing import Any

from weft.config import Config, field_types
from weft.core.adapters import LowRank, adapters, fold
from weft.core.trunk import Trunk
from weft.models.stream import Model


def adapted(model: Model, how: LowRank.Config, *, learn: tuple[str, ...] = ()) -> Model:
    """A copy with adapters in its trunks: they learn, and so do the parts named in `learn`; all else stays as it is."""
    twin = copy.deepcopy(model).requires_grad_(False)
    for trunk in [m for m in twin.modules() if isinstance(m, Trunk)]:
        how.build().apply(trunk)
    for name in learn:
        twin.get_submodule(name).requires_grad_(True)
    return _told(twin, how)


def merged(model: Model) -> Model:
    """A copy without adapters that gives the same values; frozen parts stay frozen and all others may learn."""
    twin = fold(copy.deepcopy(model)).requires_grad_(True)
    for name in twin.frozen:
        twin.get_submodule(name).requires_grad_(False)
    return _told(twin, None)


def has_adapters(model: Model) -> bool:
    """Whether `merged` would change anything."""
    return bool(adapters(model))


def with_adapters(config: Any, how: LowRank.Config | None) -> Any:
    """A config with these adapters in each of its trunks, or with none."""
    if isinstance(config, tuple):
        return tuple(with_adapters(item, how) for item in config)
    if not isinstance(config, Config):
        return config
    changed = {name: with_adapters(getattr(config, name), how) for name in field_types(type(config))}
    if isinstance(config, Trunk.Config):
        changed["adapters"] = how
    return config.replace(**changed)


def _told(model: Model, how: LowRank.Config | None) -> Model:
    """The model with configs that say what it has become, its inner streams' too."""
    for module in model.modules():
        if isinstance(module, Model):
            module.config = with_adapters(module.config, how)
    return model
