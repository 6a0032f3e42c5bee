"""TensorBoard, for those who have it: the numbers of metrics.jsonl as curves."""

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from weft.errors import ConfigError
from weft.storage.store import inside


def require_board() -> None:
    """Refuse to go on where TensorBoard is wanted and missing."""
    if importlib.util.find_spec("tensorboard") is None:
        raise ConfigError(
            "TensorBoard is not installed", where="--set tensorboard=true", fix="pip install 'weft[tensorboard]'"
        )


class Board:
    """Writes a run's numbers where TensorBoard finds them; what a resumed run does again replaces what was there."""

    def __init__(self, folder: Path, *, since: int = 0):
        from torch.utils.tensorboard import SummaryWriter

        self.writer = SummaryWriter(str(inside(folder, "tensorboard")), purge_step=since + 1 if since else None)

    def note(self, line: Mapping[str, Any]) -> None:
        """Add one step's numbers."""
        for name, value in line.items():
            if isinstance(value, int | float) and name not in ("step", "seconds"):
                self.writer.add_scalar(name, value, line["step"])
        self.writer.flush()
