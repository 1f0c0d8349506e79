# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every collective of torch.distributed on the backend sccl, beside the definition."""
import datetime
import logging
import sys
import time
import weakref

import torch
import torch.distributed as dist
from torch_ranks import start

OP = dist.ReduceOp
TYPES = [torch.int8, torch.uint8, torch.int32, torch.int64]
TYPES += [torch.float16, torch.bfloat16, torch.float32, torch.float64]
MOVED = [torch.int16, torch.bool, torch.complex64]


def values(rank, count, kind, part=0):
    """Small whole numbers, so that sums are exact in all types."""
    numbers = torch.arange(count) % 3 + rank + part
    return numbers.to(kind) if kind != torch.bool else numbers % 2 == 0


def equal(got, expected, what):
    assert got.dtype == expected.dtype, (what, got.dtype)
    assert torch.equal(got, expected), f"{what}: {got} is not {expected}"


def reductions(rank, size, kind):
    everyone = torch.stack([values(r, 7, kind).to(torch.float64) for r in range(size)])
    for op, expected in [
        (OP.SUM, everyone.sum(0)),
        (OP.PRODUCT, everyone.prod(0)),
        (OP.MIN, everyone.min(0)[0]),
        (OP.MAX, everyone.max(0)[0]),
        (OP.AVG, everyone.mean(0)),
    ]:
        if op == OP.AVG and not kind.is_floating_point:
            continue
        mine = values(rank, 7, kind)
        dist.all_reduce(mine, op)
        if op == OP.AVG:  # what is divided is rounded in the type
            assert torch.allclose(mine.to(torch.float64), expected, 1e-2), (kind, op)
        else:
            equal(mine, expected.to(kind), f"all_reduce {op}")
    mine = values(rank, 7, kind)
    dist.reduce(mine, 1)
    before = values(rank, 7, kind)
    equal(mine, everyone.sum(0).to(kind) if rank == 1 else before, "reduce")
    parts = [values(rank, 3, kind, part) for part in range(size)]
    result = torch.empty(3, dtype=kind)
    dist.reduce_scatter(result, parts)
    total = torch.stack([values(r, 3, kind, rank).to(torch.float64) for r in range(size)])
    equal(result, total.sum(0).to(kind), "reduce_scatter")
    dist.reduce_scatter_tensor(result, torch.cat(parts), OP.MAX)
    equal(result, total.max(0)[0].to(kind), "reduce_scatter_tensor")


def moves(rank, size, kind):
    everyone = [values(r, 5, kind) for r in range(size)]
    mine = values(rank, 5, kind)
    for outputs in [
        [torch.empty_like(mine) for _ in range(size)],  # apart from each other
        list(torch.empty(size, 5, dtype=kind).unbind()),  # in a row
    ]:
        dist.all_gather(outputs, mine)
        for r in range(size):
            equal(outputs[r], everyone[r], "all_gather")
    whole = torch.empty(5 * size, dtype=kind)
    dist.all_gather_into_tensor(whole, mine)
    equal(whole, torch.cat(everyone), "all_gather_into_tensor")
    for root in range(size):
        copy = mine.clone()
        dist.broadcast(copy, root)
        equal(copy, everyone[root], "broadcast")
    outputs = [torch.empty_like(mine) for _ in range(size)] if rank == 0 else None
    dist.gather(mine, outputs, 0)
    for r, output in enumerate(outputs or []):
        equal(output, everyone[r], "gather")
    inputs = [values(1, 5, kind, r) for r in range(size)] if rank == 1 else None
    result = torch.empty_like(mine)
    dist.scatter(result, inputs, 1)
    equal(result, values(1, 5, kind, rank), "scatter")
    send = torch.cat([values(rank, 2, kind, part) for part in range(size)])
    recv = torch.empty_like(send)
    expected = torch.cat([values(r, 2, kind, rank) for r in range(size)])
    dist.all_to_all_single(recv, send)
    equal(recv, expected, "all_to_all_single")
    outputs = [torch.empty(2, dtype=kind) for _ in range(size)]
    dist.all_to_all(outputs, list(send.split(2)))
    equal(torch.cat(outputs), expected, "all_to_all")


def asynchronous(rank, size):
    tensors = [torch.full((1000,), float(rank + i)) for i in range(200)]
    works = [dist.all_reduce(tensor, async_op=True) for tensor in tensors]
    seen = []
    works[150].get_future().then(lambda done: seen.append(done.value()[0][0].item()))
    works[-1].wait()
    works[150].wait()
    triangle = size * (size - 1) / 2
    for i, (work, tensor) in enumerate(zip(works, tensors)):
        work.wait()
        assert work.is_completed() and work.exception() is None
        assert tensor[0] == tensor[-1] == triangle + size * i
    dist.barrier()
    works[150].get_future().wait()
    works[0].get_future().wait()
    outputs = [torch.empty(3) for _ in range(size)]
    work = dist.all_gather(outputs, torch.full((3,), float(rank)), async_op=True)
    assert work.get_future().wait() is not None
    assert [output[2].item() for output in outputs] == list(range(size))


