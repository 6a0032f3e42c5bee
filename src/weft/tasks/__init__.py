"""Tasks: what a user asks for. Each binds data formats, models, objective, measures and prediction; one file a task."""

from weft.tasks.registry import TASKS, task_named
from weft.tasks.run import Run, load
from weft.tasks.start import fit, train

__all__ = ["TASKS", "Run", "fit", "load", "task_named", "train"]
