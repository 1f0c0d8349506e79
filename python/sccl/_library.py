# ===- _library.py - libsccl's C interface ------------------------------------===#
#
# Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Finds libsccl and declares what include/sccl/sccl.h does."""
from __future__ import annotations

import ctypes as c
import functools
import operator
import os
import pathlib
import shutil
import threading
from typing import TYPE_CHECKING, Any, List, Optional, Tuple

if TYPE_CHECKING:
    from .ranks import Gather

ALL_GATHER = c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_void_p, c.c_void_p, c.c_size_t)
INTERRUPT = c.CFUNCTYPE(c.c_int, c.c_void_p)

DATA_TYPES = ("i8 u8 i32 u32 i64 u64 f16 f32 f64 bf16 f8e4m3 f8e5m2").split()
REDUCTIONS = "sum prod min max avg".split()
#: Reductions of these depend on the order, but for min and max.
FLOATS = [name for name in DATA_TYPES if name[0] not in "iu"]
#: Sums of these are made in f32, and rounded.
SMALL_FLOATS = [name for name in FLOATS if name not in ("f32", "f64")]
DEVICES = "cpu cuda hip".split()
PATHS = "auto direct staging".split()
#: Bytes of an element, by type.
SIZES = dict(zip(DATA_TYPES, [1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1]))


class Error(RuntimeError):
    """What libsccl or the tool refused, with the cause in words.

    ``code`` is the number of a ``scclResult``, or 0 if the tool has failed.
    """

    def __init__(self, message: str, code: int = 0):
        super().__init__(message)
        self.code = code


class InvalidArgument(Error, ValueError):
    """A buffer, count, type or rank that libsccl refuses."""


class InvalidPlan(Error):
    """Not a plan, damaged, or of another version."""


class Mismatch(Error):
    """Ranks disagree on the plan or on the arguments of a call."""


class Unsupported(Error):
    """No plan, or no code in it, for what is asked."""


class Timeout(Error, TimeoutError):
    """A rank did not arrive in time."""


class RankLost(Error):
    """The process of a rank has ended."""


class Aborted(Error):
    """Some rank has given up."""


_ERRORS = {
    1: InvalidArgument,
    2: InvalidPlan,
    3: Mismatch,
    4: Unsupported,
    8: Timeout,
    9: RankLost,
    10: Aborted,
}


class Config(c.Structure):
    """scclConfig."""

    _fields_ = [
        ("size", c.c_size_t),
        ("device", c.c_int),
        ("deviceIndex", c.c_int),
        ("timeoutSeconds", c.c_double),
        ("scratchBytes", c.c_size_t),
        ("smBudget", c.c_int),
        ("order", c.c_char_p),
        ("oneRounding", c.c_int),
    ]


class PlanInfo(c.Structure):
    """scclPlanInfo."""

    _fields_ = [
        ("size", c.c_size_t),
        ("collective", c.c_char_p),
        ("ranks", c.c_int),
        ("root", c.c_int),
        ("combining", c.c_int),
        ("numPrograms", c.c_int),
        ("formatVersion", c.c_int),
        ("hash", c.c_char_p),
        ("topology", c.c_char_p),
        ("targets", c.c_char_p),
    ]


class ChoiceInfo(c.Structure):
    """scclChoice."""

    _fields_ = [
        ("size", c.c_size_t),
        ("program", c.c_int),
        ("path", c.c_int),
        ("pieceBytes", c.c_size_t),
        ("schedule", c.c_char * 64),
        ("reason", c.c_char * 128),
        ("multiprocessors", c.c_int),
    ]


_P, _I, _S = c.c_void_p, c.c_int, c.c_size_t
_SIGNATURES = {
    "scclGetVersion": [c.POINTER(_I)],
    "scclPlanLoad": [c.c_char_p, c.POINTER(_P)],
    "scclPlanLoadMemory": [c.c_char_p, _S, c.POINTER(_P)],
    "scclPlanDestroy": [_P],
    "scclPlanGetInfo": [_P, c.POINTER(PlanInfo)],
    "scclCommInit": [_I, _I, ALL_GATHER, _P, c.POINTER(Config), c.POINTER(_P)],
    "scclCommLoad": [_P, _P],
    "scclCommSplit": [_P, _I, _I, c.POINTER(Config), c.POINTER(_P)],
    "scclCommRank": [_P, c.POINTER(_I)],
    "scclCommCount": [_P, c.POINTER(_I)],
    "scclCommDestroy": [_P],
    "scclCommAbort": [_P],
    "scclCommGetError": [_P],
    "scclCommSetInterrupt": [_P, INTERRUPT, _P],
    "scclAllReduce": [_P, _P, _S, _I, _I, _P, _P],
    "scclReduceScatter": [_P, _P, _S, _I, _I, _P, _P],
    "scclAllGather": [_P, _P, _S, _I, _P, _P],
    "scclAllToAll": [_P, _P, _S, _I, _P, _P],
    "scclBroadcast": [_P, _P, _S, _I, _I, _P, _P],
    "scclReduce": [_P, _P, _S, _I, _I, _I, _P, _P],
    "scclGather": [_P, _P, _S, _I, _I, _P, _P],
    "scclScatter": [_P, _P, _S, _I, _I, _P, _P],
    "scclLaunch": [_P, _P, _P, _P, _S, _I, _I, _P],
    "scclLaunchAsync": [_P, _P, _P, _P, _S, _I, _I, c.POINTER(c.c_uint64)],
    "scclWait": [_P, c.c_uint64],
    "scclCommRefuse": [_P, c.c_char_p],
    "scclMemAlloc": [_P, _S, c.POINTER(_P)],
    "scclMemFree": [_P, _P],
    "scclMemCopy": [_P, _P, _P, _S],
    "scclQueryScratch": [_P, c.POINTER(_S)],
    "scclQueryTarget": [_P, c.POINTER(c.c_char_p)],
    "scclQueryPlan": [_P, c.c_char_p, _I, _I, _S, _I, _I, c.POINTER(_I)],
    "scclQueryChoice": [_P, _P, _S, _I, _I, c.POINTER(ChoiceInfo)],
}


