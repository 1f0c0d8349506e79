# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sums of torch.distributed in the order that SCCL_ORDER asks for: torch_order.py
[NAME=VALUE...] CASE RANKS..."""
import contextlib
import os
import sys

import torch
import torch.distributed as dist
import torch_sharding
from torch_ranks import start_each
from torch_refused import tell

import sccl.torch

ROWS = 8
SIZES = [1, 7, 1000, 1 << 18]
KINDS = torch.float32, torch.bfloat16


def tree_sum(rows):
    """By the balanced tree."""
    if len(rows) == 1:
        return rows[0]
    half = 1 << (len(rows) - 1).bit_length() - 1
    return tree_sum(rows[:half]) + tree_sum(rows[half:])


def random_rows(count, size, kind):
    make = torch.Generator().manual_seed(count + size)
    return torch.randn(count, size, generator=make).to(kind)


def average(rows, kind):
    """The sum, divided once; of a short type the last addition is not rounded before."""
    half = 1 << (len(rows) - 1).bit_length() - 1
    parts = [tree_sum(part) for part in (rows[:half], rows[half:])]
    return ((parts[0].float() + parts[1].float()) / len(rows)).to(kind)


def rows_of_ranks(rank, size):
    """Eight rows, of which each rank adds up its share first."""
    wrong, share = [], ROWS // size
    for kind in KINDS:
        for count in SIZES:
            rows = random_rows(ROWS, count, kind)
            expected, own = tree_sum(rows), rows[rank * share : (rank + 1) * share]
            result = tree_sum(own).clone()
            dist.all_reduce(result)
            if not torch.equal(result, expected):
                wrong.append((kind, count))
    if rank == 0:
        print(f"{size} ranks: other bits than the tree at {wrong}")


def collectives(rank, size):
    """All that reduces, of a number of ranks that is no power of two."""
    wrong = []

    def compare(name, result, expected):
        if not torch.equal(result, expected):
            wrong.append((name, kind, count))

    for kind in KINDS:
        for count in [1, 7, 1000]:
            rows = random_rows(size, count, kind)
            result = rows[rank].clone()
            dist.all_reduce(result, dist.ReduceOp.AVG)
            compare("average", result, average(rows, kind))
            several = [rows[rank].clone(), rows[size - 1 - rank].clone()]
            dist.all_reduce_coalesced(several)
            compare("coalesced", several[0], tree_sum(rows))
            compare("coalesced", several[1], tree_sum(rows.flip(0)))
            result = rows[rank].clone()
            dist.reduce(result, 1)
            if rank == 1:
                compare("reduce", result, tree_sum(rows))
            rows = random_rows(size, size * count, kind)
            result = torch.empty(count, dtype=kind)
            dist.reduce_scatter_tensor(result, rows[rank].clone())
            compare("scatter", result, tree_sum(rows).view(size, -1)[rank])
            counts = [count * other for other in range(size)]  # rank 0 gets none
            rows = random_rows(size, sum(counts), kind)
            result = torch.empty(counts[rank], dtype=kind)
            dist.reduce_scatter(result, list(rows[rank].split(counts)))
            compare("unequal", result, tree_sum(rows).split(counts)[rank])
    if rank == 0:
        print(f"{size} ranks: other bits than the tree at {wrong}")


def unequal(rank, size):
    """Lengths that make no sense, or differ."""
    parts = [torch.ones(count) for count in ([3, 2] if rank else [3, 1])]
    room = torch.empty(parts[rank].numel())
    tell(rank, "lengths", lambda: dist.reduce_scatter(room, parts))
    parts = [torch.ones(1), torch.ones(2)]
    tell(rank, "room", lambda: dist.reduce_scatter(torch.empty(5), parts))
    result = torch.empty(rank + 1)
    dist.reduce_scatter(result, parts)
    assert result.tolist() == [size] * (rank + 1)


def contract(rank, size):
    """What has no plan in the order is an error; all else goes on."""
    sparse = torch.ones(3).to_sparse()
    tell(rank, "sparse", lambda: dist.all_reduce(sparse))
    tell(rank, "sum", lambda: dist.all_reduce(torch.ones(3)))
    tell(rank, "root", lambda: dist.reduce(torch.ones(3, dtype=torch.float64), 1))
    parts = [torch.ones(3)] * size
    tell(rank, "scatter", lambda: dist.reduce_scatter(torch.ones(3), parts))
    tell(rank, "whole", lambda: dist.reduce_scatter_tensor(torch.ones(3), torch.cat(parts)))
    tell(rank, "max", lambda: dist.all_reduce(torch.ones(3), dist.ReduceOp.MAX))
    tell(rank, "int", lambda: dist.all_reduce(torch.ones(3, dtype=torch.int32)))
    tell(rank, "gather", lambda: dist.all_gather(parts, torch.ones(3)))
    part = dist.new_group([0, 1])
    tell(rank, "group", lambda: dist.all_reduce(torch.ones(3), group=part))


def once(rank, size):
    """Sums of small floats that are rounded once, or an error; f32 goes on."""
    rows = [row.float() for row in random_rows(size, 1000, torch.bfloat16)]
    result = rows[rank].bfloat16()

    def compare():
        dist.all_reduce(result)
        assert torch.equal(result, sum(rows[1:], rows[0]).bfloat16())

    tell(rank, "bf16", compare)
    tell(rank, "f32", lambda: dist.all_reduce(rows[rank]))


def options(rank, size):
    """An option has the order, too, also of groups that are made later."""
    rows = random_rows(size, 1000, torch.float32)
    left, tree = sum(rows[1:], rows[0]), tree_sum(rows)
    assert not torch.equal(left, tree)
    by_option = dist.new_group(pg_options=sccl.torch.Options(order="left"))
    for group, expected in (by_option, left), (dist.new_group(), tree):
        result = rows[rank].clone()
        dist.all_reduce(result, group=group)
        assert torch.equal(result, expected)
    tell(rank, "options", lambda: dist.new_group(pg_options="left"))


def sharded(rank, size):
    """FullyShardedDataParallel has the gradients of the tree of all micro-batches."""
    FullyShardedDataParallel = torch_sharding.load()
    torch.manual_seed(7)
    net = FullyShardedDataParallel(torch.nn.Linear(100, 10))
    share = 4 // size
    for part in range(share):
        data = random_rows(16, 100 + rank * share + part, torch.float32)[:, :100]
        is_last = part == share - 1
        with contextlib.nullcontext() if is_last else net.no_sync():
            (net(data).square().mean() / share).backward()
    own = torch.cat([p.grad.reshape(-1) for p in net.parameters()])
    whole = torch.empty(size * own.numel())
    dist.all_gather_into_tensor(whole, own)
    if rank == 0:
        print(whole[:1010].tolist())


def differ(rank, size):
    """Ranks that ask for different orders learn so."""
    os.environ["SCCL_ORDER"] = ["tree", "left"][rank]
    tell(rank, "differ", dist.new_group, ranks=range(size))
    del os.environ["SCCL_ORDER"]
    total = torch.ones(1)
    dist.all_reduce(total)
    assert total.item() == size


if __name__ == "__main__":
    start_each(globals(), sys.argv[1:])