def callbacks(rank, size):
    """What a future calls may begin collectives, and wait for them."""

    def again(done):
        mine = done.value()[0]
        is_last = mine[0] == size**3
        future = dist.all_reduce(mine, async_op=True).get_future()
        return future.wait() if is_last else future.then(again).wait()

    mine = torch.ones(2)
    dist.all_reduce(mine, async_op=True).get_future().then(again).wait()
    assert mine.tolist() == [size**4] * 2, mine


def soon(condition, what):
    """Other threads may have a last look."""
    for _ in range(1000):
        if condition():
            return
        time.sleep(0.01)
    assert False, what


def forgotten(rank, size):
    """Works that ended keep no group, whoever keeps them, and nobody else a tensor."""
    sent = torch.ones(2)
    there = weakref.ref(sent)
    dist.all_reduce(sent, async_op=True).wait()
    del sent
    assert there() is None, "the tensor is still there"
    group = dist.new_group(backend="sccl")
    work = dist.all_reduce(torch.ones(2), group=group, async_op=True)
    work.get_future().wait()
    there = weakref.ref(group)
    dist.barrier()
    dist.destroy_process_group(group)
    del group
    soon(lambda: there() is None, "the group is still there")


def others(rank, size):
    odd = torch.tensor([rank == 1, True])
    dist.all_reduce(odd)
    assert odd.tolist() == [True, True]
    odd = torch.tensor([rank == 1, True])
    dist.all_reduce(odd, OP.PRODUCT)
    assert odd.tolist() == [False, True]
    complexes = torch.tensor([complex(rank, 1)])
    dist.all_reduce(complexes)
    assert complexes.item() == complex(size * (size - 1) / 2, size)
    long = torch.zeros(2 * size + 4, dtype=torch.complex64)
    dist.all_gather(list(long[2 : 2 + size].split(1)), torch.tensor([complex(rank, 1)]))
    expected = torch.zeros_like(long)
    expected[2 : 2 + size] = torch.tensor([complex(r, 1) for r in range(size)])
    equal(long, expected, "all_gather into a part of complex numbers")
    objects = [None] * size
    dist.all_gather_object(objects, {"rank": rank})
    assert [entry["rank"] for entry in objects] == list(range(size))
    one = [("from", rank)]
    dist.broadcast_object_list(one, 1)
    assert one == [("from", 1)]
    dist.all_reduce(torch.empty(0))
    tensor = torch.tensor([float(rank)])
    if rank == 0:
        dist.send(tensor, 1)
    elif rank == 1:
        dist.recv(tensor, 0)
        assert tensor.item() == 0
    left, right, come = (rank - 1) % size, (rank + 1) % size, torch.empty(1)
    batch = [dist.P2POp(dist.isend, torch.tensor([float(rank)]), right)]
    batch.append(dist.P2POp(dist.irecv, come, left))
    for work in dist.batch_isend_irecv(batch):
        work.wait()
    assert come.item() == left
    images = torch.arange(24.0).view(1, 2, 3, 4).to(memory_format=torch.channels_last)
    dist.all_reduce(images)
    equal(images, torch.arange(24.0).view(1, 2, 3, 4) * size, "images")
    # What no plan has: gloo does it, and one line says so.
    sparse = torch.sparse_coo_tensor([[rank]], [1.0], (size,))
    dist.all_reduce(sparse)
    equal(sparse.to_dense(), torch.ones(size), "sparse")
    for _ in range(3):
        mask = torch.tensor([1 << rank])
        dist.all_reduce(mask, OP.BOR)
        assert mask.item() == (1 << size) - 1
    counts = [rank + 1] * size
    send = torch.full((sum(counts),), float(rank))
    recv = torch.empty(sum(range(1, size + 1)))
    dist.all_to_all_single(recv, send, list(range(1, size + 1)), counts)
    assert recv.tolist() == sum(([float(r)] * (r + 1) for r in range(size)), [])


