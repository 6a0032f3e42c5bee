"""LoRA adapters of PEFT that lie beside a model's weights, merged while these are read: W + s B A (Hu et al., 2022).

adapter_config.json          r, lora_alpha, use_rslora; what would change the sum otherwise is refused by name
adapter_model.safetensors    base_model.model.<module>.lora_A.weight and .lora_B.weight
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from weft.errors import ConfigError, DataError, listed
from weft.interop.rules import Turned
from weft.interop.their_config import TheirConfig
from weft.interop.weight_table import WeightTable
from weft.interop.weights import inside
from weft.json_text import read_json
from weft.storage import store
from weft.storage.soundness import finite
from weft.storage.tensor_file import pickle_error
from weft.storage.tensors import read_tensors

CONFIG, FILE, PICKLE = "adapter_config.json", "adapter_model.safetensors", "adapter_model.bin"
BEFORE, DOWN, UP = "base_model.model.", ".lora_A.weight", ".lora_B.weight"
# Keys with which an adapter is another sum than W + s B A, or belongs to other weights, and the values without effect.
PLAIN: dict[str, tuple[Any, ...]] = {
    "use_dora": (False,), "use_qalora": (False,), "lora_bias": (False,), "bias": ("none",), "modules_to_save": ([],),
    "rank_pattern": ({},), "alpha_pattern": ({},), "layer_replication": ([],), "trainable_token_indices": ([], {}),
    "target_parameters": ([],), "init_lora_weights": (True, False, "gaussian", "orthogonal"),
}  # fmt: skip
MERGE = "merge it where it was made: PeftModel.from_pretrained(…).merge_and_unload().save_pretrained(FOLDER)"


def adapter_alone(folder: Path) -> DataError | None:
    """The error for a folder that holds an adapter without the model that it changes; None for other folders."""
    config = _config(folder)
    if config is None:
        return None
    base = config.data.get("base_model_name_or_path")
    problem = f"only an adapter is here; the model that it changes is {base!r:.120}"
    fix = f"put that model's config.json and weights beside it, or {MERGE}"
    return DataError(problem, where=store.shown(folder), fix=fix)


def merge_adapter(folder: Path, table: WeightTable, ours: Mapping[str, Tensor]) -> list[str]:
    """Add the adapter of a folder, where there is one, to the weights of our model; returns what is said of it."""
    config = _config(folder)
    if config is None:
        return []
    scale, tensors = _scale(config), read_tensors(folder / FILE)
    pieces, where = table.pieces(ours), store.shown(folder / FILE)
    turned = {rule.theirs for rule in table.rules if isinstance(rule, Turned)}
    modules = sorted(name.removesuffix(DOWN) for name in tensors if name.endswith(DOWN))
    left = sorted(set(tensors) - {f"{module}{end}" for module in modules for end in (DOWN, UP)})
    if left or not modules:
        problem = f"it holds {listed(left)}; weft merges lora_A and lora_B of linear maps" if left else "it is empty"
        raise DataError(problem, where=where, fix=MERGE)
    for module in modules:
        name = _weight(module, table.prefix, pieces)
        if name is None or f"{module}{UP}" not in tensors:
            missing = f"{module}{UP}" if name is not None else f"weight of the model for {module}"
            raise DataError(f"there is no {missing}", where=where, fix=MERGE)
        down, up = tensors[module + DOWN].float(), tensors[module + UP].float()
        shape, fits = pieces[name].shape, down.ndim == up.ndim == 2 and len(down) == up.shape[1]
        delta = scale(len(down)) * (up @ down) if fits else down
        delta = delta.t() if fits and name in turned else delta
        if not fits or list(delta.shape) != shape or pieces[name].front or not finite(delta.contiguous()):
            problem = f"{module} has {list(down.shape)} and {list(up.shape)}, for a weight of {shape}, or is not finite"
            raise DataError(problem, where=where, fix=MERGE)
        for view, rows in zip(pieces[name].views, delta.split([len(v) for v in pieces[name].views]), strict=True):
            view.add_(rows)
    base = config.data.get("base_model_name_or_path")
    said = f"; it was made for {base!r:.120}, and the weights beside it were taken" if base else ""
    return [f"a LoRA adapter was merged into {len(modules)} weights{said}"]


def _config(folder: Path) -> TheirConfig | None:
    """What is said of the adapter of a folder; None where there is none. Half an adapter is refused."""
    there = {name: inside(folder / name, folder) for name in (CONFIG, FILE, PICKLE)}
    if there[PICKLE] and not there[FILE]:
        raise pickle_error(folder / PICKLE)
    if there[CONFIG] != there[FILE]:
        absent = FILE if there[CONFIG] else CONFIG
        raise DataError(f"half an adapter is here: {absent} is missing", where=store.shown(folder), fix=MERGE)
    if not there[CONFIG]:
        return None
    where = store.shown(folder / CONFIG)
    return TheirConfig(read_json(store.read_file(folder / CONFIG), where=where), where, file=CONFIG)


def _scale(config: TheirConfig) -> Any:
    """The factor of B A by its rank; refuses an adapter of another kind."""
    if config.data.get("peft_type") != "LORA":
        problem = f"the adapter is of the kind {config.data.get('peft_type')!r:.80}; weft merges LORA"
        raise ConfigError(problem, where=config.where, fix=MERGE)
    for key, without in PLAIN.items():
        value = config.data.get(key)
        if value is not None and not any(type(value) is type(one) and value == one for one in without):
            problem = f"{key} is {value!r:.80}, and weft merges plain LoRA"
            raise ConfigError(problem, where=config.where, fix=MERGE)
    alpha, root = config.number("lora_alpha"), config.truth("use_rslora", False)
    return lambda rank: alpha / (math.sqrt(rank) if root else rank)


def _weight(module: str, prefix: str, known: Mapping[str, Any]) -> str | None:
    """Their name of the weight that a module has, with or without what stands before names of a body."""
    plain = module.removeprefix(BEFORE)
    names = (f"{name}.weight" for name in (plain, f"{prefix}{plain}", plain.removeprefix(prefix)))
    return next((name for name in names if name in known), None)
