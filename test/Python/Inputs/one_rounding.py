# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sums rows of bf16 by plans of all_reduce for communicators that ask for one rounding,
and prints at which numbers of elements a rank ends with other bits than the sum in f32,
rank after rank, that is then rounded to bf16. Usage: one_rounding.py PLAN..., or
one_rounding.py --host RANKS, with the plan that the shelf makes."""

import array
import random
import sys

import sccl
import sccl.shelf

SIZES = [1, 7, 64, 1000, 10_000, 1 << 16]


def to_f32(words):
    return array.array("f", array.array("I", (word << 16 for word in words)).tobytes())


def to_bf16(numbers):
    bits = array.array("I", numbers.tobytes())
    return array.array("H", ((b + 0x7FFF + (b >> 16 & 1)) >> 16 for b in bits))


def row(rank, size):
    own = random.Random(rank)
    return to_bf16(array.array("f", (own.uniform(-1, 1) for _ in range(size))))


def rounded_sum(rows):
    total = to_f32(rows[0])
    for other in rows[1:]:
        # The sum of two is exact enough in 64 bits.
        total = array.array("f", (x + y for x, y in zip(total, to_f32(other))))
    return to_bf16(total).tobytes()


def compare(plan) -> None:
    rows = [[row(rank, size) for rank in range(plan.ranks)] for size in SIZES]

    def reduce(comm):
        comm.load(plan)
        wrong = set()
        for size, inputs in zip(SIZES, rows):
            mine = array.array("H", inputs[comm.rank])
            comm.all_reduce(mine, type="bf16")
            if mine.tobytes() != rounded_sum(inputs):
                wrong.add(size)
        return wrong

    wrong = set().union(*sccl.run_threads(plan.ranks, reduce, one_rounding=True))
    print(f"{plan.ranks} ranks, {len(SIZES)} sizes, other bits at: {sorted(wrong)}")


if sys.argv[1] == "--host":
    path = sccl.shelf.host_plan("all_reduce", int(sys.argv[2]), element="bf16", one_rounding=True)
    compare(sccl.Plan(path))
else:
    for path in sys.argv[1:]:
        compare(sccl.Plan(path))
