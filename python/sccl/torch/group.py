# ===- group.py - The process group -----------------------------------------===#
#
# Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""The process group: what reduces, and what is left."""
from __future__ import annotations

import hashlib
from typing import Any, List, Optional

import torch
import torch.distributed as dist

from .._library import Error
from .base import AWAITS, caller_kind
from .engine import MEETING_BYTES
from .moves import MovingCollectives
from .tensors import (
    ELEMENTS,
    REDUCE_OPS,
    Finish,
    both,
    check_list,
    flat_view,
    is_plain,
    padded,
    plain,
    same_length,
)
from .work import BackendError


class ProcessGroupSccl(MovingCollectives):
    """A group of ranks whose collectives execute plans.

    Raises torch's kind of error if ``SCCL_PLAN_PATH`` holds what is no plan.
    """

    def allreduce(self, tensors: Any, opts: Any = None) -> Any:
        if not isinstance(tensors, (list, tuple)):
            tensors = [tensors]
        opts = opts or dist.AllreduceOptions()
        tensor = tensors[0]
        element = ELEMENTS.get(tensor.dtype)
        op = opts.reduceOp
        # The shortest way, for what training calls most.
        dense = element is not None and tensor.layout is torch.strided
        if dense and tensor.is_cpu and len(tensors) == 1:
            reduction = REDUCE_OPS.get(getattr(op, "op", op))
            key = ("all_reduce", -1, element, reduction, tensor.dtype)
            engine = self._cpu
            usual = key in engine.covered and is_plain(tensor)
            if usual and caller_kind() == AWAITS:
                address = tensor.data_ptr()
                code = engine.library.scclAllReduce(
                    address,
                    address,
                    tensor.numel(),
                    element,
                    reduction,
                    engine.handle,
                    None,
                )
                if code or engine.comm.failures:
                    self._check(tensor, code)
                return self._done
        self._demand(check_list, "all_reduce", tensors, 1, dense=False)
        caller, whole = caller_kind(), list(tensors)
        (tensor,), finish = plain(whole)
        count = tensor.numel()
        found = self._try(
            "all_reduce", tensor, tensor, tensor, count, whole, caller, op, finish=finish
        )
        if isinstance(found, str):
            rest, call = (whole, caller, finish), lambda b: b.allreduce([tensor], opts)
            return self._reduce_by_other("all_reduce", tensor, op, found, *rest, call)
        return found

    def _check(self, tensor: torch.Tensor, code: int) -> None:
        try:
            self._cpu.comm.check(code)
        except Error as error:
            raise self._failure("all_reduce", tensor, error) from None

    def allreduce_coalesced(self, tensors: Any, opts: Any = None) -> Any:
        plain = dist.AllreduceOptions()
        if opts is not None:
            plain.reduceOp = opts.reduceOp
        works = [self.allreduce([tensor], plain) for tensor in tensors]
        return self._all(works, list(tensors))

    def reduce(self, tensors: Any, opts: Any) -> Any:
        self._demand(check_list, "reduce", tensors, 1)
        caller, whole = caller_kind(), list(tensors)
        (tensor,), finish = plain(whole)
        is_root = opts.rootRank == self._rank
        finish = finish if is_root else None
        found = self._try(
            "reduce",
            tensor,
            tensor,
            tensor if is_root else None,
            tensor.numel(),
            whole,
            caller,
            opts.reduceOp,
            opts.rootRank,
            finish,
        )
        if isinstance(found, str):
            # Others use the memory of ranks that are not the root as they please.
            own = tensor if is_root else tensor.clone()
            call = lambda behind: behind.reduce([own], opts)
            rest = whole, caller, finish, call, opts.rootRank
            return self._reduce_by_other("reduce", tensor, opts.reduceOp, found, *rest)
        return found

    def reduce_scatter(self, outputs: Any, inputs: Any, opts: Any) -> Any:
        self._demand(check_list, "reduce_scatter", outputs, 1)
        self._demand(check_list, "reduce_scatter", inputs[0], self._size)
        caller, whole = caller_kind(), list(outputs)
        (tensor,), finish = plain(whole)
        parts, _ = plain(inputs[0])
        output = tensor
        if self._demand(same_length, "reduce_scatter", tensor, parts):
            parts, output, finish = self._padded(tensor, parts, finish)
        flat, _ = flat_view(parts, fill=True)
        found = self._reduce_scatter(
            output, flat, whole, caller, opts.reduceOp, finish
        )
        if isinstance(found, str):
            rest = opts.reduceOp, found, whole, caller, finish
            call = lambda behind: behind.reduce_scatter([output], [parts], opts)
            return self._reduce_by_other("reduce_scatter", tensor, *rest, call)
        return found

    def _padded(self, tensor: Any, parts: Any, finish: Finish) -> Any:
        """Parts that differ in length as equal ones, what to receive, and what is left to
        do then. Ranks compare the lengths: the longest alone would hide a difference."""
        counts = [part.numel() for part in parts]
        if tensor.numel() != counts[self._rank]:
            error = BackendError(
                f"sccl: reduce_scatter: rank {self._rank} receives {tensor.numel()} "
                f"elements, and is sent {counts[self._rank]}"
            )
            raise self._refusal(error)
        words = str(counts)
        if len(words) > MEETING_BYTES // 2:
            digest = hashlib.sha256(words.encode()).hexdigest()
            words = f"{words[: MEETING_BYTES // 2]} and so on ({digest[:16]})"
        self._compare(f"reduce_scatter of {words} elements")
        output, own = tensor.new_empty(max(counts)), tensor.detach().view(-1)
        back = lambda: own.copy_(output[: own.numel()])
        return padded(parts), output, both(back, finish)

    def _reduce_scatter(self, output, flat, results, caller, op, finish) -> Any:
        count, name = output.numel(), "reduce_scatter"
        return self._try(
            name, output, flat, output, count, results, caller, op, finish=finish
        )

    def _reduce_scatter_base(self, output: Any, input: Any, opts: Any = None) -> Any:
        opts = opts or dist.ReduceScatterOptions()
        self._demand(check_list, "reduce_scatter_tensor", [input, output], 2)
        self._check_multiple("reduce_scatter_tensor", input, output)
        caller, whole = caller_kind(), [output]
        (output,), finish = plain(whole)
        (input,), _ = plain([input])
        found = self._reduce_scatter(
            output, input, whole, caller, opts.reduceOp, finish
        )
        if isinstance(found, str):
            rest = opts.reduceOp, found, whole, caller, finish
            flat, parts = output.view(-1), list(input.view(self._size, -1))
            call = lambda behind: behind.reduce_scatter([flat], [parts], opts)
            return self._reduce_by_other("reduce_scatter_tensor", input, *rest, call)
        return found

    def reduce_scatter_tensor_coalesced(self, outputs, inputs, opts=None) -> Any:
        pairs = zip(outputs, inputs)
        works = [self._reduce_scatter_base(o, i, opts) for o, i in pairs]
        return self._all(works, list(outputs))

    def barrier(self, opts: Any = None) -> Any:
        bytes_, caller = self._barrier_bytes, caller_kind()
        found = self._try("all_gather", bytes_, bytes_[-1:], bytes_[:-1], 1, [], caller)
        if isinstance(found, str):
            rest, call = ([], caller, None), lambda behind: behind.barrier()
            return self._by_other(bytes_, "barrier", found, *rest, call)
        return found

    def send(self, tensors: Any, dst: int, tag: int = 0) -> Any:
        behind, tensors, _ = self._pair(tensors)
        return behind.send(tensors, dst, tag)

    def recv(self, tensors: Any, src: int, tag: int = 0) -> Any:
        behind, got, finish = self._pair(tensors)
        work = behind.recv(got, src, tag)
        return self._after(work.wait, tensors, caller_kind(), finish) if finish else work

    def recv_anysource(self, tensors: Any, tag: int = 0) -> Any:
        behind, got, finish = self._pair(tensors)
        work = behind.recv_anysource(got, tag)
        return self._after(work.wait, tensors, caller_kind(), finish) if finish else work

    def _pair(self, tensors: Any) -> Any:
        """Which ranks send and receive, and what, and what is left to do then."""
        check_list("send and recv", tensors, 1)
        reason, device = "plans are for collectives", tensors[0].device
        behind = self._fall_back(device, "send and recv", reason, together=False)
        return (behind, *plain(tensors))

    #: Names that later versions of torch 2 call these by.
    all_gather_single = MovingCollectives._allgather_base
    all_to_all_single = MovingCollectives.alltoall_base
    reduce_scatter_single = _reduce_scatter_base

    #: torch 2 asks the backend of a device for it when init_process_group gets one.
    supports_splitting = False
    #: torch 2 would ask backends of C++, which the group has not.
    group_name = ""

    def _set_group_name(self, name: str) -> None:
        self.group_name = name

    def _get_backend(self, device: torch.device) -> "ProcessGroupSccl":
        """What executes calls for a device, in torch 2: the group itself."""
        return self

    #: What sends and receives that are to go together.
    _batch: Any = None

    def _start_coalescing(self, device: Optional[torch.device] = None) -> None:
        """torch, before sends and receives that are to go together: torch 2 for those of
        GPUs, torch 1.13 for any, without saying which."""
        if device is not None:
            reason = "plans are for collectives"
            self._batch = self._fall_back(device, "batches", reason, together=False)
        else:
            self._batch = self._behind.get("cuda")
        if self._batch is not None:
            self._batch._start_coalescing()

    def _end_coalescing(self, what: Any = None) -> Any:
        """`what` is the device in torch 2, in 1.13 the works."""
        batch, self._batch = self._batch, None
        if batch is None:
            return None
        return batch._end_coalescing(*([what] if isinstance(what, list) else []))

    def getBackendName(self) -> str:  # noqa: N802: torch 1.13 and 2 ask for this
        return "sccl"

    _get_backend_name = getBackendName

    @property
    def _device_types(self) -> List[torch.device]:
        return [torch.device("cpu")]
