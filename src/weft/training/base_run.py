"""Runs with adapters keep what they learned, and a pointer to the run whose weights they learned beside.

adapters.safetensors   the tensors that are not those of the base: adapters and heads
config.json            "base": where the base is, the SHA-256 of its weights, and which tensors are taken from it
"""

import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.config import Config, from_json
from weft.errors import StorageError, WeftError
from weft.storage import store

if TYPE_CHECKING:
    from torch import Tensor

WEIGHTS, ADAPTERS = "model.safetensors", "adapters.safetensors"
BASE = "base"  # where config.json has the pointer


class BaseRun(Config):
    """The run that another one was fine-tuned from. `tensors` are the names, in the fine-tuned model, of its tensors.

    They have `prefix` in the fine-tuned model where they have `base_prefix` in the base.
    """

    run: str  # as an absolute path
    beside: str  # the same, from the folder of the fine-tuned run: both may move together
    sha256: str
    tensors: tuple[str, ...]
    prefix: str = ""
    base_prefix: str = ""

    def weights(self, folder: Path, *, checked: bool) -> "dict[str, Tensor]":
        """The tensors that are the base's, by their names in the fine-tuned model in `folder`."""
        from weft.storage.tensors import read_tensors

        found = read_tensors(self.find(folder), check=self._compare if checked else lambda sha256: None)
        names = {name: self.base_prefix + name.removeprefix(self.prefix) for name in self.tensors}
        if missing := [name for name in names.values() if name not in found]:
            raise self._refusal(f"its weights have no {missing[0]}")
        return {name: found[base] for name, base in names.items()}

    def find(self, folder: Path) -> Path:
        """The file with the base's weights: where it was, or where it is if both runs moved.

        Where there is a run in both places, that whose weights are the same as they were.
        """
        places = [place / WEIGHTS for place in (Path(self.run), folder / self.beside)]
        found = [path for path in places if path.is_file()]
        if not found:
            raise self._refusal("it is not there")
        if len(found) == 1 or found[0].samefile(found[1]):
            return found[0]
        return next((path for path in found if store.digest(path)[1] == self.sha256), found[0])

    def difference(self, folder: Path) -> str:
        """Why the base cannot be used, in words; nothing where it can."""
        try:
            self._compare(store.digest(self.find(folder))[1])
        except StorageError as error:
            return error.problem
        return ""

    def _compare(self, sha256: str) -> None:
        if sha256 != self.sha256:
            raise self._refusal("its weights are not those that they were")

    def _refusal(self, problem: str) -> StorageError:
        where = store.shown(Path(self.run))
        fix = f"put the run back as it was, there or at {self.beside} from this one, or fine-tune again"
        return StorageError(
            f"this run has adapters beside the weights of {where}, and cannot be used: {problem}", where=where, fix=fix
        )


def beside_base(
    weights: "Mapping[str, Tensor]", origin: str | None, folder: Path
) -> "tuple[dict[str, Tensor], BaseRun] | None":
    """What was learned beside the weights of the run `origin`, and the pointer to it; None if no tensor is the same."""
    from weft.storage.tensors import read_tensors

    place = Path(origin or "")
    if origin is None or not (place / WEIGHTS).is_file():
        return None
    digests: list[str] = []
    try:
        base = read_tensors(place / WEIGHTS, check=digests.append)
    except WeftError:
        return None
    pairs = {name: _same(name, tensor, base) for name, tensor in weights.items()}
    usual = Counter(pair for pair in pairs.values() if pair is not None).most_common(1)
    if not usual:
        return None
    (prefix, base_prefix), _ = usual[0]
    kept = tuple(name for name, pair in pairs.items() if pair == (prefix, base_prefix))
    beside = os.path.relpath(place.absolute(), folder.absolute())
    pointer = BaseRun(
        run=str(place.absolute()),
        beside=beside,
        sha256=digests[0],
        tensors=kept,
        prefix=prefix,
        base_prefix=base_prefix,
    )
    return {name: tensor for name, tensor in weights.items() if name not in kept}, pointer


def _same(name: str, tensor: "Tensor", base: "Mapping[str, Tensor]") -> tuple[str, str] | None:
    """The prefixes here and there under which a tensor of the base has the same name and the same numbers."""
    import torch

    for other, found in base.items():
        if found.shape != tensor.shape or found.dtype != tensor.dtype:
            continue
        shorter = min(name, other, key=len)
        prefixes = name.removesuffix(shorter), other.removesuffix(shorter)
        joined = all(not prefix or prefix.endswith(".") for prefix in prefixes)
        if name.endswith(shorter) and other.endswith(shorter) and joined and torch.equal(found, tensor.cpu()):
            return prefixes
    return None


def base_of(config: Mapping[str, Any], where: str) -> BaseRun | None:
    """The base that config.json names, if it names one."""
    return None if config.get(BASE) is None else from_json(config[BASE], BaseRun, where=f"{where}: {BASE}")
