"""Exchange: what is said of models from other tools and of runs for other tools.

Every task says it of itself. A model that no task uses has someone who says it too: the registry knows who.
"""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar

from weft.errors import WeftError
from weft.interop import Imported
from weft.tasks.adopting import Adopted, AdoptedFile
from weft.tasks.outgoing import Outgoing, with_labels
from weft.tasks.proof import Proof
from weft.tasks.request import Loaded
from weft.tasks.settings.sized import SizedTraining


class Exchange(ABC):
    """Models come from folders of the Hugging Face library or from single files, and runs go to `targets`."""

    targets: ClassVar[tuple[str, ...]] = ("hf", "onnx")  # what a run can be written for, the usual one first

    @property
    @abstractmethod
    def training(self) -> type[SizedTraining]:
        """The settings of a training, as a run of such a model has them."""

    def adopted(self, model: Imported) -> Adopted | None:
        """What makes a model that was trained elsewhere a run; None where none is taken."""
        return None

    def adopted_file(self, path: Path) -> AdoptedFile | None:
        """The model in one file of another tool; None where the file holds none. Cards say which task is asked."""
        return None

    def outgoing(self, run: Loaded) -> Outgoing:
        """What an export of a run asks for besides its weights."""
        return with_labels(run)

    def proof(self, run: Loaded, tolerance: float) -> Proof | None:
        """Questions that an export has to answer as the run does; None where it has no answers.

        Without a head, a tokenizer or a mask there are none. Numbers may differ by twice the `tolerance`.
        """
        return None

    def write_file(self, run: Loaded, path: Path, to: str) -> str:
        """Write a run as one file for a target that takes files; returns what its form is called."""
        raise WeftError("a run is written as a folder", where=f"--to {to}", fix=f"use --to {self.targets[0]}")
