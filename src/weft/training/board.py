"""TensorBoard, for those who have it: the numbers of metrics.jsonl as curves."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from weft.errors import ConfigError


class Board:
    """Writes a run's numbers where TensorBoard finds them."""

    def __init__(self, folder: Path):
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise ConfigError(
                "TensorBoard is not installed", where="--set tensorboard=true", fix="pip install 'weft[tensorboard]'"
            ) from None
        self.writer = SummaryWriter(str(folder / "tensorboard"))

    def note(self, line: Mapping[str, Any]) -> None:
        """Add one step's numbers."""
        for name, value in line.items():
            if isinstance(value, int | float) and name != "step":
                self.writer.add_scalar(name, value, line["step"])
        self.writer.flush()
