# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What mpi-bits.c does, on threads: mpi_bits.py PLAN f32|bf16."""

import array
import sys

import sccl

COUNT = 100003


def numbers(rank, is_short):
    state, bits = 12345 + 7919 * rank, []
    for _ in range(COUNT):
        state = (state * 1664525 + 1013904223) % (1 << 32)
        bits.append((state & 0x87FFFFFF) | 0x3C000000)
    return array.array("H", (b >> 16 for b in bits)) if is_short else array.array("I", bits)


def reduce(comm):
    comm.load(plan)
    mine, value = numbers(comm.rank, sys.argv[2] == "bf16"), 2166136261
    comm.all_reduce(mine, type=sys.argv[2])
    for bits in mine:
        value = (value ^ bits) * 16777619 % (1 << 32)
    return value


plan = sccl.Plan(sys.argv[1])
for value in sccl.run_threads(plan.ranks, reduce):
    print(f"{sys.argv[2]}: {value:08x}")
