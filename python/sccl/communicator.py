# ===- communicator.py - A rank among others --------------------------------===#
#
# Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Communicators: one rank's membership in a group of ranks."""
from __future__ import annotations

import ctypes as c
from typing import Any, List, Optional, Tuple

from . import _library
from ._library import DATA_TYPES, REDUCTIONS, InvalidArgument, c_int, check, index, whole
from .buffers import Buffer, buffer_of
from .membership import Handle, Membership
from .plans import Plan
from .ranks import Gather

#: Segments of the send and of the receive buffer; 0 stands for one per rank.
_SEGMENTS = {
    "all_gather": (1, 0),
    "all_reduce": (1, 1),
    "all_to_all": (0, 0),
    "broadcast": (1, 1),
    "gather": (1, 0),
    "reduce": (1, 1),
    "reduce_scatter": (0, 1),
    "scatter": (0, 1),
}
_FUNCTIONS = {
    name: "sccl" + "".join(word.capitalize() for word in name.split("_"))
    for name in _SEGMENTS
}


class Pending:
    """A launch that another thread executes."""

    def __init__(self, comm: "Communicator", ticket: int, buffers: Any):
        self._comm, self._ticket, self._buffers = comm, ticket, buffers

    def wait(self) -> None:
        """Returns when it is done; raises Error if it, or one before it, failed."""
        library = _library.library()
        self._comm.check(library.scclWait(self._comm.handle, self._ticket))
        if self._comm._membership:
            self._comm._membership.forget(self._ticket)
        self._buffers = None


