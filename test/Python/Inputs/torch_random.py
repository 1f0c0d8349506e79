# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random calls of torch.distributed, of random types, whose tensors lie in memory in
another way on each rank, beside what torch computes of all inputs:
torch_random.py RANKS SEED CALLS."""
import random
import sys

import torch
import torch.distributed as dist
from torch_ranks import start

OP = dist.ReduceOp
KINDS = [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64, torch.bool]
KINDS += [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64]
BITS = {
    OP.BOR: torch.bitwise_or,
    OP.BAND: torch.bitwise_and,
    OP.BXOR: torch.bitwise_xor,
}
FUNCTIONS = {
    OP.SUM: torch.add,
    OP.PRODUCT: torch.mul,
    OP.MIN: torch.minimum,
    OP.MAX: torch.maximum,
    **BITS,
}


def ops_of(kind):
    if kind.is_complex:
        return [OP.SUM]
    return [op for op in FUNCTIONS if op not in BITS or not kind.is_floating_point]


def values(generator, shape, kind):
    numbers = torch.randint(0, 4, shape, generator=generator)
    return numbers % 2 == 0 if kind == torch.bool else numbers.to(kind)


class Ways:
    """Tensors of a shape and a type whose memory is not that of a new one."""

    @staticmethod
    def new(_, shape, kind):
        return torch.zeros(shape, dtype=kind)

    @staticmethod
    def permuted(own, shape, kind):
        order = own.sample(range(len(shape)), len(shape))
        back = [order.index(axis) for axis in range(len(shape))]
        return torch.zeros([shape[axis] for axis in order], dtype=kind).permute(back)

    @staticmethod
    def with_gaps(_, shape, kind):
        return torch.zeros([*shape, 2], dtype=kind)[..., 1]

    @staticmethod
    def within(_, shape, kind):
        return torch.zeros(shape.numel() + 3, dtype=kind)[3:].view(shape)

    @staticmethod
    def negated(own, shape, kind):
        new = torch.zeros(shape, dtype=kind)
        return new if kind == torch.bool else torch._neg_view(new)

    @staticmethod
    def imaginary(own, shape, kind):
        if kind != torch.float32:
            return Ways.permuted(own, shape, kind)
        return torch.zeros(shape, dtype=torch.complex64).conj().imag


WAYS = [way for name, way in vars(Ways).items() if not name.startswith("_")]


class Calls:
    """One rank's calls; each is chosen alike on all ranks."""

    def __init__(self, rank, size, seed):
        self.rank, self.size = rank, size
        self.alike, self.own = random.Random(seed), random.Random(f"{seed} {rank}")
        self.generator = torch.Generator().manual_seed(seed)
        # Each root has plans of its own, for each type: the ends of few ranks, of
        # which torch_tensors.py has some already, and the middle of more.
        self.roots = [0, size - 1] if size < 4 else range(1, size - 1)

    def put(self, data):
        way = self.own.choice(WAYS)
        way = way.__func__ if isinstance(way, staticmethod) else way
        return way(self.own, data.shape, data.dtype).copy_(data)

    def reduced(self, tensors):
        if self.kind == torch.bool and self.op not in BITS:
            return sum(t.int() for t in tensors) >= (
                1 if self.op in (OP.SUM, OP.MAX) else self.size
            )
        result = tensors[0]
        for tensor in tensors[1:]:
            result = FUNCTIONS[self.op](result, tensor)
        return result

    def one(self):
        self.kind = self.alike.choice(KINDS)
        self.op = self.alike.choice(ops_of(self.kind))
        self.root = self.alike.choice(self.roots)
        shape = torch.Size(self.alike.choices([0, 1, 2, 3, 5], k=self.alike.randint(0, 3)))
        #: By rank and part.
        self.data = [
            [values(self.generator, shape, self.kind) for _ in range(self.size)]
            for _ in range(self.size)
        ]
        mine = self.data[self.rank]
        call = self.alike.choice([self.reducing, self.moving, self.exchanging])
        work, pairs = call(mine, self.alike.random() < 0.3)
        if work is not None:
            work.wait()
        for got, expected in pairs:
            got = got.resolve_conj().resolve_neg()
            what = f"{call.__name__}, {self.op}, {self.kind}, {tuple(shape)}"
            assert torch.equal(got, expected), f"{what}: {got} is not {expected}"

    def reducing(self, mine, later):
        firsts = [parts[0] for parts in self.data]
        got, name = self.put(mine[0]), self.alike.choice(["all", "root", "list", "one"])
        if name == "all":
            work = dist.all_reduce(got, self.op, async_op=later)
            return work, [(got, self.reduced(firsts))]
        if name == "root":
            work = dist.reduce(got, self.root, self.op, async_op=later)
            is_root = self.rank == self.root
            return work, [(got, self.reduced(firsts) if is_root else mine[0])]
        if name == "list":
            parts = [self.put(part) for part in mine]
            work = dist.reduce_scatter(got, parts, self.op, async_op=later)
        else:
            whole = self.put(torch.stack(mine))
            work = dist.reduce_scatter_tensor(got, whole, self.op, async_op=later)
        return work, [(got, self.reduced([parts[self.rank] for parts in self.data]))]

    def moving(self, mine, later):
        firsts, is_root = [parts[0] for parts in self.data], self.rank == self.root
        got, many = self.put(mine[0]), [self.put(mine[0]) for _ in range(self.size)]
        name = self.alike.choice(["broadcast", "gather", "scatter", "all"])
        if name == "broadcast":
            work = dist.broadcast(got, self.root, async_op=later)
            return work, [(got, firsts[self.root])]
        if name == "gather":
            many = many if is_root else None
            work = dist.gather(got, many, self.root, async_op=later)
            return work, list(zip(many or [], firsts))
        if name == "scatter":
            parts = [self.put(part) for part in mine] if is_root else None
            work = dist.scatter(got, parts, self.root, async_op=later)
            return work, [(got, self.data[self.root][self.rank])]
        work = dist.all_gather(many, got, async_op=later)
        return work, list(zip(many, firsts))

    def exchanging(self, mine, later):
        expected = [parts[self.rank] for parts in self.data]
        if self.alike.random() < 0.5:
            got = [self.put(mine[0]) for _ in range(self.size)]
            sent = [self.put(part) for part in mine]
            return dist.all_to_all(got, sent, async_op=later), list(zip(got, expected))
        got = self.put(torch.zeros_like(torch.stack(mine)))
        splits = [1] * self.size if self.alike.random() < 0.5 else None
        sent = self.put(torch.stack(mine))
        work = dist.all_to_all_single(got, sent, splits, splits, async_op=later)
        return work, [(got, torch.stack(expected))]


def main(rank, size, seed, count):
    calls = Calls(rank, size, seed)
    for _ in range(count):
        calls.one()
    dist.barrier()
    if rank == 0:
        print(f"{size} ranks: {count} calls are right", flush=True)


if __name__ == "__main__":
    ranks, seed, count = map(int, sys.argv[1:])
    sys.exit(any(start(main, ranks, seed, count)))
