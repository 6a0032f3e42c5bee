"""World: the processes that train together. One process is a world of one; the loop is the same.

The first process plans, writes the run folder and speaks. Whatever could differ between processes (a clock, a signal, a
measurement) is decided by one number or text that all of them agree on. Before the first step they meet twice:

    announce    the first tells the others where the run is, or why there is none
    compare     all tell each other what they are about to train, on which data, or why they cannot

so that a process that refuses takes the others with it, in words and with its exit code. Texts go through a store,
where a wait may take as long as reading and encoding the data takes; numbers of a step by torch's collectives.
"""

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import torch
import torch.distributed as dist
from torch import Tensor

from weft.errors import ConfigError, Interrupted, StorageError, WeftError
from weft.storage.store import storage_error
from weft.training.attendance import PATIENCE, Attendance, shared_store
from weft.training.launched import launched

ACTING_PATIENCE = 600.0  # seconds that a process which is asked to stop waits for what the first one does for all
LOOK = 0.2  # seconds, at most, between two looks at a text that another process is to write


class World:
    """Rank and size, and the few things that processes must agree on."""

    current: "World | None" = None  # the world of several processes that this one is in

    def __init__(self, rank: int = 0, size: int = 1, device: torch.device | None = None):
        self.rank, self.size = rank, size
        self.device = device if device is not None and device.type == "cuda" else torch.device("cpu")
        self._owned = False  # whether weft made the connections, and ends them
        self._depth = 0  # of the `with` statements that this world is in
        self._announced = False
        self._texts = 0  # exchanged so far, in all processes
        self._store: Any = None
        self.attendance: Attendance | None = None
        self.waited = 0.0  # seconds in which this process waited for others or exchanged numbers with them

    @staticmethod
    def join(device: torch.device) -> "World":
        """The world that torchrun started, if it did; the same one for all who join it."""
        found = launched()
        if found == 1:
            return World()
        if World.current is None:
            owned, attendance = not dist.is_initialized(), None
            try:
                if owned:
                    _take_own_gpu(device)
                    attendance = Attendance(*(int(os.environ.get(name, "0")) for name in ("RANK", "WORLD_SIZE")))
                    with attendance.waiting():
                        store, rank, size = shared_store()
                        backend, place = "nccl" if device.type == "cuda" else "gloo", dist.PrefixStore("torch", store)
                        dist.init_process_group(backend, store=place, rank=rank, world_size=size)
                else:
                    store = dist.distributed_c10d._get_default_store()
                    attendance = Attendance(dist.get_rank(), dist.get_world_size())
            except (ValueError, RuntimeError) as error:
                if attendance is not None:
                    attendance.end("")
                raise _cannot_meet(found, error) from None
            World.current = World(dist.get_rank(), dist.get_world_size(), device)
            World.current._owned = owned
            World.current._store = dist.PrefixStore("weft", store)
            World.current.attendance = attendance
            attendance.meet(World.current._store)
        return World.current

    def __enter__(self) -> Self:
        self._depth += 1
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._depth -= 1
        if self._depth or self.size == 1:
            return
        World.current = None
        if self.first and not self._announced and isinstance(error, Exception):
            self.tell(json.dumps(_refusal(error)))
        if self.attendance is not None:
            self.attendance.end(_first_line(error) if isinstance(error, Exception) else "")
        if self._owned and (kind is None or dist.get_backend() == "gloo"):  # NCCL would wait for the others here
            dist.destroy_process_group()  # after an error in a step the others notice the lost connection

    @property
    def first(self) -> bool:
        """Whether this process writes the run folder and speaks."""
        return self.rank == 0

    @property
    def computing_at_once(self) -> float:
        """How many processes compute at once: on a CPU, as many as its processors have room for."""
        if self.device.type != "cpu":
            return float(self.size)
        here = int(os.environ.get("LOCAL_WORLD_SIZE", self.size))
        return max(1.0, self.size * min(1.0, (os.cpu_count() or 1) / (here * torch.get_num_threads())))

    @property
    def turn(self) -> AbstractContextManager[Any]:
        """Held while weights change: a process that leaves in the middle of a step saves none that are half changed."""
        return nullcontext() if self.attendance is None else self.attendance.turn

    def note(self, step: int) -> None:
        """Have the others know the step that this process computes."""
        if self.attendance is not None:
            self.attendance.at = step

    def share(self, count: int, *, apart: bool = False) -> slice:
        """The part of this process of a batch of `count` samples; equal ones, unless each is computed `apart`."""
        if count % self.size and not apart:
            low, high = count - count % self.size, count + self.size - count % self.size
            raise ConfigError(
                f"a batch of {count} does not divide among {self.size} processes",
                where="batch",
                fix=f"--set batch={low} or --set batch={high}" if low else f"--set batch={high}",
            )
        return slice(self.rank * count // self.size, (self.rank + 1) * count // self.size)

    def add(self, *numbers: float) -> list[float]:
        """Each number summed over the processes."""
        if self.size == 1:
            return list(numbers)
        total = torch.tensor(numbers, dtype=torch.float64, device=self.device)
        with self.together():
            dist.all_reduce(total)
            return total.tolist()

    def copy(self, tensors: Iterable[Tensor]) -> None:
        """The first process's tensors, in place, in all processes: one at a time where collectives compute."""
        if self.size > 1:
            with self.together():
                for tensor in tensors:
                    there = tensor.to(self.device)
                    dist.broadcast(there, 0)
                    tensor.copy_(there)

    def agree(self, number: float) -> float:
        """The first process's number, in all processes."""
        if self.size == 1:
            return number
        value = torch.tensor([number], dtype=torch.float64, device=self.device)
        with self.together():
            dist.broadcast(value, 0)
        return float(value)

    def announce(self, place: str = "") -> str:
        """The run's folder, in all processes; the others learn here if the first one refuses. "": nothing to do."""
        self._announced = True
        told = json.loads(self.tell(json.dumps({"place": place})))
        if "place" not in told:
            raise _refused(0, told)
        return told["place"]

    def compare(self, own: Mapping[str, str], error: Exception | None = None) -> None:
        """Refuse, in all processes, to train what is not the same in each; `error` is why this one cannot train."""
        every = self.gather(json.dumps(dict(own) if error is None else _refusal(error)))
        if error is not None:
            return
        for rank, told in enumerate(map(json.loads, every)):
            if "refusal" in told:
                raise _refused(rank, told)
            odd = [name for name in own if told.get(name) != json.loads(every[0]).get(name)]
            if odd:
                raise ConfigError(
                    f"process {rank} of {self.size} differs from the first in its {' and '.join(odd)}",
                    where="weft train",
                    fix="give every process the same files, the same settings and the same weft",
                )

    @contextmanager
    def refusing(self) -> Iterator[None]:
        """What this process refuses between `announce` and `compare`: the others learn it where they compare."""
        try:
            yield
        except Exception as error:
            if self._announced:
                self.compare({}, error)
            raise

    @contextmanager
    def together(self, patience: float = PATIENCE) -> Iterator[None]:
        """A part of a step that all processes compute together: if one is gone, the others leave too, and name it.

        Its time is `waited`. Asked to stop, a process leaves a wait that takes longer than `patience`.
        """
        began = time.monotonic()
        try:
            with nullcontext() if self.attendance is None else self.attendance.waiting(patience):
                yield
        except RuntimeError as error:
            who = "" if self.attendance is None else self.attendance.missing()
            raise Interrupted(f"another process of this run has ended: {who or _first_line(error):.300}") from None
        finally:
            self.waited += time.monotonic() - began

    def by_first(self, action: Callable[[], str]) -> str:
        """What an action of the first process gives, in all processes; what it refuses is refused by all."""
        told: dict[str, Any] = {}
        error: WeftError | None = None
        if self.first:
            try:
                told = {"done": action()}
            except OSError as cause:
                error = storage_error(cause, Path(cause.filename or "."))
            except WeftError as cause:
                error = cause
            told = told if error is None else {"problem": error.problem, "where": error.where, "fix": error.fix}
        told = json.loads(self.tell(json.dumps(told), ACTING_PATIENCE))
        if error is not None:
            raise error
        if "problem" in told:
            raise StorageError(told["problem"], where=told["where"], fix=told["fix"])
        done: str = told["done"]
        return done

    def gather(self, text: str, patience: float = PATIENCE) -> list[str]:
        """The texts of all processes, by rank, in all processes."""
        if self.size == 1:
            return [text]
        self._write(text)
        return [self._read(rank, patience) for rank in range(self.size)]

    def tell(self, text: str = "", patience: float = PATIENCE) -> str:
        """The first process's text, in all processes. Until it speaks the others wait."""
        if self.size == 1:
            return text
        self._write(text if self.first else "")
        return text if self.first else self._read(0, patience)

    def _write(self, text: str) -> None:
        self._texts += 1
        with suppress(RuntimeError):  # whoever reads it notices that the store is gone
            self._store.set(f"{self._texts} {self.rank}", json.dumps(text))

    def _read(self, rank: int, patience: float) -> str:
        """The text that a process wrote last, or will write next. Nothing but Python waits here: signals are heard."""
        assert self.attendance is not None
        place, pause = f"{self._texts} {rank}", 0.005
        with self.together(patience):
            while not self._store.check([place]):
                if left := self.attendance.left(rank):
                    raise RuntimeError(left)
                time.sleep(pause)
                pause = min(1.5 * pause, LOOK)
            return json.loads(self._store.get(place))


def _take_own_gpu(device: torch.device) -> None:
    """Have "cuda" mean another GPU in each process of a machine, as torchrun numbers them.

    A launcher may show each process one GPU alone, which then is its own.
    """
    local, gpus = os.environ.get("LOCAL_RANK", ""), torch.cuda.device_count() if device.type == "cuda" else 0
    if gpus < 2 or not local:
        return
    if int(local) >= gpus:
        problem = f"process {local} of this machine has no GPU: there are {gpus}, counted from 0"
        raise ConfigError(
            problem, where="LOCAL_RANK", fix="start as many processes as there are GPUs: torchrun --nproc-per-node"
        )
    torch.cuda.set_device(int(local))


def _cannot_meet(found: int, error: Exception) -> WeftError:
    """Why the processes do not find each other."""
    fix = "start the processes with torchrun, or unset WORLD_SIZE"
    if "EADDRINUSE" in str(error):
        problem = (
            f"port {os.environ.get('MASTER_PORT')} of this machine is taken, and the {found} processes cannot meet"
        )
        return WeftError(problem, where="MASTER_PORT", fix="name another one: torchrun --master-port")
    return WeftError(f"the {found} processes cannot meet: {_first_line(error):.200}", where="WORLD_SIZE", fix=fix)


def _first_line(error: Exception) -> str:
    """What an error says, in one line; its kind where it says nothing."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _refusal(error: Exception) -> dict[str, Any]:
    """An error as it travels to other processes."""
    return {"refusal": _first_line(error)[:500], "code": getattr(error, "exit_code", 70)}


def _refused(rank: int, told: Mapping[str, Any]) -> WeftError:
    """The refusal of another process, with its exit code."""
    error = WeftError(f"process {rank} of this run refused: {told['refusal']}")
    error.exit_code = told["code"]
    return error
