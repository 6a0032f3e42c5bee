"""Optimizer: every parameter in exactly one group, three update rules, one step. Knows no model by name."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from weft.core.heads import Head
from weft.core.row_table import RowTable
from weft.core.trunk import Trunk
from weft.errors import ConfigError
from weft.training.muon import Muon
from weft.training.owners import Owners
from weft.training.precision import Weights
from weft.training.row_sgd import RowSgd, row_values, with_each_row_once
from weft.training.settings import Training

SMALLEST_MATRIX = 8  # thinner ones are vectors to Muon
MANY_ROWS = 4096  # of a table, from which on its gradient holds the rows alone that a step has read


class Optimizer:
    """Muon for hidden matrices and filters and AdamW for the rest, or AdamW for all. Frozen weights are in no group.

    Tables of which a step reads few rows (`RowTable`) are updated by `RowSgd`.
    """

    def __init__(self, weights: Weights, training: Training, *, fast: torch.dtype):
        """`fast` is the precision in which this device multiplies matrices fastest."""
        self.weights, self.training = weights, training
        groups = self._groups()
        adam = [
            group
            for names, scale, decay in groups.values()
            for group in self._paced(names, training.lr * scale, weight_decay=decay)
        ]
        matrices = self._paced(self.hidden, training.lr * training.matrix_lr)
        self.rules: list[torch.optim.Optimizer] = []
        if adam:
            self.rules.append(torch.optim.AdamW(adam, lr=training.lr, betas=(0.9, 0.95), fused=True))
        if matrices:
            lr = training.lr * training.matrix_lr
            rows = {id(weights.master[n]): weights.rows(n) for n in self.hidden}
            owners = None if weights.share is None else Owners(weights.share)
            decay = training.weight_decay
            self.rules.append(Muon(matrices, lr=lr, weight_decay=decay, dtype=fast, owners=owners, rows=rows))
        tables = [weights.master[n] for n in self.rows]
        if tables:
            self.rules.append(RowSgd(tables, lr=training.lr, clip=training.clip))
        _let_gradients_be_sparse(weights.model, alone=weights.share is None)
        self._zeros: dict[str, Tensor] = {}  # gradients of tables of which a step reads some rows, between two steps
        self._peaks = [[group["lr"] for group in rule.param_groups] for rule in self.rules]

    def _paced(self, names: Sequence[str], lr: float, **more: float) -> list[dict[str, Any]]:
        """Weights as groups of an update rule: new ones at the rate `lr`, pretrained ones at their share of it."""
        training = self.training
        learned = [name for name in names if f"{name}.".startswith(tuple(f"{part}." for part in training.learned))]
        rates = ((lr, [n for n in names if n not in set(learned)]), (lr * (training.learned_lr or 1.0), learned))
        return [{"params": [self.weights.master[n] for n in some], "lr": rate, **more} for rate, some in rates if some]

    def _groups(self) -> dict[str, tuple[list[str], float, float]]:
        """AdamW's groups: names, rate factor and weight decay; `hidden` is what Muon takes, `rows` what RowSgd does."""
        model, training = self.weights.model, self.training
        heads = _parameters_of(model, Head)
        linear = {id(m.weight) for m in model.modules() if isinstance(m, nn.Linear)}
        matrices, rows = matrices_of(model), _parameters_of(model, RowTable)
        self.hidden: list[str] = []
        self.rows: list[str] = []
        head = training.head_lr or (0.5 if training.optimizer == "muon" else 1.0)
        groups: dict[str, tuple[list[str], float, float]] = {
            "matrices": ([], 1.0, training.weight_decay),
            "heads": ([], head, 0.0),
            "tables": ([], 1.0, training.table_decay),
            "vectors": ([], 1.0, 0.0),
        }
        for name, p in self.weights.work.items():
            if not p.requires_grad:
                continue
            if id(p) in rows:
                self.rows.append(name)
            elif name in matrices and training.optimizer == "muon":
                self.hidden.append(name)
            elif name in matrices:
                groups["matrices"][0].append(name)
            elif id(p) in heads and id(p) in linear and not _is_table(model, p):
                groups["heads"][0].append(name)
            else:
                groups["tables" if _is_table(model, p) else "vectors"][0].append(name)
        return groups

    def step(self, count: float, factor: float) -> float:
        """Divide gradients once by the count, clip, update by `factor` times the peak rates; returns the norm.

        Gradients of rows stay sums, and are clipped row by row. If the norm is not finite nothing is changed.
        """
        norm = self.ready(count, factor)
        if math.isfinite(norm):
            self.apply()
        return norm

    def square(self) -> float:
        """The squared norm of the gradients of this part.

        It is 0 where weights are not shared, and in all replicas but the first.
        """
        share = self.weights.share
        grads = [p.grad for p in self.weights.master.values() if p.grad is not None]
        if share is None or not share.divided or share.replica or not grads:
            return 0.0
        norm = _norm(torch._foreach_norm(grads))
        return norm * norm

    def ready(self, count: float, factor: float, square: float | None = None) -> float:
        """All of a step that waits for other processes, and changes no weight; returns the norm.

        `square` is what `square()` of all processes adds up to.
        """
        for p in self.weights.master.values():
            p.grad = None if p.grad is None else with_each_row_once(p.grad)
        grads: list[Tensor] = [row_values(p.grad) for p in self.weights.master.values() if p.grad is not None]
        if not grads:
            return 0.0
        known = square is not None and self.weights.share is not None and self.weights.share.divided
        norm = math.sqrt(square or 0.0) if known else self._over_parts(_norm(torch._foreach_norm(grads)))
        norm /= max(count, 1)
        if math.isinf(norm):  # squares of numbers beyond 1e19 overflow fp32
            norm = self._over_parts(_norm([grad.cpu().double().norm() for grad in grads])) / max(count, 1)
        if not math.isfinite(norm):
            return norm
        clip = self.training.clip
        scale = min(1.0, clip / (norm + 1e-12)) if clip else 1.0
        scaled = [row_values(p.grad) for p in self._dense().values() if p.grad is not None]
        if scaled:
            torch._foreach_mul_(scaled, scale / max(count, 1))
        for rule, peaks in zip(self.rules, self._peaks, strict=True):
            for group, peak in zip(rule.param_groups, peaks, strict=True):
                group["lr"] = peak * factor
            if isinstance(rule, Muon):
                rule.exchange()
        return norm

    def apply(self) -> None:
        """Update the weights, after `ready`."""
        if all(p.grad is None for p in self.weights.master.values()):
            return
        with self._rows_among_zeros(self._dense()):
            for rule in self.rules:
                rule.step()
        self.weights.spread()

    def _dense(self) -> dict[str, Tensor]:
        """The weights that are no tables of rows, by name."""
        return {n: p for n, p in self.weights.master.items() if n not in self.rows}

    def _over_parts(self, norm: float) -> float:
        """The norm of whole gradients, of that of this process's parts."""
        share = self.weights.share
        return norm if share is None or not share.divided else math.sqrt(share.sum(norm * norm))

    @contextmanager
    def _rows_among_zeros(self, weights: Mapping[str, Tensor]) -> Iterator[None]:
        """Give AdamW, which moves every row, the gradient of some rows within zeros that are kept from step to step."""
        given: list[tuple[Tensor, Tensor]] = []
        for name, p in weights.items():
            if p.grad is not None and p.grad.is_sparse:
                rows, values = p.grad._indices()[0], p.grad._values()
                if name not in self._zeros:
                    self._zeros[name] = torch.zeros_like(p, requires_grad=False)
                zeros = self._zeros[name]
                p.grad = zeros.index_copy_(0, rows, values)
                given.append((zeros, rows))
        try:
            yield
        finally:
            for zeros, rows in given:
                zeros.index_fill_(0, rows, 0.0)

    def tensors(self) -> dict[str, Tensor]:
        """All that the update rules remember, by parameter and quantity."""
        names = {id(m): n for n, m in self.weights.master.items()}
        return {
            f"{names[id(p)]}/{key}": torch.as_tensor(value)
            for rule in self.rules
            for p, kept in rule.state.items()
            for key, value in kept.items()
        }

    def load(self, tensors: dict[str, Tensor]) -> None:
        """Restore `tensors()`."""
        owners = {id(p): rule for rule in self.rules for group in rule.param_groups for p in group["params"]}
        for full, value in tensors.items():
            name, _, key = full.rpartition("/")
            if name not in self.weights.master or id(self.weights.master[name]) not in owners:
                raise ConfigError(f"the optimizer state names a parameter this model lacks: {name:.200}")
            p = self.weights.master[name]
            if value.shape != (torch.Size() if key == "step" else p.shape) or value.dtype != torch.float32:
                kind = f"{str(value.dtype).removeprefix('torch.')} {list(value.shape)[:8]}"
                raise ConfigError(f"the optimizer state does not fit this model: {full:.200} is {kind}")
            if value.shape == p.shape and key != "step":  # in the weight's own layout: the fused rule goes by memory
                value = torch.empty_like(p, dtype=value.dtype, requires_grad=False).copy_(value)
            owners[id(p)].state[p][key] = value.to(p.device)
        for rule in self.rules:
            if len({frozenset(kept) for kept in rule.state.values()}) > 1:
                raise ConfigError("the optimizer state lacks some of what it remembers of each parameter")


