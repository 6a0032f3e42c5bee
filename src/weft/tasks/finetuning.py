"""Fine-tuning: one policy for every task that goes on from another run's weights (--from).

Weights that have learned already are changed more slowly than fresh ones, a head that begins anew faster than they are.
The numbers were measured on texts (docs/choices.md).
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor

from weft.config import field_types
from weft.core import LowRank
from weft.errors import WeftError
from weft.models.adapted import has_adapters, merged, with_adapters
from weft.models.outline import outline, own_tensors
from weft.models.stream import Model
from weft.tasks.recipe import AnyRecipe
from weft.tasks.request import Loaded, Request
from weft.tasks.settings.limits import with_settings
from weft.tasks.settings.sized import SizedTraining
from weft.training.features import frozen_reader
from weft.training.precision import Weights

FINETUNE_TABLE_LR = 0.1  # of the usual learning rate, for the tables and heads of a run of weft's
FINETUNE_MATRIX_LR = 3.0  # of FINETUNE_TABLE_LR, for the matrices of its trunk
FINETUNE_PART_LR = 0.3  # of the learning rate of new parts, for parts of the same model that have learned already
FINETUNE_WIDTH_LR = 0.027  # AdamW's learning rate times the width: 7e-5 for MiniLM, 3.5e-5 for BERT
ADAMW: Mapping[str, Any] = {"optimizer": "adamw", "weight_decay": 0.01}  # what other people's checkpoints are used to
NEW_HEAD_LR = 10.0  # of AdamW's learning rate, for a head that begins anew
ADAPTER_LR = 10.0  # of AdamW's learning rate, for adapters or a head that learn alone
FINETUNE_ROWS = 16  # texts in a step where AdamW goes on: more steps count for more than calm ones

S = TypeVar("S", bound=SizedTraining)
M = TypeVar("M", bound=Model.Config)


def first_training(kind: type[S], recipe: AnyRecipe, request: Request, name: str) -> S:
    """The settings before anything is known of the data: those of the recipe or of fine-tuning, and the user's.

    `name` is that of the model.
    """
    origin = request.origin
    if origin is None:
        usual = {**recipe.rates.get(name, {}), **recipe.preset_settings.get(request.preset or "", {})}
        settings = with_settings(kind(**usual), request.training_settings)
        for name in ("freeze", "lora"):
            if getattr(settings, name):
                problem = "there is no run to start from, so there are no pretrained weights to keep"
                raise WeftError(problem, where=f"--set {name}", fix="add --from RUN")
        return settings
    was = origin.config["training"]
    settings = kind(**finetuning_rates(kind, recipe, origin, name))
    settings = settings.replace(**kept_settings(kind, recipe, was))
    settings = with_settings(settings, request.training_settings)
    if "lr" not in request.settings and (settings.freeze or settings.lora) and settings.optimizer == "adamw":
        settings = settings.replace(lr=ADAPTER_LR * settings.lr)
    return settings


def kept_settings(kind: type[SizedTraining], recipe: AnyRecipe, was: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of the run to start from, as its config.json has them, that a run takes over from it."""
    kept = {name: was[name] for name in recipe.kept if name in was and name in field_types(kind)}
    return {name: tuple(value) if isinstance(value, list) else value for name, value in kept.items()}


def finetuning_rates(kind: type[SizedTraining], recipe: AnyRecipe, origin: Loaded, name: str) -> dict[str, Any]:
    """The learning rates for weights that have learned already: Muon's lowered, AdamW's by the width of the model."""
    own = recipe.rates.get(name)
    if own is not None and "optimizer" not in own and "matrix_lr" not in own:
        return dict(own)  # tables of rows alone: each row goes on at the rate at which it began
    if own is not None and not origin.imported and own.get("optimizer", "muon") == "muon":
        return {**own, "lr": FINETUNE_TABLE_LR * own["lr"], "matrix_lr": FINETUNE_MATRIX_LR * own["matrix_lr"]}
    rate = float(f"{FINETUNE_WIDTH_LR / origin.model.config.reader().dim:.2g}")
    return {**ADAMW, "lr": rate, **({"rows": FINETUNE_ROWS} if "rows" in field_types(kind) else {})}


