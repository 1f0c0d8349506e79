#!/usr/bin/env python3
#===- orders.py - What an order of summation costs ------------------------===//
#
# Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===----------------------------------------------------------------------===//
"""Prints what `sccl plan` advises for an all_reduce of floats with --order=ORDER
beside --order=any, as a table of docs/Numerics.md.

Usage: orders.py SCCL ORDER [MACHINE...]
"""

import json
import subprocess
import sys

MACHINES = ["h100", "mi300x", "dgx1-v100", "ndv2", "amd_z52", "h100:boxes=2",
            "h100:boxes=4"]
KIB = 1 << 10
SIZES = {"1 KiB": KIB, "16 KiB": 16 * KIB, "64 KiB": 64 * KIB,
         "256 KiB": 256 * KIB, "1 MiB": KIB**2, "64 MiB": 64 * KIB**2}


def times(sccl: str, machine: str, order: str) -> dict[int, float]:
    """Microseconds by bytes."""
    command = [sccl, "plan", f"--machine={machine}", "--collective=all_reduce",
               f"--order={order}", "--json"]
    lines = subprocess.run(command, check=True, text=True,
                           stdout=subprocess.PIPE).stdout.splitlines()
    rows = [json.loads(line) for line in lines]
    return {row["bytes"]: row["microseconds"] for row in rows if "bytes" in row}


def main() -> int:
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    print("| machine | " + " | ".join(SIZES) + " |")
    print("|---" * (len(SIZES) + 1) + "|")
    for machine in sys.argv[3:] or MACHINES:
        free, kept = (times(sys.argv[1], machine, order)
                      for order in ("any", sys.argv[2]))
        cells = [f"{kept[size]:.1f} ({kept[size] / free[size] - 1:+.0%})"
                 for size in SIZES.values()]
        print(f"| {machine} | " + " | ".join(cells) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