def matrices_of(model: nn.Module) -> dict[str, nn.Parameter]:
    """The weights that Muon updates where it is chosen, by name: matrices inside trunks, and filters."""
    inside = _parameters_of(model, Trunk)
    linear = {id(m.weight) for m in model.modules() if isinstance(m, nn.Linear) and id(m.weight) in inside}
    hidden = linear | {id(m.weight) for m in model.modules() if isinstance(m, nn.Conv2d)}
    learning = {name: p for name, p in model.named_parameters() if p.requires_grad and id(p) in hidden}
    return {name: p for name, p in learning.items() if min(p.shape[:2]) >= SMALLEST_MATRIX}


def _norm(norms: Sequence[Tensor]) -> float:
    return float(torch.stack(list(norms)).cpu().double().norm())  # not every device has doubles


def _parameters_of(model: nn.Module, kind: type[nn.Module]) -> set[int]:
    return {id(p) for m in model.modules() if isinstance(m, kind) for p in m.parameters()}


def _let_gradients_be_sparse(model: nn.Module, *, alone: bool) -> None:
    """On a CPU, have large tables give the gradients of the rows that were read, and no zeros for all others.

    A table that another part reads too (a tied head) keeps its whole gradient, and so do all where a process is not
    alone: gradients are added up in buffers of whole tables.
    """
    owners = Counter(id(p) for m in model.modules() for p in m.parameters(recurse=False))
    for m in model.modules():
        if isinstance(m, nn.Embedding) and m.num_embeddings >= MANY_ROWS and m.weight.device.type == "cpu":
            m.sparse = alone and owners[id(m.weight)] == 1
        elif isinstance(m, RowTable):
            m.sparse = alone


def _is_table(model: nn.Module, p: Tensor) -> bool:
    return any(isinstance(m, nn.Embedding) and m.weight is p for m in model.modules())
