#!/usr/bin/env python3
#===- orders.py - What an order of summation costs ------------------------===//
#
# Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===----------------------------------------------------------------------===//
"""Prints tables of docs/Numerics.md: what `sccl plan` advises for an all_reduce
of floats with --order=ORDER beside --order=any, or of bf16 with --one-rounding
if ORDER is `once`, and with --wire=f32 if it is `wire`; or with --loads the
frontiers of `sccl pareto`, R/C by S with the proved bound behind it where that is
less. With --errors it prints for 64 MiB of bf16 what all three take, and how far off
their sums are at most.

Usage: orders.py [--loads | --errors] SCCL ORDER [MACHINE...]
"""

import json
import math
import subprocess
import sys
from fractions import Fraction

MACHINES = ["h100", "mi300x", "dgx1-v100", "ndv2", "amd_z52", "h100:boxes=2",
            "h100:boxes=4"]
KIB = 1 << 10
SIZES = {"1 KiB": KIB, "16 KiB": 16 * KIB, "64 KiB": 64 * KIB,
         "256 KiB": 256 * KIB, "1 MiB": KIB**2, "64 MiB": 64 * KIB**2}


# Options by what stands for an order.
ROUNDINGS = {"once": "--one-rounding", "wire": "--wire=f32"}


def options_of(order: str) -> tuple[list[str], list[str]]:
    """Those of `sccl plan` for an order, and for what it is compared with."""
    if order in ROUNDINGS:
        return ["--element=bf16", ROUNDINGS[order]], ["--element=bf16"]
    return [f"--order={order}"], ["--order=any"]


def plan(sccl: str, machine: str, options: list[str]) -> dict[int, dict]:
    """What is advised, by bytes."""
    command = [sccl, "plan", f"--machine={machine}", "--collective=all_reduce",
               *options, "--json"]
    lines = subprocess.run(command, check=True, text=True,
                           stdout=subprocess.PIPE).stdout.splitlines()
    rows = [json.loads(line) for line in lines]
    return {row["bytes"]: row for row in rows if "bytes" in row}


def times(sccl: str, machine: str, options: list[str]) -> dict[int, float]:
    """Microseconds by bytes."""
    return {size: row["microseconds"]
            for size, row in plan(sccl, machine, options).items()}


def text_of(value: str) -> str:
    short = len(value) <= 7
    return value if short else f"{float(Fraction(value)):.4f}"


def frontier(sccl: str, machine: str, collective: str, order: str) -> str:
    command = [sccl, "pareto", f"--machine={machine}", f"--collective={collective}",
               f"--order={order}", "--json"]
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE)
    if done.returncode not in (0, 3):  # 3 says that some S are open
        sys.exit(f"orders.py: {' '.join(command)} failed")
    parts = {}  # by S; of several with as many steps the last is the cheapest
    for row in map(json.loads, done.stdout.splitlines()):
        if "steps" not in row:
            continue
        part = f"{row['steps']}: {text_of(row['cost'])}"
        if row["status"] != "optimal":
            part += f" ({text_of(row['lower_bound'])})"
        parts[row["steps"]] = part
    return "; ".join(parts.values())


def print_loads(sccl: str, order: str, machines: list[str]) -> None:
    print(f"| machine | collective | {order} | any |")
    print("|---|---|---|---|")
    for machine in machines:
        for collective in ("reduce_scatter", "all_reduce"):
            kept, free = (frontier(sccl, machine, collective, word)
                          for word in (order, "any"))
            print(f"| {machine} | {collective} | {kept} | "
                  f"{'the same' if kept == free else free} |")


def print_times(sccl: str, order: str, machines: list[str]) -> None:
    print("| machine | " + " | ".join(SIZES) + " |")
    print("|---" * (len(SIZES) + 1) + "|")
    for machine in machines:
        kept, free = (times(sccl, machine, options) for options in options_of(order))
        cells = [f"{kept[size]:.1f} ({kept[size] / free[size] - 1:+.0%})"
                 for size in SIZES.values()]
        print(f"| {machine} | " + " | ".join(cells) + " |")


def rounded_up(value: float) -> float:
    """To two digits."""
    digit = 10 ** (math.floor(math.log10(value)) - 1)
    return math.ceil(value / digit) * digit


def print_errors(sccl: str, _: str, machines: list[str]) -> None:
    print("| machine | any number of roundings | `--one-rounding` | `--wire=f32` |")
    print("|---|---|---|---|")
    only = ["--element=bf16", f"--from={64 * KIB**2}", f"--to={64 * KIB**2}"]
    for machine in machines:
        cells = []
        for more in ([], *([option] for option in ROUNDINGS.values())):
            row = plan(sccl, machine, only + more)[64 * KIB**2]
            cells.append(f"{row['microseconds']:.1f} us, "
                         f"{rounded_up(row['sum_error_bound']):.1e}")
        print(f"| {machine} | " + " | ".join(cells) + " |")


def main() -> int:
    tables = {"--loads": print_loads, "--errors": print_errors}
    words = [word for word in sys.argv[1:] if word not in tables]
    if len(words) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    asked = [table for word, table in tables.items() if word in sys.argv]
    print_table = asked[0] if asked else print_times
    print_table(words[0], words[1], words[2:] or MACHINES)
    return 0


if __name__ == "__main__":
    sys.exit(main())
