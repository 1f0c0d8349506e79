# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints at which numbers of elements the ranks of a plan end with other bits than
rank 0, for f32 sums of numbers that round. Usage: orders.py PLAN RANKS"""

import array
import random
import sys

import sccl

SIZES = [1, 7, 64, 1000, 10_000, 100_000]


def main() -> None:
    plan, ranks = sccl.Plan(sys.argv[1]), int(sys.argv[2])

    def reduce(comm):
        comm.load(plan)
        own = random.Random(comm.rank)
        results = []
        for size in SIZES:
            mine = array.array("f", (own.uniform(-1, 1) for _ in range(size)))
            comm.all_reduce(mine)
            results.append(mine.tobytes())
        return results

    results = sccl.run_threads(ranks, reduce)
    unlike = [size for i, size in enumerate(SIZES)
              if any(result[i] != results[0][i] for result in results)]
    print(f"{len(SIZES)} sizes, ranks differ at: {unlike}")


main()
