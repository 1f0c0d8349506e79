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

from .base import AWAITS, GroupBase, caller_kind, with_op
from .tensors import both, check_list, flat_view, plain, same_length
from .work import BackendError


class MovingCollectives(GroupBase):
    """Where `_try` returns text, no plan covers the call."""

    def broadcast(self, tensors: Any, opts: Any = None) -> Any:
        if not isinstance(tensors, (list, tuple)):  # as in broadcast(tensor, root)
            options = dist.BroadcastOptions()
            options.rootRank = opts or 0
            tensors, opts = [tensors], options
        self._demand(check_list, "broadcast", tensors, 1)
        caller, whole, root = caller_kind(), list(tensors), opts.rootRank
        (tensor,), finish = plain(whole)
        count = tensor.numel()
        found = self._try(
            "broadcast",
            tensor,
            tensor,
            tensor,
            count,
            whole,
            caller,
            root=root,
            finish=finish,
        )
        if isinstance(found, str):
            what, rest = with_op("broadcast", tensor), (whole, caller, finish)
            call = lambda behind: behind.broadcast([tensor], opts)
            return self._by_other(tensor, what, found, *rest, call, root)
        return found

    def allgather(self, outputs: Any, inputs: Any, opts: Any = None) -> Any:
        self._demand(check_list, "all_gather", inputs, 1)
        self._demand(check_list, "all_gather", outputs[0], self._size)
        caller, whole = caller_kind(), list(outputs[0])
        (tensor,), _ = plain(inputs)
        parts, finish = plain(whole)
        found = self._demand(same_length, "all_gather", tensor, parts)
        if not found:
            flat, unpack = flat_view(parts, fill=False)
            found = self._try(
                "all_gather",
                tensor,
                tensor,
                flat,
                tensor.numel(),
                whole,
                caller,
                finish=both(unpack, finish),
            )
        if isinstance(found, str):
            what, rest = with_op("all_gather", tensor), (whole, caller, finish)
            call = lambda behind: behind.allgather([parts], [tensor])
            return self._by_other(tensor, what, found, *rest, call)
        return found

    def _allgather_base(self, output: Any, input: Any, opts: Any = None) -> Any:
        self._demand(check_list, "all_gather_into_tensor", [input, output], 2)
        self._check_multiple("all_gather_into_tensor", output, input)
        caller, whole = caller_kind(), [output]
        (output,), finish = plain(whole)
        (input,), _ = plain([input])
        count = input.numel()
        found = self._try(
            "all_gather", input, input, output, count, whole, caller, finish=finish
        )
        if isinstance(found, str):
            what, rest = with_op("all_gather_into_tensor", input), (whole, caller, finish)
            parts = list(output.view(self._size, -1))
            call = lambda behind: behind.allgather([parts], [input.view(-1)])
            return self._by_other(input, what, found, *rest, call)
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
        self._demand(check_list, "gather", inputs, 1)
        caller, flat, finish, unpack = caller_kind(), None, None, None
        (tensor,), _ = plain(inputs)
        whole: List[torch.Tensor] = []
        if opts.rootRank == self._rank:
            whole = list(outputs[0])
            self._demand(check_list, "gather", whole, self._size)
            parts, finish = plain(whole)
            problem = self._demand(same_length, "gather", tensor, parts)
            if problem:  # other ranks cannot know
                raise self._refusal(BackendError(f"sccl: gather: {problem}"))
            flat, unpack = flat_view(parts, fill=False)
            outputs = [parts]
        found = self._try(
            "gather",
            tensor,
            tensor,
            flat,
            tensor.numel(),
            whole,
            caller,
            root=opts.rootRank,
            finish=both(unpack, finish),
        )
        if isinstance(found, str):
            what, rest = with_op("gather", tensor), (whole, caller, finish)
            call = lambda behind: behind.gather(outputs, [tensor], opts)
            return self._by_other(tensor, what, found, *rest, call, opts.rootRank)
        return found

    def scatter(self, outputs: Any, inputs: Any, opts: Any) -> Any:
        self._demand(check_list, "scatter", outputs, 1)
        caller, whole, flat = caller_kind(), list(outputs), None
        (tensor,), finish = plain(whole)
        if opts.rootRank == self._rank:
            self._demand(check_list, "scatter", inputs[0], self._size)
            parts, _ = plain(inputs[0])
            problem = self._demand(same_length, "scatter", tensor, parts)
            if problem:  # other ranks cannot know
                raise self._refusal(BackendError(f"sccl: scatter: {problem}"))
            flat, _ = flat_view(parts, fill=True)
            inputs = [parts]
        found = self._try(
            "scatter",
            tensor,
            flat,
            tensor,
            tensor.numel(),
            whole,
            caller,
            root=opts.rootRank,
            finish=finish,
        )
        if isinstance(found, str):
            what, rest = with_op("scatter", tensor), (whole, caller, finish)
            call = lambda behind: behind.scatter([tensor], inputs, opts)
            return self._by_other(tensor, what, found, *rest, call, opts.rootRank)
        return found

    def alltoall_base(self, output, input, output_splits, input_splits, opts=None):
        self._demand(check_list, "all_to_all_single", [input, output], 2)
        self._check_alike("all_to_all_single", input, output)
        caller, whole = caller_kind(), [output]
        (output,), finish = plain(whole)
        (input,), _ = plain([input])
        if output_splits or input_splits:
            pieces = self._pieces(output, output_splits), self._pieces(input, input_splits)
            return self._exchange(output, input, pieces, whole, caller, finish)
        if input.numel() != output.numel() or input.numel() % self._size:
            error = BackendError(
                f"sccl: all_to_all_single among {self._size} ranks: "
                f"{input.numel()} elements to send, {output.numel()} to receive"
            )
            raise self._refusal(error)
        found = self._all_to_all(output, input, whole, caller, finish)
        if isinstance(found, str):
            return self._exchange_behind(
                output, input, ([], []), whole, caller, finish, found
            )
        return found

    def _pieces(self, tensor: torch.Tensor, splits: Any) -> List[int]:
        """The elements for each rank, of which `splits` are rows."""
        rows = tensor.shape[0] if tensor.dim() else 0
        splits = list(splits or [rows // self._size] * self._size)
        if len(splits) != self._size or min(splits) < 0 or sum(splits) != rows:
            error = BackendError(
                f"sccl: all_to_all_single among {self._size} ranks: splits {splits} of "
                f"{rows} rows"
            )
            raise self._refusal(error)
        return [split * (tensor.numel() // max(rows, 1)) for split in splits]

    def _all_to_all(self, output, input, results, caller, finish) -> Any:
        count, name = input.numel() // self._size, "all_to_all"
        return self._try(
            name, input, input, output, count, results, caller, finish=finish
        )

    def _exchange(self, output, input, pieces, results, caller, finish) -> Any:
        """Of flat tensors, with the elements for each rank in the one and in the other:
        by a plan if these are equal on all ranks."""
        found: Any = "lengths differ"
        if len(self._share_counts({*pieces[0], *pieces[1]})) == 1:
            found = self._all_to_all(output, input, results, caller, finish)
        if isinstance(found, str):
            return self._exchange_behind(
                output, input, pieces, results, caller, finish, found
            )
        return found

    def _exchange_behind(self, output, input, pieces, results, caller, finish, why):
        what, rest = with_op("all_to_all", input), (results, caller, finish)
        flat = output.view(-1), input.view(-1), *pieces
        call = lambda behind: behind.alltoall_base(*flat, dist.AllToAllOptions())
        return self._by_other(input, what, why, *rest, call, count=False)

    def alltoall(self, outputs: Any, inputs: Any, opts: Any = None) -> Any:
        self._demand(check_list, "all_to_all", inputs, self._size)
        self._demand(check_list, "all_to_all", outputs, self._size)
        caller, whole = caller_kind(), list(outputs)
        sent, _ = plain(inputs)
        got, finish = plain(whole)
        for tensor in [*sent, *got]:
            self._check_alike("all_to_all", sent[0], tensor)
        input, _ = flat_view(sent, fill=True)
        output, unpack = flat_view(got, fill=False)
        pieces = [t.numel() for t in got], [t.numel() for t in sent]
        finish = both(unpack, finish)
        return self._exchange(output, input, pieces, whole, caller, finish)

    def _share_counts(self, counts: Set[int]) -> Set[int]:
        """The lengths on all ranks: -1 for a rank that has several."""
        mine = torch.tensor([counts.copy().pop() if len(counts) == 1 else -1])
        everyone = torch.empty(self._size, dtype=torch.int64)
        found = self._try("all_gather", mine, mine, everyone, 1, [everyone], AWAITS)
        if isinstance(found, str):
            what, rest = "lengths of all_to_all", ([], AWAITS, None)
            call = lambda behind: behind.allgather([list(everyone.split(1))], [mine])
            self._by_other(mine, what, found, *rest, call).wait()
        sizes = set(everyone.tolist())
        return {-1, -2} if -1 in sizes else sizes
