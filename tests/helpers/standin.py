"""A GPU that is not there. Tensors on `standin:0` hold numbers of the CPU and refuse what CUDA would refuse.

    with standing_in():            weft finds this device, as it finds CUDA, and computes on it
        run = weft.train(…)
    with standing_in(doubles=False):   it has no float64, as MPS has none
    with standing_in() as device:
        with device.counted() as found: step()
        found.waits                what the host waited for: a Counter of (what, where in weft)

What it finds: tensors of two devices in one operation, generators and states of optimizers on the wrong one, arrays of
numpy taken from the device, and every wait of the host. What it cannot find: other rounding, memory, races, speed.
torch calls such a device a Python backend, and says of it that it may change.
"""

import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
import torch.utils._device
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_flatten, tree_map
from torch.utils.backend_registration import _DummyBackendModule, _setup_privateuseone_for_python_backend
from torch.utils.weak import WeakIdKeyDictionary

import weft
from weft.training import devices

KIND = "standin"
HOME = str(Path(weft.__file__).parent)
READS = {"_local_scalar_dense", "item", "equal", "is_nonzero"}  # whose result is a number of the host
SIZES = {"nonzero", "masked_select", "unique_consecutive", "_unique2", "unique_dim", "bincount", "_coalesce", "histc"}
COPIES = {"copy_", "_copy_from", "_foreach_copy_"}  # between devices
INDEXED = {"index", "index_put", "index_put_", "_index_put_impl_"}  # whose index may be on the host
MOVES = {"_to_copy", "to"}


class OtherDevice(RuntimeError):
    """What CUDA refuses to compute."""


class Facts:
    """What the device is like while it stands in, and what the host did with it."""

    there = False
    doubles = True
    counting: "Count | None" = None


class Count:
    """What the host did in a stretch of time: where it waited for the device, and where it sent numbers without."""

    def __init__(self) -> None:
        self.waits: Counter[tuple[str, str]] = Counter()
        self.sent = 0


class Backend(_DummyBackendModule):
    """What torch asks of a device's module."""

    def is_available(self) -> bool:
        return Facts.there

    def device_count(self) -> int:
        return int(Facts.there)

    def manual_seed(self, seed: int) -> None:
        """Numbers are drawn on the CPU."""

    def get_rng_state(self, device: Any = None) -> Tensor:
        return torch.get_rng_state()

    def set_rng_state(self, state: Tensor, device: Any = None) -> None:
        torch.set_rng_state(state)

    def synchronize(self, device: Any = None) -> None:
        """Nothing is ever under way."""

    def set_device(self, device: Any) -> None:
        """There is one."""

    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        return [torch.float16, torch.bfloat16]


torch.utils._device._device_constructors()  # cached, before constructors are replaced
_setup_privateuseone_for_python_backend(KIND, backend_module=Backend())
DEVICE = torch.device(KIND, 0)
PINNED = WeakIdKeyDictionary()  # tensors of the host in memory that is not paged out
_as_data = Tensor.data


def place() -> str:
    """The line of weft that is computing."""
    for frame in reversed(traceback.extract_stack()):
        if frame.filename.startswith(HOME):
            return f"{frame.filename[len(HOME) + 1 :]}:{frame.lineno}"
    return "elsewhere"


def waited(what: str) -> None:
    """The host waits for the device."""
    if Facts.counting is not None:
        Facts.counting.waits[what, place()] += 1


def sent(source: Tensor, non_blocking: bool) -> None:
    """Numbers go to the device; from memory that is not pinned the host waits for them."""
    if Facts.counting is not None and non_blocking and source in PINNED:
        Facts.counting.sent += 1
    else:
        waited("sent")


