# ===- moves.py - Collectives that only move data ---------------------------===#
#
# Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Broadcasts, gathers, scatters and all-to-alls of torch, as calls of plans."""
from __future__ import annotations

from typing import Any, List, Set

import torch
import torch.distributed as dist

from .base import GroupBase, caller_kind, handed, with_op
from .tensors import check_list, check_tensor, flat_view, same_kind
from .work import BackendError, PendingWork


class MovingCollectives(GroupBase):
    """Where `_try` returns text, no plan covers the call."""

    def broadcast(self, tensors: Any, opts: Any = None) -> Any:
        if not isinstance(tensors, (list, tuple)):  # as in broadcast(tensor, root)
            options = dist.BroadcastOptions()
            options.rootRank = opts or 0
            tensors, opts = [tensors], options
        check_tensor("broadcast", tensors, 1, in_any_order=True)
        tensor = tensors[0]
        found = self._try(
            "broadcast",
            tensor,
            tensor,
            tensor,
            tensor.numel(),
            list(tensors),
            caller_kind(),
            root=opts.rootRank,
        )
        if isinstance(found, str):
            what = with_op("broadcast", tensor)
            return self._fall_back(tensor.device, what, found).broadcast(tensors, opts)
        return found

    def allgather(self, outputs: Any, inputs: Any, opts: Any = None) -> Any:
        check_tensor("all_gather", inputs, 1)
        check_list("all_gather", outputs[0], self._size)
        tensor, parts = inputs[0], outputs[0]
        problem = same_kind(tensor, parts)
        flat, finish = (None, None) if problem else flat_view(parts, fill=False)
        found = problem or self._try(
            "all_gather",
            tensor,
            tensor,
            flat,
            tensor.numel(),
            list(parts),
            caller_kind(),
            finish=finish,
        )
        if isinstance(found, str):
            what = with_op("all_gather", tensor)
            behind = self._fall_back(tensor.device, what, found)
            return behind.allgather(outputs, inputs)
        return found

    def _allgather_base(self, output: Any, input: Any, opts: Any = None) -> Any:
        check_tensor("all_gather_into_tensor", [input, output], 2)
        self._check_multiple("all_gather_into_tensor", output, input)
        found = self._try(
            "all_gather", input, input, output, input.numel(), [output], caller_kind()
        )
        if isinstance(found, str):
            what = with_op("all_gather_into_tensor", input)
            behind = self._fall_back(input.device, what, found)
            return behind.allgather([list(output.view(self._size, -1))], [input.view(-1)])
        return found

    def allgather_coalesced(self, outputs: Any, inputs: Any, opts: Any = None) -> Any:
        works = [
            self.allgather([[parts[index] for parts in outputs]], [tensor])
            for index, tensor in enumerate(inputs)
        ]
        return self._all(works, [tensor for parts in outputs for tensor in parts])

    def allgather_into_tensor_coalesced(self, outputs, inputs, opts=None) -> Any:
        pairs = zip(outputs, inputs)
        return self._all([self._allgather_base(o, i) for o, i in pairs], list(outputs))

    def gather(self, outputs: Any, inputs: Any, opts: Any) -> Any:
        check_tensor("gather", inputs, 1)
        tensor, flat, finish, found = inputs[0], None, None, None
        parts: List[torch.Tensor] = []
        if opts.rootRank == self._rank:
            parts = list(outputs[0])
            check_list("gather", parts, self._size)
            found = same_kind(tensor, parts)
            flat, finish = (None, None) if found else flat_view(parts, fill=False)
        if found:  # other ranks cannot know
            raise BackendError(f"sccl: gather: {found}")
        found = self._try(
            "gather",
            tensor,
            tensor,
            flat,
            tensor.numel(),
            parts,
            caller_kind(),
            root=opts.rootRank,
            finish=finish,
        )
        if isinstance(found, str):
            what = with_op("gather", tensor)
            behind = self._fall_back(tensor.device, what, found)
            return behind.gather(outputs, inputs, opts)
        return found

    def scatter(self, outputs: Any, inputs: Any, opts: Any) -> Any:
        check_tensor("scatter", outputs, 1)
        tensor, flat = outputs[0], None
        if opts.rootRank == self._rank:
            check_list("scatter", inputs[0], self._size)
            problem = same_kind(tensor, inputs[0])
            if problem:  # other ranks cannot know
                raise BackendError(f"sccl: scatter: {problem}")
            flat, _ = flat_view(inputs[0], fill=True)
        found = self._try(
            "scatter",
            tensor,
            flat,
            tensor,
            tensor.numel(),
            [tensor],
            caller_kind(),
            root=opts.rootRank,
        )
        if isinstance(found, str):
            what = with_op("scatter", tensor)
            behind = self._fall_back(tensor.device, what, found)
            return behind.scatter(outputs, inputs, opts)
        return found

    def alltoall_base(self, output, input, output_splits, input_splits, opts=None):
        check_tensor("all_to_all_single", [input, output], 2)
        self._check_alike("all_to_all_single", input, output)
        found: Any = "the splits differ"
        if len(set(output_splits or [0])) == len(set(input_splits or [0])) == 1:
            # Ranks with equal splits meet others with unequal ones: each decides alone
            # only where no splits are given.
            found = "splits are given"
        if not output_splits and not input_splits:
            if input.numel() != output.numel() or input.numel() % self._size:
                raise BackendError(
                    f"sccl: all_to_all_single among {self._size} ranks: "
                    f"{input.numel()} elements to send, {output.numel()} to receive"
                )
            found = self._all_to_all(input, output, [output], None, caller_kind())
        if isinstance(found, str):
            what = with_op("all_to_all_single", input)
            behind = self._fall_back(input.device, what, found)
            options = opts or dist.AllToAllOptions()
            return behind.alltoall_base(
                output, input, output_splits, input_splits, options
            )
        return found

    def _all_to_all(self, send, recv, results, finish, caller) -> Any:
        count = send.numel() // self._size
        return self._try(
            "all_to_all", send, send, recv, count, results, caller, finish=finish
        )

    def alltoall(self, outputs: Any, inputs: Any, opts: Any = None) -> Any:
        check_list("all_to_all", inputs, self._size)
        check_list("all_to_all", outputs, self._size)
        send, _ = flat_view(inputs, fill=True)
        recv, finish = flat_view(outputs, fill=False)
        self._check_alike("all_to_all", send, recv)
        counts = {tensor.numel() for tensor in [*inputs, *outputs]}
        sizes = self._share_counts(counts)
        if len(sizes) == 1:
            found = self._all_to_all(send, recv, list(outputs), finish, caller_kind())
            if not isinstance(found, str):
                return found
        work = self._fall_back(
            send.device, with_op("all_to_all", send), "lengths differ"
        ).alltoall_base(
            recv,
            send,
            [tensor.numel() for tensor in outputs],
            [tensor.numel() for tensor in inputs],
            dist.AllToAllOptions(),
        )
        pending = PendingWork(work.wait, list(outputs), self._completer, finish)
        return handed(pending, caller_kind())

    def _share_counts(self, counts: Set[int]) -> Set[int]:
        """The lengths on all ranks: -1 for a rank that has several."""
        mine = torch.tensor([counts.copy().pop() if len(counts) == 1 else -1])
        everyone = torch.empty(self._size, dtype=torch.int64)
        self._allgather_base(everyone, mine).wait()
        sizes = set(everyone.tolist())
        return {-1, -2} if -1 in sizes else sizes