def usual_rates(training: S, recipe: AnyRecipe, request: Request, name: str) -> S:
    """The settings with the learning rates of a new model: what has learned is frozen, the rest begins anew."""
    usual = type(training)(**recipe.rates[name])
    names = {"optimizer", "lr", "matrix_lr", "weight_decay", "table_decay", *recipe.rates[name]}
    return training.replace(**{one: getattr(usual, one) for one in names if one not in request.settings})


def partly_new_rates(training: S, recipe: AnyRecipe, request: Request, name: str) -> S:
    """The settings where some parts begin with another run's weights and others anew.

    New parts have the rates of a new model, or AdamW's with a model from elsewhere; learned ones a share.
    """
    learning = [run for word, run in request.runs.items() if not (word == "from" and training.freeze)]
    usual = usual_rates(training, recipe, request, name)
    if not learning or "learned_lr" in request.settings:
        return usual
    foreign = [run for run in learning if run.imported]
    if not foreign:
        return usual.replace(learned_lr=FINETUNE_PART_LR)
    width = max(run.model.config.reader().dim for run in foreign)
    rates = {**ADAMW, "lr": float(f"{NEW_HEAD_LR * FINETUNE_WIDTH_LR / width:.2g}"), "learned_lr": 1 / NEW_HEAD_LR}
    return usual.replace(**{one: value for one, value in rates.items() if one not in request.settings})


def with_learned_parts(training: S, model: Model.Config, start: Mapping[str, Tensor]) -> S:
    """The settings with the names of the parts that begin with learned weights, where they have a rate of their own."""
    if training.learned_lr is None:
        return training
    names = list(own_tensors(outline(model)))
    return training.replace(learned=whole_parts([name for name in names if name in start], names))


def whole_parts(some: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """The largest parts of a model whose weights are all among some of its weights."""
    rest, found = set(names) - set(some), dict[str, None]()
    for name in some:
        parts = name.split(".")
        prefixes = (".".join(parts[:n]) for n in range(1, len(parts) + 1))
        found[next(p for p in prefixes if name not in rest and not any(f"{o}.".startswith(f"{p}.") for o in rest))] = (
            None
        )
    return tuple(found)


def decided(training: S, *, same_head: bool) -> S:
    """The settings with the learning rate of a head that begins anew."""
    if same_head or training.head_lr or training.freeze or training.lora or training.optimizer != "adamw":
        return training
    return training.replace(head_lr=NEW_HEAD_LR)


def with_lora(config: M, training: SizedTraining) -> M:
    """A model's config with the adapters that are asked for, in place of those that it had."""
    how = None if training.lora is None else LowRank.Config(rank=training.lora, alpha=2.0 * training.lora)
    return with_adapters(config, how)


def plain_model(origin: Loaded) -> Model:
    """The model of a run, with adapters folded into its weights."""
    return merged(origin.model) if has_adapters(origin.model) else origin.model


def start_weights(origin: Loaded, *, backbone: bool, same_head: bool) -> Mapping[str, Tensor]:
    """The weights to begin with: all, or those of the backbone under its own names; the head's where it stays."""
    model = plain_model(origin)
    tensors = Weights(model, torch.float32).tensors()
    if backbone:
        prefix = model.backbone()[1]
        tensors = {name.removeprefix(prefix): t for name, t in tensors.items() if name.startswith(prefix)}
    return {name: t for name, t in tensors.items() if same_head or not name.startswith("head.")}


def frozen_parts(recipe: AnyRecipe, training: SizedTraining, model: Model.Config) -> tuple[str, ...]:
    """The parts of a model that learn nothing."""
    if training.freeze:
        return tuple(name for name in recipe.frozen if _has(model, name))
    if training.lora is None:
        return ()
    streams = [name for name in ("encoder", "student", "source", "target") if hasattr(model, name)]
    beside = [name for name in streams if getattr(model, name).trunk.adapters is not None]
    return tuple(f"{name}.embed" for name in beside) if streams else ("embed",)


def with_features(training: S, model: Model.Config, frozen: Sequence[str]) -> S:
    """The settings without kept features where the model does not read by a frozen stream alone."""
    if not getattr(training, "versions", 0) or frozen_reader(outline(model).freeze(*frozen)) is not None:
        return training
    return training.replace(versions=0)


def _has(config: Model.Config, path: str) -> bool:
    """Whether a model has a part under this name."""
    found: object = config
    for name in path.split("."):
        found = getattr(found, name, None)
    return found is not None
