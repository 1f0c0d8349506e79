# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sums eight rows of numbers by plans of all_reduce for 8, 4, 2 or 1 ranks, each of which
first adds its own rows by the balanced tree, and prints for each plan at which numbers of
elements the bits differ from those of the balanced tree of all rows. Usage:
trees.py PLAN..., of f32, or trees.py --host, with plans that the shelf makes, of bf16, too.
"""

import array
import functools
import random
import sys

import sccl
import sccl.shelf

SIZES = [1, 7, 64, 1000, 10_000, 1 << 18]
ROWS = 8


def to_f32(words):
    """The numbers of bf16."""
    return array.array("f", array.array("I", (word << 16 for word in words)).tobytes())


def to_bf16(numbers):
    bits = array.array("I", numbers.tobytes())
    return array.array("H", ((b + 0x7FFF + (b >> 16 & 1)) >> 16 for b in bits))


def add(a, b):
    """Rounded once to the type of `a`: the sum of two is exact enough in 64 bits."""
    if a.typecode == "H":
        return to_bf16(add(to_f32(a), to_f32(b)))
    return array.array(a.typecode, (x + y for x, y in zip(a, b)))


def tree_sum(rows):
    if len(rows) == 1:
        return rows[0]
    half = len(rows) // 2
    return add(tree_sum(rows[:half]), tree_sum(rows[half:]))


@functools.lru_cache(maxsize=None)
def row(number, size, type):
    own = random.Random(number)
    numbers = array.array("f", (own.uniform(-1, 1) for _ in range(size)))
    return numbers if type == "f32" else to_bf16(numbers)


def compare(plan, type) -> None:
    wrong, ranks, share = set(), plan.ranks, ROWS // plan.ranks
    for size in SIZES:
        rows = [row(number, size, type) for number in range(ROWS)]
        starts = [tree_sum(rows[at : at + share]) for at in range(0, ROWS, share)]
        expected = tree_sum(starts).tobytes()

        def reduce(comm):
            comm.load(plan)
            mine = array.array(starts[0].typecode, starts[comm.rank])
            comm.all_reduce(mine, type=type)
            return mine.tobytes() == expected

        if not all(sccl.run_threads(ranks, reduce, order="tree")):
            wrong.add(size)
    print(f"{ranks} ranks, {len(SIZES)} sizes of {type}, other bits than the tree at: "
          f"{sorted(wrong)}")


if sys.argv[1] == "--host":
    for ranks in [8, 4, 2, 1]:
        for type in ["f32", "bf16"]:
            plan = sccl.shelf.host_plan("all_reduce", ranks, element=type, order="tree")
            compare(sccl.Plan(plan), type)
else:
    for path in sys.argv[1:]:
        compare(sccl.Plan(path), "f32")
