# ===- base.py - What all collectives of a group need -----------------------===#
#
# Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""The engines of a group, what is behind them, and how a plan is executed."""
from __future__ import annotations

import datetime
import logging
import sys
from typing import Any, Callable, Dict, List, Optional, Sequence, Set

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d

from .._library import REDUCTIONS, Error
from ..shelf import ROOTED, asked_order, asks_for_one_rounding
from .engine import MEETING_BYTES, Engine, Key
from .tensors import (
    REDUCE_OPS,
    Finish,
    Form,
    apart,
    both,
    depends_on_order,
    form_of,
)
from .work import BackendError, Completer, DoneWork, PendingWork

log = logging.getLogger("sccl")
CALLERS = distributed_c10d.__dict__


#: libsccl waits for no longer, which is three years. Some say "forever" with more.
MOST_SECONDS = 1e8

#: Who calls a method of the group: torch's function, which waits at once, or hands the
#: work to its caller; or C++, as DistributedDataParallel does.
AWAITS, PYTHON, NATIVE = range(3)


def caller_kind() -> int:
    """The caller of the method that calls this. torch passes async_op to its own function
    only. If that waits at once, no other thread need execute the collective."""
    try:
        frame = sys._getframe(2)
    except ValueError:  # a thread of C++
        return NATIVE
    if frame.f_globals is not CALLERS:
        return NATIVE
    return PYTHON if frame.f_locals.get("async_op", True) else AWAITS


def handed(work: Any, caller: int) -> Any:
    return work.native() if caller == NATIVE else work


def with_op(what: str, tensor: torch.Tensor, op: Any = None) -> str:
    kind = str(tensor.dtype).rpartition(".")[2]
    if op is None:
        return f"{what} of {kind}"
    name = REDUCE_OPS.get(getattr(op, "op", op))
    named = REDUCTIONS[name] if name is not None else str(getattr(op, "op", op))
    return f"{what} ({named.rpartition('.')[2].lower()}) of {kind}"


def describe(collective: str, root: int, tensor: torch.Tensor, op: Any) -> str:
    """A call in words, for ranks to compare."""
    words = with_op(collective, tensor, op)
    words += f" with root {root}" if root >= 0 else ""
    return words if tensor.is_cpu else f"{words} on {tensor.device.type}"


