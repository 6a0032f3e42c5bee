"""Features: the tokens that a frozen encoder gives, kept and read in place of its inputs. Knows no encoder and no file.

Each sample has some versions, of which version 0 is the sample as it is. Which version is read follows from the global
index of the sample alone.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from weft.batches.draws import draws
from weft.batches.samples import RowTensors, taken
from weft.tokens import Order, Tokens

Held = tuple[np.ndarray, Any]  # rows of the held-out data, and what is given of them


@runtime_checkable
class Inputs(Protocol):
    """What a model is given of the samples, apart from what is wanted of it."""

    def training(self, rows: np.ndarray, indices: np.ndarray) -> Any:
        """Of some rows, changed at random as their global indices decide."""
        ...

    def held_out(self, most: int | None) -> Iterator[Held]:
        """Of all held-out rows, or of about as many as are asked for, in batches."""
        ...


@runtime_checkable
class VersionedInputs(Inputs, Protocol):
    """Inputs of which a fixed number of versions can be given."""

    key: str  # decides what is drawn
    probed: int  # held-out rows that are read, for each that is asked for

    @property
    def sizes(self) -> tuple[int, int]:
        """How many rows there are to train on, and how many held out."""
        ...

    def version(self, rows: np.ndarray, version: int) -> Any:
        """A version of some rows, always the same."""
        ...


@runtime_checkable
class InputSource(Protocol):
    """A `Source` whose inputs can be replaced."""

    @property
    def inputs(self) -> VersionedInputs:
        """What the model is given."""
        ...

    def with_inputs(self, inputs: Inputs) -> Any:
        """The same samples with other inputs."""
        ...


@dataclass(frozen=True)
class Features(RowTensors):
    """Tokens in half precision, where their numbers allow it."""

    x: Float[Tensor, "B N D"]
    coords: Mapping[str, Tensor]
    valid: Bool[Tensor, "B N"] | None = None  # None: all tokens are real
    grid: tuple[int, int] | None = None

    @staticmethod
    def of(tokens: Tokens) -> "Features":
        """What is kept of an encoder's tokens, which all may read each other."""
        assert tokens.order is Order.FREE and not tokens.pairs, "only tokens in no order are kept"
        half = tokens.x.half()
        x = half if bool(half.isfinite().all()) else tokens.x.float()
        coords = {axis: c.float().contiguous() for axis, c in tokens.coords.items()}
        return Features(x, coords, None if tokens.unpadded else tokens.valid.clone(), tokens.grid).to("cpu")

    def raw(self) -> Tokens:
        """As the encoder gave them."""
        return Tokens.free(self.x.float(), valid=self.valid, coords=self.coords, grid=self.grid)

    def tensors(self) -> dict[str, Tensor]:
        """All of it by name."""
        found = {"x": self.x, **{f"coords.{axis}": c for axis, c in self.coords.items()}}
        found |= {} if self.valid is None else {"valid": self.valid}
        return found | ({} if self.grid is None else {"grid": torch.tensor(self.grid)})

    @staticmethod
    def from_tensors(tensors: Mapping[str, Tensor]) -> "Features":
        """What `tensors` gave."""
        coords = {name.removeprefix("coords."): t for name, t in tensors.items() if name.startswith("coords.")}
        grid = tensors.get("grid")
        sides = None if grid is None else (int(grid[0]), int(grid[1]))
        return Features(tensors["x"], coords, tensors.get("valid"), sides)

    @staticmethod
    def joined(parts: Sequence["Features"]) -> "Features":
        """The rows of several, whose tokens have one shape."""
        some = any(part.valid is not None for part in parts)
        valid = torch.cat([_valid(part) for part in parts]) if some else None
        coords = {axis: torch.cat([part.coords[axis] for part in parts]) for axis in parts[0].coords}
        return Features(torch.cat([part.x for part in parts]), coords, valid, parts[0].grid)

    def _mapped(self, change: Callable[[Any], Any]) -> "Features":
        coords = {axis: change(c) for axis, c in self.coords.items()}
        return Features(change(self.x), coords, change(self.valid), self.grid)


def _valid(part: Features) -> Bool[Tensor, "B N"]:
    return torch.ones(part.x.shape[:2], dtype=torch.bool) if part.valid is None else part.valid


@dataclass(frozen=True)
class KeptInputs:
    """Features in place of inputs. `train` has the rows of version 0, then those of version 1, and so on."""

    key: str
    train: Features
    versions: int
    held: Sequence[tuple[np.ndarray, Features]]
    probed: int = 1  # held-out rows that are read, for each that is asked for

    def training(self, rows: np.ndarray, indices: np.ndarray) -> Features:
        """Of each row the version that its global index draws."""
        chance = draws(f"{self.key} version", indices, 1)[:, 0]
        version = (chance * self.versions).astype(np.int64)
        return self.train[torch.from_numpy(version * (len(self.train) // self.versions) + rows)]

    def held_out(self, most: int | None) -> Iterator[Held]:
        """Held-out rows, spread evenly where they are not all asked for."""
        count = sum(len(rows) for rows, _ in self.held)
        wanted = count if most is None else min(count, self.probed * most)
        chosen = np.unique(np.linspace(0, count - 1, wanted).round())
        for rows, features in self.held:
            inside = np.flatnonzero(np.isin(rows, chosen))
            if len(inside):
                yield rows[inside], taken(features, torch.from_numpy(inside))
