# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sums eight rows of numbers by plans of all_reduce for 8, 4, 2 or 1 ranks, each of which
first adds its own rows by the balanced tree, and prints for each plan at which numbers of
elements the bits differ from those of the balanced tree of all rows. Usage:
trees.py PLAN..."""

import array
import random
import sys

import sccl

SIZES = [1, 7, 64, 1000, 10_000, 100_000]
ROWS = 8


def add(a, b):
    """Rounded once to the type of `a`: the sum of two is exact enough in 64 bits."""
    return array.array(a.typecode, (x + y for x, y in zip(a, b)))


def tree_sum(rows):
    if len(rows) == 1:
        return rows[0]
    half = len(rows) // 2
    return add(tree_sum(rows[:half]), tree_sum(rows[half:]))


def row(number, size):
    own = random.Random(number)
    return array.array("f", (own.uniform(-1, 1) for _ in range(size)))


def main() -> None:
    rows = {size: [row(number, size) for number in range(ROWS)] for size in SIZES}
    expected = {size: tree_sum(rows[size]).tobytes() for size in SIZES}
    for path in sys.argv[1:]:
        plan = sccl.Plan(path)
        ranks = plan.ranks

        def reduce(comm):
            comm.load(plan)
            wrong = []
            for size in SIZES:
                share = ROWS // ranks
                mine = tree_sum(rows[size][comm.rank * share:(comm.rank + 1) * share])
                mine = array.array("f", mine)
                comm.all_reduce(mine)
                if mine.tobytes() != expected[size]:
                    wrong.append(size)
            return wrong

        wrong = sorted({size for own in sccl.run_threads(ranks, reduce, order="tree") for size in own})
        print(f"{ranks} ranks, {len(SIZES)} sizes, other bits than the tree at: {wrong}")


main()
