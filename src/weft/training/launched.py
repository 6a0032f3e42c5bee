"""How many processes train together, as their launcher says. Loads no torch: a refusal here takes no time."""

import os

from weft.errors import WeftError


def launched() -> int:
    """The processes that torchrun has started; refused where another launcher has started several beside each other."""
    found = os.environ.get("WORLD_SIZE")
    if found is not None:
        return int(found) if found.isdecimal() and int(found) else 1
    for launcher, tasks in (("srun", _slurm_tasks()), ("mpirun", os.environ.get("OMPI_COMM_WORLD_SIZE", "1"))):
        if tasks.isdecimal() and int(tasks) > 1:
            raise WeftError(
                f"{launcher} has started {tasks} processes that do not know of each other: each would train alone",
                where="weft train",
                fix=f"start torchrun once on each machine ({launcher} … torchrun --nproc-per-node N -m weft train …), "
                "as docs/scaling.md shows",
            )
    return 1


def _slurm_tasks() -> str:
    """The tasks of the step that this process is of. A batch script is of none, whatever it asks for."""
    name = "SLURM_STEP_NUM_TASKS" if "SLURM_STEP_NUM_TASKS" in os.environ else "SLURM_NTASKS"
    return os.environ.get(name, "1") if "SLURM_STEP_ID" in os.environ or name != "SLURM_NTASKS" else "1"
