# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every collective among N ranks, compared with the definition: communicators.py N."""
import array
import sys

import sccl
from sccl import shelf

N, COUNT = int(sys.argv[1]), 5
ROOT = min(1, N - 1)
try:
    import numpy
except ImportError:
    numpy = None


def make(values):
    if numpy is not None:
        return numpy.array(values, numpy.float32)
    return array.array("f", values)


def segment(rank, part):
    return [100.0 * rank + 10 * part + i for i in range(COUNT)]


def whole(rank):
    return sum((segment(rank, part) for part in range(N)), [])


def added(lists):
    return [sum(values) for values in zip(*lists)]


def collectives(comm):
    """The number of collectives; fails if one is wrong."""
    rank, none = comm.rank, [0.0] * COUNT
    mine, everything = make(segment(rank, 0)), make(none * N)
    comm.all_gather(mine, everything)
    gathered = sum((segment(r, 0) for r in range(N)), [])
    assert list(everything) == gathered
    comm.gather(mine, everything if rank == ROOT else None, root=ROOT)
    assert rank != ROOT or list(everything) == gathered
    comm.all_reduce(mine)
    total = added(segment(r, 0) for r in range(N))
    assert list(mine) == total
    mine, result = make(segment(rank, 0)), make(none)
    comm.reduce(mine, result if rank == ROOT else None, root=ROOT)
    assert rank != ROOT or list(result) == total
    comm.all_reduce(mine, result, op="max")
    assert list(result) == segment(N - 1, 0)
    # The sum is infinite, the mean is not.
    large = make([3e38] * COUNT)
    comm.all_reduce(large, result, op="avg")
    assert all(abs(value / large[0] - 1) < 1e-6 for value in result)
    comm.broadcast(mine, root=ROOT)
    assert list(mine) == segment(ROOT, 0)
    comm.reduce_scatter(make(whole(rank)), result)
    assert list(result) == added(segment(r, rank) for r in range(N))
    comm.all_to_all(make(whole(rank)), everything)
    assert list(everything) == sum((segment(r, rank) for r in range(N)), [])
    comm.scatter(make(whole(rank)) if rank == ROOT else None, result, root=ROOT)
    assert list(result) == segment(ROOT, rank)
    return 9


def main(comm):
    for name in shelf.SHAPES:
        comm.load(sccl.Plan(shelf.host_plan(name, N, ROOT)))
    count = collectives(comm)
    pair = comm.split(-1 if comm.rank == 1 else 0, key=-comm.rank)
    places = pair and (pair.rank, pair.size)
    if pair:
        pair.destroy()
    gather = comm.plans[0]
    mine, everything = comm.empty(1, "i64"), comm.empty(N, "i64")
    memoryview(mine).cast("B").cast("q")[0] = comm.rank
    comm.launch_async(gather, mine, everything, 1, "i64").wait()
    seen = list(memoryview(everything).cast("B").cast("q"))
    return count, places, seen, comm.choice(gather, 1, "i64")["schedule"]


board = sccl.ThreadGather.board(N)
for name in shelf.SHAPES:  # before all ranks do so at once
    shelf.host_plan(name, N, ROOT)
counts, places, seen, schedules = zip(*sccl.run_threads(N, main))
print(f"all {counts[0]} collectives are right")
assert places == (((1, 2), None, (0, 2)) if N == 3 else ((0, 1),)), places
print("a split has the right ranks")
assert seen == (list(range(N)),) * N, seen
print("launches of another thread are right")
print(schedules[0])