def tool() -> Optional[str]:
    """The path of the tool ``sccl``: ``$SCCL_TOOL``, or the one in ``PATH``."""
    return os.environ.get("SCCL_TOOL") or shutil.which("sccl")


def library_candidates() -> List[str]:
    """Where libsccl is looked for, in this order."""
    if os.environ.get("SCCL_LIBRARY"):
        return [os.environ["SCCL_LIBRARY"]]
    paths = []
    if tool():
        prefix = pathlib.Path(tool()).resolve().parent.parent
        folders = [prefix / "lib", *sorted(prefix.glob("lib/*-linux-gnu"))]
        paths = [str(folder / "libsccl.so.0") for folder in folders]
    return [path for path in paths if os.path.exists(path)] + ["libsccl.so.0"]


@functools.lru_cache(maxsize=None)
def library() -> c.CDLL:
    """libsccl, with the types of its functions. Raises Error if it is not there."""
    problems = []
    for path in library_candidates():
        try:
            loaded = c.CDLL(path)
            break
        except OSError as error:
            problems.append(str(error))
    else:
        raise Error(
            "cannot load libsccl; set SCCL_LIBRARY, or put sccl in PATH: "
            + "; ".join(problems)
        )
    for name, types in _SIGNATURES.items():
        if not hasattr(loaded, name):
            raise Error(f"{path} is not libsccl of this version: it has no {name}")
        getattr(loaded, name).argtypes = types
    for name in ["scclGetLastErrorMessage", "scclErrorString"]:
        getattr(loaded, name).restype = c.c_char_p
    return loaded


def check(code: int) -> None:
    """Raises the error that the last call of this thread has left."""
    if code != 0:
        message = library().scclGetLastErrorMessage().decode(errors="replace")
        raise _ERRORS.get(code, Error)(message, code)


def version() -> str:
    """The version of libsccl's interface, as in "0.2.0"."""
    number = c.c_int()
    check(library().scclGetVersion(c.byref(number)))
    value = number.value
    return f"{value // 10000}.{value // 100 % 100}.{value % 100}"


def index(names: List[str], name: str, what: str) -> int:
    """The number of `name`, or InvalidArgument with those that there are."""
    if name not in names:
        raise InvalidArgument(f"{what} is {name!r}, expected {', '.join(names)}")
    return names.index(name)


def whole(number: Any, what: str) -> int:
    """`number`, also of NumPy, or InvalidArgument if it is not 0, 1, 2 and so on."""
    value = _integer(number, what)
    if value < 0:
        raise InvalidArgument(f"{what} is {value}, expected 0 or more")
    if value >> 63:
        raise InvalidArgument(f"{what} is {value}, expected less than 2^63")
    return value


def c_int(number: Any, what: str) -> int:
    """`number`, or InvalidArgument if C's int has no such: ctypes would cut it."""
    value = _integer(number, what)
    if not -(1 << 31) <= value < 1 << 31:
        raise InvalidArgument(f"{what} is {value}, expected an int of 32 bits")
    return value


def _integer(number: Any, what: str) -> int:
    try:
        return operator.index(number)
    except TypeError:
        raise InvalidArgument(f"{what} is {number!r}, expected a whole number") from None


class Failures:
    """What Python has raised while libsccl called it, which must not pass through C: each
    error is for the thread that was called, whose call of libsccl fails then."""

    def __init__(self) -> None:
        self._errors: List[Tuple[int, BaseException]] = []

    def append(self, error: BaseException) -> None:
        self._errors.append((threading.get_ident(), error))

    def raise_own(self) -> None:
        """Raises the last one of this thread, if there is any."""
        for entry in reversed(self._errors):
            if entry[0] == threading.get_ident():
                self._errors.remove(entry)
                raise entry[1]

    def __bool__(self) -> bool:
        return bool(self._errors)


def all_gather_callback(gather: "Gather", failures: Failures):
    """A scclAllGatherFn that calls `gather`; what that raises goes to `failures`."""

    def call(_, mine, everyone, size):
        try:
            parts = [bytes(part) for part in gather(c.string_at(mine, size))]
            lengths = [len(part) for part in parts]
            if lengths != [size] * gather.size:
                raise InvalidArgument(
                    f"the gather gave parts of {lengths} bytes, expected {gather.size} "
                    f"of {size}"
                )
            c.memmove(everyone, b"".join(parts), size * len(parts))
            return 0
        except BaseException as error:  # noqa: B902: nothing may pass through C
            failures.append(error)
            return 1

    return ALL_GATHER(call)


def interrupt_callback(failures: Failures):
    """What libsccl calls while the main thread waits in it: 1 when a handler of signals has
    raised something, which goes to `failures`. Python runs handlers between steps of
    Python, of which there are none otherwise."""

    def watch():
        stop = 0
        while True:
            # Python resumes here, so handlers run within the try.
            try:
                while True:
                    yield stop
            except GeneratorExit:
                return
            except BaseException as error:  # noqa: B902: nothing may pass through C
                failures.append(error)
                stop = 1

    watching = watch()
    next(watching)
    return INTERRUPT(watching.send)