def overlaps(rank, size):
    """Results as if what is sent were a copy, also where ranks differ in what overlaps."""

    def whole(r):
        return torch.arange(3.0 * size) + 10 * r

    everyone = torch.stack([whole(r).view(size, 3) for r in range(size)])
    for place in range(size):
        for asynchronous in False, True:
            mine = whole(rank)
            output = mine[3 * place : 3 * place + 3]
            work = dist.reduce_scatter_tensor(output, mine, async_op=asynchronous)
            if asynchronous:
                work.wait()
            equal(output, everyone.sum(0)[rank], "reduce_scatter_tensor in its input")
        mine = whole(rank)
        dist.all_gather_into_tensor(mine, mine[3 * place : 3 * place + 3])
        gathered = everyone[:, place].flatten()
        equal(mine, gathered, "all_gather_into_tensor of its output")
        mine = whole(rank)
        dist.all_gather(list(mine.split(3)), mine[3 * place : 3 * place + 3])
        equal(mine, gathered, "all_gather of its output")
    long = torch.cat([whole(rank), torch.zeros(1)])
    dist.all_to_all_single(long[1:], long[:-1])
    equal(long[1:], everyone[:, rank].flatten(), "all_to_all_single, moved by one")
    mine = whole(rank)
    dist.gather(mine[3:6], list(mine.split(3)) if rank == 0 else None, 0)
    equal(mine, everyone[:, 1].flatten() if rank == 0 else whole(rank), "gather")
    mine = whole(rank)
    dist.scatter(mine[3:6], list(mine.split(3)) if rank == 0 else None, 0)
    equal(mine[3:6], everyone[0, rank], "scatter")


def columns(rank, size):
    """Lists of tensors with gaps, which are copied anyway."""
    mine, rows = torch.arange(3.0) + 10 * rank, torch.empty(3, size)
    expected = torch.stack([torch.arange(3.0) + 10 * r for r in range(size)], 1)
    dist.all_gather(list(rows.unbind(1)), mine)
    equal(rows, expected, "all_gather into columns")
    rows = torch.zeros(3, size)
    dist.gather(mine, list(rows.unbind(1)) if rank == 1 else None, 1)
    equal(rows, expected if rank == 1 else torch.zeros(3, size), "gather into columns")
    dist.scatter(mine, list(expected.unbind(1)) if rank == 0 else None, 0)
    equal(mine, expected[:, rank], "scatter of columns")
    dist.reduce_scatter(mine, list(expected.unbind(1)))
    equal(mine, expected[:, rank] * size, "reduce_scatter of columns")
    rows = torch.empty(3, size)
    dist.all_to_all(list(rows.unbind(1)), list((expected + rank).unbind(1)))
    equal(rows, expected[:, rank : rank + 1] + torch.arange(size), "all_to_all of columns")


def groups(rank, size):
    forever = datetime.timedelta(days=10000)
    pair = dist.new_group([0, size - 1], forever, backend="sccl")
    if rank in (0, size - 1):
        mine = torch.tensor([float(rank)])
        dist.all_reduce(mine, group=pair)
        assert mine.item() == size - 1
        dist.broadcast(mine.fill_(rank), size - 1, group=pair)
        assert mine.item() == size - 1
    alone = [dist.new_group([r], backend="sccl") for r in range(size)][rank]
    mine = torch.tensor([float(rank)])
    dist.all_reduce(mine, group=alone)
    outputs = [torch.empty(1)]
    dist.all_gather(outputs, mine, group=alone)
    assert outputs[0].item() == rank
    leaf = torch.zeros(1, requires_grad=True)
    dist.scatter(leaf, [mine + 1], src=rank, group=alone)
    assert leaf.item() == rank + 1
    # Two groups of all ranks, whose calls do not wait for each other.
    two = [dist.new_group(backend="sccl") for _ in range(2)]
    for group in two:
        dist.all_reduce(mine.clone(), group=group)
    order = two if rank % 2 else two[::-1]
    tensors = {group: torch.full((100,), float(rank)) for group in two}
    works = [dist.all_reduce(tensors[g], group=g, async_op=True) for g in order]
    for work in works:
        work.wait()
    assert all(t[0] == size * (size - 1) / 2 for t in tensors.values())


def main(rank, size):
    logging.basicConfig(stream=sys.stdout, format="%(message)s")
    for kind in TYPES:
        reductions(rank, size, kind)
    for kind in [*TYPES, *MOVED]:
        moves(rank, size, kind)
    asynchronous(rank, size)
    callbacks(rank, size)
    forgotten(rank, size)
    others(rank, size)
    overlaps(rank, size)
    columns(rank, size)
    groups(rank, size)
    dist.barrier()
    if rank == 0:
        kinds = len(TYPES) + len(MOVED)
        print(f"{size} ranks: collectives of {kinds} types are right")


if __name__ == "__main__":
    sys.exit(any(start(main, int(sys.argv[1]))))
