"""The structures that Python and C share; `kernels/program.h` says what each field means."""

import ctypes
from ctypes import POINTER, c_double, c_int64, c_uint8, c_void_p
from dataclasses import dataclass
from enum import IntEnum

SIZES, NUMBERS, DATA, SLOTS = 8, 2, 8, 2


class Kind(IntEnum):
    """What an operation does, in the order of `enum kind`."""

    EMBED = 0
    GRAMS = 1
    PLACES = 2
    WAVES = 3
    NORM = 4
    SHIFT = 5
    LINEAR = 6
    ANGLES = 7
    TURN = 8
    ATTEND = 9
    READ = 10
    ACTIVATE = 11
    GATE = 12
    LSTM = 13
    COPY = 14
    ADD = 15
    SCALE = 16
    CAP = 17
    LINEAR8 = 18
    LAST = 19
    MULTIPLY = 20
    OFFSET = 21
    PUT = 22
    RECALL = 23
    WEIGH = 24
    RNN = 25
    COUNT = 26
    ABREAST = 27
    CLEAR = 28
    CHOOSE = 29
    SKIP = 30
    SHARE = 31


ACTIVATIONS = ("relu", "gelu", "gelu_tanh", "quick", "relu_squared", "silu", "sine", "tanh")  # `enum activation`


@dataclass(frozen=True)
class Register:
    """Numbers of a token: where they begin among those of all registers, and how many."""

    at: int
    width: int


class _Register(ctypes.Structure):
    _fields_ = [("at", c_int64), ("width", c_int64)]


class Op(ctypes.Structure):
    """One operation of a step program."""

    _fields_ = [
        ("kind", c_int64),
        ("source", _Register),
        ("target", _Register),
        ("size", c_int64 * SIZES),
        ("number", c_double * NUMBERS),
        ("data", c_void_p * DATA),
        ("slot", c_int64 * SLOTS),
    ]

    @staticmethod
    def of(
        kind: Kind,
        source: Register,
        target: Register,
        *,
        size: tuple[int, ...] = (),
        number: tuple[float, ...] = (),
        data: tuple[int, ...] = (),
        slot: tuple[int, ...] = (),
    ) -> "Op":
        """An operation; `data` are addresses, 0 for none."""
        op = Op(kind, _Register(source.at, source.width), _Register(target.at, target.width))
        for field, values in (("size", size), ("number", number), ("data", data), ("slot", slot)):
            place = getattr(op, field)
            for i, value in enumerate(values):
                place[i] = value
        return op


class Batch(ctypes.Structure):
    """The rows that a step is computed for, and the memory that it works in."""

    _fields_ = [
        ("rows", c_int64),
        ("fresh", c_int64),
        ("length", c_int64),
        ("room", c_int64),
        ("memory_rows", c_int64),
        ("memory_length", c_int64),
        ("threads", c_int64),
        ("scratch_size", c_int64),
        ("ids", c_void_p),
        ("first", c_void_p),
        ("earlier", c_void_p),
        ("before", c_int64),
        ("memory_valid", POINTER(c_uint8)),
        ("memory_index", c_void_p),
        ("slots", POINTER(c_void_p)),
        ("work", c_void_p),
        ("scratch", c_void_p),
        ("out", c_void_p),
        ("rounded", c_void_p),
        ("steps", c_void_p),
        ("line_valid", c_void_p),
        ("places", c_void_p),
    ]


class Draw(ctypes.Structure):
    """How the next token is drawn; `drawing` in kernels/program.h."""

    _fields_ = [("temperature", c_double), ("top_p", c_double), ("min_p", c_double), ("top_k", c_int64)]


class Writing(ctypes.Structure):
    """Tokens that are drawn and read one after the other; `writing` in kernels/program.h."""

    _fields_ = [
        ("how", POINTER(Draw)),
        ("count", c_int64),
        ("values", c_int64),
        ("chances", c_void_p),
        ("never", c_void_p),
        ("ends", c_void_p),
        ("never_of", c_void_p),
        ("ends_of", c_void_p),
        ("tokens", c_void_p),
        ("drawn", c_int64),
        ("ended", c_void_p),
        ("work", c_void_p),
    ]


class Leaders(ctypes.Structure):
    """The likeliest tokens of each row; `leaders` in kernels/program.h."""

    _fields_ = [
        ("rows", c_int64),
        ("values", c_int64),
        ("count", c_int64),
        ("threads", c_int64),
        ("best", c_void_p),
        ("tokens", c_void_p),
    ]


class TrainingKind(IntEnum):
    """An operation of training, in the order of `enum training_kind`."""

    RELU_SQUARED_FORWARD = 0
    RELU_SQUARED_BACKWARD = 1
    DROPOUT = 2
    NORM_FORWARD = 3
    NORM_BACKWARD = 4
    SHIFT_FORWARD = 5
    SHIFT_BACKWARD = 6
    READ_FORWARD = 7
    READ_BACKWARD = 8


class TrainingOp(ctypes.Structure):
    """One operation of training; `training` in kernels/program.h."""

    _fields_ = [
        ("kind", c_int64),
        ("threads", c_int64),
        ("scratch_size", c_int64),
        ("size", c_int64 * 8),
        ("number", c_double * 2),
        ("data", c_void_p * 6),
        ("scratch", c_void_p),
    ]


STRUCTURES = (Op, Batch, Writing, Leaders, TrainingOp)
# the sizes of the structures in bytes as one number, three decimal digits each: `weft_bytes` of kernels/library.c
STRUCTURE_SIZES = sum(ctypes.sizeof(one) * 1000**place for place, one in enumerate(STRUCTURES))