class Communicator:
    """One rank of a group. All ranks make it together, with a `gather` that brings
    them in touch, and call its collectives in the same order.

    `device` is "cpu", "cuda" or "hip", `timeout` the seconds that a launch may stand
    still, and `sm_budget` the multiprocessors that a launch may take; 0 is no limit.
    Only plans that add up in the `order` are loaded, as `sccl plan --order` has it, and
    with `one_rounding` those that round sums of small floats once. A communicator
    belongs to one thread at a time. With ``with`` it is destroyed at the end.

    Where the main thread waits for other ranks on a CPU, handlers of signals run. If
    one raises something, as Ctrl-C does, the communicator is aborted on all ranks: that
    is raised here, and Aborted by the others. One that returns has the wait go on.

    Buffers are NumPy arrays, tensors, or whatever has the buffer protocol. They are
    not copied. With one buffer, a collective works in place.
    """

    def __init__(
        self,
        gather: Gather,
        device: str = "cpu",
        device_index: int = 0,
        timeout: float = 30.0,
        scratch_bytes: int = 0,
        sm_budget: int = 0,
        order: Optional[str] = None,
        one_rounding: bool = False,
    ):
        lib = _library.library()
        self.rank, self.size = gather.rank, gather.size
        self.plans: List[Plan] = []
        #: What Python raised while libsccl called it, until `check`.
        self.failures = _library.Failures()
        callback = _library.all_gather_callback(gather, self.failures)
        self._membership: Optional[Membership] = Membership(callback)
        kind = index(_library.DEVICES, device, "device")
        self._config = _library.Config(
            c.sizeof(_library.Config),
            kind,
            c_int(device_index, "device_index"),
            timeout,
            whole(scratch_bytes, "scratch_bytes"),
            c_int(sm_budget, "sm_budget"),
            None if order is None else order.encode(),
            int(one_rounding),
        )
        made = c.c_void_p()
        code = lib.scclCommInit(
            c_int(self.rank, "rank"),
            c_int(self.size, "size"),
            callback,
            None,
            c.byref(self._config),
            c.byref(made),
        )
        self._membership.join(made)
        self.check(code)
        self._membership.let_interrupt(self.failures)

    @property
    def handle(self) -> Optional[Handle]:
        """libsccl's; None after `destroy`."""
        return self._membership.handle if self._membership else None

    def check(self, code: int) -> None:
        """Raises the error of a collective function that has failed. What the gather
        has raised comes first, and so does what interrupted it."""
        if self.failures:
            self.failures.raise_own()
        check(code)

    def refuse(self, error: Exception) -> None:
        """Counts the call that has raised `error` before it came to libsccl: ranks that
        wait in it learn why."""
        words = str(error).encode(errors="replace")
        _library.library().scclCommRefuse(self.handle, words)

    def __enter__(self) -> "Communicator":
        return self

    def __exit__(self, *_: Any) -> None:
        self.destroy()

    def destroy(self) -> None:
        """Ends the membership; a second time it does nothing. Memory of `empty` stays
        while something refers to it."""
        membership, self._membership = self._membership, None
        if membership:
            check(membership.leave())

    def __reduce__(self) -> tuple:
        raise TypeError("a communicator cannot be copied or pickled")

    def load(self, plan: Plan) -> None:
        """Collective. Makes the collective of `plan` available."""
        self.check(_library.library().scclCommLoad(self.handle, plan._handle))
        if all(plan.hash != other.hash for other in self.plans):
            self.plans.append(plan)

    def split(self, color: int, key: int = 0) -> Optional["Communicator"]:
        """Collective. A communicator of the ranks with the same `color`, in the order
        of `key`; None for ranks with a negative colour. It has no plans."""
        result = Communicator.__new__(Communicator)
        result.__dict__.update(self.__dict__, plans=[])
        callback = self._membership._callback if self._membership else None
        member = result._membership = Membership(callback)
        lib, made = _library.library(), c.c_void_p()
        code = lib.scclCommSplit(
            self.handle,
            c_int(color, "color"),
            c_int(key, "key"),
            None,
            c.byref(made),
        )
        member.join(made)
        self.check(code)
        if not result.handle:
            return None
        member.let_interrupt(self.failures)
        rank, size = c.c_int(), c.c_int()
        check(lib.scclCommRank(result.handle, c.byref(rank)))
        check(lib.scclCommCount(result.handle, c.byref(size)))
        result.rank, result.size = rank.value, size.value
        return result

    def abort(self) -> None:
        """Gives up the launch in flight and all later ones, on all ranks."""
        check(_library.library().scclCommAbort(self.handle))

    def get_error(self) -> None:
        """Raises why the communicator can no longer be used, if so."""
        check(_library.library().scclCommGetError(self.handle))

    @property
    def target(self) -> str:
        """What the device runs code for: "x86-64-v3" or "sm_90"."""
        name = c.c_char_p()
        check(_library.library().scclQueryTarget(self.handle, c.byref(name)))
        return (name.value or b"").decode()

    def empty(self, count: int, type: str = "f32") -> Any:
        """Collective. Memory that peers access, the fastest there is between processes:
        a NumPy array if NumPy is here and has the type, else a memoryview of bytes.
        All ranks pass the same count."""
        index(DATA_TYPES, type, "type")
        size = whole(whole(count, "count") * _library.SIZES[type], "size in bytes")
        address = c.c_void_p()
        lib = _library.library()
        self.check(lib.scclMemAlloc(self.handle, size, c.byref(address)))
        assert self._membership is not None
        memory = self._membership.memory_at(address.value or 0, size)
        try:
            import numpy
        except ImportError:
            return memoryview(memory).cast("B")
        names = {"f": "float", "i": "int", "u": "uint"}
        name = names.get(type[0], "") + type[1:]
        return numpy.frombuffer(memory, name if hasattr(numpy, name) else "uint8")

    def _segment(self, collective: str, send: Buffer, recv: Buffer) -> int:
        """Elements of a segment; raises InvalidArgument if lengths do not fit."""
        send_segments, recv_segments = _SEGMENTS[collective]
        counts = []
        for buffer, segments in (send, send_segments), (recv, recv_segments):
            if buffer.type is not None or buffer.count:
                count, rest = divmod(buffer.count, segments or self.size)
                if rest:
                    raise InvalidArgument(
                        f"{buffer.count} elements cannot be divided among "
                        f"{self.size} ranks"
                    )
                counts.append(count)
        if len(set(counts)) != 1:
            raise InvalidArgument(
                f"{collective} among {self.size} ranks: the send buffer has "
                f"{send.count} elements, and the receive buffer {recv.count}"
            )
        return counts[0]

    def _check_buffers(self, source: Buffer, target: Buffer) -> None:
        for buffer in source, target:
            buffer.check_device(_library.DEVICES[self._config.device])
        if target.read_only:
            raise InvalidArgument("the receive buffer is read-only")

    def _call(
        self,
        collective: str,
        send: Any,
        recv: Any,
        type: Optional[str],
        op: Optional[str] = None,
        root: Optional[int] = None,
        stream: Optional[int] = None,
    ) -> None:
        try:
            buffers, words = self._words(collective, send, recv, type, op, root)
        except Exception as error:
            self.refuse(error)
            raise
        function = getattr(_library.library(), _FUNCTIONS[collective])
        self.check(function(*words, self.handle, stream))
        del buffers  # whose memory could not go before

    def _words(
        self,
        collective: str,
        send: Any,
        recv: Any,
        type: Optional[str],
        op: Optional[str],
        root: Optional[int],
    ) -> Tuple[Any, List[Any]]:
        """The buffers, which may not be resized while they are there, and the arguments
        of a call."""
        source = buffer_of(send, type)
        target = source if recv is send else buffer_of(recv, type)
        self._check_buffers(source, target)
        if source.type and target.type and source.type != target.type:
            raise InvalidArgument(f"{source.type} is sent, {target.type} received")
        count = self._segment(collective, source, target)
        if op is not None and (source.is_bool or target.is_bool):
            op = _of_bool(op)
        words: List[Any] = [source.address, target.address, count]
        kind = source.type or target.type
        if kind is None:
            raise InvalidArgument(
                "plans know no such elements; `type` says as what they are taken: "
                + ", ".join(DATA_TYPES)
            )
        words.append(index(DATA_TYPES, kind, "type"))
        if op is not None:
            words.append(index(REDUCTIONS, op, "op"))
        if root is not None:
            if whole(root, "root") >= self.size:
                raise InvalidArgument(f"root is {root}, and there are {self.size} ranks")
            words.append(whole(root, "root"))
        return (source, target), words

    def all_reduce(self, send, recv=None, op="sum", type=None, stream=None) -> None:
        """Reduces the buffers of all ranks; all get the result."""
        self._call("all_reduce", send, _or(recv, send), type, op, stream=stream)

    def reduce_scatter(self, send, recv, op="sum", type=None, stream=None) -> None:
        """Reduces the buffers of all ranks; rank r gets segment r."""
        self._call("reduce_scatter", send, recv, type, op, stream=stream)

    def all_gather(self, send, recv, type=None, stream=None) -> None:
        """Gives all ranks the segments of all ranks."""
        self._call("all_gather", send, recv, type, stream=stream)

    def all_to_all(self, send, recv=None, type=None, stream=None) -> None:
        """Gives rank r segment r of each rank."""
        self._call("all_to_all", send, _or(recv, send), type, stream=stream)

    def broadcast(self, send, recv=None, root=0, type=None, stream=None) -> None:
        """Gives all ranks the buffer of the root."""
        self._call(
            "broadcast", send, _or(recv, send), type, root=root, stream=stream
        )

    def reduce(self, send, recv=None, op="sum", root=0, type=None, stream=None) -> None:
        """Reduces the buffers of all ranks on the root. Others may pass no `recv`."""
        if recv is None and self.rank == root:
            recv = send
        self._call("reduce", send, recv, type, op, root, stream)

    def gather(self, send, recv=None, root=0, type=None, stream=None) -> None:
        """Gives the root the segments of all ranks. Others pass no `recv`."""
        self._call("gather", send, recv, type, root=root, stream=stream)

    def scatter(self, send, recv, root=0, type=None, stream=None) -> None:
        """Gives rank r segment r of the root. Others pass None for `send`."""
        self._call("scatter", send, recv, type, root=root, stream=stream)

    def launch(self, plan: Plan, send, recv, count, type, op="sum", stream=None) -> None:
        """Executes `plan`, also one of a collective of your own; `count` is the number
        of elements of a segment, or of a chunk of such a collective."""
        buffers, words = self._launch_words(plan, send, recv, count, type, op)
        self.check(_library.library().scclLaunch(self.handle, *words, stream))
        del buffers  # whose memory could not go before

    def launch_async(self, plan: Plan, send, recv, count, type, op="sum") -> Pending:
        """The same on a CPU by another thread."""
        ticket = c.c_uint64()
        buffers, words = self._launch_words(plan, send, recv, count, type, op)
        lib = _library.library()
        check(lib.scclLaunchAsync(self.handle, *words, c.byref(ticket)))
        assert self._membership is not None
        self._membership.keep(ticket.value, buffers)
        return Pending(self, ticket.value, buffers)

    def _launch_words(self, plan, send, recv, count, type, op) -> Tuple[Any, List[Any]]:
        """The same for a launch, which is refused where they are wrong."""
        try:
            return self._words_of(plan, send, recv, count, type, op)
        except Exception as error:
            self.refuse(error)
            raise

    def _words_of(self, plan, send, recv, count, type, op) -> Tuple[Any, List[Any]]:
        count = whole(count, "count")
        source, target = buffer_of(send, type), buffer_of(recv, type)
        self._check_buffers(source, target)
        # Of a collective of your own only libsccl knows the segments.
        for buffer, segments in zip((source, target), _SEGMENTS.get(plan.collective, ())):
            need = count * (segments or self.size)
            if buffer.address is not None and buffer.count < need:
                raise InvalidArgument(
                    f"{plan.collective} of {count} elements: a buffer has "
                    f"{buffer.count}, expected {need}"
                )
        return (source, target), [
            plan._handle,
            source.address,
            target.address,
            count,
            index(DATA_TYPES, type, "type"),
            index(REDUCTIONS, op, "op"),
        ]

    def choice(self, plan: Plan, count: int, type: str, op: str = "sum") -> dict:
        """What a launch of `plan` would execute, and why."""
        found = _library.ChoiceInfo(c.sizeof(_library.ChoiceInfo))
        number, reduction = index(DATA_TYPES, type, "type"), index(REDUCTIONS, op, "op")
        lib = _library.library()
        check(
            lib.scclQueryChoice(
                self.handle,
                plan._handle,
                whole(count, "count"),
                number,
                reduction,
                c.byref(found),
            )
        )
        return {
            "program": found.program,
            "path": _library.PATHS[found.path],
            "piece_bytes": found.pieceBytes,
            "schedule": found.schedule.decode(),
            "reason": found.reason.decode(),
        }

    def __repr__(self) -> str:
        return f"<Communicator: rank {self.rank} of {self.size}>"


def _of_bool(op: str) -> str:
    """The reduction of bytes that is `op` of bool: a sum is true where one is."""
    if op == "avg":
        raise InvalidArgument("bool has no average")
    return {"sum": "max", "prod": "min"}.get(op, op)


def _or(recv: Any, send: Any) -> Any:
    return send if recv is None else recv
