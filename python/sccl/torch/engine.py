# ===- engine.py - A communicator and its plans -----------------------------===#
#
# Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""The communicator of a group on a device, and which plan a call takes.

All ranks must decide alike, so rank 0 does: it reads ``SCCL_PLAN_PATH`` when the group
is made, has plans made when a call asks for one, and hands them to the others through
the group's store.
"""
from __future__ import annotations

import ctypes as c
import os
from typing import Any, Callable, Dict, List, Optional, Tuple

from .. import _library, shelf
from .._library import DATA_TYPES, Error, Mismatch, RankLost, Timeout, Unsupported
from ..communicator import Communicator
from ..plans import Plan
from ..ranks import StoreGather
from .store import WatchedStore

#: More ranks than this on one host have no plans made.
MOST_RANKS = 64
#: Of what ranks compare before the first call of a kind.
MEETING_BYTES = 256
#: A collective, its root, element type and reduction, -1 for none, and the type of the
#: tensor, of which elements may be taken for others.
Key = Tuple[str, int, int, int, Any]


class Engine:
    """Executes what plans cover.

    `timeout` is in seconds, `device` "cpu", "cuda" or "hip". Sums of floats are in the
    `order`, if there is one: by no other plan; those of small floats are rounded once
    with `one_rounding`. Raises Error if a plan of ``SCCL_PLAN_PATH`` is none, or ranks
    ask for different orders, on all ranks.
    `problem` tells why there is no communicator, for ranks of several hosts that have no
    libsccl-ucx, or None.
    """

    def __init__(
        self,
        rank: int,
        size: int,
        store: Any,
        timeout: float,
        device: str = "cpu",
        device_index: int = 0,
        must_fit: bool = False,
        order: Optional[str] = None,
        one_rounding: bool = False,
    ):
        self.rank, self.size = rank, size
        self.order, self.one_rounding = order, one_rounding
        self.device, self.device_index = device, device_index
        store = self._store = WatchedStore(rank, size, store, timeout)
        self._missing: Dict[Key, str] = {}
        self.covered: Dict[Key, bool] = {}
        self.problem: Optional[str] = None
        self.comm: Optional[Communicator] = None
        self.handle: Any = None
        self._meet: Optional[Callable[[bytes], List[bytes]]] = None
        #: Why a plan of SCCL_PLAN_PATH for this device was not loaded.
        self._refused: Optional[Unsupported] = None
        self._agree_on_order()
        plans = self._given_plans(must_fit)
        if size == 1:
            self.problem = "the group has one rank"
            return
        try:
            self.comm = Communicator(
                StoreGather(rank, size, store, f"{device}/ranks"),
                device,
                device_index,
                timeout,
                order=order,
                one_rounding=one_rounding,
            )
        except Unsupported as error:
            self.problem = str(error)
            return
        store.learn_processes()
        self.handle = self.comm.handle
        self.library = _library.library()
        self._load(plans)
        # Now: a rank that refuses its first call would not come to it.
        if device == "cpu":
            self._meet = self._meeting()

    def _agree_on_order(self) -> None:
        """Raises Mismatch on all ranks if they ask for different orders. One rank adds
        nothing, but learns what is no order, as several do later."""
        if self.size == 1:
            if self.order:
                alone = StoreGather(0, 1, self._store, f"{self.device}/alone")
                Communicator(alone, order=self.order).destroy()
            return
        gather = StoreGather(self.rank, self.size, self._store, f"{self.device}/order")
        mine = (self.order or "any") + (", rounded once" if self.one_rounding else "")
        orders = [own.decode() for own in gather(mine.encode())]
        for rank, other in enumerate(orders):
            if other != orders[0]:
                raise Mismatch(
                    f"rank 0 asks for the order of summation {orders[0]}, and rank "
                    f"{rank} for {other}",
                    3,
                )

    def compare(self, what: str) -> None:
        """Raises Mismatch on all ranks, which go on in step, if some rank passes other
        words than this one, and where others are in a launch meanwhile."""
        if self._meet is None:
            return
        mine = what.encode()[:MEETING_BYTES].ljust(MEETING_BYTES, b"\0")
        for rank, other in enumerate(self._meet(mine)):
            if other != mine:
                words = other.rstrip(b"\0").decode(errors="replace")
                raise Mismatch(f"rank {rank} calls {words}", 3)

    def refuse(self, error: Exception) -> None:
        """Tells ranks that wait for a call that this one has refused it."""
        if self.comm is not None:
            self.comm.refuse(error)

    def _meeting(self) -> Callable[[bytes], List[bytes]]:
        """What gathers bytes of all ranks: a launch, so that libsccl notices ranks that
        are in another one, or, without a plan for that, the store."""

        def make() -> bytes:
            problem = shelf.can_make()
            if problem or self._sends_messages or self.size > MOST_RANKS:
                raise Unsupported(problem or "other ranks, or too many")
            return shelf.meeting_plan(self.size).read_bytes()

        try:
            plan = Plan(self._share("made/meeting", make))
            self.comm.load(plan)
        except (RankLost, Timeout):
            raise
        except Error:
            return StoreGather(self.rank, self.size, self._store, f"{self.device}/meeting")

        def launch(mine: bytes) -> List[bytes]:
            everyone = bytearray(self.size * len(mine))
            self.comm.launch(plan, mine, everyone, len(mine), "u8")
            return [
                bytes(everyone[at : at + len(mine)])
                for at in range(0, len(everyone), len(mine))
            ]

        return launch

    @property
    def _sends_messages(self) -> bool:
        """Whether ranks are on several hosts, for which no plan is made."""
        return self.comm.target == "mpi"

    def _load(self, plans: List[Plan]) -> None:
        """Loads those with code for this device, in the order that is asked for. Raises
        Unsupported if there are plans for devices of its kind on one host, and none is
        loaded."""
        for plan in plans:
            try:
                self.comm.load(plan)
            except Unsupported as error:
                if any(_kind_of(target) == self.device for target in plan.targets):
                    self._refused = self._refused or error
        has_none = self._refused is not None and not self.comm.plans
        if has_none and not self._sends_messages:
            raise self._refused

    def _share(self, key: str, make: Callable[[], bytes]) -> bytes:
        """What rank 0 makes; why it cannot is raised on all ranks, whatever it is: they
        wait."""
        key = f"{self.device}/{key}"
        if self.rank == 0:
            try:
                data = b"+" + make()
            except Exception as error:
                known = isinstance(error, (Error, OSError))
                text = str(error) if known else f"{type(error).__name__}: {error}"
                # Names of files may be no text.
                words = text.encode(errors="backslashreplace")
                data = b"-%d " % getattr(error, "code", 0) + words
            self._store.set(key, data)
        data = self._store.get(key)
        if data[:1] == b"-":
            code, _, text = data[1:].partition(b" ")
            raise _library._ERRORS.get(int(code), Error)(text.decode(), int(code))
        return data[1:]

    def _given_plans(self, must_fit: bool) -> List[Plan]:
        """The plans of rank 0's ``SCCL_PLAN_PATH`` for this number of ranks."""
        path = os.environ.get("SCCL_PLAN_PATH")

        def make() -> bytes:
            plans = shelf.read_plans(path) if path else []
            fit = [plan for plan in plans if plan.ranks == self.size]
            if must_fit and plans and not fit and self.size > 1:
                others = sorted({plan.ranks for plan in plans})
                raise _library.InvalidArgument(
                    f"SCCL_PLAN_PATH has plans for {', '.join(map(str, others))} ranks "
                    f"only, and the group has {self.size}"
                )
            for number, plan in enumerate(fit):
                with open(plan.path, "rb") as file:
                    self._store.set(f"{self.device}/plan/{number}", file.read())
            return b"%d" % len(fit)

        count = int(self._share("plans", make))
        get = self._store.get
        return [Plan(get(f"{self.device}/plan/{number}")) for number in range(count)]

    def why_not(self, key: Key) -> Optional[str]:
        """None if a plan covers it, which may be made now, else why there is none.
        All ranks of the group must ask."""
        if key in self.covered:
            return None
        if key not in self._missing:
            reason = self._find(key)
            if reason is None:
                self.covered[key] = True
                return None
            self._missing[key] = reason
        return self._missing[key]

    def _find(self, key: Key) -> Optional[str]:
        if self.problem:
            return self.problem
        if self._plan_number(key, 1, True) is not None:
            return None
        if self.device != "cpu" or self._sends_messages:
            also = f" ({self._refused})" if self._refused else ""
            where = "several hosts" if self._sends_messages else self.comm.target
            return f"no plan of SCCL_PLAN_PATH has it for {where}{also}"
        if self.size > MOST_RANKS:
            return f"the group has more than {MOST_RANKS} ranks"
        collective, root, element, *_ = key
        element = element if collective in shelf.REDUCING else DATA_TYPES.index("u8")

        def make() -> bytes:
            problem = shelf.can_make()
            if problem:
                raise Unsupported(problem)
            where = max(root, 0)
            name = DATA_TYPES[element]
            path = shelf.host_plan(
                collective, self.size, where, name, self.order, self.one_rounding
            )
            return path.read_bytes()

        try:
            data = self._share(f"made/{collective}/{root}/{element}", make)
        except (RankLost, Timeout):
            raise
        except Error as error:
            return str(error)
        self.comm.load(Plan(data))
        if self._plan_number(key, 1, True) is None:
            return "the plan that was made does not have it"
        return None

    def _plan_number(self, key: Key, count: int, in_place: bool) -> Optional[int]:
        number = c.c_int()
        collective, root, element, op, _ = key
        code = self.library.scclQueryPlan(
            self.handle,
            collective.encode(),
            root,
            in_place,
            count,
            element,
            max(op, 0),
            c.byref(number),
        )
        return None if code else number.value

    def launch(self, key: Key, send: Any, recv: Any, count: int, stream: Any) -> None:
        """Executes a plan that covers `key`; on a GPU it is enqueued in `stream`."""
        collective, root, element, op, _ = key
        words = [send, recv, count, element]
        if op >= 0:
            words.append(op)
        if root >= 0:
            words.append(root)
        function = getattr(self.library, _FUNCTIONS[collective])
        self.comm.check(function(*words, self.handle, stream))

    def launch_async(
        self, key: Key, send: Any, recv: Any, count: int, owners: Any
    ) -> int:
        """The same on a CPU by another thread; `owners` keep the buffers until the end.
        Returns the number to wait for."""
        number = self._plan_number(key, count, send == recv)
        if number is None:
            _library.check(4)
        plan, ticket = self.comm.plans[number], c.c_uint64()
        _library.check(
            self.library.scclLaunchAsync(
                self.handle,
                plan._handle,
                send,
                recv,
                count,
                key[2],
                max(key[3], 0),
                c.byref(ticket),
            )
        )
        self.comm._membership.keep(ticket.value, owners)
        return ticket.value

    def wait(self, ticket: int) -> None:
        """Returns when the launch has ended; raises Error if it has failed."""
        comm = self.comm
        if comm is None:
            raise Error(self.problem)
        comm.check(self.library.scclWait(self.handle, ticket))
        if comm._membership:
            comm._membership.forget(ticket)

    def destroy(self) -> None:
        if self.comm is not None:
            comm, self.comm = self.comm, None
            self.handle = self._meet = None
            self.problem = "the group was destroyed"
            self.covered.clear()
            comm.destroy()

    def abort(self) -> None:
        if self.comm is not None:
            self.comm.abort()


def _kind_of(target: str) -> str:
    """The kind of device that a name of the compiler is for."""
    if target.startswith("sm_"):
        return "cuda"
    return "hip" if target.startswith("gfx") else "cpu"


_FUNCTIONS = {
    name: "sccl" + "".join(word.capitalize() for word in name.split("_"))
    for name in shelf.SHAPES
}
