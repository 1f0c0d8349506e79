#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Frontiers of machines by name: how long they take, and how far they are from the bound.

    utils/sweep-frontiers.py [--sccl=build/bin/sccl] [--timeout=60] MACHINE...

One line for each machine and collective: CPU seconds, how the search ended, and for each
S the gap in per cent of the cheapest schedule (`?` where no bound is known). Exit code 1
if some search was stopped or found nothing.
"""

import argparse
import json
import resource
import subprocess
import sys
from fractions import Fraction

COLLECTIVES = ["all_gather", "reduce_scatter", "all_reduce", "broadcast", "all_to_all"]


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def least_gaps(lines):
    """By S, the least gap in per cent of what `sccl pareto --json` prints."""
    gaps = {}
    for point in map(json.loads, lines):
        if "steps" not in point or "cost" not in point:
            continue
        gap = float("inf")
        if point.get("lower_bound"):
            gap = float(100 * (Fraction(point["cost"]) / Fraction(point["lower_bound"]) - 1))
        gaps[point["steps"]] = min(gap, gaps.get(point["steps"], gap))
    return gaps


def sweep(sccl, machine, collective, steps, timeout):
    """Prints a line; returns whether the search ended with a schedule."""
    before = cpu_seconds()
    run = subprocess.run(
        [sccl, "pareto", f"--machine={machine}", f"--collective={collective}",
         f"--max-steps={steps}", f"--timeout={timeout}", "--json"],
        capture_output=True, text=True)
    lines = [line for line in run.stdout.splitlines() if line.startswith("{")]
    gaps = least_gaps(lines)
    stopped = any("time is over" in line for line in lines)
    how = "stopped" if stopped else "ended" if gaps else run.stderr.strip()
    text = " ".join(f"{step}:{gap:.0f}" for step, gap in sorted(gaps.items()))
    print(f"{machine:28} {collective:15} {cpu_seconds() - before:6.1f} s  {how}  "
          f"{text.replace('inf', '?')}", flush=True)
    return bool(gaps) and not stopped


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sccl", default="build/bin/sccl")
    parser.add_argument("--timeout", type=float, default=60, help="seconds for each search")
    parser.add_argument("--steps", type=int, default=6, help="the largest S")
    parser.add_argument("machines", nargs="+")
    args = parser.parse_args()
    ended = [sweep(args.sccl, machine, collective, args.steps, args.timeout)
             for machine in args.machines for collective in COLLECTIVES]
    return 0 if all(ended) else 1


if __name__ == "__main__":
    sys.exit(main())