class GroupBase(dist.ProcessGroup):
    """What all collectives of a group need."""

    def __init__(
        self,
        store: Any,
        rank: int,
        size: int,
        timeout: datetime.timedelta,
        order: Optional[str] = None,
        one_rounding: Optional[bool] = None,
    ):
        super().__init__(rank, size)
        #: Of sums of floats; None if any will do.
        self.order = asked_order(order)
        try:
            self.one_rounding = asks_for_one_rounding(one_rounding)
        except Error as error:
            raise BackendError(f"sccl: {error}") from None
        self._rank, self._size, self._timeout = rank, size, timeout
        self._store = store
        self._engines: Dict[str, Engine] = {}
        self._behind: Dict[str, Any] = {}
        self._completer = Completer()
        #: Kinds of calls that ranks have compared; see `_meet`.
        self._met: Set[Any] = set()
        self._done = DoneWork([])
        self._barrier_bytes = torch.zeros(size + 1, dtype=torch.uint8)
        # Sends pair two ranks, who could not make it alone.
        self._behind["cpu"] = dist.ProcessGroupGloo(
            dist.PrefixStore("gloo", store), rank, size, timeout=timeout
        )
        try:
            self._cpu = self._engine(torch.device("cpu"))
        except Error as error:
            raise BackendError(f"sccl: {error}") from None

    def _engine(self, device: torch.device) -> Engine:
        """The engine for tensors of this device; all ranks ask together."""
        kind = device.type
        if kind not in self._engines:
            name = "hip" if kind == "cuda" and torch.version.hip else kind
            self._engines[kind] = Engine(
                self._rank,
                self._size,
                dist.PrefixStore("sccl", self._store),
                min(self._timeout.total_seconds(), MOST_SECONDS),
                name,
                device.index or 0,
                must_fit=not dist.is_initialized(),
                order=self.order,
                one_rounding=self.one_rounding,
            )
        engine = self._engines[kind]
        if engine.device_index != (device.index or 0):
            error = BackendError(
                f"sccl: a tensor on '{device}'; the group uses "
                f"'{kind}:{engine.device_index}' on rank {self._rank}"
            )
            raise self._refusal(error)
        return engine

    def _meet(self, kind: Any, what: str) -> None:
        """Before the first call of a kind, that ranks wait in for each other: compares
        what they call. Raises torch's kind of error on all ranks where they differ."""
        if kind not in self._met:
            self._compare(what)
            self._met.add(kind)

    def _compare(self, what: str) -> None:
        """Raises torch's kind of error on all ranks where they call anything else."""
        if self._size == 1:
            return
        try:
            self._cpu.compare(what)
        except Error as error:
            raise BackendError(f"sccl: {what} on rank {self._rank}: {error}") from None

    def _refusal(self, error: Exception) -> Exception:
        """What to raise where this rank refuses a call, which others may wait in."""
        self._cpu.refuse(error)
        return error

    def _demand(self, check: Callable[..., Any], *words: Any, **named: Any) -> Any:
        """What `check` returns, which raises torch's kind of error where arguments are
        wrong."""
        try:
            return check(*words, **named)
        except BackendError as error:
            raise self._refusal(error)

    def _fall_back(
        self, device: torch.device, what: str, reason: str, together: bool = True
    ) -> Any:
        """The backend for what no plan covers; says so once. All ranks call it
        `together`, or two."""
        kind = device.type
        if kind not in self._behind:
            if kind != "cuda" or not dist.is_nccl_available():
                error = BackendError(
                    f"sccl: {what} of a tensor on {kind!r}: {reason}, and no other "
                    "backend takes it"
                )
                raise self._refusal(error) if together else error
            self._behind[kind] = dist.ProcessGroupNCCL(
                dist.PrefixStore("nccl", self._store),
                self._rank,
                self._size,
                timeout=self._timeout,
            )
        name = "nccl" if kind == "cuda" else "gloo"
        is_new = (what, name) not in self._met
        if together:
            self._meet((what, name), f"{what} by {name}")
        self._met.add((what, name))
        if self._rank == 0 and is_new:
            log.warning("sccl: %s by %s: %s", what, name, reason)
        return self._behind[kind]

    def _reduce_by_other(
        self,
        name: str,
        tensor: torch.Tensor,
        op: Any,
        reason: str,
        *rest: Any,
    ) -> Any:
        """The same as `_by_other` for what reduces. No other backend promises an order,
        or one rounding: where one is asked for, raises torch's kind of error."""
        what = with_op(name, tensor, op)
        depends = self._size > 1 and depends_on_order(tensor, op)
        is_small = tensor.element_size() < 4 * (1 + tensor.is_complex())
        asked, kept = "", "an order"
        if self.order and depends:
            asked = f"in the order {self.order}"
        elif self.one_rounding and depends and is_small:
            asked, kept = "with one rounding", "to that"
        if asked:
            error = BackendError(
                f"sccl: {what} {asked} on rank {self._rank}: {reason}, "
                f"and no other backend keeps {kept}"
            )
            raise self._refusal(error)
        return self._by_other(tensor, what, reason, *rest)

    def _by_other(
        self,
        tensor: torch.Tensor,
        what: str,
        reason: str,
        results: List[torch.Tensor],
        caller: int,
        finish: Finish,
        call: Callable[[Any], Any],
        root: Optional[int] = None,
        count: bool = True,
    ) -> Any:
        """The work of the backend behind this one, that `call` calls, with what is left
        to do after it. gloo does not look at types, counts and roots: with each call
        ranks tell each other what it is; `count` if they have as many elements."""
        behind = self._fall_back(tensor.device, what, reason)
        compare = None
        if tensor.device.type != "cuda" and self._size > 1:
            words = f"{what} by gloo"
            words += f", {tensor.numel()} elements" if count else ""
            words += f", root {root}" if root is not None else ""
            compare = self._tell(words)
        if compare and caller == AWAITS:
            compare = compare()
        work = call(behind)
        if finish is None and compare is None:
            return work

        def await_end() -> None:
            if compare:
                compare()
            if work is not None:  # torch from 2.8 on has waited, without async_op
                work.wait()

        return self._after(await_end, results, caller, finish)

    def _after(
        self, await_end: Any, results: List[torch.Tensor], caller: int, finish: Finish
    ) -> Any:
        """A work of another backend, with what is left to do after it."""
        if results and results[0].device.type == "cuda":
            # Nothing waits here but the current stream: a thread has one of its own.
            await_end()
            if finish:
                finish()
            return handed(DoneWork(results, results[0].device), caller)
        pending = PendingWork(await_end, results, self._completer, finish)
        if finish:
            self._completer.add(pending)
        return handed(pending, caller)

    def _tell(self, words: str) -> Callable[[], None]:
        """Tells the other ranks, by gloo, what this one calls. What is returned waits for
        what they say, and raises torch's kind of error where they call anything else."""
        text = words.encode()[:MEETING_BYTES].ljust(MEETING_BYTES, b"\0")
        mine = torch.tensor(list(text), dtype=torch.uint8)
        everyone = [torch.empty_like(mine) for _ in range(self._size)]
        work = self._behind["cpu"].allgather([everyone], [mine])

        def compare() -> None:
            work.wait()
            for rank, other in enumerate(everyone):
                if not torch.equal(other, mine):
                    named = bytes(other.tolist()).rstrip(b"\0").decode(errors="replace")
                    raise BackendError(
                        f"sccl: {words} on rank {self._rank}: rank {rank} calls {named}"
                    )

        return compare

    def _try(
        self,
        collective: str,
        tensor: torch.Tensor,
        send: Optional[torch.Tensor],
        recv: Optional[torch.Tensor],
        count: int,
        results: List[torch.Tensor],
        caller: int,
        op: Any = None,
        root: int = -1,
        finish: Finish = None,
    ) -> Any:
        """Executes a plan for `count` elements of the type of `tensor` per segment, and
        returns the work; or why no plan does, as text. `send` and `recv` are plain."""
        if tensor.layout is not torch.strided:
            return "tensors are not dense"
        form = form_of(tensor, op)
        if isinstance(form, str):
            return form
        if collective in ROOTED and not 0 <= root < self._size:
            error = BackendError(f"sccl: {collective}: there is no rank {root}")
            raise self._refusal(error)
        if form.encode:
            send, recv, finish = self._encoded(form, send, recv, finish)
        if self._size == 1:
            return handed(self._alone(send, recv, results, finish), caller)
        kind = tensor.device.type
        if kind not in ("cpu", "cuda"):
            return f"plans are for tensors on 'cpu' and 'cuda', not {kind!r}"
        key: Key = (collective, root, form.element, form.reduction, tensor.dtype)
        if (kind, key) not in self._met:
            is_barrier = tensor is self._barrier_bytes
            words = "barrier" if is_barrier else describe(collective, root, tensor, op)
            self._meet((kind, key), words)
        try:
            engine = self._cpu if kind == "cpu" else self._engine(tensor.device)
            if key not in engine.covered:
                # Also of no elements: all ranks ask, and may have some.
                reason = engine.why_not(key)
                if reason is not None and count:
                    return reason
            if count == 0 and key not in engine.covered:
                return handed(self._alone(send, recv, results, finish), caller)
            if not form.encode:
                segment = count * tensor.element_size()
                send = apart(collective, self._rank, send, recv, segment)
            count *= form.width
            source = None if send is None else send.data_ptr()
            target = None if recv is None else recv.data_ptr()
            if caller == AWAITS or kind == "cuda":
                stream = None
                if kind == "cuda":
                    stream = torch.cuda.current_stream(tensor.device).cuda_stream
                engine.launch(key, source, target, count, stream)
                if finish:
                    finish()
                device = tensor.device if kind == "cuda" else None
                if caller == AWAITS:
                    return self._done
                return handed(DoneWork(results, device), caller)
            ticket = engine.launch_async(
                key, source, target, count, (send, recv, results)
            )
        except Error as error:
            raise self._failure(collective, tensor, error) from None
        work = PendingWork(
            lambda: self._await(engine, ticket, collective, tensor),
            results,
            self._completer,
            finish,
        )
        if finish:
            self._completer.add(work)
        return handed(work, caller)

    def _encoded(self, form: Form, send, recv, finish: Finish) -> Any:
        """What to send and receive in place of these, and what is left to do then."""
        assert form.encode
        encoded = form.encode(send.detach().view(-1))
        if recv is None:
            return encoded, None, finish
        buffer = encoded
        if recv is not send:
            buffer = encoded.new_empty(recv.numel() * form.width)

        def decode() -> None:
            decoded = form.decode(buffer) if form.decode else buffer
            recv.detach().view(-1).copy_(decoded)

        return encoded, buffer, both(decode, finish)

    def _await(self, engine, ticket, collective, tensor) -> None:
        try:
            engine.wait(ticket)
        except Error as error:
            raise self._failure(collective, tensor, error) from None

    def _failure(self, collective: str, tensor: Any, error: Error) -> Exception:
        kind = f"{tensor.numel()} {str(tensor.dtype).rpartition('.')[2]}"
        return BackendError(f"sccl: {collective} of {kind} on rank {self._rank}: {error}")

    def _alone(self, send, recv, results, finish) -> DoneWork:
        """Of one rank, or of nothing: what is sent is what is received."""
        if send is not None and recv is not None and send is not recv and send.numel():
            recv.detach().view(-1).copy_(send.detach().reshape(-1))
        if finish:
            finish()
        return DoneWork(results)

    def _all(self, works: Sequence[Any], tensors: List[torch.Tensor]) -> Any:
        """One work for several."""

        def await_end() -> None:
            for work in works:
                if work is not None:
                    work.wait()

        caller = PYTHON if sys._getframe(2).f_globals is CALLERS else NATIVE
        return self._after(await_end, tensors, caller, None)

    def _check_multiple(self, what: str, whole: Any, part: Any) -> None:
        if whole.numel() != part.numel() * self._size:
            error = BackendError(
                f"sccl: {what} among {self._size} ranks: the large tensor has "
                f"{whole.numel()} elements, and the small one {part.numel()}"
            )
            raise self._refusal(error)
        self._check_alike(what, whole, part)

    def _check_alike(self, what: str, one: Any, other: Any) -> None:
        for kind in "dtype", "device":
            if getattr(one, kind) != getattr(other, kind):
                error = BackendError(
                    f"sccl: {what}: {getattr(one, kind)} and {getattr(other, kind)}"
                )
                raise self._refusal(error)

    def shutdown(self) -> None:
        """Ends the group; torch 2 calls it."""
        self._completer.stop()
        engines, self._engines = self._engines, {}
        for engine in engines.values():
            engine.destroy()

    def abort(self) -> None:
        """Has collectives that are under way fail, on all ranks."""
        for engine in self._engines.values():
            engine.abort()

    def __del__(self) -> None:
        if getattr(self, "_engines", None):
            self.shutdown()