class Held(Tensor):
    """A tensor on the device; `inner` has the numbers."""

    inner: Tensor

    @staticmethod
    def __new__(cls, inner: Tensor) -> "Held":
        assert type(inner) is Tensor and inner.device.type == "cpu", (type(inner), inner.device)
        if not Facts.doubles and inner.dtype in (torch.float64, torch.complex128):
            raise TypeError(f"this device has no float64 ({place()})")
        more = {"strides": inner.stride(), "storage_offset": inner.storage_offset()}
        made: Held = Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]
            cls, inner.shape, dtype=inner.dtype, layout=inner.layout, device=DEVICE, requires_grad=False,
            **(more if inner.layout is torch.strided else {}),
        )  # fmt: skip
        made.inner = inner
        return made

    def __init__(self, inner: Tensor):
        """All is done."""

    __torch_function__ = torch._C._disabled_torch_function_impl

    def __repr__(self, **kwargs: Any) -> str:
        return f"Held({self.inner!r})"

    def __tensor_flatten__(self) -> tuple[list[str], None]:
        return ["inner"], None

    @staticmethod
    def __tensor_unflatten__(parts: dict[str, Tensor], facts: None, size: Any, stride: Any) -> "Held":
        return Held(parts["inner"])

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return compute(func, args, kwargs or {})

    def data_ptr(self) -> int:
        if place().startswith("generate/"):  # where it tells one tensor from another
            return self.inner.data_ptr()
        raise OtherDevice(f"the address of a tensor on the device is taken at {place()}")

    def tolist(self) -> Any:
        waited("tolist")
        return self.inner.tolist()

    def numpy(self, **kwargs: Any) -> Any:
        raise OtherDevice(f"can't convert a tensor on {DEVICE} to numpy: use Tensor.cpu() first ({place()})")

    def __array__(self, *args: Any) -> Any:
        return self.numpy()

    def new_tensor(self, values: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
        return torch.tensor(values, dtype=dtype or self.dtype, device=device or DEVICE)

    @property
    def data(self) -> Tensor:  # type: ignore[override]
        with torch.no_grad():
            return self.detach()

    @data.setter
    def data(self, value: Tensor) -> None:
        _as_data.__set__(self, value)
        if isinstance(value, Held):
            self.inner = value.inner


def ours(device: Any) -> bool:
    """Whether a device is the one that stands in."""
    return device is not None and torch.device(device).type == KIND


def held(tensor: Any) -> Any:
    """A tensor of the CPU on the device."""
    return Held(tensor) if type(tensor) is Tensor else tensor


def inside(tensor: Any) -> Any:
    """The numbers of a tensor on the device."""
    return tensor.inner if isinstance(tensor, Held) else tensor


def compute(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Do on the CPU what the device is asked for, after looking whether it could."""
    if func in CELLS:
        return tree_map(held, CELLS[func](*tree_map(inside, args), **tree_map(inside, kwargs)))
    if func._can_decompose() and func not in (torch.ops.aten.matmul.default, torch.ops.aten.linear.default):
        with Meeting():
            found = func.decompose(*args, **kwargs)
        if found is not NotImplemented:
            return found
    name = func._schema.name.split("::")[1]
    if name in MOVES:
        return _moved(func, args[0], kwargs)
    tensors = [part for part in tree_flatten((args, kwargs))[0] if isinstance(part, Tensor)]
    theirs = [tensor for tensor in tensors if not isinstance(tensor, Held)]
    _refuse(name, func, args, kwargs, len(theirs) < len(tensors), theirs)
    _count(name, args, kwargs, len(theirs) < len(tensors))
    wanted = {**tree_map(inside, kwargs), **({"device": torch.device("cpu")} if kwargs.get("device") else {})}
    wanted |= {"pin_memory": False} if "pin_memory" in kwargs else {}
    with _disable_current_modes():
        found = func(*tree_map(inside, args), **wanted)
    if len(theirs) == len(tensors) and not ours(kwargs.get("device")):
        return found
    if name in COPIES and isinstance(args[0], Tensor) and not isinstance(args[0], Held):
        return args[0]
    return _written(func, args, kwargs, tree_map(held, found))


def _moved(func: Any, source: Tensor, kwargs: dict[str, Any]) -> Tensor:
    """A copy with another type, or on another device."""
    target = kwargs.get("device")
    goes = isinstance(source, Held) if target is None else ours(target)
    if goes and not isinstance(source, Held):
        sent(source, bool(kwargs.get("non_blocking")))
    if not goes and isinstance(source, Held):
        waited("read")
    wanted = {**kwargs, "device": None if target is None else torch.device("cpu")}
    wanted.pop("non_blocking", None)
    with _disable_current_modes():
        found = func(inside(source), **wanted)
        if target is not None and found is inside(source):
            found = found.clone()
    return Held(found) if goes else found


def _refuse(name: str, func: Any, args: Any, kwargs: dict[str, Any], any_held: bool, theirs: list[Tensor]) -> None:
    """Refuse tensors and generators of two devices, as CUDA does."""
    drawn = [part for part in tree_flatten((args, kwargs))[0] if isinstance(part, torch.Generator)]
    if drawn and (any_held or ours(kwargs.get("device"))):
        raise OtherDevice(f"expected a generator of {DEVICE}, found one of the CPU in {func} ({place()})")
    if not any_held or name in COPIES:
        return
    odd = [one for one in theirs if one.dim() or name.startswith("_fused_")]
    if name in INDEXED:
        if not isinstance(args[0], Held):
            raise OtherDevice(f"an index on {DEVICE} into a tensor on the CPU in {func} ({place()})")
        odd = [one for one in odd if len(args) > 2 and one is args[2]]
    if odd:
        shapes = [tuple(one.shape) for one in odd[:3]]
        raise OtherDevice(f"{DEVICE} and the CPU in one operation: {func}, of the CPU {shapes} ({place()})")


def _count(name: str, args: Any, kwargs: dict[str, Any], any_held: bool) -> None:
    """Note where the host waits: it reads a number, or needs to know how large a result is."""
    if not any_held:
        return
    if name in READS or name in SIZES:
        waited(name)
    if name == "repeat_interleave" and kwargs.get("output_size") is None:
        waited(name)
    if name in INDEXED:
        held_masks = (torch.bool, torch.uint8)
        if any(isinstance(one, Tensor) and one.dtype in held_masks for one in args[1] if one is not None):
            waited("mask as index")
        if any(isinstance(one, Tensor) and not isinstance(one, Held) for one in args[1] if one is not None):
            waited("sent")
    if name == "copy_" and isinstance(args[0], Held) != isinstance(args[1], Held):
        if isinstance(args[0], Held):
            sent(args[1], bool(args[2]) if len(args) > 2 else bool(kwargs.get("non_blocking")))
        else:
            waited("read")


def _written(func: Any, args: Any, kwargs: dict[str, Any], found: Any) -> Any:
    """The result, with what was written in place as it was given."""
    given = {}
    for place_, argument in enumerate(func._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            value = args[place_] if place_ < len(args) else kwargs.get(argument.name)
            given |= dict.fromkeys(argument.alias_info.before_set, value)
    returns = func._schema.returns
    if not given or not returns:
        return found
    each = list(found) if len(returns) > 1 else [found]
    for place_, one in enumerate(returns):
        if one.alias_info is not None and one.alias_info.is_write:
            each[place_] = next(given[name] for name in one.alias_info.before_set if name in given)
    return tuple(each) if len(returns) > 1 else each[0]


def _lstm(into: Tensor, hidden: Tensor, cell: Tensor, *biases: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """A step of an LSTM, which CUDA computes at once, with its gates for the way back."""
    total = into + hidden + sum((bias for bias in biases if bias is not None), torch.zeros(()))
    let_in, keep, new, out = total.chunk(4, 1)
    gates = (let_in.sigmoid(), keep.sigmoid(), new.tanh(), out.sigmoid())
    now = gates[1] * cell + gates[0] * gates[2]
    return gates[3] * now.tanh(), now, torch.cat(gates, 1)


def _lstm_back(
    of_out: Tensor | None, of_cell: Tensor | None, before: Tensor, now: Tensor, gates: Tensor, biased: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of the gates before their activation, of the cell before, and of the biases."""
    let_in, keep, new, out = gates.chunk(4, 1)
    of_out = torch.zeros_like(now) if of_out is None else of_out
    of_cell = torch.zeros_like(now) if of_cell is None else of_cell
    whole = of_cell + of_out * out * (1 - now.tanh() ** 2)
    each = (
        whole * new * let_in * (1 - let_in),
        whole * before * keep * (1 - keep),
        whole * let_in * (1 - new**2),
        of_out * now.tanh() * out * (1 - out),
    )
    made = torch.cat(each, 1)
    return made, whole * keep, made.sum(0) if biased else made.new_empty(0)


CELLS = {
    torch.ops.aten._thnn_fused_lstm_cell.default: _lstm,
    torch.ops.aten._thnn_fused_lstm_cell_backward_impl.default: _lstm_back,
}


class Meeting(TorchDispatchMode):
    """Sees what makes tensors on the device, and what tensors of the CPU do with them."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = func._schema.name
        if name == "aten::_pin_memory":
            made = args[0].clone()
            PINNED[made] = True
            return made
        if name == "aten::is_pinned":
            return args[0] in PINNED
        if ours(kwargs.get("device")) or any(isinstance(one, Held) for one in tree_flatten((args, kwargs))[0]):
            return compute(func, args, kwargs)
        return func(*args, **kwargs)


def _sent_after(make: Any) -> Any:
    """A constructor that makes its tensor below the dispatcher: on the CPU, and then sent."""

    def made(values: Any, *args: Any, device: Any = None, **more: Any) -> Tensor:
        if not ours(device):
            return make(values, *args, **more, **({} if device is None else {"device": device}))
        if isinstance(values, Held):
            return values.to(more.get("dtype") or values.dtype)
        with _disable_current_modes():
            found = make(values, *args, **more)
        return found.to(DEVICE)

    return made


class Standing:
    """The device while it stands in."""

    device = DEVICE

    @contextmanager
    def counted(self) -> Iterator[Count]:
        """Count what the host waits for while this block runs."""
        before, Facts.counting = Facts.counting, Count()
        try:
            yield Facts.counting
        finally:
            Facts.counting = before


def _entered(mode: Any) -> Any:
    mode.graded = torch.is_grad_enabled()
    torch.set_grad_enabled(mode.graded and not mode.mode)
    return mode


def _left(mode: Any, *error: Any) -> None:
    torch.set_grad_enabled(mode.graded)


@contextmanager
def standing_in(*, doubles: bool = True) -> Iterator[Standing]:
    """While this block runs, the machine has a GPU; without doubles, one of Apple's."""
    with ExitStack() as stack:
        for name in ("tensor", "as_tensor", "asarray"):
            stack.enter_context(patch.object(torch, name, _sent_after(getattr(torch, name))))
        # tensors of inference mode could not be views of others here
        stack.enter_context(patch.object(torch.inference_mode, "__enter__", _entered))
        stack.enter_context(patch.object(torch.inference_mode, "__exit__", _left))
        stack.enter_context(patch.object(devices, "accelerators", lambda: [DEVICE]))
        stack.enter_context(patch.object(Facts, "there", True))
        stack.enter_context(patch.object(Facts, "doubles", doubles))
        swapped = torch.__future__.get_swap_module_params_on_conversion()
        torch.__future__.set_swap_module_params_on_conversion(True)  # tied weights stay tied
        stack.callback(torch.__future__.set_swap_module_params_on_conversion, swapped)
        stack.enter_context(Meeting())
        yield Standing()
