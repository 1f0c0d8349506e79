# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors whose memory is not what they are, and reductions that no plan has by itself:
each result beside what torch computes of all inputs. On 3 ranks, and on one."""
import logging
import sys
import types

import torch
import torch.distributed as dist
from torch_ranks import start

OP = dist.ReduceOp


def equal(got, expected, what):
    assert got.dtype == expected.dtype, (what, got.dtype)
    assert torch.equal(got, expected), f"{what}: {got} is not {expected}"


def lazy_conjugate(rank):
    return (torch.arange(4) * (1 + 2j) + rank).conj()


def lazy_imaginary(rank):
    return lazy_conjugate(rank).imag


def lazy_negative(rank):
    return torch._neg_view(torch.arange(4.0) + rank)


def image(rank):
    """In another memory format on each rank."""
    values = torch.arange(24.0).view(1, 2, 3, 4) + 100 * rank
    formats = [torch.channels_last, torch.contiguous_format]
    return values.to(memory_format=formats[rank % 2])


def transposed(rank):
    values = torch.arange(6.0).view(2, 3) + 10 * rank
    return values.t().contiguous().t() if rank == 1 else values


def columns(rank):
    return (torch.arange(8.0).view(4, 2) + 10 * rank)[:, rank % 2]


KINDS = [lazy_conjugate, lazy_imaginary, lazy_negative, image, transposed, columns]


def whole(make, rank):
    """The elements in order, in memory of their own."""
    return make(rank).resolve_conj().resolve_neg().contiguous().clone()


def moves(rank, size, make):
    everyone = [whole(make, r) for r in range(size)]
    last, name = size - 1, make.__name__
    mine = make(rank)
    dist.broadcast(mine, last)
    equal(mine.resolve_conj().resolve_neg(), everyone[last], f"broadcast of {name}")
    mine = make(rank)
    parts = [make(r) for r in range(size)] if rank == last else None
    dist.gather(mine, parts, last)
    for part, expected in zip(parts or [], everyone):
        equal(part.resolve_conj().resolve_neg(), expected, f"gather of {name}")
    if mine.is_complex():  # torch refuses to see it as real numbers
        return
    sent = [make(r) for r in range(size)] if rank == 0 else None
    dist.scatter(mine, sent, 0)
    equal(mine.resolve_neg(), everyone[rank], f"scatter of {name}")
    parts = [make(size) for _ in range(size)]
    dist.all_gather(parts, make(rank))
    for part, expected in zip(parts, everyone):
        equal(part.resolve_neg(), expected, f"all_gather of {name}")
    parts = [make(size) for _ in range(size)]
    dist.all_to_all(parts, [make(rank + r) for r in range(size)])
    for r, part in enumerate(parts):
        equal(part.resolve_neg(), whole(make, r + rank), f"all_to_all of {name}")
    if rank == 0 and size > 1:
        dist.send(make(5), 1)
    elif rank == 1:
        mine = make(rank)
        dist.recv(mine, 0)
        equal(mine.resolve_neg(), whole(make, 5), f"recv of {name}")


def sums(rank, size, make):
    everyone = torch.stack([whole(make, r) for r in range(size)])
    if everyone.is_complex():
        return
    name = make.__name__
    for asynchronous in False, True:
        mine = make(rank)
        work = dist.all_reduce(mine, async_op=asynchronous)
        if asynchronous:
            work.wait()
        equal(mine.resolve_neg(), everyone.sum(0), f"all_reduce of {name}")
    mine = make(rank)
    dist.reduce(mine, 0)
    expected = everyone.sum(0) if rank == 0 else everyone[rank]
    equal(mine.resolve_neg(), expected, f"reduce of {name}")
    mine = make(rank)
    dist.reduce_scatter(mine, [make(r) for r in range(size)])
    equal(mine.resolve_neg(), whole(make, rank) * size, f"reduce_scatter of {name}")


def reduced(rank, size, kind, op, values, expected):
    """`values` of all ranks by the three collectives that reduce."""
    what = f"{op} of {kind}"
    mine = values[rank].clone()
    work = dist.all_reduce(mine, op, async_op=True)
    work.wait()
    equal(mine, expected, f"all_reduce, {what}")
    mine = values[rank].clone()
    dist.all_reduce(mine, op)
    equal(mine, expected, f"all_reduce, {what}")
    for root in {0, size - 1}:
        mine = values[rank].clone()
        dist.reduce(mine, root, op)
        equal(mine, expected if rank == root else values[rank], f"reduce, {what}")
    rolled = [value.roll(1) for value in values]
    parts = [values[rank] if r % 2 else rolled[rank] for r in range(size)]
    mine = torch.empty_like(values[rank])
    dist.reduce_scatter(mine, parts, op)
    equal(mine, expected if rank % 2 else expected.roll(1), f"reduce_scatter, {what}")


def bits(rank, size):
    generator = torch.Generator().manual_seed(5)
    functions = {
        OP.BOR: torch.bitwise_or,
        OP.BAND: torch.bitwise_and,
        OP.BXOR: torch.bitwise_xor,
    }
    kinds = [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64, torch.bool]
    for kind in kinds:
        ends = {"low": 0, "high": 2} if kind == torch.bool else {
            "low": torch.iinfo(kind).min,
            "high": torch.iinfo(kind).max,
        }
        values = [
            torch.randint(*ends.values(), (13,), generator=generator).to(kind)
            for _ in range(size)
        ]
        if kind != torch.bool:
            for value in values:
                value[0], value[1] = ends["low"], ends["high"]
        for op, function in functions.items():
            expected = values[0]
            for value in values[1:]:
                expected = function(expected, value)
            reduced(rank, size, kind, op, values, expected)
            dist.all_reduce(torch.empty(0, dtype=kind), op)
            single = values[rank][2].clone()  # without dimensions
            dist.all_reduce(single, op)
            equal(single, expected[2], f"{op} of one {kind}")


def short_numbers(rank, size):
    kind = torch.int16
    ends = torch.tensor([32767, -32768, 300, -7, 0], dtype=kind)
    values = [ends.roll(r) for r in range(size)]
    exact = torch.stack(values).to(torch.int64)
    for op, expected in [
        (OP.SUM, exact.sum(0)),
        (OP.PRODUCT, exact.prod(0)),
        (OP.MIN, exact.min(0)[0]),
        (OP.MAX, exact.max(0)[0]),
    ]:
        reduced(rank, size, kind, op, values, expected.to(kind))


class Scaled:
    """As torch 2 has PREMUL_SUM; 1.13 does not tell the factor."""

    op = getattr(OP.PREMUL_SUM, "op", OP.PREMUL_SUM)

    def __init__(self, factor):
        self.factor = factor

    def __getstate__(self):
        return self.op, self.factor


def scaled(rank, size):
    group = dist.distributed_c10d._get_default_group()
    for factor in 0.5, torch.tensor([0.25]):
        for kind in torch.float32, torch.float64, torch.float16:
            mine = torch.arange(5).to(kind) + 4 * rank
            expected = sum(torch.arange(5).to(kind) + 4 * r for r in range(size))
            options = types.SimpleNamespace(reduceOp=Scaled(factor))
            group.allreduce([mine], options).wait()
            equal(mine, expected * float(factor), f"scaled sum of {kind}")


def splits(rank, size):
    """Equal ones by a plan, unequal ones by gloo."""
    for given in ([2] * size, None), (None, [2] * size), ([2] * size, [2] * size):
        send = torch.arange(2.0 * size * 3).view(-1, 3) + 100 * rank
        recv = torch.zeros_like(send)
        dist.all_to_all_single(recv, send, *given)
        rows = [torch.arange(6.0).view(2, 3) + 6 * rank + 100 * r for r in range(size)]
        equal(recv, torch.cat(rows), f"all_to_all_single with splits {given}")


def refused(rank, name, call):
    try:
        call()
    except (RuntimeError, TypeError) as error:
        if rank == 0:
            print(f"{name}: {str(error).splitlines()[0]}", flush=True)
        return
    assert False, f"{name}: nothing was raised"


def refusals(rank, size):
    measured = torch.quantize_per_tensor(torch.ones(3), 0.1, rank, torch.quint8)
    refused(rank, "quantized", lambda: dist.broadcast(measured, 0))
    sparse = torch.ones(3).to_sparse()
    refused(rank, "sparse", lambda: dist.broadcast(sparse, 0))
    one = torch.ones(1).expand(4)
    refused(rank, "expanded", lambda: dist.all_reduce(one))
    scattered = torch.empty(3 * size)
    group = dist.distributed_c10d._get_default_group()
    wrong = [size] + [1] * (size - 1)
    refused(rank, "splits", lambda: dist.all_to_all_single(scattered, scattered, wrong))
    refused(rank, "bits", lambda: dist.all_reduce(torch.ones(2), OP.BOR))
    zero = torch._efficientzerotensor(3)
    dist.reduce_scatter_tensor(torch.empty(1), torch.ones(size))
    got = torch.ones(3 * size)
    dist.all_gather_into_tensor(got, zero)
    equal(got, torch.zeros(3 * size), "all_gather of zeros without memory")
    leaf = torch.ones(3, requires_grad=True)
    dist.all_reduce(leaf)
    equal(leaf.detach(), torch.full((3,), float(size)), "all_reduce of a leaf")
    leaf = torch.ones(2, 3, requires_grad=True)
    with torch.no_grad():
        dist.all_reduce(leaf.t())
    equal(leaf.detach(), torch.full((2, 3), float(size)), "all_reduce of a leaf's view")
    assert group.size() == size


def main(rank, size):
    logging.basicConfig(stream=sys.stdout, format="%(message)s")
    for make in KINDS:
        moves(rank, size, make)
        sums(rank, size, make)
    bits(rank, size)
    short_numbers(rank, size)
    scaled(rank, size)
    splits(rank, size)
    refusals(rank, size)
    dist.barrier()
    if rank == 0:
        print(f"{size}: lazy, strided and short tensors are right", flush=True)


if __name__ == "__main__":
    sys.exit(any(start(main, int(sys.argv[1]))))
